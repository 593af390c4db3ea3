// File descriptors that the program cannot work without.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fd.h"

namespace trainstep {

// Wraps the return value of a system call that creates a descriptor. Throws std::system_error with the name of the call and errno if it failed, for
// example in a sandbox: code that waits for such a descriptor would wait forever.
Fd checked_fd(int fd, const char* call);

}  // namespace trainstep
