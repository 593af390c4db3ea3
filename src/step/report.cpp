// SPDX-License-Identifier: Apache-2.0
#include "step/report.h"

#include <fmt/format.h>

#include <array>

#include "step/html.h"
#include "step/number_text.h"
#include "step/report_parts.h"
#include "step/report_style.h"

namespace trainstep::step {
namespace {

constexpr std::size_t max_in_summary = 12;

std::string title_of(const StepSummary& summary) { return summary.plan != nullptr ? summary.plan->job_name : summary.inputs.request.model_name; }

std::string metrics_line(const StepSummary& summary) {
  std::string line = "metrics:";
  for (std::size_t i = 0; i < summary.metrics.size() && i < max_in_summary; ++i)
    line += fmt::format(" {}={}", summary.metrics[i].name, number_text(summary.metrics[i].value));
  if (summary.metrics.size() > max_in_summary) line += fmt::format(" and {} more", summary.metrics.size() - max_in_summary);
  return line;
}

}  // namespace

std::string render_report(const StepSummary& summary) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{} – {}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
      escaped(title_of(summary)), headline(summary.outcome.verdict.verdict_class), report_style);
  constexpr std::array parts{headline_part,  failure_part, phases_part,     metrics_part, replicas_part,
                             requested_part, outputs_part, parameters_part, footer_part};
  for (const auto part : parts) page += part(summary);
  return page + "</main>\n</body>\n</html>\n";
}

bool was_not_committed(const StepSummary& summary, const run::OutputFound& output) { return !summary.succeeded() && !output.pending.empty(); }

std::vector<std::string> closing_lines(const StepSummary& summary) {
  const auto& outcome = summary.outcome;
  std::vector<std::string> lines;
  const auto took = describe(outcome.ended - outcome.started);
  const auto kind = kind_text(summary);
  lines.push_back(
      fmt::format("{}{} after {}: {}", title_of(summary), kind.empty() ? "" : " (" + kind + ")", took, result::describe(outcome.verdict)));
  if (const auto& failure = outcome.verdict.first_failure; failure && !failure->last_lines.empty()) {
    lines.push_back(fmt::format("the last lines of {}:", failure->replica));
    for (const auto& line : failure->last_lines) lines.push_back("  | " + line);
  }
  if (!summary.succeeded() && outcome.verdict.retry_can_help) lines.emplace_back("the step may succeed if it is run again");
  if (!summary.metrics.empty()) lines.push_back(metrics_line(summary));
  for (const auto& output : outcome.outputs)
    if (output.artifact && !output.value && (output.present ? !output.earlier : output.step_path.empty()))
      lines.push_back(fmt::format("{}: {}", output.name,
                                  !output.present                      ? "the program wrote nothing"
                                  : was_not_committed(summary, output) ? fmt::format("was not written to {}", output.path)
                                                                       : output.path));
  if (!summary.report_location.empty()) lines.push_back("report: " + summary.report_location);
  return lines;
}

}  // namespace trainstep::step
