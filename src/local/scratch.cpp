// SPDX-License-Identifier: Apache-2.0
#include "local/scratch.h"

#include <cstdlib>
#include <string>
#include <system_error>

namespace trainstep::local {

Scratch::Scratch(const std::filesystem::path& where) {
  std::error_code ignored;
  auto name = (std::filesystem::absolute(where, ignored) / "trainstep-XXXXXX").string();
  if (::mkdtemp(name.data()) != nullptr) m_path = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (!m_path.empty() && !m_kept) std::filesystem::remove_all(m_path, ignored);
}

}  // namespace trainstep::local
