// SPDX-License-Identifier: Apache-2.0
#include "data/output_links.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

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

}  // namespace

TEST_CASE("links in an output lead on to what they led to, or become a copy of what vanishes") {
  const TempDir folder;
  const auto root = fs::canonical(folder.path());
  const auto model = root / "model";
  write(model / "step-1/weights", "1");
  write(root / "kept/file", "2");
  write(root / "going/file", "3");
  write(root / "going/deeper/file", "4");
  fs::create_symlink(model / "step-1", model / "latest");
  fs::create_symlink("../kept/file", model / "kept");
  fs::create_symlink(root / "going/file", model / "file");
  fs::create_symlink("../../going", model / "step-1/going");
  fs::create_symlink("/nowhere", model / "nowhere");
  fs::create_symlink("b", model / "a");
  fs::create_symlink("a", model / "b");
  REQUIRE(resolve_links(model, [&](const fs::path& path) { return path.string().starts_with((root / "going").string()); }).has_value());
  CHECK(fs::read_symlink(model / "latest") == "step-1");
  CHECK(fs::read_symlink(model / "kept") == root / "kept/file");
  CHECK(fs::read_symlink(model / "nowhere") == "/nowhere");
  fs::remove_all(root / "going");
  CHECK(contents(model / "file") == "3");
  CHECK(contents(model / "step-1/going/deeper/file") == "4");
}

TEST_CASE("in a folder that becomes a copy, links to what vanishes become copies, too, and all others stay links") {
  const TempDir folder;
  const auto root = fs::canonical(folder.path());
  const auto model = root / "model", going = root / "going";
  write(model / "weights", "w");
  write(root / "kept/file", "kept");
  write(going / "other/part", "part");
  write(going / "blob", "blob");
  write(going / "base/sub/config", "{}");
  fs::create_symlink(going / "other", going / "base/other");
  fs::create_symlink("../../blob", going / "base/sub/blob");
  fs::create_symlink("config", going / "base/sub/same");
  fs::create_symlink("sub", going / "base/sub_too");
  fs::create_symlink("../../kept", going / "base/kept");
  fs::create_symlink(root / "kept/file", going / "base/kept_file");
  fs::create_symlink("nowhere", going / "base/nowhere");
  fs::create_symlink("/none/nowhere", going / "base/nowhere_else");
  fs::create_symlink(model, going / "base/back");
  REQUIRE(::mkfifo((going / "base/pipe").c_str(), 0600) == 0);
  fs::create_symlink(going / "base", model / "base");
  const auto vanishes = [&](const fs::path& path) { return path.string().starts_with(going.string()); };
  REQUIRE(resolve_links(model, vanishes).has_value());
  fs::remove_all(going);
  fs::rename(model, root / "moved");
  const auto base = root / "moved/base";
  CHECK_FALSE(fs::is_symlink(base));
  CHECK(contents(base / "sub/config") == "{}");
  CHECK(contents(base / "other/part") == "part");
  CHECK_FALSE(fs::is_symlink(base / "other"));
  CHECK(contents(base / "sub/blob") == "blob");
  CHECK(fs::read_symlink(base / "sub/same") == "config");
  CHECK(fs::read_symlink(base / "sub_too") == "sub");
  CHECK(fs::read_symlink(base / "kept") == root / "kept");
  CHECK(fs::read_symlink(base / "kept_file") == root / "kept/file");
  CHECK(fs::read_symlink(base / "nowhere") == "nowhere");
  CHECK(fs::read_symlink(base / "nowhere_else") == "/none/nowhere");
  CHECK(contents(base / "back/weights") == "w");
  CHECK(fs::is_fifo(base / "pipe"));
}

TEST_CASE("links that lead around in a circle are copied as a circle") {
  const TempDir folder;
  const auto root = fs::canonical(folder.path());
  const auto model = root / "model", going = root / "going";
  write(model / "weights", "w");
  write(going / "a/one", "1");
  write(going / "b/two", "2");
  fs::create_symlink(going / "b", going / "a/b");
  fs::create_symlink("../a", going / "b/a");
  fs::create_symlink("..", going / "a/all");
  fs::create_symlink("y", going / "a/x");
  fs::create_symlink("x", going / "a/y");
  fs::create_symlink(going / "a", model / "a");
  REQUIRE(resolve_links(model, [&](const fs::path& path) { return path.string().starts_with(going.string()); }).has_value());
  fs::remove_all(going);
  CHECK(contents(model / "a/b/two") == "2");
  CHECK(contents(model / "a/b/a/b/a/one") == "1");
  CHECK(contents(model / "a/all/b/two") == "2");
  CHECK(fs::read_symlink(model / "a/x") == "y");
}

TEST_CASE("a link in a copied folder that leads to what contains the output is an error") {
  const TempDir folder;
  const auto root = fs::canonical(folder.path());
  const auto model = root / "model";
  write(model / "weights", "w");
  write(root / "going/file", "1");
  fs::create_symlink(root, root / "going/up");
  fs::create_symlink(root / "going", model / "base");
  const auto resolved = resolve_links(model, [](const fs::path&) { return true; });
  REQUIRE_FALSE(resolved);
  CHECK(resolved.error().kind == ErrorKind::input);
  CHECK_THAT(resolved.error().message, Catch::StartsWith((model / "base/up").string()));
  CHECK(fs::read_symlink(model / "base") == root / "going");
  CHECK(std::distance(fs::directory_iterator(model), fs::directory_iterator()) == 2);
}

TEST_CASE("a copy in a link's place is whole: files by links too, folders by links where they lead into it") {
  const TempDir folder;
  write(folder.path() / "blobs/a", "weights");
  write(folder.path() / "from/step-1/config", "{}");
  fs::create_symlink("../../blobs/a", folder.path() / "from/step-1/weights");
  fs::create_symlink("step-1", folder.path() / "from/latest");
  fs::create_symlink("../blobs", folder.path() / "from/blobs");
  fs::create_symlink("from", folder.path() / "model");
  REQUIRE(replace_by_copy(folder.path() / "model", [](const fs::path& path) { return fs::is_regular_file(path); }).has_value());
  fs::rename(folder.path() / "from", folder.path() / "gone");
  const auto model = folder.path() / "model";
  CHECK_FALSE(fs::is_symlink(model));
  CHECK(contents(model / "latest/config") == "{}");
  CHECK(contents(model / "step-1/weights") == "weights");
  CHECK_FALSE(fs::is_symlink(model / "step-1/weights"));
  CHECK(fs::read_symlink(model / "blobs") == fs::canonical(folder.path()) / "blobs");
}

TEST_CASE("a link to its own parent, or to something endless, is not accepted as an output") {
  const TempDir folder;
  const auto link = folder.path() / "model";
  fs::create_symlink(GENERATE("/", ".", "/proc"), link);
  const auto copied = replace_by_copy(link, {});
  REQUIRE_FALSE(copied);
  CHECK(copied.error().kind == ErrorKind::input);
  CHECK_THAT(copied.error().message, Catch::Contains("which is not part of the output"));
  CHECK(fs::is_symlink(link));
}

TEST_CASE("a cancelled copy leaves the link as it was") {
  const TempDir folder;
  const auto root = fs::canonical(folder.path());
  const auto model = root / "model";
  write(root / "going/weights", "w");
  fs::create_directory(model);
  fs::create_symlink(root / "going/weights", model / "weights");
  int asked = 0;
  const auto settled = resolve_links(
      model, [&](const fs::path& path) { return path == root / "going/weights"; },
      [&]() -> Result<void> {
        ++asked;
        return Error{ErrorKind::cancelled, "stopped"};
      });
  REQUIRE_FALSE(settled);
  CHECK(settled.error().kind == ErrorKind::cancelled);
  CHECK(asked == 1);
  CHECK(fs::is_symlink(model / "weights"));
  CHECK(std::distance(fs::directory_iterator(model), fs::directory_iterator()) == 1);
}
