// SPDX-License-Identifier: Apache-2.0
#include "base/immutable.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;

// That attributes are seen, tests/flow/folders_test.py shows: only root may set them.
TEST_CASE("a usual file, one that is not there, a link and a folder take changes") {
  const TempDir folder;
  CHECK_FALSE(is_immutable(folder.path()));
  CHECK_FALSE(is_immutable(folder.path() / "none"));
  std::filesystem::create_symlink("none", folder.path() / "link");
  CHECK_FALSE(is_immutable(folder.path() / "link"));
  CHECK_FALSE(is_immutable("/dev/null"));
  CHECK_FALSE(is_immutable("none"));
}
