// SPDX-License-Identifier: Apache-2.0
#include "step/passed_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/redact.h"
#include "base/text.h"
#include "plan/pod_options.h"
#include "plan/step_variables.h"

namespace trainstep::step {
namespace {

// The last five usually name files of this machine; if they are not passed on, the log says so.
constexpr std::array<std::string_view, 16> by_default{"HTTP_PROXY",    "HTTPS_PROXY",         "NO_PROXY",         "ALL_PROXY",
                                                      "http_proxy",    "https_proxy",         "no_proxy",         "all_proxy",
                                                      "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_CERT",
                                                      "SSL_CERT_FILE", "AWS_CA_BUNDLE",       "CURL_CA_BUNDLE",   "REQUESTS_CA_BUNDLE"};

bool is_usual(std::string_view name) {
  return std::find(by_default.begin(), by_default.end(), name) != by_default.end() || name.starts_with("MLFLOW_");
}

bool is_pattern(std::string_view name) { return name.ends_with('*'); }

bool matches(std::string_view pattern, std::string_view name) { return name.starts_with(pattern.substr(0, pattern.size() - 1)); }

// "/etc/ca.pem", "./mlruns", "file:///home/me/mlruns", "sqlite:///mlflow.db"; but an MLflow experiment may be called "/Shared/digits".
bool names_a_file(std::string_view name, std::string_view value) {
  const auto scheme = lower(value.substr(0, value.find(':')));
  const bool place = name.find("NAME") == std::string_view::npos;
  return (value.starts_with('/') && place) || value.starts_with("./") || value.starts_with("../") || value.starts_with('~') || scheme == "file" ||
         scheme == "sqlite";
}

std::string files_stay(const std::vector<std::string_view>& names) {
  const auto* text =
      names.size() == 1
          ? R"({} is not passed on: it names a file on this machine; if the pods also have it, set job_options {{"pass_environment": ["{}"]}})"
          : R"({} are not passed on: they name files on this machine; if the pods also have them, set job_options {{"pass_environment": ["{}"]}})";
  return fmt::format(fmt::runtime(text), fmt::join(names, ", "), fmt::join(names, R"(", ")"));
}

}  // namespace

PassedOn passed_on(const std::map<std::string, std::string>& environment, const std::vector<std::string>& further) {
  PassedOn result;
  std::vector<std::string_view> files;
  for (const auto& [name, value] : environment) {
    const bool named = std::find(further.begin(), further.end(), name) != further.end();
    const bool wanted = is_usual(name) || std::any_of(further.begin(), further.end(), [&, &n = name](const std::string& pattern) {
                          return is_pattern(pattern) && matches(pattern, n) && !plan::belongs_to_step(n);
                        });
    if (value.empty() || (!named && !(wanted && plan::check_variable_name(name, "")))) continue;  // a shell's functions: BASH_FUNC_x%%
    if (named || (!holds_secret(name, value) && !(is_usual(name) && names_a_file(name, value))))
      result.variables[name] = value;
    else if (holds_secret(name, value))
      result.left_out.push_back(fmt::format(
          R"({0} is not passed on: it is a secret, and anyone who can read the job could see it; put it into a Secret, and set job_options {{"environment": {{"{0}": {{"secret": NAME, "key": KEY}}}}}})",
          name));
    else
      files.push_back(name);
  }
  if (!files.empty()) result.left_out.push_back(files_stay(files));
  return result;
}

}  // namespace trainstep::step
