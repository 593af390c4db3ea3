// SPDX-License-Identifier: Apache-2.0
#include "data/pending_output.h"

#include <sys/stat.h>

#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "base/remove_tree.h"
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

PendingOutput opened(const fs::path& target, const std::string& owner = "run") {
  auto output = PendingOutput::open(target, owner);
  if (!output) FAIL(output.error().message);
  return std::move(*output);
}

// A run that writes these files, and where it moved what was in its way.
std::optional<fs::path> run(const fs::path& target, const std::string& name, const std::string& text) {
  auto output = opened(target, name);
  write(output.path() / name, text);
  auto aside = output.commit();
  if (!aside) FAIL(aside.error().message);
  return *aside;
}

// Names in a folder, hidden ones too, sorted.
std::string listing(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  std::string all;
  for (const auto& name : names) all += name + " ";
  return all;
}

}  // namespace

TEST_CASE("nothing is seen of an output before it is whole") {
  const TempDir folder;
  const auto model = folder.path() / "models/model";
  auto output = opened(model);
  CHECK(output.path().filename() == "model");
  write(output.path() / "a", "1");
  CHECK_FALSE(fs::exists(model));
  REQUIRE(output.commit().has_value());
  CHECK(contents(model / "a") == "1");
  CHECK_FALSE(fs::exists(output.path()));
}

TEST_CASE("nothing else remains next to a committed output, nor next to one that was never written") {
  const TempDir folder;
  run(folder.path() / "model", "a", "1");
  static_cast<void>(opened(folder.path() / "other"));
  const auto left = listing(folder.path());
  CHECK((left == "model " || left == ".model.trainstep model "));  // where folders have no attributes
}

TEST_CASE("files written next to an output are not part of it, and are kept") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  fs::path beside;
  {
    auto output = opened(model);
    beside = output.path().parent_path();
    write(output.path() / "a", "1");
    write(beside / "model.lock", "");
    fs::create_directories(beside / "logs/empty");
    SECTION("nothing that holds something") {}
    SECTION("a file") {
      write(beside / "model.bin", "2");
      CHECK(output.left() == output.path());
    }
    REQUIRE(output.commit().has_value());
    CHECK(output.left() == (fs::exists(beside / "model.bin") ? beside : fs::path()));
  }
  CHECK(contents(model / "a") == "1");
  if (fs::exists(beside / "model.bin")) {
    CHECK(contents(beside / "model.bin") == "2");
    static_cast<void>(opened(model, "next"));
  }
  const auto left = listing(folder.path());
  CHECK((left == "model " || left == ".model.trainstep model "));
  CHECK_FALSE(fs::exists(beside));
}

TEST_CASE("folders created for an output are removed if it is not written") {
  const TempDir folder;
  fs::create_directories(folder.path() / "there");
  static_cast<void>(opened(folder.path() / "there/new/deep/model"));
  CHECK(listing(folder.path() / "there").empty());
  run(folder.path() / "there/new/deep/model", "a", "1");
  CHECK(fs::exists(folder.path() / "there/new/deep/model/a"));
}

TEST_CASE("what has taken the place of a folder that was created for an output stays") {
  const TempDir folder;
  const auto models = folder.path() / "models";
  auto output = std::optional(opened(models / "model"));
  SECTION("a file") {
    fs::rename(models, folder.path() / "renamed");
    write(models, "precious");
  }
  SECTION("a file where the folder was removed") {
    fs::remove_all(models);
    write(models, "precious");
  }
  SECTION("an empty folder") {
    fs::remove_all(models);
    fs::create_directory(models);
  }
  output.reset();
  CHECK(fs::exists(models));
}

TEST_CASE("what has taken the place of the hidden folder stays") {
  const TempDir folder;
  const auto hidden = folder.path() / "models/.model.trainstep";
  auto output = std::optional(opened(folder.path() / "models/model"));
  fs::rename(hidden, folder.path() / "renamed");
  SECTION("a file") { write(hidden, "precious"); }
  SECTION("a folder") { write(hidden / "new/empty", ""); }
  SECTION("a link") { fs::create_directory_symlink("../renamed", hidden); }
  const auto before = fs::symlink_status(hidden).type();
  output.reset();
  CHECK(fs::symlink_status(hidden).type() == before);
  if (before == fs::file_type::directory) CHECK(fs::exists(hidden / "new/empty"));
  CHECK_FALSE(fs::exists(folder.path() / "renamed"));
}

TEST_CASE("an output whose folder was moved is at its path if a link leads there, and the link stays") {
  const TempDir folder;
  const auto models = folder.path() / "models";
  {
    auto output = opened(models / "new/model");
    write(output.path(), "weights");
    fs::rename(models, folder.path() / "disk");
    fs::create_directory_symlink("disk", models);
    REQUIRE(output.commit());
  }
  CHECK(fs::is_symlink(models));
  CHECK(contents(models / "new/model") == "weights");
}

TEST_CASE("what an earlier run has put there is replaced as a whole") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  run(model, "old", "1");
  CHECK(run(model, "new", "2") == std::nullopt);
  CHECK(listing(model) == "new ");
  CHECK_FALSE(fs::exists(folder.path() / "model.~1~"));
}

TEST_CASE("contents of other origin are moved aside, and never removed") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  SECTION("a folder that no run has made") { write(model / "notes", "mine"); }
  SECTION("a file in a run's folder") {
    run(model, "old", "1");
    write(model / "notes", "mine");
  }
  SECTION("a file that was changed in a run's folder") {
    run(model, "notes", "1");
    write(model / "notes", "mine");
  }
  const auto aside = run(model, "new", "2");
  REQUIRE(aside.has_value());
  CHECK(*aside == folder.path() / "model.~1~");
  CHECK(contents(*aside / "notes") == "mine");
  CHECK(listing(model) == "new ");
  write(model / "more", "mine");
  CHECK(run(model, "new", "3") == folder.path() / "model.~2~");
}

TEST_CASE("an empty folder in the way is replaced") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  fs::create_directory(model);
  CHECK(run(model, "new", "1") == std::nullopt);
  CHECK(listing(folder.path()) == "model ");
}

TEST_CASE("a file to be replaced by a folder is moved aside") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  write(model, "a file");
  CHECK(run(model, "new", "2") == folder.path() / "model.~1~");
  CHECK(contents(model / "new") == "2");
  CHECK(contents(folder.path() / "model.~1~") == "a file");
}

TEST_CASE("a file replaces a file") {
  const TempDir folder;
  write(folder.path() / "model.pt", "old");
  auto output = opened(folder.path() / "model.pt");
  write(output.path(), "new");
  REQUIRE(output.commit().has_value());
  CHECK(contents(folder.path() / "model.pt") == "new");
}

TEST_CASE("a link at the target stays, and what it leads to is replaced") {
  const TempDir folder;
  fs::create_directories(folder.path() / "disk");
  fs::create_directory_symlink("disk/v1", folder.path() / "model");
  run(folder.path() / "model", "a", "1");  // it led nowhere yet
  CHECK(run(folder.path() / "model", "b", "2") == std::nullopt);
  CHECK(fs::is_symlink(folder.path() / "model"));
  CHECK(listing(folder.path() / "disk/v1") == "b ");
}

TEST_CASE("an output is not delivered where a link no longer leads") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  fs::create_directories(folder.path() / "disk");
  fs::create_directories(folder.path() / "other");
  fs::create_directory_symlink("disk/v1", model);
  auto output = opened(folder.path() / "model/");
  write(output.path(), "weights");
  fs::remove(model);
  SECTION("it was removed") {}
  SECTION("it leads elsewhere") { fs::create_directory_symlink("other/v1", model); }
  SECTION("it leads to a folder that does not exist") { fs::create_directory_symlink("missing/v1", model); }
  SECTION("there is a file") { write(model, "theirs"); }
  const auto placed = output.commit();
  REQUIRE_FALSE(placed);
  CHECK(placed.error().kind == ErrorKind::conflict);
  CHECK_THAT(placed.error().message, Catch::Contains(model.string() + " was a symbolic link to " + (folder.path() / "disk/v1").string()));
  CHECK_FALSE(fs::exists(folder.path() / "disk/v1"));
  CHECK(contents(output.left()) == "weights");
}

TEST_CASE("an output is delivered where a link led that now leads there another way") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  fs::create_directories(folder.path() / "disk");
  fs::create_directory_symlink("disk/v1", model);
  auto output = opened(model);
  write(output.path(), "weights");
  fs::create_directory_symlink("disk", folder.path() / "also");
  fs::remove(model);
  fs::create_directory_symlink("also/v1", model);
  REQUIRE(output.commit());
  CHECK(contents(model) == "weights");
}

TEST_CASE("a link into the output by its whole path leads there afterwards, too") {
  const TempDir folder;
  auto output = opened(folder.path() / "model");
  write(output.path() / "step-1/weights", "1");
  fs::create_directory_symlink(output.path() / "step-1", output.path() / "latest");
  fs::create_symlink("/etc/hostname", output.path() / "outside");
  REQUIRE(output.commit().has_value());
  CHECK(contents(folder.path() / "model/latest/weights") == "1");
  CHECK(fs::read_symlink(folder.path() / "model/outside") == "/etc/hostname");
}

TEST_CASE("a link into the older output, which goes, becomes a copy of what it led to") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  run(model, "weights", "older");
  auto output = opened(model);
  write(output.path() / "weights", "newer");
  fs::create_symlink(model / "weights", output.path() / "before");
  fs::create_symlink("before", output.path() / "itself");
  REQUIRE(output.commit());
  CHECK(contents(model / "weights") == "newer");
  CHECK(contents(model / "before") == "older");
  CHECK(contents(model / "itself") == "older");
}

TEST_CASE("an output that is a link next to its target is that target; otherwise the link is kept") {
  const TempDir folder;
  auto output = opened(folder.path() / "model");
  SECTION("next to it") {
    write(output.path().parent_path() / "step-1/weights", "1");
    fs::create_directory_symlink("step-1", output.path());
    REQUIRE(output.commit().has_value());
    CHECK_FALSE(fs::is_symlink(folder.path() / "model"));
  }
  SECTION("elsewhere") {
    write(folder.path() / "run/step-1/weights", "1");
    fs::create_directory_symlink("../../run/step-1", output.path());
    REQUIRE(output.commit().has_value());
  }
  CHECK(contents(folder.path() / "model/weights") == "1");
}

TEST_CASE("a failed run leaves the previous contents, and its own next to them until the next run") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  run(model, "old", "1");
  fs::path left;
  {
    const auto output = opened(model, "failed");
    left = output.path();
    write(left / "half", "2");
  }
  CHECK(listing(model) == "old ");
  CHECK(contents(left / "half") == "2");
  SECTION("an attempt of the same run finds it") { CHECK(fs::exists(opened(model, "failed").path() / "half")); }
  SECTION("another run does not") {
    CHECK_FALSE(fs::exists(opened(model, "next").path()));
    CHECK(listing(model) == "old ");
  }
}

TEST_CASE("an output is written only to the folder in which it was opened, even if that is renamed") {
  const TempDir folder;
  const auto before = folder.path() / "project", after = folder.path() / "renamed";
  run(before / "model", "old", "1");
  {
    auto output = opened(before / "model");
    SECTION("the program writes on, in a folder of the old name") {
      fs::rename(before, after);
      write(output.path() / "new", "2");
      CHECK(output.left() == output.path());
    }
    SECTION("what it had written has gone along") {
      write(output.path() / "new", "2");
      fs::rename(before, after);
      fs::create_directories(before);
      CHECK(output.left() == after / ".model.trainstep/new/model");
    }
    SECTION("it has written nothing") { fs::rename(before, after); }
    CHECK_FALSE(output.check_kept());
    const auto placed = output.commit();
    REQUIRE_FALSE(placed);
    CHECK(placed.error().kind == ErrorKind::conflict);
    CHECK_THAT(placed.error().message, Catch::Contains("was moved") && Catch::Contains(after.string()));
  }
  CHECK(listing(after / "model") == "old ");
  CHECK_FALSE(fs::exists(before / "model"));
  const bool gone_along = fs::exists(after / ".model.trainstep/new/model/new");
  CHECK(listing(after) == (gone_along ? ".model.trainstep model " : "model "));
}

TEST_CASE("nothing is said to be kept of an output that is only a link, or a link beside which nothing was written") {
  const TempDir folder;
  write(folder.path() / "older", "1");
  fs::path waiting;
  {
    const auto output = opened(folder.path() / "model");
    waiting = output.path().parent_path();
    SECTION("to a file") { fs::create_symlink(folder.path() / "older", output.path()); }
    SECTION("to itself") { fs::create_symlink(output.path(), output.path()); }
    CHECK(output.left().empty());
  }
  CHECK_FALSE(fs::exists(waiting));
}

TEST_CASE("what is kept of an output is in the folder that was moved, whatever has taken its place") {
  const TempDir folder;
  const auto models = folder.path() / "models", moved = folder.path() / "moved";
  auto output = opened(models / "model");
  write(output.path(), "weights");
  fs::rename(models, moved);
  SECTION("a file") { write(models, "theirs"); }
  SECTION("the output of another run") { write(output.path(), "theirs"); }
  CHECK(output.left() == moved / ".model.trainstep/new/model");
}

TEST_CASE("nothing is kept of an output that was not written, although there is a file in the place of its folder") {
  const TempDir folder;
  const auto output = opened(folder.path() / "models/model");
  fs::rename(folder.path() / "models", folder.path() / "moved");
  write(folder.path() / "models", "theirs");
  CHECK(output.left().empty());
}

TEST_CASE("an output whose folder is removed during the write is not committed") {
  const TempDir folder;
  {
    auto output = opened(folder.path() / "project/model");
    write(output.path() / "first", "1");
    const bool whole_project = GENERATE(true, false);
    fs::remove_all(folder.path() / (whole_project ? "project" : "project/.model.trainstep"));
    SECTION("the program recreates it") { write(output.path() / "second", "2"); }
    SECTION("it stays removed") {}
    CHECK(output.left().empty());
    const auto placed = output.commit();
    REQUIRE_FALSE(placed);
    CHECK(placed.error().kind == ErrorKind::conflict);
    CHECK_THAT(placed.error().message, Catch::Contains(".model.trainstep was removed while"));
  }
  CHECK_FALSE(fs::exists(folder.path() / "project/model"));
}

TEST_CASE("a folder with the temporary name that no run created is left unchanged") {
  const TempDir folder;
  const auto model = folder.path() / "model", beside = folder.path() / ".model.trainstep";
  write(folder.path() / "somebodys/new/x/precious", "1");
  auto precious = folder.path() / "somebodys/new/x/precious";
  SECTION("a link") { fs::create_directory_symlink("somebodys", beside); }
  SECTION("a folder") {
    fs::rename(folder.path() / "somebodys", beside);
    precious = beside / "new/x/precious";
  }
  SECTION("a link in it") {
    fs::create_directory(beside);
    fs::create_directory_symlink("../somebodys/new", beside / "new");
    write(beside / "owner", "run");
  }
  const auto output = PendingOutput::open(model, "run", "");
  REQUIRE_FALSE(output);
  CHECK(output.error().kind == ErrorKind::input);
  CHECK(contents(precious) == "1");
  CHECK_FALSE(fs::exists(model));
}

TEST_CASE("an output in whose place a program has put a link to a folder goes nowhere, and that folder stays as it is") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  write(folder.path() / "somebodys/model/precious", "1");
  {
    auto output = opened(model);
    write(output.path() / "new", "2");
    fs::remove_all(output.path().parent_path());
    fs::create_directory_symlink(folder.path() / "somebodys", output.path().parent_path());
    CHECK_FALSE(output.check_kept());
    const auto placed = output.commit();
    REQUIRE_FALSE(placed);
    CHECK(placed.error().kind == ErrorKind::conflict);
    CHECK_THAT(placed.error().message, Catch::Contains("was replaced by a symbolic link"));
  }
  CHECK(contents(folder.path() / "somebodys/model/precious") == "1");
  CHECK_FALSE(fs::exists(model));
}

TEST_CASE("a folder recreated by another run belongs to that run") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  auto first = std::optional(opened(model, "first"));
  fs::remove_all(folder.path() / ".model.trainstep");
  auto second = opened(model, "second");
  first.reset();
  write(second.path() / "new", "2");
  REQUIRE(second.commit());
  CHECK(listing(model) == "new ");
}

TEST_CASE("of two runs with one target the second is rejected") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  {
    const auto first = opened(model);
    const auto second = PendingOutput::open(model, "other");
    REQUIRE_FALSE(second);
    CHECK(second.error().kind == ErrorKind::conflict);
    CHECK_THAT(second.error().message, Catch::Contains("another run is writing " + model.string()));
  }
  static_cast<void>(opened(model));
}

TEST_CASE("after a kill between two renames the old contents are restored") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  write(folder.path() / ".model.trainstep/old/weights", "1");
  static_cast<void>(opened(model));
  CHECK(contents(model / "weights") == "1");
}

TEST_CASE("what is neither file nor folder is written to directly") {
  const TempDir folder;
  CHECK(PendingOutput::possible(folder.path() / "model"));
  CHECK(PendingOutput::possible(folder.path()));
  CHECK_FALSE(PendingOutput::possible("/dev/null"));
  REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  CHECK_FALSE(PendingOutput::possible(folder.path() / "pipe"));
}

TEST_CASE("what an earlier run has left in folders without rights is not found by the next one") {
  const TempDir folder;
  const auto said = without_root(folder.path(), [&]() -> std::string {
    for (const int mode : {0555, 0}) {
      {
        auto failed = PendingOutput::open(folder.path() / "model", "one");
        if (!failed) return failed.error().message;
        write(failed->path() / "sub/weights", "1");
        ::chmod((failed->path() / "sub").c_str(), static_cast<mode_t>(mode));
      }
      auto next = PendingOutput::open(folder.path() / "model", "two");
      if (!next) return next.error().message;
      if (fs::exists(next->path())) return "it still exists";
    }
    return "nothing";
  });
  CHECK(said == "nothing");
}

TEST_CASE("a temporary folder that cannot be emptied is rejected, and mounts in it are kept") {
  const TempDir folder;
  write(folder.path() / "data/precious", "1");
  const auto said = with_own_mounts([&]() -> std::string {
    {
      auto failed = PendingOutput::open(folder.path() / "model", "one");
      if (!failed) return failed.error().message;
      fs::create_directories(failed->path() / "bucket");
      if (!bind(folder.path() / "data", failed->path() / "bucket")) return "no mount";
    }
    auto next = PendingOutput::open(folder.path() / "model", "two");
    return next ? "opened" : next.error().kind == ErrorKind::input ? next.error().message : "another kind";
  });
  CHECK_THAT(said, Catch::Matchers::Contains("model/bucket: a file system is mounted there; unmount or remove them"));
  CHECK(contents(folder.path() / "data/precious") == "1");
}

TEST_CASE("a model without the write bit comes to its place, and is replaced by the next one") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  const auto said = without_root(folder.path(), [&]() -> std::string {
    for (const auto* text : {"1", "2"}) {
      auto output = PendingOutput::open(model, "run");
      if (!output) return output.error().message;
      write(output->path() / "sub/weights", text);
      ::chmod((output->path() / "sub").c_str(), 0555);
      ::chmod(output->path().c_str(), 0555);
      ::chmod(output->path().parent_path().c_str(), 0555);
      auto aside = output->commit();
      if (!aside) return aside.error().message;
      if (*aside || !output->unremoved().empty()) return "something stays: " + output->unremoved();
    }
    return contents(model / "sub/weights") + (fs::exists(folder.path() / ".model.trainstep/new/model") ? " and the older one" : "");
  });
  CHECK(said == "2");
  CHECK((fs::status(model).permissions() & fs::perms::owner_write) == fs::perms::none);
  CHECK(remove_tree(model).has_value());
}

TEST_CASE("mount points in a replaced model are kept, and reported") {
  const TempDir folder;
  write(folder.path() / "data/precious", "1");
  const auto said = with_own_mounts([&]() -> std::string {
    std::string left;
    for (const auto* text : {"1", "2"}) {
      auto output = PendingOutput::open(folder.path() / "model", "run");
      if (!output) return output.error().message;
      write(output->path() / "weights", text);
      fs::create_directories(output->path() / "bucket");
      if (text == std::string("1") && !bind(folder.path() / "data", output->path() / "bucket")) return "no mount";
      if (auto done = output->commit(); !done) return done.error().message;
      left = output->unremoved();
    }
    return left;
  });
  CHECK_THAT(said, Catch::Matchers::Contains("new/model/bucket: a file system is mounted there"));
  CHECK(contents(folder.path() / "data/precious") == "1");
}

TEST_CASE("in a mounted folder the entries of the previous run are replaced, and others are kept") {
  const TempDir folder;
  const auto model = folder.path() / "volume/model";
  const bool beside = GENERATE(false, true);
  const auto said = with_own_mounts([&]() -> std::string {
    fs::create_directories(folder.path() / "disk");
    fs::create_directories(model);
    if (!bind(folder.path() / "disk", model)) return "no mount";
    std::string kept;
    for (const auto& [names, added] : {std::pair{"1of3 2of3 3of3", "README"}, {"1of2 2of2", "3of3"}, {"new", ""}}) {
      auto output = PendingOutput::open(model, names);
      if (!output) return output.error().message;
      std::istringstream words(names);
      for (std::string name; words >> name;) write(output->path() / name, names);
      auto aside = output->commit();
      if (!aside) return aside.error().message;
      kept += *aside ? listing(**aside) + "| " : "| ";
      if (beside && *added != '\0') write(model / added, "somebody's");
    }
    return kept + listing(model);
  });
  CHECK(said == (beside ? "| 1of3 2of3 3of3 | 1of2 2of2 | .trainstep 3of3 README new " : "| | | new "));
}

TEST_CASE("a run stopped before the move has no new output, and the older one is kept") {
  const TempDir folder;
  const auto target = folder.path() / "model";
  write(target / "weights", "older");
  {
    auto output = opened(target);
    write(output.path() / "weights", "new");
    const auto committed = output.commit({}, []() -> Result<void> { return Error{ErrorKind::cancelled, "stopped"}; });
    REQUIRE_FALSE(committed);
    CHECK(committed.error().kind == ErrorKind::cancelled);
  }
  CHECK(contents(target / "weights") == "older");
  CHECK_FALSE(fs::exists(folder.path() / "model.~1~"));
}
