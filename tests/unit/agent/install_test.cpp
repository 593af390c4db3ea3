// The program copied to where other containers find it.
// SPDX-License-Identifier: Apache-2.0
#include "agent/install.h"

#include <sys/stat.h>

#include <filesystem>

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
