// Bytes to a descriptor whose other side may read slowly, not at all, or have made it non-blocking: that flag belongs to everybody who shares it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/time.h"

namespace trainstep {

// All of it, however long the reader takes. 0, or the errno that ended it: EPIPE and EBADF mean that there is no reader any more.
int write_all(int fd, std::string_view text);

// As much as is taken while the reader takes something every `patience`, for last words: whoever does not read holds nobody up.
void write_within(int fd, std::string_view text, Duration patience);

}  // namespace trainstep
