// SPDX-License-Identifier: Apache-2.0
#include "process/limits.h"

#include <sys/resource.h>

#include "support/catch.h"

namespace trainstep::process {
namespace {

TEST_CASE("the soft limit of open files is raised as far as the hard one lets, and never lowered") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const auto hard = static_cast<std::size_t>(before.rlim_max);
  const auto low = hard / 4;
  const rlimit lowered{low, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &lowered) == 0);
  CHECK(allow_open_files(low - 1) == low);
  CHECK(allow_open_files(low + 1) == low + 1);
  CHECK(allow_open_files(hard + 1) == hard);
  rlimit now{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &now) == 0);
  CHECK(now.rlim_cur == hard);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
}

}  // namespace
}  // namespace trainstep::process
