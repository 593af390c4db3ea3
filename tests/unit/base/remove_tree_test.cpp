// SPDX-License-Identifier: Apache-2.0
#include "base/remove_tree.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/temporary_permissions.h"
#include "support/apart.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "x";
}

std::string removed(const fs::path& path) {
  const auto result = remove_tree(path);
  return result ? "removed" : result.error().message;
}

}  // namespace

TEST_CASE("a tree is removed with all its contents; a missing one counts as removed") {
  const TempDir temp;
  write(temp.path() / "tree/a/b/file");
  write(temp.path() / "tree/.hidden/file");
  REQUIRE(::mkfifo((temp.path() / "tree/fifo").c_str(), 0600) == 0);
  CHECK(removed(temp.path() / "tree/") == "removed");
  CHECK(fs::is_empty(temp.path()));
  CHECK(removed(temp.path() / "tree") == "removed");
  CHECK(removed(temp.path() / "absent/tree") == "removed");
  write(temp.path() / "file");
  CHECK(removed(temp.path() / "file") == "removed");
  CHECK(fs::is_empty(temp.path()));
}

TEST_CASE("links are removed, their targets are kept") {
  const TempDir temp;
  write(temp.path() / "others/file");
  fs::create_directories(temp.path() / "tree/a");
  fs::create_directory_symlink(temp.path() / "others", temp.path() / "tree/a/link");
  fs::create_directory_symlink(temp.path() / "others", temp.path() / "itself");
  CHECK(removed(temp.path() / "tree") == "removed");
  CHECK(removed(temp.path() / "itself") == "removed");
  CHECK_FALSE(fs::exists(fs::symlink_status(temp.path() / "itself")));
  CHECK(fs::exists(temp.path() / "others/file"));
}

TEST_CASE("folders nested deeper than files may be open, or a path may be long, are removed") {
  const TempDir temp;
  const auto root = temp.path() / "tree";
  fs::create_directory(root);
  Fd here(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < 3000; ++level) {
    REQUIRE(::mkdirat(here.get(), "deeper", 0700) == 0);
    here = Fd(::openat(here.get(), "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(here);
  }
  const auto few_files = [] {
    const rlimit few{100, 100};
    return ::setrlimit(RLIMIT_NOFILE, &few) == 0;
  };
  CHECK(apart(few_files, [&] { return removed(root); }) == "removed");
  CHECK_FALSE(fs::exists(root));
}

TEST_CASE("a mount point in a tree is kept with its parent folders, and reported") {
  const TempDir temp;
  write(temp.path() / "data/precious");
  write(temp.path() / "tree/other/file");
  fs::create_directories(temp.path() / "tree/a/bucket");
  const auto said = with_own_mounts([&] {
    if (!bind(temp.path() / "data", temp.path() / "tree/a/bucket")) return std::string("no mount");
    return removed(temp.path() / "tree");
  });
  CHECK(said == "cannot remove " + (temp.path() / "tree/a/bucket").string() + ": a file system is mounted there");
  CHECK(fs::exists(temp.path() / "data/precious"));
  CHECK(fs::exists(temp.path() / "tree/a/bucket"));
  CHECK_FALSE(fs::exists(temp.path() / "tree/other"));
}

TEST_CASE("a tree that is itself a mount stays as it is, and so does a file that is one") {
  const TempDir temp;
  write(temp.path() / "data/precious");
  fs::create_directories(temp.path() / "tree");
  write(temp.path() / "files/file");
  const auto said = with_own_mounts([&] {
    if (!bind(temp.path() / "data", temp.path() / "tree") || !bind(temp.path() / "data/precious", temp.path() / "files/file"))
      return std::string("no mount");
    return removed(temp.path() / "tree") + "\n" + removed(temp.path() / "files");
  });
  CHECK_THAT(said, Contains("tree: a file system is mounted there\n") && Contains("files/file: a file system is mounted there"));
  CHECK(fs::exists(temp.path() / "data/precious"));
}

TEST_CASE("folders without rights are removed, if they are ours") {
  const TempDir temp;
  const auto said = without_root(temp.path(), [&] {
    write(temp.path() / "tree/mod/x/file");
    write(temp.path() / "tree/closed/file");
    ::chmod((temp.path() / "tree/mod/x").c_str(), 0555);
    ::chmod((temp.path() / "tree/mod").c_str(), 0555);
    ::chmod((temp.path() / "tree/closed").c_str(), 0);
    return removed(temp.path() / "tree");
  });
  CHECK(said == "removed");
  CHECK(fs::is_empty(temp.path()));
}

TEST_CASE("files that cannot be removed are reported, three at most, and the rest is removed") {
  const TempDir temp;
  const auto closed = temp.path() / "closed";
  for (const auto* name : {"a", "b", "c", "d", "e"}) write(closed / "tree" / name / "x");
  const auto said = without_root(temp.path(), [&] { return removed(closed / "tree"); });
  if (::geteuid() == 0) {  // of others
    CHECK_THAT(said, Contains("cannot remove " + (closed / "tree/").string()) && Contains("/x: Permission denied; ") && Contains(", and 2 more"));
    CHECK(fs::exists(closed / "tree/a/x"));
  } else {
    CHECK(said == "removed");
  }
}

TEST_CASE("permissions are granted temporarily, and not through links") {
  const TempDir temp;
  const auto folder = temp.path() / "folder", link = temp.path() / "link";
  fs::create_directory(folder);
  fs::create_directory_symlink(folder, link);
  REQUIRE(::chmod(folder.c_str(), 0555) == 0);
  const auto mode = [&] { return fs::status(folder).permissions() & fs::perms::owner_all; };
  {
    const TemporaryPermissions rights(link);
    CHECK(mode() == (fs::perms::owner_read | fs::perms::owner_exec));
  }
  {
    const TemporaryPermissions rights(folder);
    CHECK(mode() == fs::perms::owner_all);
  }
  CHECK(mode() == (fs::perms::owner_read | fs::perms::owner_exec));
}
