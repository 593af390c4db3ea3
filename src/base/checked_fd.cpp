// SPDX-License-Identifier: Apache-2.0
#include "base/checked_fd.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace trainstep {

Fd checked_fd(int fd, const char* call) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), std::string("this system does not allow ") + call);
  return Fd(fd);
}

}  // namespace trainstep
