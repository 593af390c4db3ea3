// Incremental MD5.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace trainstep {

// Like md5_hex (data/digest.h): detects corruption; not for security.
class Md5 {
 public:
  Md5();
  Md5(Md5&&) noexcept;
  Md5& operator=(Md5&&) noexcept;
  ~Md5();
  void add(std::string_view bytes);
  // 32 digits for everything added; call it once. Empty where the machine's OpenSSL disables MD5 (FIPS).
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> m_state;  // null: MD5 is disabled, or hex() was called
};

}  // namespace trainstep
