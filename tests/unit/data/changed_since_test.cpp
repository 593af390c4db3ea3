// SPDX-License-Identifier: Apache-2.0
#include "data/changed_since.h"

#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;

namespace {

bool changed(const std::filesystem::path& path, timespec since, timespec at) {
  struct stat found{};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  found.st_ctim = at;
  return ChangedSince(since)(path, found);
}

}  // namespace

TEST_CASE("on a file system of this machine a change counts from the moment on, to the tick") {
  const TempDir folder;
  const auto& here = folder.path();
  CHECK(changed(here, {100, 5}, {100, 5}));
  CHECK(changed(here, {100, 5}, {101, 0}));
  CHECK_FALSE(changed(here, {100, 5}, {100, 4}));
  CHECK_FALSE(changed(here, {100, 5}, {95, 1}));
}

TEST_CASE("where only whole seconds are written, one of the same time may be younger") {
  const TempDir folder;
  CHECK(changed(folder.path(), {100, 500}, {100, 0}));
  CHECK(changed(folder.path(), {101, 500}, {100, 0}));
  CHECK_FALSE(changed(folder.path(), {102, 500}, {100, 0}));
}

TEST_CASE("the clock of a shared file system may lag by ten seconds") {
  const std::filesystem::path others = "/proc/self";  // none of those that are known to count by our clock
  CHECK(changed(others, {100, 5}, {90, 1}));
  CHECK_FALSE(changed(others, {100, 5}, {89, 1}));
}
