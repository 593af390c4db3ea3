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

TEST_CASE("a copy in a link's place is whole: files by links too, folders by links where they lead into it") {
  const TempDir folder;
  write(folder.path() / "blobs/a", "weights");
  write(folder.path() / "from/step-1/config", "{}");
  fs::create_symlink("../../blobs/a", folder.path() / "from/step-1/weights");
  fs::create_symlink("step-1", folder.path() / "from/latest");
  fs::create_symlink("../blobs", folder.path() / "from/blobs");
  REQUIRE(::mkfifo((folder.path() / "from/pipe").c_str(), 0600) == 0);
  fs::create_symlink("from", folder.path() / "model");
  REQUIRE(replace_by_copy(folder.path() / "model").has_value());
  fs::rename(folder.path() / "from", folder.path() / "gone");
  const auto model = folder.path() / "model";
  CHECK_FALSE(fs::is_symlink(model));
  CHECK(contents(model / "latest/config") == "{}");
  CHECK(contents(model / "step-1/weights") == "weights");
  CHECK_FALSE(fs::is_symlink(model / "step-1/weights"));
  CHECK_FALSE(fs::exists(fs::symlink_status(model / "blobs")));
  CHECK_FALSE(fs::exists(fs::symlink_status(model / "pipe")));
}

TEST_CASE("a link to its own parent, or to something endless, is not accepted as an output") {
  const TempDir folder;
  const auto link = folder.path() / "model";
  fs::create_symlink(GENERATE("/", ".", "/proc"), link);
  const auto copied = replace_by_copy(link);
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
