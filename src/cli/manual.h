// The manual page.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/guide.h"

namespace trainstep::cli {

// trainstep(1) for groff and mandoc: man(7) macros, ASCII. It has no date, so that the same sources give the same page.
std::string manual(const Command& program);

}  // namespace trainstep::cli
