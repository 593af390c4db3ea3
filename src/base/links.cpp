// SPDX-License-Identifier: Apache-2.0
#include "base/links.h"

#include <system_error>
#include <utility>

namespace trainstep {

namespace fs = std::filesystem;

fs::path followed(fs::path path) {
  constexpr int most_links = 40;
  std::error_code code;
  if (auto whole = fs::absolute(path, code); !code) path = std::move(whole);
  path = path.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  for (int i = 0; i < most_links && fs::is_symlink(path, code); ++i) path = (path.parent_path() / fs::read_symlink(path, code)).lexically_normal();
  return path;
}

}  // namespace trainstep
