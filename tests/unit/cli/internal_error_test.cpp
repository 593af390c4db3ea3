// An uncaught exception is reported in the termination message.
// SPDX-License-Identifier: Apache-2.0
#include "cli/internal_error.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using Catch::Matchers::Contains;

TEST_CASE("an internal error is in the termination message of steps and replicas only") {
  const TempDir folder;
  const auto path = (folder.path() / "termination-log").string();
  ::setenv("TRAINSTEP_TERMINATION_LOG", path.c_str(), 1);
  const auto told = [&](std::string_view command) {
    {
      const std::ofstream emptied(path);
    }
    CHECK(cli::report_internal_error(command, std::runtime_error("key 'x' not found")) == 3);
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK_THAT(told("run"), Contains("internal error: key 'x' not found"));
  CHECK_THAT(told("exec"), Contains("internal error: key 'x' not found"));
  CHECK(told("list").empty());
  ::unsetenv("TRAINSTEP_TERMINATION_LOG");
}
