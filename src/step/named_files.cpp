// SPDX-License-Identifier: Apache-2.0
#include "step/named_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "data/secrets.h"

namespace trainstep::step {
namespace {

// Argo 4 writes an argument that exceeds the kernel's limit to a file there, and puts the file's path on the command line.
bool is_argo_argument(std::string_view path) {
  constexpr std::string_view begin = "/tmp/argo_arg_", end = ".txt";
  if (!path.starts_with(begin) || !path.ends_with(end) || path.size() <= begin.size() + end.size()) return false;
  return path.substr(begin.size(), path.size() - begin.size() - end.size()).find_first_not_of("0123456789") == std::string_view::npos;
}

// Whether the path is below the folder both as written and with links resolved: files there belong to the template.
bool lies_below(std::string_view path, const std::string& folder) {
  namespace fs = std::filesystem;
  const auto below = [](const fs::path& one, const fs::path& other) {
    const auto text = other.string();
    return one.string().starts_with(text.ends_with('/') ? text : text + "/");
  };
  std::error_code unknown;  // a missing file resolves to nothing
  return below(fs::path(path).lexically_normal(), folder) && below(fs::weakly_canonical(path, unknown), fs::weakly_canonical(folder, unknown));
}

}  // namespace

NamedFiles::NamedFiles(const FileReader& read, Files files, std::string folder) : m_read(read), m_files(files), m_folder(std::move(folder)) {}

bool NamedFiles::is_named(std::string_view path) const {
  return m_files == Files::any || is_argo_argument(path) || (m_files == Files::folder && lies_below(path, m_folder));
}

Result<std::string> NamedFiles::content(std::string_view name, const std::string& value, std::size_t limit) const {
  if (m_files == Files::any && value.starts_with("@@")) return value.substr(1);
  if (!value.starts_with('@') || !is_named(std::string_view(value).substr(1))) return value;
  auto content = m_read(value.substr(1), limit);
  if (content) return content;
  return input_error(fmt::format("{}: {}; a value that starts with @ names a file; write @@ for a literal @", name, content.error().message));
}

Result<void> NamedFiles::check(std::string_view name, std::string_view value) const {
  if (!value.starts_with('@') || m_files == Files::any || is_named(value.substr(1))) return {};
  const auto shown = shown_value(name, Json(value));
  if (m_files == Files::folder)
    return input_error(fmt::format("{}: {} is not read as a file; with --files-in, only files below {} are", name, shown, m_folder));
  return input_error(fmt::format("{}: {} is not read as a file, because it is a value of a pipeline; pass the content", name, shown));
}

}  // namespace trainstep::step
