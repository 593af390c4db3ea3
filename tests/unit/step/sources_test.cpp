// SPDX-License-Identifier: Apache-2.0
#include "step/sources.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "support/catch.h"
#include "support/temp_dir.h"

namespace trainstep::step {
namespace {

using Catch::Matchers::Contains;
namespace fs = std::filesystem;

Result<void> checked(const fs::path& path) { return check_sources({{.name = "train_dataset_dir", .path = path, .uri = {}, .type = {}}}); }

TEST_CASE("Files and folders are accepted as inputs, through links, and missing ones are ignored") {
  const TempDir temp;
  const auto folder = temp.path();
  std::ofstream(folder / "file") << "x";
  fs::create_symlink("file", folder / "link");
  fs::create_directory_symlink(folder, folder / "self");
  fs::create_symlink("round", folder / "round");
  for (const auto& path : {folder, folder / "file", folder / "link", folder / "self/self/../file", folder / "none", folder / "round",
                           fs::path("/proc/version"), fs::path("/dev/shm"), fs::path("."), fs::path()})
    CHECK(checked(path).has_value());
}

TEST_CASE("Files of this process are not accepted as inputs") {
  const TempDir temp;
  const auto folder = temp.path();
  fs::create_symlink("/dev/stdin", folder / "link");
  fs::create_symlink("link", folder / "again");
  fs::create_directory_symlink("/proc", folder / "processes");
  const auto own = fmt::format("/proc/{}/fd/0", ::getpid());
  for (const auto& path : {fs::path("/dev/stdin"), fs::path("/dev/fd/0"), fs::path("/dev/fd/63"), fs::path("/dev/shm/../stdin"),
                           fs::path("/proc/self/cwd/file"), fs::path("/proc/self/fd/0"), fs::path("/proc/thread-self/fd/0"), fs::path(own),
                           folder / "link", folder / "again", folder / "processes/self/cwd"}) {
    const auto refused = checked(path);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::input);
    CHECK_THAT(refused.error().message, Contains("train_dataset_dir: " + path.string() + " is a stream or folder of this process") &&
                                            Contains("write its contents to a file"));
  }
}

TEST_CASE("Only files and folders are accepted as inputs") {
  const TempDir temp;
  const auto folder = temp.path();
  REQUIRE(::mknod((folder / "fifo").c_str(), S_IFIFO | 0600, 0) == 0);
  REQUIRE(::mknod((folder / "socket").c_str(), S_IFSOCK | 0600, 0) == 0);
  fs::create_symlink("fifo", folder / "link");
  for (const auto& [path, sort] : {std::pair(folder / "fifo", "a FIFO"), std::pair(folder / "link", "a FIFO"),
                                   std::pair(folder / "socket", "a socket"), std::pair(fs::path("/dev/null"), "a device")}) {
    const auto refused = checked(path);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::input);
    CHECK_THAT(refused.error().message, Contains(path.string() + " is " + sort + ", expected a file or folder"));
  }
}

}  // namespace
}  // namespace trainstep::step
