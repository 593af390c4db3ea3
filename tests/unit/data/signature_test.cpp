// SPDX-License-Identifier: Apache-2.0
#include "data/signature.h"

#include <fstream>
#include <string>

#include "data/output_folder.h"
#include "data/pending_output.h"
#include "data/taking_back.h"
#include "support/apart.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
namespace fs = std::filesystem;

namespace {

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

PendingOutput opened(const fs::path& target, const std::string& signer) {
  auto output = PendingOutput::open(target, signer, signer);
  if (!output) FAIL(output.error().message);
  return std::move(*output);
}

// A run that puts a file, or a folder that holds one, at the target.
void run(const fs::path& target, const std::string& signer, bool file = false) {
  auto output = opened(target, signer);
  write(file ? output.path() : output.path() / "weights", "of " + signer);
  const auto committed = output.commit();
  if (!committed) FAIL(committed.error().message);
}

std::string model_at(const fs::path& target) { return contents(fs::is_directory(target) ? target / "weights" : target); }

}  // namespace

TEST_CASE("an output belongs to its signer as long as it is unchanged") {
  const bool file = GENERATE(true, false);
  const TempDir folder;
  const auto model = folder.path() / "model";
  CHECK(signed_by(model, "a") != Signed::yes);
  run(model, "a", file);
  CHECK(signed_by(model, "a") == Signed::yes);
  CHECK(signed_by(model, "b") == Signed::no);
  CHECK(signed_by(model, "") == Signed::no);
  const auto weights = file ? model : model / "weights";
  SECTION("others write into it") { write(weights, "cut"); }
  SECTION("another client puts a file next to it") { file ? write(model, "longer than it was") : write(model / "more", "1"); }
  SECTION("another run puts its own there") { run(model, "c", file); }
  SECTION("it is emptied") { file ? fs::resize_file(model, 0) : static_cast<void>(fs::remove(weights)); }
  SECTION("another client puts the same there") {
    const auto copy = folder.path() / "copy";
    fs::copy(model, copy, fs::copy_options::recursive);
    fs::remove_all(model);
    fs::rename(copy, model);
  }
  SECTION("it is removed") { fs::remove_all(model); }
  CHECK(signed_by(model, "a") != Signed::yes);
}

TEST_CASE("the output of a run is reverted, and the contents that it displaced are restored") {
  const auto [before, file] = GENERATE(table<std::string, bool>(
      {{"nothing", true}, {"nothing", false}, {"an earlier run's", true}, {"an earlier run's", false}, {"somebody's", true}, {"somebody's", false}}));
  CAPTURE(before, file);
  const TempDir folder;
  const auto model = folder.path() / "model";
  if (before == "an earlier run's") {
    run(model, "earlier", file);
    REQUIRE(confirm_output(model, "earlier").has_value());
  }
  if (before == "somebody's") write(file ? model : model / "weights", "somebody's");
  const auto older = before == "nothing" ? std::string() : model_at(model);
  run(model, "a", file);
  CHECK(model_at(model) == "of a");
  {
    const auto others = opened(model.string() + "-other", "b");
    CHECK_FALSE(others.taken_back());
  }
  const auto output = opened(model, "a");
  REQUIRE(output.taken_back());
  CHECK((*output.taken_back() == Restored::yes) == (before != "nothing"));
  CHECK(fs::exists(model) == (before != "nothing"));
  if (fs::exists(model)) CHECK(model_at(model) == older);
  CHECK(model_at(output.path()) == "of a");
  CHECK(signed_by(model, "a") != Signed::yes);
  if (before == "an earlier run's") CHECK(signed_by(model, "earlier") == Signed::yes);
}

TEST_CASE("a run takes nothing back that is not its own") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  run(model, "a");
  SECTION("but another's") {
    run(model, "b");
    CHECK_FALSE(opened(model, "a").taken_back());
    CHECK(model_at(model) == "of b");
  }
  SECTION("but another client has changed it") {
    write(model / "weights", "somebody's own");
    CHECK_FALSE(opened(model, "a").taken_back());
    CHECK(model_at(model) == "somebody's own");
  }
}

TEST_CASE("an output edited in place still belongs to its run, but is not reverted") {
  const bool file = GENERATE(true, false);
  const std::string edit = GENERATE("its content", "a link in it");
  if (file && edit == "a link in it") return;
  CAPTURE(file, edit);
  const TempDir folder;
  const auto model = folder.path() / "model";
  run(model, "earlier", file);
  {
    auto output = opened(model, "a");
    write(file ? output.path() : output.path() / "weights", "of a");
    if (!file) fs::create_symlink("weights", output.path() / "best");
    REQUIRE(output.commit().has_value());
  }
  const auto weights = file ? model : model / "weights";
  if (edit == "its content") {
    write(weights, "mine");
    fs::last_write_time(weights, fs::last_write_time(weights) + std::chrono::seconds(1));
  } else {
    fs::remove(model / "best");
    fs::create_symlink("other", model / "best");
  }
  CHECK(signed_by(model, "a") == Signed::touched);
  CHECK_FALSE(opened(model, "a").taken_back());
  const auto taken = take_back(model, "a");
  REQUIRE(taken.has_value());
  CHECK_FALSE(*taken);
  CHECK(model_at(model) == (edit == "its content" ? "mine" : "of a"));
  CHECK(displaced_path(OutputPaths::of(model)) == folder.path() / ".model.trainstep/old");
}

TEST_CASE("reverting without a new run returns the location and releases the lock") {
  const bool file = GENERATE(true, false);
  const bool earlier = GENERATE(true, false);
  const TempDir folder;
  const auto model = folder.path() / "model";
  if (earlier) run(model, "earlier", file);
  run(model, "a", file);
  const auto taken = take_back(model, "a");
  REQUIRE((taken.has_value() && *taken));
  CHECK(model_at((*taken)->where) == "of a");
  CHECK((earlier ? model_at(model) == "of earlier" : !fs::exists(model)));
  CHECK(lock_folder(folder.path() / ".model.trainstep", model).has_value());
  CHECK(take_back(model, "a")->has_value() == false);
}

TEST_CASE("if a full disk prevents the revert, everything stays in place") {
  const TempDir folder;
  const auto said = with_own_mounts([&]() -> std::string {
    const auto disk = folder.path() / "disk";
    fs::create_directories(disk);
    if (::mount("none", disk.c_str(), "tmpfs", 0, "nr_inodes=60") != 0) return "no mount";
    const auto model = disk / "model";
    run(model, "earlier");
    run(model, "a");
    int files = 0;
    while (std::ofstream(disk / std::to_string(files))) ++files;
    for (int refused = 0; files > 0; ++refused) {
      const auto taken = take_back(model, "a");
      if (taken) return refused > 0 && *taken ? model_at(model) : "not refused";
      if (taken.error().message.find("No space left") == std::string::npos) return taken.error().message;
      if (model_at(model) != "of a" || signed_by(model, "a") != Signed::yes) return "moved: " + taken.error().message;
      fs::remove(disk / std::to_string(--files));
    }
    return "refused for ever";
  });
  CHECK(said == "of earlier");
}

TEST_CASE("a reverted output can be committed again, and the older one is in place until then") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  run(model, "earlier");
  run(model, "a");
  auto again = opened(model, "a");
  CHECK(model_at(model) == "of earlier");
  REQUIRE(again.commit().has_value());
  CHECK(model_at(model) == "of a");
  CHECK(signed_by(model, "a") == Signed::yes);
}

TEST_CASE("displaced contents are kept until the run is confirmed, and those moved aside in any case") {
  const bool known = GENERATE(true, false);
  const TempDir folder;
  const auto model = folder.path() / "model";
  known ? run(model, "earlier") : write(model / "weights", "somebody's");
  run(model, "a");
  const auto aside = known ? folder.path() / ".model.trainstep/old" : folder.path() / "model.~1~";
  CHECK(fs::exists(aside));
  REQUIRE(confirm_output(model, "b").has_value());
  CHECK(fs::exists(aside));
  REQUIRE(confirm_output(model, "a").has_value());
  CHECK(fs::exists(aside) == !known);
  CHECK(model_at(model) == "of a");
  CHECK(signed_by(model, "a") == Signed::yes);
}

TEST_CASE("the contents that an unconfirmed run may restore are kept, whichever run opens the target in the meantime") {
  const bool file = GENERATE(true, false);
  const bool delivers = GENERATE(true, false);
  CAPTURE(file, delivers);
  const TempDir folder;
  const auto model = folder.path() / "model";
  run(model, "earlier", file);
  run(model, "a", file);
  static_cast<void>(PendingOutput::open(model, "local"));  // refused before it began
  if (delivers) {
    run(model, "b", file);
    const auto output = opened(model, "b");  // it has failed
    REQUIRE(output.taken_back());
    CHECK(model_at(model) == "of a");
  }
  const auto output = opened(model, "a");
  REQUIRE(output.taken_back());
  CHECK(model_at(model) == "of earlier");
}

TEST_CASE("a run that is confirmed leaves nothing of those before it") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  for (const auto* signer : {"earlier", "a", "b"}) run(model, signer);
  CHECK(fs::exists(folder.path() / ".model.trainstep/old.~1~"));
  REQUIRE(confirm_output(model, "b").has_value());
  CHECK_FALSE(fs::exists(folder.path() / ".model.trainstep/old"));
  CHECK_FALSE(fs::exists(folder.path() / ".model.trainstep/old.~1~"));
  CHECK(model_at(model) == "of b");
}

TEST_CASE("nothing is removed that another run is about to need") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  run(model, "earlier");
  run(model, "a");
  const auto held = lock_folder(folder.path() / ".model.trainstep", model);
  REQUIRE(held.has_value());
  CHECK(confirm_output(model, "a").has_value());
  CHECK(fs::exists(folder.path() / ".model.trainstep/old"));
}

TEST_CASE("an output in a mounted folder is recognised, but not reverted: its signer's next one replaces it") {
  const TempDir folder;
  const auto model = folder.path() / "volume/model";
  const auto said = with_own_mounts([&]() -> std::string {
    fs::create_directories(folder.path() / "disk");
    fs::create_directories(model);
    if (!bind(folder.path() / "disk", model)) return "no mount";
    for (const auto* text : {"first", "second"}) {
      auto output = PendingOutput::open(model, "a", "a");
      if (!output) return output.error().message;
      if (output->taken_back()) return "taken back";
      write(output->path() / "weights", text);
      if (const auto committed = output->commit(); !committed) return committed.error().message;
      if (signed_by(model, "a") != Signed::yes) return "not known";
    }
    return contents(model / "weights");
  });
  CHECK(said == "second");
}

TEST_CASE("an output of a run without a signer belongs to no run, even if it equals an earlier one") {
  const bool file = GENERATE(true, false);
  const TempDir folder;
  const auto model = folder.path() / "model";
  run(model, "a", file);
  {
    auto output = PendingOutput::open(model, "local");
    REQUIRE(output.has_value());
    write(file ? output->path() : output->path() / "weights", "of a");
    REQUIRE(output->commit().has_value());
  }
  CHECK(signed_by(model, "a") != Signed::yes);
}
