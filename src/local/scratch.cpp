// SPDX-License-Identifier: Apache-2.0
#include "local/scratch.h"

#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

namespace trainstep::local {
namespace fs = std::filesystem;

fs::path make_scratch(const process::Variables& environment) {
  const auto* given = process::find_variable(environment, "TMPDIR");
  std::error_code ignored;
  const auto where = fs::absolute(given == nullptr || given->empty() ? "/tmp" : *given, ignored);
  auto name = (where / "trainstep-XXXXXX").string();
  return ::mkdtemp(name.data()) == nullptr ? fs::path() : fs::path(name);
}

void remove_scratch(const fs::path& folder) {
  std::error_code ignored;
  if (!folder.empty()) fs::remove_all(folder, ignored);
}

Scratch::Scratch(fs::path folder, process::Variables& environment) : m_path(std::move(folder)) {
  if (!m_path.empty()) process::set_variable(environment, "TMPDIR", m_path.string());
}

Scratch::~Scratch() {
  if (!m_kept) remove_scratch(m_path);
}

bool Scratch::holds(std::string_view path) const { return !m_path.empty() && path.starts_with(m_path.string() + '/'); }

}  // namespace trainstep::local
