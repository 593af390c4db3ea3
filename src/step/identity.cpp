// SPDX-License-Identifier: Apache-2.0
#include "step/identity.h"

#include <algorithm>

#include "base/text.h"

namespace trainstep::step {
namespace {

std::string without_attempts(std::string_view node_name) {
  std::string result;
  for (std::size_t i = 0; i < node_name.size(); ++i) {
    if (node_name[i] == '(') {
      const auto close = node_name.find(')', i);
      const auto digits = close == std::string_view::npos ? std::string_view{} : node_name.substr(i + 1, close - i - 1);
      if (!digits.empty() && std::all_of(digits.begin(), digits.end(), is_digit)) {
        i = close;
        continue;
      }
    }
    result += node_name[i];
  }
  return result;
}

}  // namespace

std::string shared_folder(std::string_view output) {
  auto path = output.substr(0, output.find('?'));
  if (const auto scheme = path.find("://"); scheme != std::string_view::npos) {
    path.remove_prefix(scheme + 3);
  } else {
    const auto roots = {std::string_view("/minio/"), std::string_view("/s3/"), std::string_view("/gcs/")};
    const auto* root = std::find_if(roots.begin(), roots.end(), [&](std::string_view r) { return path.starts_with(r); });
    if (root == roots.end()) return {};
    path.remove_prefix(root->size());
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  const auto last = path.rfind('/');
  if (last == std::string_view::npos || last == 0) return {};
  return std::string(path.substr(0, last));
}

std::string identity(std::string_view place, std::string_view node_name) {
  const auto node = without_attempts(node_name);
  if (node.empty()) return std::string(place);
  return std::string(place) + "#" + node;
}

}  // namespace trainstep::step
