// SPDX-License-Identifier: Apache-2.0
#include "step/passed_on.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace trainstep::step {
namespace {

constexpr std::array<std::string_view, 16> by_default{
    "HTTP_PROXY",    "HTTPS_PROXY",   "NO_PROXY",       "ALL_PROXY",          "http_proxy",    "https_proxy",         "no_proxy",         "all_proxy",
    "SSL_CERT_FILE", "AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_CERT"};
// A key belongs into a Secret that job_options.environment names, never into a manifest.
constexpr std::array<std::string_view, 2> never_by_default{"MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD"};

template <typename List>
bool holds(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == name;
}

}  // namespace

Json passed_on(const std::map<std::string, std::string>& environment, const std::vector<std::string>& further) {
  auto result = Json::object();
  for (const auto& [name, value] : environment) {
    const bool usual = holds(by_default, name) || (name.starts_with("MLFLOW_") && !holds(never_by_default, name));
    const bool asked = std::any_of(further.begin(), further.end(), [&, &n = name](const std::string& pattern) { return matches(pattern, n); });
    if (!value.empty() && (usual || asked)) result[name] = value;
  }
  return result;
}

}  // namespace trainstep::step
