// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include "cli/app.h"

namespace {
// Memory that a thousand pods or a flood of lines needed for a moment is returned to the system: a step waits for hours with what it then has.
constexpr int give_back_above = 64 << 10;  // bytes; glibc's own limit grows with what was freed
}  // namespace

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, give_back_above);
  mallopt(M_TRIM_THRESHOLD, give_back_above);
  return trainstep::cli::run_app(argc, argv);
}
