// SPDX-License-Identifier: Apache-2.0
#include "local/run_folder.h"

#include <fstream>

#include "support/catch.h"
#include "support/temp_dir.h"

namespace trainstep::local {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a run's folder belongs to one run at a time") {
  const TempDir temp;
  const auto path = temp.path() / "runs/one";
  {
    const auto first = RunFolder::claim(path);
    REQUIRE(first.has_value());
    const auto second = RunFolder::claim(path);
    REQUIRE_FALSE(second.has_value());
    CHECK(second.error().kind == ErrorKind::conflict);
    CHECK_THAT(second.error().message, Catch::Matchers::Contains(path.string()) && Catch::Matchers::Contains("another run"));
    CHECK(RunFolder::claim(temp.path() / "runs/two").has_value());
  }
  CHECK(RunFolder::claim(path).has_value());
}

TEST_CASE("a run folder that was renamed, replaced or removed is detected, and one that is reachable again is accepted") {
  const TempDir temp;
  const auto above = temp.path() / "runs", path = above / "one", other = temp.path() / "other";
  const auto folder = RunFolder::claim(path);
  REQUIRE(folder.has_value());
  CHECK(folder->check_kept().has_value());
  for (const auto& moved : {path, above}) {
    fs::rename(moved, other);
    const auto check_moved = [&] {
      const auto kept = folder->check_kept();
      REQUIRE_FALSE(kept.has_value());
      CHECK(kept.error().kind == ErrorKind::conflict);
      CHECK_THAT(kept.error().message, Catch::Matchers::Contains(path.string() + " was renamed or replaced") &&
                                           Catch::Matchers::Contains("and is " + (moved == path ? other : other / "one").string() + " now"));
    };
    check_moved();
    fs::create_directories(path);
    check_moved();
    fs::remove_all(moved);
    fs::rename(other, moved);
    CHECK(folder->check_kept().has_value());
  }
  fs::rename(path, other);
  fs::create_directory_symlink(other, path);
  CHECK(folder->check_kept().has_value());
  fs::remove_all(other);
  const auto kept = folder->check_kept();
  REQUIRE_FALSE(kept.has_value());
  CHECK_THAT(kept.error().message, Catch::Matchers::Contains("was removed"));
}

TEST_CASE("the name of a run's folder is the run's as long as it lives, also through a link, though the folder was renamed") {
  const TempDir temp;
  const auto path = temp.path() / "one", link = temp.path() / "link";
  fs::create_directory_symlink("one", link);
  fs::create_directory(path);
  {
    const auto first = RunFolder::claim(link);
    REQUIRE(first.has_value());
    fs::rename(path, temp.path() / "renamed");
    for (const auto& name : {path, link}) {
      fs::create_directory(path);
      const auto second = RunFolder::claim(name);
      REQUIRE_FALSE(second.has_value());
      CHECK_THAT(second.error().message, Catch::Matchers::Contains("another run is using " + name.string()));
      CHECK(fs::is_empty(path));
      fs::remove(path);
    }
    fs::remove(link);
    fs::create_directory_symlink("elsewhere", link);
    fs::create_directory(temp.path() / "elsewhere");
    CHECK_FALSE(RunFolder::claim(link).has_value());
    CHECK_FALSE(first->check_kept().has_value());
  }
  CHECK(RunFolder::claim(path).has_value());
}

TEST_CASE("a folder that has taken the place of a discarded one stays") {
  const TempDir temp;
  const auto path = temp.path() / "runs/one";
  auto folder = RunFolder::claim(path);
  REQUIRE(folder.has_value());
  fs::rename(path, temp.path() / "renamed");
  fs::create_directory(path);
  std::ofstream(path / "file") << "theirs";
  CHECK(folder->discard().has_value());
  CHECK(fs::exists(path / "file"));
}

TEST_CASE("a link to a discarded folder, or to the one above it, stays") {
  const TempDir temp;
  const auto runs = temp.path() / "runs";
  auto folder = RunFolder::claim(runs / "one");
  REQUIRE(folder.has_value());
  const auto linked = GENERATE("runs", "runs/one");
  fs::rename(temp.path() / linked, temp.path() / "moved");
  fs::create_directory_symlink(temp.path() / "moved", temp.path() / linked);
  CHECK(folder->discard().has_value());
  CHECK(fs::is_symlink(temp.path() / linked));
}

TEST_CASE("a discarded folder is gone with what was put there, an older one stays") {
  const TempDir temp;
  auto fresh = RunFolder::claim(temp.path() / "runs/one");
  REQUIRE(fresh.has_value());
  fs::create_directories(temp.path() / "runs/one/bin");
  CHECK(fresh->discard().has_value());
  CHECK_FALSE(fs::exists(temp.path() / "runs"));

  fs::create_directories(temp.path() / "old/one");
  std::ofstream(temp.path() / "old/one/file") << "x";
  auto older = RunFolder::claim(temp.path() / "old/one");
  REQUIRE(older.has_value());
  CHECK(older->discard().has_value());
  CHECK(fs::exists(temp.path() / "old/one/file"));
}

TEST_CASE("parents that other runs use stay") {
  const TempDir temp;
  auto first = RunFolder::claim(temp.path() / "runs/one");
  const auto second = RunFolder::claim(temp.path() / "runs/two");
  REQUIRE(first.has_value());
  CHECK(first->discard().has_value());
  CHECK_FALSE(fs::exists(temp.path() / "runs/one"));
  CHECK(fs::exists(temp.path() / "runs/two"));
}

TEST_CASE("a folder is a run's when it is new, empty, or was one before") {
  const TempDir temp;
  const auto path = temp.path() / "run";
  CHECK(RunFolder::check(path).has_value());
  fs::create_directory(path);
  fs::create_directory(path / "lost+found");  // the root of a volume
  CHECK(RunFolder::check(path).has_value());
  CHECK(RunFolder::claim(path).has_value());
  std::ofstream(path / "file") << "x";
  CHECK(RunFolder::check(path).has_value());
}

TEST_CASE("a folder with contents that no run created is rejected, even through a link") {
  const TempDir temp;
  fs::create_directories(temp.path() / "venv/bin");
  fs::create_directory_symlink(temp.path() / "venv", temp.path() / "link");
  for (const auto* name : {"venv", "link"}) {
    const auto checked = RunFolder::check(temp.path() / name);
    REQUIRE_FALSE(checked.has_value());
    CHECK(checked.error().kind == ErrorKind::input);
    CHECK_THAT(checked.error().message,
               Catch::Matchers::StartsWith("run-dir: ") && Catch::Matchers::Contains("contains bin and was not created by a run"));
  }
  fs::create_directory_symlink(temp.path() / "venv", temp.path() / "venv/.trainstep-run");
  CHECK_FALSE(RunFolder::check(temp.path() / "venv").has_value());
}

}  // namespace
}  // namespace trainstep::local
