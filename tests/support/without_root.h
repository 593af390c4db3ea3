// File access as a non-root user.
#pragma once

#include <sys/fsuid.h>
#include <sys/types.h>

namespace trainstep {

// Takes root's rights over files from this thread while it lives, if we have them.
class WithoutRoot {
 public:
  WithoutRoot() : m_us(static_cast<uid_t>(::setfsuid(nobody))) {}
  ~WithoutRoot() { ::setfsuid(m_us); }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;

 private:
  static constexpr uid_t nobody = 65534;
  uid_t m_us;
};

}  // namespace trainstep
