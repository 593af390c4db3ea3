// The program copied to where other containers find it.
// SPDX-License-Identifier: Apache-2.0
#include "agent/install.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::agent;

TEST_CASE("the program itself is installed so that every user of the pod may run it") {
  const TempDir folder;
  const auto target = folder.path() / "bin" / "trainstep";
  for (int i = 0; i < 2; ++i) {  // a pod's init containers may run again
    REQUIRE(install(target));
    struct stat state{};
    REQUIRE(::stat(target.c_str(), &state) == 0);
    CHECK((state.st_mode & 0777U) == 0755U);
    CHECK(state.st_size > 0);
  }
  CHECK_FALSE(std::filesystem::exists(target.string() + ".part"));
}

TEST_CASE("what is at the path of the installation and is not a regular file stays, and is an error") {
  const TempDir folder;
  const auto target = folder.path() / "trainstep", file = folder.path() / "file";
  std::ofstream(file) << "mine";
  const auto sort = GENERATE(as<std::string>(), "FIFO", "folder", "link", "broken link");
  const std::filesystem::path at = target.string() + GENERATE("", ".part");
  if (sort == "FIFO") REQUIRE(::mkfifo(at.c_str(), 0600) == 0);
  if (sort == "folder") std::filesystem::create_directory(at);
  if (sort == "link") std::filesystem::create_symlink(file, at);
  if (sort == "broken link") std::filesystem::create_symlink(folder.path() / "nowhere", at);
  const auto before = std::filesystem::symlink_status(at).type();
  const auto installed = install(target);
  REQUIRE_FALSE(installed);
  CHECK(installed.error().kind == ErrorKind::input);
  CHECK(installed.error().message == "--install: " + at.string() + " exists and is not a regular file; choose another path");
  CHECK(std::filesystem::symlink_status(at).type() == before);
  CHECK(std::filesystem::file_size(file) == 4);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()) == 2);  // with the file
}

TEST_CASE("a path that names a folder is no path for the installation") {
  const TempDir folder;
  CHECK_FALSE(install(folder.path() / "bin" / ""));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("an installation that does not fit leaves nothing, and says what the system said") {
  const TempDir folder;
  const auto target = folder.path() / "trainstep";
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small{.rlim_cur = 100'000, .rlim_max = limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const auto installed = install(target);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  std::signal(SIGXFSZ, before);
  REQUIRE_FALSE(installed);
  CHECK(installed.error().message == "cannot write " + target.string() + ": File too large");
  CHECK(std::filesystem::is_empty(folder.path()));
}
