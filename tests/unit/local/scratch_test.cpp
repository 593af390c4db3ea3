// SPDX-License-Identifier: Apache-2.0
#include "local/scratch.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::local;
namespace fs = std::filesystem;

TEST_CASE("a run's temporary folder is below its TMPDIR, and is removed with all its contents") {
  const TempDir folder;
  process::Variables environment{{"TMPDIR", folder.path().string()}};
  fs::path made;
  {
    const Scratch scratch(*make_scratch(environment, scratch_path(environment)), environment);
    made = *process::find_variable(environment, "TMPDIR");
    CHECK(made.parent_path() == folder.path());
    CHECK(fs::is_directory(made));
    CHECK(scratch.holds((made / "x/y").string()));
    CHECK(scratch.holds(made.string()));
    CHECK_FALSE(scratch.holds(made.string() + "-2/x"));
    fs::create_directory(made / "x");
    std::ofstream(made / "x/y") << "1";
  }
  CHECK_FALSE(fs::exists(made));
  CHECK(fs::is_directory(folder.path()));
}

TEST_CASE("a temporary folder that a link refers to is kept") {
  const TempDir folder;
  process::Variables environment{{"TMPDIR", folder.path().string()}};
  {
    Scratch scratch(*make_scratch(environment, scratch_path(environment)), environment);
    scratch.keep();
  }
  CHECK(fs::is_directory(*process::find_variable(environment, "TMPDIR")));
}

TEST_CASE("a TMPDIR in which no folder can be created is reported") {
  const TempDir folder;
  const auto absent = (folder.path() / "absent").string();
  const auto made = make_scratch({{"TMPDIR", absent}}, scratch_path({{"TMPDIR", absent}}));
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().kind == ErrorKind::input);
  CHECK(made.error().message.starts_with("TMPDIR: cannot create a temporary folder in " + absent + ": No such file or directory"));
}

TEST_CASE("if no temporary folder can be created, the environment stays unchanged") {
  const TempDir folder;
  const auto absent = (folder.path() / "absent").string();
  process::Variables environment{{"TMPDIR", absent}};
  {
    const Scratch scratch({}, environment);
    CHECK(*process::find_variable(environment, "TMPDIR") == absent);
    CHECK_FALSE(scratch.holds("/"));
    CHECK_FALSE(scratch.holds("/tmp/x"));
    CHECK_FALSE(scratch.holds(absent + "/x"));
  }
  CHECK_FALSE(fs::exists(absent));
  CHECK(fs::is_directory(folder.path()));
}

TEST_CASE("a temporary folder has a path before it is created, for the guard that removes it") {
  const TempDir folder;
  const process::Variables environment{{"TMPDIR", folder.path().string()}};
  const auto path = scratch_path(environment);
  CHECK(path.parent_path() == folder.path());
  CHECK(fs::is_empty(folder.path()));
  CHECK(path != scratch_path(environment));
  CHECK(*make_scratch(environment, path) == path);
  CHECK_FALSE(make_scratch(environment, path));  // another run's folder is not used
}
