// SPDX-License-Identifier: Apache-2.0
#include "plan/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "data/digest.h"
#include "data/secrets.h"
#include "plan/labels.h"

namespace trainstep::plan {
namespace {

constexpr std::size_t max_label_length = 63;
constexpr std::size_t max_object_name_length = 253;

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_alphanumeric(char c) { return is_small(c) || is_digit(c) || (c >= 'A' && c <= 'Z'); }

// The nearest DNS-1035 label: "My Model_2" → "my-model-2".
std::string as_label(std::string_view name) {
  std::string label;
  for (const auto c : lower(name)) {
    if (is_small(c) || is_digit(c))
      label += c;
    else if (!label.empty() && label.back() != '-')
      label += '-';
  }
  label.erase(label.begin(), std::find_if(label.begin(), label.end(), is_small));
  label.resize(std::min(label.size(), max_label_length));
  while (label.ends_with('-')) label.pop_back();
  return label.empty() ? "my-model" : label;
}

}  // namespace

Result<void> check_model_name(std::string_view name) {
  const auto allowed = [](char c) { return is_small(c) || is_digit(c) || c == '-'; };
  if (!name.empty() && name.size() <= max_label_length && is_small(name.front()) && name.back() != '-' &&
      std::all_of(name.begin(), name.end(), allowed))
    return {};
  const Json text(name.substr(0, 100));
  const auto shown = shown_value("model_name", text);
  const bool secret = !shown.starts_with('"');
  return input_error(
      fmt::format("model_name: {} is not valid in a Kubernetes name (lower-case letters, digits and dashes, starting with a letter, at most {}){}",
                  shown, max_label_length, secret ? "" : fmt::format("; did you mean \"{}\"?", as_label(name))));
}

Result<void> check_object_name(std::string_view key, std::string_view name) {
  if (is_subdomain(name)) return {};
  return input_error(
      fmt::format("{}: \"{}\" is not a valid Kubernetes object name: use lower-case letters, digits, dashes and dots, starting and ending with a "
                  "letter or digit, at most {}",
                  key, name.substr(0, 100), max_object_name_length));
}

Result<void> check_namespace(std::string_view key, std::string_view name) {
  if (is_subdomain(name) && name.size() <= max_label_length && name.find('.') == std::string_view::npos) return {};
  return input_error(
      fmt::format("{}: \"{}\" is not a valid name of a namespace: use lower-case letters, digits and dashes, starting and ending with a letter or "
                  "digit, at most {}",
                  key, name.substr(0, 100), max_label_length));
}

Result<void> check_run_id(std::string_view run_id) {
  if (!run_id.empty() && is_label_value(run_id)) return {};
  return input_error(
      fmt::format("run_id: \"{}\" is not a valid label value: use letters, digits, dashes, dots and underscores, starting and ending with a letter "
                  "or digit, at most {}",
                  run_id.substr(0, 100), max_label_length));
}

bool is_identity_key(std::string_view key) {
  constexpr std::array<std::string_view, 3> domains{"trainstep.dev", "training.kubeflow.org", "batch.kubernetes.io"};
  constexpr std::array<std::string_view, 3> keys{"app.kubernetes.io/managed-by", "job-name", "controller-uid"};
  return std::ranges::find(domains, key.substr(0, key.find('/'))) != domains.end() || std::ranges::find(keys, key) != keys.end();
}

std::string job_name(std::string_view model_name, std::string_view run_id) {
  constexpr std::size_t digits = 10;
  std::string stem(model_name.substr(0, max_job_name_length - digits - 1));
  while (stem.ends_with('-')) stem.pop_back();
  return stem + "-" + sha256_hex(run_id).substr(0, digits);
}

std::string file_name(std::string_view formal_name) {
  std::string result(formal_name);
  for (auto& c : result)
    if (!is_alphanumeric(c) && c != '-' && c != '_' && c != '.') c = '_';
  if (result.find_first_not_of('.') == std::string::npos) result = "_" + result;
  return result;
}

}  // namespace trainstep::plan
