// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <cstdlib>

#include "support/catch.h"

using namespace trainstep;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "trainstep-files-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

}  // namespace

TEST_CASE("a written file can be read back; parent folders are created, and no temporary file remains") {
  const Folder folder;
  const auto path = folder.path / "a" / "b" / "file";
  const std::string content("x\0y\n", 4);
  REQUIRE(write_file_atomically(path, content));
  CHECK(read_file(path, 4) == content);
  REQUIRE(write_file_atomically(path, ""));
  CHECK(read_file(path, 4) == std::string());
  CHECK(std::distance(fs::directory_iterator(path.parent_path()), {}) == 1);
}

TEST_CASE("a large file is read whole, and refused above the limit") {
  const Folder folder;
  const std::string content(200'000, 'x');
  REQUIRE(write_file_atomically(folder.path / "file", content));
  CHECK(read_file(folder.path / "file", content.size()) == content);
  const auto refused = read_file(folder.path / "file", content.size() - 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::input);
  CHECK(refused.error().message == (folder.path / "file").string() + " is larger than 199999 bytes");
}

TEST_CASE("a file that cannot be read or written is reported with its path") {
  const Folder folder;
  const auto absent = read_file(folder.path / "absent", 10);
  REQUIRE_FALSE(absent);
  CHECK(absent.error().kind == ErrorKind::not_found);
  CHECK(absent.error().message == "cannot read " + (folder.path / "absent").string() + ": No such file or directory");
  const auto is_folder = read_file(folder.path, 10);
  REQUIRE_FALSE(is_folder);
  CHECK(is_folder.error().kind == ErrorKind::input);
  REQUIRE(write_file_atomically(folder.path / "file", "x"));
  CHECK_FALSE(write_file_atomically(folder.path / "file" / "below", "x"));
  CHECK_FALSE(make_directories(folder.path / "file" / "below"));
  fs::create_directory(folder.path / "folder");
  const auto over_folder = write_file_atomically(folder.path / "folder", "x");
  REQUIRE_FALSE(over_folder);
  CHECK(over_folder.error().message.find("cannot write") == 0);
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 2);
}
