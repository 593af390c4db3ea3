// The MD5 of bytes that come piece by piece.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace trainstep {

// As md5_hex (data/digest.h): it tells of damage, and proves nothing.
class Md5 {
 public:
  Md5();
  Md5(Md5&&) noexcept;
  Md5& operator=(Md5&&) noexcept;
  ~Md5();
  void add(std::string_view bytes);
  // 32 digits of all that was added, once; empty where the machine's OpenSSL refuses it (FIPS).
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> m_state;  // null: refused
};

}  // namespace trainstep
