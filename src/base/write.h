// Writing to a descriptor whose reader may be slow or absent, or which may be non-blocking: O_NONBLOCK is shared by all processes that have the file
// open.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/time.h"

namespace trainstep {

// Writes everything, however long the reader takes. Returns 0, or the errno that ended it: EPIPE and EBADF mean that there is no reader any more.
int write_all(int fd, std::string_view text);

// Writes as long as the reader accepts something every `timeout`. For final messages: a reader that does not read must not delay the exit.
void write_within(int fd, std::string_view text, Duration timeout);

}  // namespace trainstep
