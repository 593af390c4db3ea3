// The start of the report: verdict, first failure, phases; and its footer.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/redact.h"
#include "base/text.h"
#include "step/html.h"
#include "step/report_parts.h"
#include "step/secrets.h"

namespace trainstep::step {
namespace {

using result::VerdictClass;

constexpr std::string_view plain_user_failure = "the training program failed";  // follow/triage.cpp

std::string_view colour(VerdictClass verdict_class) {
  if (verdict_class == VerdictClass::succeeded) return "good";
  return verdict_class == VerdictClass::interrupted || verdict_class == VerdictClass::cancelled ? "warn" : "bad";
}

// One rectangle for each stay in a phase, with a width proportional to its duration.
std::string phase_bar(const result::Timeline& timeline, Time end) {
  const auto total = static_cast<double>(std::max<Duration::rep>(timeline.total(end).count(), 1));
  std::string rectangles;
  for (std::size_t i = 0; i < timeline.entries.size(); ++i) {
    const auto& entry = timeline.entries[i];
    const auto until = i + 1 < timeline.entries.size() ? timeline.entries[i + 1].since : timeline.end.value_or(end);
    const auto x = 1000.0 * static_cast<double>((entry.since - timeline.entries.front().since).count()) / total;
    const auto width = 1000.0 * static_cast<double>((until - entry.since).count()) / total;
    rectangles += fmt::format(R"(<rect class="{}" x="{:.2f}" width="{:.2f}" height="14"/>)", name(entry.phase), x, std::max(width, 0.0));
  }
  return fmt::format(R"(<svg class="bar" viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label="phases">{}</svg>)", rectangles);
}

}  // namespace

std::string_view headline(VerdictClass verdict_class) {
  switch (verdict_class) {
    case VerdictClass::succeeded:
      return "Succeeded";
    case VerdictClass::user:
      return "Training failed";
    case VerdictClass::input:
      return "Invalid input";
    case VerdictClass::system:
      return "System error";
    case VerdictClass::timeout:
      return "Time limit reached";
    case VerdictClass::capacity:
      return "No capacity";
    case VerdictClass::interrupted:
      return "Interrupted; the job keeps running";
    case VerdictClass::cancelled:
      return "Cancelled";
  }
  return "Unknown";
}

std::string time_text(Time time) {
  auto text = to_rfc3339(time);
  std::replace(text.begin(), text.end(), 'T', ' ');
  text.pop_back();
  return text + " UTC";
}

std::string kind_text(const StepSummary& summary) {
  if (summary.plan == nullptr) return {};
  const auto workers = summary.plan->distribution.workers;
  return fmt::format("{}, {} worker{}", summary.plan->job_type, workers, workers == 1 ? "" : "s");
}

std::string headline_part(const StepSummary& summary) {
  const auto& outcome = summary.outcome;
  const auto verdict_class = outcome.verdict.verdict_class;
  const auto title = summary.plan != nullptr ? summary.plan->job_name : summary.inputs.request.model_name;
  std::string part = fmt::format("<header>\n<h1>{}</h1>\n<p><span class=\"verdict {}\">{}</span> <span class=\"soft\">after {}", escaped(title),
                                 colour(verdict_class), headline(verdict_class), describe(outcome.ended - outcome.started));
  if (const auto kind = kind_text(summary); !kind.empty()) part += " · " + escaped(kind);
  part += fmt::format(" · {}</span></p>\n", time_text(outcome.ended));
  const bool nothing_said = outcome.verdict.message.empty() && !outcome.verdict.first_failure && !summary.succeeded();
  const auto text = nothing_said ? result::describe(outcome.verdict) : outcome.verdict.message;
  const bool told = verdict_class == VerdictClass::user && text == plain_user_failure;  // already said by the headline
  if (!text.empty() && !told) part += fmt::format("<p>{}</p>\n", escaped(text));
  if (verdict_class != VerdictClass::succeeded && outcome.verdict.retry_can_help)
    part += "<p class=\"soft\">The step may succeed if it is run again.</p>\n";
  return part + "</header>\n";
}

std::string failure_part(const StepSummary& summary) {
  const auto& failure = summary.outcome.verdict.first_failure;
  if (!failure) return {};
  auto part = fmt::format("<section>\n<h2>First failure</h2>\n<p>{}</p>\n", escaped(result::describe(*failure)));
  if (!failure->last_lines.empty()) part += fmt::format("<pre>{}</pre>\n", escaped(join(failure->last_lines, "\n")));
  return part + "</section>\n";
}

std::string phases_part(const StepSummary& summary) {
  const auto& timeline = summary.outcome.timeline;
  if (timeline.entries.empty()) return {};
  const auto end = timeline.end.value_or(summary.outcome.ended);
  auto part = "<section>\n<h2>Phases</h2>\n" + phase_bar(timeline, end) + "\n<ul class=\"legend\">\n";
  for (const auto phase : result::all_phases) {
    const auto was = std::any_of(timeline.entries.begin(), timeline.entries.end(), [&](const auto& entry) { return entry.phase == phase; });
    if (was)
      part += fmt::format("<li><i class=\"{0}\"></i>{0} <span class=\"soft num\">{1}</span></li>\n", name(phase),
                          describe(timeline.spent_in(phase, end)));
  }
  return part + "</ul>\n</section>\n";
}

std::string footer_part(const StepSummary& summary) {
  std::string part = fmt::format("<footer>\n<p>trainstep {} · started {}", TRAINSTEP_VERSION, time_text(summary.outcome.started));
  if (const auto* plan = summary.plan) {
    part += fmt::format(" · run {}", escaped(plan->run_id));
    if (!plan->name_space.empty()) part += fmt::format(" · namespace {}", escaped(plan->name_space));
    if (!plan->image.value.empty()) part += fmt::format(" · image {}", escaped(redacted(plan->image.value, secrets_of(summary.inputs, plan))));
    part += fmt::format(" · specification {}", escaped(plan->spec_hash.substr(0, 12)));
  }
  return part + "</p>\n</footer>\n";
}

}  // namespace trainstep::step
