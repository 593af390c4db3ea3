// SPDX-License-Identifier: Apache-2.0
#include "data/output_paths.h"

#include <fmt/format.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/links.h"
#include "base/mount.h"
#include "base/regular_file.h"
#include "base/sticky_folder.h"

namespace trainstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_note_size = std::size_t{16} << 20U;

std::string attribute(std::string_view what) { return fmt::format("user.trainstep.{}", what); }

}  // namespace

OutputPaths OutputPaths::of(const fs::path& target) {
  OutputPaths place;
  place.target = followed(target);
  const auto beside = place.target.parent_path();
  std::error_code code;
  place.inside = fs::is_directory(place.target, code) &&
                 (is_mount(place.target) || is_in_sticky_folder_of_other_user(place.target) || ::access(beside.c_str(), W_OK | X_OK) != 0);
  place.over = fs::is_regular_file(place.target, code) && is_mount(place.target);
  const auto name = place.target.filename().string();
  place.folder = place.inside ? place.target / inside_name : beside / fmt::format(".{}.trainstep", name);
  place.path = place.folder / "new" / name;
  return place;
}

std::string OutputPaths::noted(std::string_view what) const {
  std::string text(65'536, '\0');
  const auto length = ::getxattr(target.c_str(), attribute(what).c_str(), text.data(), text.size());
  if (length <= 0) return read_regular_file(folder / what, max_note_size).value_or("");
  text.resize(static_cast<std::size_t>(length));
  return text;
}

Result<void> OutputPaths::note(std::string_view what, const std::string& text) const {
  forget(what);
  if (::setxattr(target.c_str(), attribute(what).c_str(), text.data(), text.size(), 0) == 0) return {};
  return write_file_atomically(folder / what, text);
}

void OutputPaths::forget(std::string_view what) const {
  std::error_code code;
  fs::remove(folder / what, code);
  ::removexattr(target.c_str(), attribute(what).c_str());
}

bool OutputPaths::shows_notes() const { return ::getxattr(target.c_str(), "user.trainstep.none", nullptr, 0) >= 0 || errno == ENODATA; }

}  // namespace trainstep
