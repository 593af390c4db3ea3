// The tables of the report: replicas, requested values, outputs, parameters.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/redact.h"
#include "data/finite.h"
#include "data/secrets.h"
#include "step/html.h"
#include "step/report_parts.h"
#include "step/secrets.h"

namespace trainstep::step {
namespace {

constexpr std::size_t max_replicas = 60;
constexpr std::size_t max_value_length = 600;

bool failed(const run::MemberReport& member) { return member.ending && !member.ending->succeeded() && !member.stopped_by_us; }

std::string ending_text(const run::MemberReport& member) {
  if (member.attempts == 0) return "never started";
  if (!member.ending) return member.stopped_by_us ? "stopped" : "unknown";
  const auto& ending = *member.ending;
  auto text = ending.signal ? result::signal_name(*ending.signal) : fmt::format("exit {}", ending.exit_code);
  if (!ending.reason.empty()) text += ", " + ending.reason;
  return member.stopped_by_us ? "stopped, " + text : text;
}

// When the replica ran, as a part of the whole step.
std::string lane(const run::MemberReport& member, const run::Outcome& outcome) {
  if (!member.started) return {};
  const auto total = static_cast<double>(std::max<Duration::rep>((outcome.ended - outcome.started).count(), 1));
  const auto at = [&](Time time) { return std::clamp(1000.0 * static_cast<double>((time - outcome.started).count()) / total, 0.0, 1000.0); };
  const auto begin = at(*member.started);
  const auto width = std::max(at(member.ended.value_or(outcome.ended)) - begin, 2.0);
  return fmt::format(
      R"(<svg viewBox="0 0 1000 6" preserveAspectRatio="none"><rect class="track" width="1000" height="6"/><rect class="life{}" x="{:.1f}" width="{:.1f}" height="6"/></svg>)",
      failed(member) ? " bad" : "", begin, width);
}

std::string replica_row(const run::MemberReport& member, const run::Outcome& outcome) {
  const auto took = member.started ? describe(member.ended.value_or(outcome.ended) - *member.started) : "";
  return fmt::format(
      "<tr><td class=\"name\">{}</td><td class=\"name place\">{}</td><td class=\"num {}\">{}</td><td class=\"ended{}\">{}</td>"
      "<td class=\"num took\">{}</td><td class=\"lane\">{}</td></tr>\n",
      escaped(member.name), escaped(member.ran_on), member.attempts == 1 ? "once" : "tries", member.attempts, failed(member) ? " bad" : "",
      escaped(ending_text(member)), took, lane(member, outcome));
}

std::string quantity_text(const std::optional<plan::Sourced<plan::Quantity>>& quantity) { return quantity ? escaped(quantity->value.text) : "–"; }

using Secrets = std::vector<std::string>;

// The value as a person would write it; secrets are not shown.
std::string value_text(std::string_view name, const Json& value, const Secrets& secrets) {
  if (sounds_secret(name)) return "<span class=\"soft\">not shown</span>";
  const auto shown = portable(redacted_json(value, secrets));
  const auto text = shown.is_string() ? shown.get<std::string>() : to_text(shown);
  return "<code>" + escaped(shortened(text, max_value_length)) + "</code>";
}

std::string place_text(const std::string& place, const Secrets& secrets) { return "<code>" + escaped(redacted(place, secrets)) + "</code>"; }

std::string parameter_row(const plan::BoundInput& input, const Secrets& secrets) {
  std::string value;
  if (input.path)
    value = place_text(input.path->path.empty() ? input.path->uri : input.path->path, secrets);
  else if (input.value)
    value = value_text(input.name, *input.value, secrets);
  return fmt::format("<tr><td class=\"name\">{}</td><td>{}</td><td class=\"soft\">{}</td></tr>\n", escaped(input.name), value,
                     input.given ? "given" : "default");
}

}  // namespace

std::string replicas_part(const StepSummary& summary) {
  const auto& members = summary.outcome.members;
  if (members.empty()) return {};
  std::string part =
      "<section>\n<h2>Replicas</h2>\n<div class=\"scroll\"><table class=\"wide replicas\">\n<tr class=\"names\"><th>name</th><th>place</th><th "
      "class=\"num\">attempts</th><th>ended with</th>"
      "<th class=\"num\">took</th><th>when</th></tr>\n";
  std::size_t shown = 0, left_out = 0;
  for (const auto& member : members) {
    // Of a large gang: the first ones, and those that failed.
    if (shown < max_replicas || (failed(member) && shown < 2 * max_replicas))
      part += replica_row(member, summary.outcome), ++shown;
    else
      ++left_out;
  }
  part += "</table></div>\n";
  if (left_out > 0) part += fmt::format("<p class=\"soft\">and {} more</p>\n", left_out);
  return part + "</section>\n";
}

std::string requested_part(const StepSummary& summary) {
  if (summary.plan == nullptr || summary.replicas.empty()) return {};
  const auto seconds = std::chrono::duration<double>(summary.outcome.timeline.spent_in(result::Phase::running, summary.outcome.ended)).count();
  std::string part =
      "<section>\n<h2>Requested</h2>\n<div class=\"scroll\"><table>\n<tr><th>replicas</th><th class=\"num\">count</th><th class=\"num\">CPUs</th><th "
      "class=\"num\">memory</th><th class=\"num\">GPUs</th></tr>\n";
  long long gpus = 0;
  for (const auto& replicas : summary.replicas) {
    const auto& resources = replicas.resources;
    gpus += static_cast<long long>(replicas.count) * resources.gpus.value;
    part += fmt::format("<tr><td>{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td></tr>\n",
                        escaped(replicas.type), replicas.count, quantity_text(resources.cpus), quantity_text(resources.memory),
                        resources.gpus.value == 0 ? "–" : fmt::format("{}", resources.gpus.value));
  }
  part += "</table></div>\n";
  if (gpus > 0)
    part += fmt::format("<p class=\"soft\">{} GPU{} while running: {:.0f} GPU seconds</p>\n", gpus, gpus == 1 ? "" : "s",
                        static_cast<double>(gpus) * seconds);
  return part + "</section>\n";
}

std::string outputs_part(const StepSummary& summary) {
  const auto& outputs = summary.outcome.outputs;
  if (outputs.empty()) return {};
  const auto secrets = secrets_of(summary.inputs, summary.plan);
  std::string rows;
  for (const auto& output : outputs) {
    std::string value = "<span class=\"bad\">missing</span>";
    if (output.value)
      value = value_text(output.name, *output.value, secrets);
    else if (was_not_committed(summary, output))
      value = "<span class=\"bad\">was not written to</span> " + place_text(output.path, secrets);
    else if (!output.artifact)
      value = "<span class=\"soft\">no value</span>";
    else if (output.present)
      value = place_text(output.path, secrets);
    rows += fmt::format("<tr><td class=\"name\">{}</td><td>{}</td></tr>\n", escaped(output.name), value);
  }
  return "<section>\n<h2>Outputs</h2>\n<div class=\"scroll\"><table>\n" + rows + "</table></div>\n</section>\n";
}

std::string parameters_part(const StepSummary& summary) {
  const auto secrets = secrets_of(summary.inputs, summary.plan);
  std::string rows;
  if (summary.plan != nullptr) {
    for (const auto& input : summary.plan->binding.inputs) rows += parameter_row(input, secrets);
  } else {
    for (const auto& [name, value] : summary.inputs.request.train_parameters.items())
      rows += fmt::format("<tr><td class=\"name\">{}</td><td>{}</td><td class=\"soft\">given</td></tr>\n", escaped(name),
                          value_text(name, value, secrets));
  }
  if (rows.empty()) return {};
  return "<section>\n<h2>Parameters</h2>\n<div class=\"scroll\"><table>\n" + rows + "</table></div>\n</section>\n";
}

}  // namespace trainstep::step
