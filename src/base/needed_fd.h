// Descriptors without which nothing here is ever heard of again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fd.h"

namespace trainstep {

// What a system call returned that makes one. Throws std::system_error, which names the call and errno, where a sandbox refuses it: whoever waited
// for such a descriptor would wait for ever.
Fd needed_fd(int fd, const char* call);

}  // namespace trainstep
