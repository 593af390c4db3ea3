// SPDX-License-Identifier: Apache-2.0
#include "base/regular_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "base/fd.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
namespace fs = std::filesystem;

namespace {

std::string problem(const fs::path& path, std::size_t limit = 100) {
  const auto text = read_regular_file(path, limit);
  if (text) FAIL("read: " + *text);
  return text.error().message;
}

}  // namespace

TEST_CASE("a regular file is read, by a link too") {
  const TempDir folder;
  std::ofstream(folder.path() / "file") << "text";
  fs::create_symlink("file", folder.path() / "link");
  CHECK(read_regular_file(folder.path() / "file", 4) == "text");
  CHECK(read_regular_file(folder.path() / "link", 4) == "text");
  CHECK(read_regular_file("/proc/self/comm", 100).has_value());
}

TEST_CASE("anything but a regular file is rejected by name, without blocking") {
  const TempDir folder;
  const auto at = folder.path() / "it";
  SECTION("a FIFO") {
    REQUIRE(::mkfifo(at.c_str(), 0600) == 0);
    CHECK(problem(at) == at.string() + " is a FIFO, expected a file");
  }
  SECTION("a socket") {
    const Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, at.c_str(), sizeof address.sun_path - 1);
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    CHECK_THAT(problem(at), Catch::Contains("is a socket"));
  }
  SECTION("a device, by a link") {
    fs::create_symlink("/dev/zero", at);
    CHECK_THAT(problem(at), Catch::Contains("is a device"));
  }
  SECTION("a folder") { CHECK_THAT(problem(folder.path()), Catch::Contains("is a folder")); }
  SECTION("nothing") { CHECK(read_regular_file(at, 1).error().kind == ErrorKind::not_found); }
}

TEST_CASE("a file that is too large is refused before it is read") {
  const TempDir folder;
  std::ofstream(folder.path() / "file") << "x";
  fs::resize_file(folder.path() / "file", std::uintmax_t{1} << 40U);
  CHECK_THAT(problem(folder.path() / "file", 1'000'000), Catch::Contains("is larger than 1000000 bytes"));
}

TEST_CASE("a new file replaces whatever exists at its path") {
  const TempDir folder;
  const auto at = folder.path() / "it";
  std::ofstream(folder.path() / "other") << "other";
  SECTION("a FIFO") { REQUIRE(::mkfifo(at.c_str(), 0600) == 0); }
  SECTION("a link") { fs::create_symlink("other", at); }
  const Fd fd(create_new_file(at));
  REQUIRE(fd);
  CHECK(fs::is_regular_file(fs::symlink_status(at)));
  CHECK(fs::file_size(folder.path() / "other") == 5);
}
