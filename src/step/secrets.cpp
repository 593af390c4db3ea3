// SPDX-License-Identifier: Apache-2.0
#include "step/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/redact.h"
#include "base/written_secrets.h"
#include "data/secrets.h"
#include "plan/command.h"
#include "result/metric_text.h"

namespace trainstep::step {
namespace {

// Variables by name. Those that refer to a Secret do not contain one.
void collect_variables(const Json& variables, std::vector<std::string>& secrets) {
  if (!variables.is_object()) return;
  for (const auto& [name, value] : variables.items())
    if (!value.is_structured()) collect_secrets(name, value, secrets);
}

void collect_options(const Json& options, std::vector<std::string>& secrets) {
  if (!options.is_object()) return;
  if (const auto* environment = find(options, "environment")) collect_variables(*environment, secrets);
  if (const auto* replicas = find(options, "replicas"); replicas != nullptr && replicas->is_object())
    for (const auto& type : *replicas) collect_options(type, secrets);
}

// What the program prints next to a name that sounds secret is known from nowhere else, and the message repeats it.
void redact(result::Verdict& verdict, std::vector<std::string> secrets) {
  if (verdict.first_failure) {
    auto& [replica, code, signal, reason, lines] = *verdict.first_failure;
    for (const auto written : written_secrets(reason)) secrets.emplace_back(written);
    reason = without_written_secrets(redacted(reason, secrets));
    for (auto& line : lines) line = without_written_secrets(redacted(line, secrets));
  }
  verdict.message = without_quoted_secrets(redacted(verdict.message, secrets));
}

bool has_whole_values(const result::MetricSeries& series) {
  return std::ranges::all_of(series.points, [](const auto& point) { return std::isfinite(point.value) && std::trunc(point.value) == point.value; });
}

// What a log shows as "password=[redacted]". Not loss_per_token=0.5.
bool sounds_secret(const result::MetricSeries& series) { return trainstep::sounds_secret(series.name) && has_whole_values(series); }

}  // namespace

bool is_secret(double value, const std::vector<std::string>& secrets) {
  return std::ranges::any_of(secrets, [&](std::string_view secret) {
    if (secret.size() < min_secret_length) return false;
    const auto number = result::take_number(secret);
    return number && secret.empty() && *number == value;
  });
}

std::vector<std::string> secrets_of(const std::map<std::string, std::string>& environment, const plan::Request& request) {
  std::vector<std::string> secrets;
  for (const auto& [name, value] : environment)
    for (auto& secret : secrets_in(name, value)) secrets.push_back(std::move(secret));
  collect_options(request.job_options, secrets);
  collect_secrets("", request.train_parameters, secrets);
  add_base64(secrets);
  return secrets;
}

std::vector<std::string> secrets_of(const Inputs& inputs, const plan::Plan* plan) {
  if (plan == nullptr) return inputs.secrets;
  std::vector<std::string> secrets;
  for (const auto& variable : plan->environment)
    if (!variable.value.is_structured()) collect_secrets(variable.name, variable.value, secrets);
  for (const auto& [type, options] : plan->options.replicas) collect_variables(options.environment, secrets);
  for (const auto& input : plan->binding.inputs)  // including defaults
    if (input.value) collect_secrets(input.name, *input.value, secrets);
  if (plan->options.patch.is_structured()) collect_secrets_of_containers(plan->options.patch, secrets);
  if (const auto words = plan::command_line(plan->program, plan->binding, plan::pod_placement(*plan, true)))
    collect_secrets("", Json(*words), secrets);
  add_base64(secrets);
  secrets.insert(secrets.end(), inputs.secrets.begin(), inputs.secrets.end());
  std::ranges::sort(secrets);
  const auto repeated = std::ranges::unique(secrets);
  secrets.erase(repeated.begin(), repeated.end());
  return secrets;
}

std::vector<std::string> redact(run::Outcome& outcome, const std::vector<std::string>& secrets) {
  // A curve with fractions that meets the number of a secret does not tell it.
  const auto tells_secret = [&](const result::MetricSeries& series) {
    const auto secret = [&](const result::MetricPoint& point) { return is_secret(point.value, secrets); };
    return sounds_secret(series) || redacted(series.name, secrets) != series.name ||
           (has_whole_values(series) && std::ranges::any_of(series.points, secret));
  };
  std::vector<std::string> left_out;
  for (const auto& series : outcome.series)
    if (tells_secret(series)) left_out.push_back(redacted(series.name, secrets));
  std::erase_if(outcome.series, tells_secret);
  for (auto& output : outcome.outputs) std::erase_if(output.curves, tells_secret);
  for (auto& member : outcome.members)
    if (member.ending) member.ending->reason = without_written_secrets(redacted(member.ending->reason, secrets));
  redact(outcome.verdict, secrets);
  return left_out;
}

std::vector<std::string> secrets_in_clear(const plan::Plan& plan) {
  std::vector<std::string> sentences;
  std::set<std::string> told;
  const auto look = [&](const std::string& name, const Json& value, const std::string& source) {
    if (!value.is_string() || value.get_ref<const std::string&>().empty() || !holds_secret(name, value.get_ref<const std::string&>())) return;
    if (told.insert(name).second)
      sentences.push_back(fmt::format(
          R"({0}: the value of {1} is part of the job and visible to anyone who can read it; put it into a Secret: "{1}": {{"secret": NAME, "key": KEY}})",
          source, name));
  };
  for (const auto& variable : plan.environment) look(variable.name, variable.value, variable.source);
  for (const auto& [type, options] : plan.options.replicas)
    for (const auto& [name, value] : options.environment.items()) look(name, value, fmt::format("job_options.replicas.{}.environment", type));
  return sentences;
}

}  // namespace trainstep::step
