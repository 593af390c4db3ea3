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

constexpr std::size_t most_in_summary = 12;

std::string title_of(const Story& story) { return story.plan != nullptr ? story.plan->job_name : story.inputs.request.model_name; }

std::string metrics_line(const Story& story) {
  std::string line = "metrics:";
  for (std::size_t i = 0; i < story.metrics.size() && i < most_in_summary; ++i)
    line += fmt::format(" {}={}", story.metrics[i].name, number_text(story.metrics[i].value));
  if (story.metrics.size() > most_in_summary) line += fmt::format(" and {} more", story.metrics.size() - most_in_summary);
  return line;
}

}  // namespace

std::string render_report(const Story& story) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{} – {}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
      escaped(title_of(story)), headline(story.outcome.verdict.verdict_class), report_style);
  constexpr std::array parts{headline_part, failure_part, phases_part,     metrics_part, replicas_part,
                             asked_part,    outputs_part, parameters_part, footer_part};
  for (const auto part : parts) page += part(story);
  return page + "</main>\n</body>\n</html>\n";
}

bool was_held_back(const Story& story, const run::OutputFound& output) { return !story.succeeded() && !output.pending.empty(); }

std::vector<std::string> summary(const Story& story) {
  const auto& outcome = story.outcome;
  std::vector<std::string> lines;
  const auto took = describe(outcome.ended - outcome.started);
  const auto kind = kind_text(story);
  lines.push_back(fmt::format("{}{} after {}: {}", title_of(story), kind.empty() ? "" : " (" + kind + ")", took, result::describe(outcome.verdict)));
  if (const auto& failure = outcome.verdict.first_failure; failure && !failure->last_lines.empty()) {
    lines.push_back(fmt::format("the last lines of {}:", failure->replica));
    for (const auto& line : failure->last_lines) lines.push_back("  | " + line);
  }
  if (!story.succeeded() && outcome.verdict.retry_can_help) lines.emplace_back("the step may succeed if it is run again");
  if (!story.metrics.empty()) lines.push_back(metrics_line(story));
  for (const auto& output : outcome.outputs)
    if (output.artifact && !output.value && (output.present ? !output.earlier : output.step_path.empty()))
      lines.push_back(fmt::format("{}: {}", output.name,
                                  !output.present                ? "the program wrote nothing"
                                  : was_held_back(story, output) ? fmt::format("was not written to {}", output.path)
                                                                 : output.path));
  if (!story.report_place.empty()) lines.push_back("report: " + story.report_place);
  return lines;
}

}  // namespace trainstep::step
