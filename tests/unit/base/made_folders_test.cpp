// SPDX-License-Identifier: Apache-2.0
#include "base/made_folders.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
namespace fs = std::filesystem;

namespace {

MadeFolders made(const fs::path& path) {
  auto folders = MadeFolders::make(path);
  if (!folders) FAIL(folders.error().message);
  return std::move(*folders);
}

}  // namespace

TEST_CASE("the folders that were created are removed again, and those that were there stay") {
  const TempDir temp;
  fs::create_directory(temp.path() / "there");
  auto folders = made(temp.path() / "there/a/b");
  CHECK(fs::is_directory(temp.path() / "there/a/b"));
  folders.remove_empty();
  CHECK(fs::is_directory(temp.path() / "there"));
  CHECK_FALSE(fs::exists(temp.path() / "there/a"));
}

TEST_CASE("of the created folders those that contain something stay") {
  const TempDir temp;
  auto folders = made(temp.path() / "a/b/c");
  std::ofstream(temp.path() / "a/file") << "theirs";
  folders.remove_empty();
  CHECK(fs::exists(temp.path() / "a/file"));
  CHECK_FALSE(fs::exists(temp.path() / "a/b"));
}

TEST_CASE("what is in the place of a created folder stays") {
  const TempDir temp;
  const auto a = temp.path() / "a";
  auto folders = made(a);
  SECTION("a file") {
    fs::rename(a, temp.path() / "z");
    std::ofstream{a} << "theirs";
  }
  SECTION("a link to it") {
    fs::rename(a, temp.path() / "z");
    fs::create_directory_symlink("z", a);
  }
  SECTION("a FIFO") {
    fs::remove(a);
    REQUIRE(::mkfifo(a.c_str(), 0600) == 0);
  }
  SECTION("another empty folder") {
    fs::remove(a);
    fs::create_directory(a);
  }
  folders.remove_empty();
  CHECK(fs::exists(fs::symlink_status(a)));
}

TEST_CASE("a folder above a created one that has been replaced stays, too") {
  const TempDir temp;
  auto folders = made(temp.path() / "a/b");
  fs::rename(temp.path() / "a", temp.path() / "z");
  fs::create_directory_symlink("z", temp.path() / "a");
  folders.remove_empty();
  CHECK(fs::is_symlink(temp.path() / "a"));
  CHECK(fs::is_directory(temp.path() / "a"));
}

TEST_CASE("a folder that cannot be created is an error") {
  const TempDir temp;
  std::ofstream(temp.path() / "file") << "x";
  const auto folders = MadeFolders::make(temp.path() / "file/a/b");
  REQUIRE_FALSE(folders);
  CHECK(folders.error().kind == ErrorKind::input);
}
