// SPDX-License-Identifier: Apache-2.0
#include "step/held_folders.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <system_error>

#include "base/links.h"
#include "data/output_folder.h"

namespace trainstep::step {
namespace {

namespace fs = std::filesystem;

fs::path nearest_folder(const fs::path& file) {
  std::error_code unknown;
  auto folder = file.parent_path();
  while (!fs::is_directory(folder, unknown) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

}  // namespace

HeldFolders::HeldFolders(const Inputs& inputs) {
  for (const auto& target : inputs.targets)
    if (target.name != "model_dir") hold(target.path);
  hold(inputs.executor_output_file);
}

void HeldFolders::hold(const std::string& file) {
  std::error_code unknown;
  const auto path = fs::absolute(file, unknown).lexically_normal();
  if (file.empty() || unknown || named_descriptor(path)) return;
  for (const auto& place : {path, followed(path)}) {
    const auto folder = nearest_folder(place);
    Fd fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd) continue;
    m_folders.try_emplace(folder, std::move(fd));
    m_of[file].push_back(folder);
  }
}

Result<void> HeldFolders::check(const std::string& path) const {
  const auto of = m_of.find(path);
  if (of == m_of.end()) return {};
  for (const auto& folder : of->second) {
    if (const auto why = why_hidden(folder); !why.empty()) return Error{ErrorKind::conflict, fmt::format("cannot write {}: {}", path, why)};
    if (const auto now = moved_folder(m_folders.at(folder), folder); !now.empty())
      return Error{ErrorKind::conflict,
                   fmt::format("cannot write {}: its folder was renamed or replaced since the step began, and is now {}", path, now.string())};
  }
  return {};
}

}  // namespace trainstep::step
