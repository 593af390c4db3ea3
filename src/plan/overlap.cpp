// SPDX-License-Identifier: Apache-2.0
#include "plan/overlap.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace trainstep::plan {
namespace {

Result<void> check_pair(const Place& written, const Place& other) {
  const auto* relation = written.where == other.where          ? "is also"
                         : lies_in(other.where, written.where) ? "contains"
                         : lies_in(written.where, other.where) ? "is in"
                                                               : nullptr;
  if (relation == nullptr) return {};
  return input_error(fmt::format("{}: {} {} {} ({}); each output requires a separate location, apart from inputs and other outputs", written.name,
                                 written.shown, relation, other.name, other.shown));
}

}  // namespace

bool lies_in(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && (folder.ends_with('/') || path[folder.size()] == '/'));
}

Result<void> check_no_overlap(const std::vector<Place>& places) {
  for (const auto& one : places)
    for (const auto& other : places)
      if (&one != &other && one.written) TRY(check_pair(one, other));
  return {};
}

std::string canonical_address(std::string_view endpoint, std::string_view uri) {
  auto host = lower(endpoint);
  if (const auto scheme = host.find("://"); scheme != std::string::npos) host.erase(0, scheme + 3);
  while (host.ends_with('/')) host.pop_back();
  std::string port;
  if (const auto colon = host.rfind(':'); colon != std::string::npos && host.find(']', colon) == std::string::npos) {
    port = host.substr(colon);
    host.resize(colon);
  }
  if (port == ":80" || port == ":443") port.clear();
  constexpr std::array<std::string_view, 3> longer{".svc.cluster.local.", ".svc.cluster.local", ".svc"};
  for (const auto ending : longer)
    if (host.ends_with(ending)) host.resize(host.size() - ending.size());
  uri = uri.substr(0, uri.find('?'));
  if (const auto scheme = uri.find("://"); scheme != std::string_view::npos) uri.remove_prefix(scheme + 3);
  while (uri.ends_with('/')) uri.remove_suffix(1);
  const auto slash = std::min(uri.find('/'), uri.size());
  auto key = uri.substr(slash);
  while (key.starts_with('/')) key.remove_prefix(1);
  return fmt::format("{}{}/{}{}{}", host, port, uri.substr(0, slash), key.empty() ? "" : "/", key);
}

}  // namespace trainstep::plan
