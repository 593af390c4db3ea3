// SPDX-License-Identifier: Apache-2.0
#include "cli/print.h"

#include <cerrno>
#include <cstdio>

#include "cli/app.h"

namespace trainstep::cli {

int print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written || errno == EPIPE ? 0 : report(internal_error("standard output cannot be written to"));
}

}  // namespace trainstep::cli
