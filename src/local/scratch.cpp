// SPDX-License-Identifier: Apache-2.0
#include "local/scratch.h"

#include <cstdlib>
#include <string>
#include <system_error>

namespace trainstep::local {
namespace fs = std::filesystem;

Scratch::Scratch(process::Variables& environment) {
  const auto* given = process::find_variable(environment, "TMPDIR");
  std::error_code ignored;
  const auto where = fs::absolute(given == nullptr || given->empty() ? "/tmp" : *given, ignored);
  auto name = (where / "trainstep-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return;
  m_path = name;
  process::set_variable(environment, "TMPDIR", name);
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (!m_path.empty() && !m_kept) fs::remove_all(m_path, ignored);
}

bool Scratch::holds(std::string_view path) const { return !m_path.empty() && path.starts_with(m_path.string() + '/'); }

}  // namespace trainstep::local
