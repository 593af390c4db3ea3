// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "kube/client.h"

namespace trainstep::kube {

std::vector<std::string> Path::segments() const {
  std::vector<std::string> result;
  const auto slash = group_version.find('/');
  if (slash == std::string::npos)
    result = {"api", group_version};
  else
    result = {"apis", group_version.substr(0, slash), group_version.substr(slash + 1)};
  if (plural.empty()) return result;
  if (!name_space.empty()) result.insert(result.end(), {"namespaces", name_space});
  result.push_back(plural);
  if (!name.empty()) result.push_back(name);
  if (!subresource.empty()) result.push_back(subresource);
  return result;
}

std::string Path::describe() const {
  if (plural.empty()) return group_version;
  auto parts = std::vector{plural};
  if (!name.empty()) parts.push_back(name);
  if (!subresource.empty()) parts.push_back(subresource);
  return join(parts, "/");
}

}  // namespace trainstep::kube
