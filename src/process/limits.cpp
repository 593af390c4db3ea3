// SPDX-License-Identifier: Apache-2.0
#include "process/limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace trainstep::process {

std::size_t allow_open_files(std::size_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<std::size_t>::max();  // unknown: no reason to refuse
  if (limit.rlim_cur < count) {
    const auto before = limit.rlim_cur;
    limit.rlim_cur = std::min<rlim_t>(count, limit.rlim_max);
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  return limit.rlim_cur;
}

}  // namespace trainstep::process
