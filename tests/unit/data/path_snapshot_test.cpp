// SPDX-License-Identifier: Apache-2.0
#include "data/path_snapshot.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/fd.h"
#include "base/remove_tree.h"
#include "data/changed_since.h"
#include "support/catch.h"
#include "support/temp_dir.h"
#include "support/without_root.h"

using namespace trainstep;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("files deeper than PATH_MAX are detected as well") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  write(model / "before", "x");
  const PathSnapshot before(model, false);
  Fd deepest(::open(model.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < 3000; ++level) {
    REQUIRE(::mkdirat(deepest.get(), "dd", 0700) == 0);
    deepest = Fd(::openat(deepest.get(), "dd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  fs::remove(model / "before");
  CHECK_FALSE(before.written());
  CHECK_FALSE(holds_files(model));
  const PathSnapshot empty(model, false);
  CHECK(empty.unchanged());
  const Fd file(::openat(deepest.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::write(file.get(), "x", 1) == 1);
  CHECK(before.written());
  CHECK_FALSE(empty.unchanged());
  CHECK(holds_files(model));
  CHECK(remove_tree(model));
}

TEST_CASE("written files are distinguished from older ones") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  const PathSnapshot nothing(model);
  CHECK_FALSE(nothing.was_there());
  CHECK_FALSE(nothing.written());
  CHECK(nothing.unchanged());
  write(model / "variables/a", "1");
  CHECK(nothing.written());
  CHECK_FALSE(nothing.unchanged());
  const PathSnapshot old(model);
  CHECK(old.was_there());
  CHECK_FALSE(old.written());
  CHECK(old.unchanged());
  write(model / "variables/a", "12");
  CHECK(old.written());
}

TEST_CASE("a file that is written again with as many bytes, at once, is written") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  for (int i = 0; i < 20; ++i) {
    write(model, "old");
    const PathSnapshot before(model);
    write(model, "new");
    CHECK(before.written());
  }
}

TEST_CASE("an unreadable folder is distinguished from a missing one, unless it was unreadable before") {
  const TempDir folder;
  fs::permissions(folder.path(), fs::perms(0755));
  const auto model = folder.path() / "model", older = folder.path() / "older";
  write(older / "lost+found" / "file", "x");
  fs::permissions(older / "lost+found", fs::perms::none);
  const PathSnapshot before(model, false);
  const auto of_older = [&] {
    const WithoutRoot other_user;
    CHECK(before.check_seen());
    return PathSnapshot(older, false);
  }();
  write(model / "weights", "x");
  fs::permissions(model, fs::perms::none);
  const WithoutRoot other_user;
  CHECK_FALSE(before.written());
  const auto seen = before.check_seen();
  REQUIRE_FALSE(seen);
  CHECK(seen.error().message == "cannot read " + model.string() + ": Permission denied; the program must leave its output files readable");
  CHECK(of_older.check_seen());
}

TEST_CASE("a written file or folder that its user cannot read is named, at any depth") {
  const TempDir folder;
  fs::permissions(folder.path(), fs::perms(0755));
  const auto model = folder.path() / "model";
  const auto hidden = folder.path() / GENERATE("model", "model/weights", "model/deep/weights", "model/deep");
  if (hidden != model && hidden != model / "weights") write(model / "other", "x");
  const PathSnapshot before(model, false);
  write(hidden == model / "deep" ? hidden / "weights" : hidden, "x");
  CHECK(before.check_readable());
  fs::permissions(hidden, fs::perms::none);
  {
    const WithoutRoot other_user;
    const auto readable = before.check_readable();
    REQUIRE_FALSE(readable);
    CHECK(readable.error().kind == ErrorKind::input);
    CHECK(readable.error().message == "cannot read " + hidden.string() + ": Permission denied; the program must leave its output files readable");
  }
  const PathSnapshot later(model, false);
  const WithoutRoot other_user;
  if (fs::is_regular_file(fs::status(hidden))) CHECK(later.check_readable());  // another one wrote it
}

TEST_CASE("old entries are old at any number") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  for (int i = 0; i < 10'100; ++i) write(model / std::to_string(i), "x");
  const PathSnapshot before(model);
  CHECK_FALSE(before.written());
  CHECK(before.unchanged());
  fs::remove(model / "7");
  CHECK_FALSE(before.written());
  CHECK_FALSE(before.unchanged());
  write(model / "new", "x");
  CHECK(before.written());
}

TEST_CASE("folders, empty files, pipes and links to older files are not content") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  const PathSnapshot before(model);
  fs::create_directories(model / "empty");
  CHECK_FALSE(before.written());
  CHECK(before.touched());
  write(model / "empty/file", "");
  REQUIRE(::mkfifo((model / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("/bin/sh", model / "outside");
  fs::create_symlink("/bin", model / "folder");
  fs::create_symlink("/nowhere", model / "nowhere");
  CHECK_FALSE(before.written());
  write(model / "file", "x");
  CHECK(before.written());
}

TEST_CASE("links to files of this run are content, wherever those are") {
  const TempDir folder;
  const auto model = folder.path() / "model", elsewhere = folder.path() / "elsewhere";
  fs::create_directories(model);
  write(elsewhere / "empty", "");
  const bool vanishes = GENERATE(false, true);
  const PathSnapshot before(model, true, "", [&](const fs::path&) { return vanishes; });
  SECTION("a file") {
    fs::create_symlink(elsewhere / "empty", model / "nothing");
    CHECK_FALSE(before.written());
    write(elsewhere / "best.pt", "x");
    fs::create_symlink(elsewhere / "best.pt", model / "model.pt");
    CHECK(before.written());
  }
  SECTION("a folder is copied if it vanishes, otherwise the link is kept") {
    write(elsewhere / "best.pt", "x");
    fs::create_symlink(elsewhere, model / "weights");
    CHECK(before.written() == vanishes);
  }
}

TEST_CASE("links to a file changed just before the snapshot are not content") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  fs::create_directory(model);
  write(folder.path() / "best.pt", "of the run before");
  struct stat old{};
  REQUIRE(::stat((folder.path() / "best.pt").c_str(), &old) == 0);
  const auto is_past = [&] {
    return std::pair(ChangedSince::now().tv_sec, ChangedSince::now().tv_nsec) > std::pair(old.st_ctim.tv_sec, old.st_ctim.tv_nsec);
  };
  while (!is_past()) ::sched_yield();  // one tick of the kernel
  const PathSnapshot before(model);
  SECTION("inside") {
    fs::create_symlink(folder.path() / "best.pt", model / "model.pt");
    CHECK_FALSE(before.written());
    write(folder.path() / "best.pt", "of this run");
    CHECK(before.written());
  }
  SECTION("at the path itself") {
    fs::remove(model);
    fs::create_symlink(folder.path() / "best.pt", model);
    CHECK_FALSE(before.written());
    write(folder.path() / "best.pt", "of this run");
    CHECK(before.written());
  }
}

TEST_CASE("an older link is content once its target is rewritten") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  fs::create_directories(model);
  write(folder.path() / "best.pt", "x");
  fs::create_symlink(folder.path() / "best.pt", model / "model.pt");
  const PathSnapshot before(model);
  CHECK_FALSE(before.written());
  write(folder.path() / "best.pt", "other");
  CHECK(before.written());
}

TEST_CASE("a link at the path itself leads to the content, one that leads nowhere does not") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  const PathSnapshot before(model);
  fs::create_symlink("step-1", model);
  CHECK_FALSE(before.written());
  CHECK_FALSE(before.unchanged());
  write(folder.path() / "step-1/weights", "x");
  CHECK(before.written());
}

TEST_CASE("the digest is the same as long as nothing changes, also when the folder is moved") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  write(model / "a", "1");
  const auto digest = PathSnapshot(model).digest();
  fs::rename(model, folder.path() / "other");
  CHECK(PathSnapshot(folder.path() / "other").digest() == digest);
  CHECK(PathSnapshot(folder.path() / "other", true, "a").digest() != digest);
  write(folder.path() / "other/b", "");
  CHECK(PathSnapshot(folder.path() / "other").digest() != digest);
}

TEST_CASE("a link at the path itself to what is older than the look, or to what holds it, is nothing that was written") {
  const TempDir folder;
  const auto model = folder.path() / "model";
  const PathSnapshot before(model);
  fs::create_symlink(GENERATE("/usr/share/common-licenses", "/bin/sh", "/", "."), model);
  CHECK_FALSE(before.written());
  CHECK(before.touched());
}

TEST_CASE("which files were written is known of each") {
  const TempDir folder;
  const auto path = folder.path() / "output";
  write(path / "logs/old", "1");
  write(path / "logs/grown", "1");
  const PathSnapshot before(path);
  write(path / "logs/grown", "12");
  write(path / "logs/new", "1");
  const auto wrote = [](const PathSnapshot& snapshot, const fs::path& root, const std::string& name) {
    struct stat found{};
    REQUIRE(::lstat((root.string() + name).c_str(), &found) == 0);
    return snapshot.wrote(name, found);
  };
  CHECK_FALSE(wrote(before, path, "/logs/old"));
  CHECK(wrote(before, path, "/logs/grown"));
  CHECK(wrote(before, path, "/logs/new"));
}

TEST_CASE("through a link only files not older than the snapshot count as written") {
  const TempDir folder;
  const auto path = folder.path() / "output", elsewhere = folder.path() / "elsewhere";
  write(elsewhere / "old", "1");
  const PathSnapshot old(elsewhere);  // waits until a change has another time
  const PathSnapshot before(path);
  write(elsewhere / "new", "1");
  fs::create_directory_symlink(elsewhere, path);
  struct stat found{};
  REQUIRE(::stat((path / "old").c_str(), &found) == 0);
  CHECK_FALSE(before.wrote("/old", found));
  REQUIRE(::stat((path / "new").c_str(), &found) == 0);
  CHECK(before.wrote("/new", found));
}
