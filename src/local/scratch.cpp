// SPDX-License-Identifier: Apache-2.0
#include "local/scratch.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/remove_tree.h"

namespace trainstep::local {
namespace fs = std::filesystem;

namespace {

// Empty: TMPDIR is not set.
std::string given_folder(const process::Variables& environment) {
  const auto* given = process::find_variable(environment, "TMPDIR");
  return given == nullptr ? std::string() : *given;
}

}  // namespace

fs::path scratch_path(const process::Variables& environment) {
  const auto given = given_folder(environment);
  std::error_code ignored;
  std::random_device random;
  return fs::absolute(given.empty() ? "/tmp" : given, ignored) / fmt::format("trainstep-{:08x}", random());
}

Result<fs::path> make_scratch(const process::Variables& environment, const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return path;
  const auto given = given_folder(environment);
  if (given.empty()) return fs::path();
  const auto kind = file_error("write", path.parent_path(), errno).kind == ErrorKind::internal ? ErrorKind::internal : ErrorKind::input;
  return Error{
      kind, fmt::format("TMPDIR: cannot create a temporary folder in {}: {}; set it to a writable folder, or unset it", given, std::strerror(errno))};
}

Result<void> remove_scratch(const fs::path& folder) {
  if (folder.empty()) return {};
  return remove_tree(folder);
}

namespace {

bool is_in(std::string_view path, const std::string& folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

Scratch::Scratch(fs::path folder, process::Variables& environment) : m_path(std::move(folder)) {
  if (m_path.empty()) return;
  process::set_variable(environment, "TMPDIR", m_path.string());
  std::error_code unknown;
  m_real_path = fs::canonical(m_path, unknown);
  if (unknown) m_real_path = m_path;
}

Scratch::~Scratch() { static_cast<void>(remove()); }

Result<void> Scratch::remove() {
  if (m_kept) return {};
  return remove_scratch(m_path);
}

bool Scratch::holds(std::string_view path) const { return !m_path.empty() && (is_in(path, m_path.string()) || is_in(path, m_real_path.string())); }

}  // namespace trainstep::local
