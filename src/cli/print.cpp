// SPDX-License-Identifier: Apache-2.0
#include "cli/print.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/write.h"
#include "cli/app.h"

namespace trainstep::cli {

int print(std::string_view text) {
  const auto problem = write_all(STDOUT_FILENO, text);
  return problem == 0 || problem == EPIPE ? 0 : report(internal_error(fmt::format("cannot write to standard output: {}", std::strerror(problem))));
}

}  // namespace trainstep::cli
