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

TEST_CASE("a discarded folder is gone with what was put there, an older one stays") {
  const TempDir temp;
  auto fresh = RunFolder::claim(temp.path() / "runs/one");
  REQUIRE(fresh.has_value());
  fs::create_directories(temp.path() / "runs/one/bin");
  fresh->discard();
  CHECK_FALSE(fs::exists(temp.path() / "runs"));

  fs::create_directories(temp.path() / "old/one");
  std::ofstream(temp.path() / "old/one/file") << "x";
  auto older = RunFolder::claim(temp.path() / "old/one");
  REQUIRE(older.has_value());
  older->discard();
  CHECK(fs::exists(temp.path() / "old/one/file"));
}

TEST_CASE("parents that other runs use stay") {
  const TempDir temp;
  auto first = RunFolder::claim(temp.path() / "runs/one");
  const auto second = RunFolder::claim(temp.path() / "runs/two");
  REQUIRE(first.has_value());
  first->discard();
  CHECK_FALSE(fs::exists(temp.path() / "runs/one"));
  CHECK(fs::exists(temp.path() / "runs/two"));
}

}  // namespace
}  // namespace trainstep::local
