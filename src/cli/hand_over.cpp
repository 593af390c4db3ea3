// SPDX-License-Identifier: Apache-2.0
#include "cli/hand_over.h"

#include <unistd.h>

#include <cstdlib>

#include "base/files.h"
#include "kinds/kind.h"
#include "step/outputs.h"
#include "step/report.h"
#include "step/results.h"

namespace trainstep::cli {
namespace {

std::string target_path(const step::Inputs& inputs, std::string_view name) {
  for (const auto& target : inputs.targets)
    if (target.name == name) return target.path;
  return {};
}

// Where a file lies before the outputs are committed.
std::string place_of(const step::Inputs& inputs, const run::Outcome& outcome, const std::string& path) {
  for (const auto& output : outcome.outputs)
    if (!output.pending.empty() && (path == output.path || path == target_path(inputs, output.step_path))) return output.pending;
  return path;
}

}  // namespace

void hand_over(Loop& loop, log::Log& log, const step::Inputs& inputs, const plan::Plan* plan, run::Outcome& outcome, const Commit& commit) {
  bool committed = false;
  const step::FileReader reader = [&](const std::string& path, std::size_t limit) {
    return read_file(committed ? path : place_of(inputs, outcome, path), limit);
  };
  const auto commit_and_say = [&]() -> Result<void> {
    if (!commit) return {};
    ASSIGN(const auto told, commit());
    committed = true;
    for (const auto& line : told) log.say(loop.now(), log::Level::warning, line);
    return {};
  };
  step::Story story{inputs,
                    outcome,
                    plan,
                    plan == nullptr ? std::vector<kinds::Replicas>{} : kinds::find(plan->kind).replicas(*plan),
                    step::final_metrics(outcome, reader),
                    target_path(inputs, "report")};
  if (auto written = step::write_outputs(story, reader, commit_and_say); !written) {
    if (story.succeeded()) outcome.verdict = result::lost_outputs(written.error());
    if (written.error().kind != ErrorKind::input) story.report_place.clear();  // it could not be written either
  }
  for (const auto& line : step::summary(story)) log.conclude(loop.now(), story.succeeded(), line);
}

log::Patience patience_with_reader(const result::Verdict& verdict) {
  using enum result::VerdictClass;
  const bool wanted = verdict.verdict_class == cancelled || verdict.verdict_class == interrupted || verdict.verdict_class == timeout;
  return wanted ? log::Patience{Duration(2'000), Duration(10'000)} : log::Patience{Duration(60'000), {}};
}

Listeners::Listeners(Loop& loop, log::Options options, std::unique_ptr<Recorder> recorder)
    : m_log(STDOUT_FILENO, options, loop.now()), m_console(loop, m_log), m_recorder(std::move(recorder)) {
  if (const auto* path = std::getenv("ARGO_PROGRESS_FILE"); path != nullptr && *path != '\0') m_progress_file = std::make_unique<ProgressFile>(path);
}

std::vector<run::Listener*> Listeners::all() {
  std::vector<run::Listener*> listeners{&m_console};
  if (m_progress_file) listeners.push_back(m_progress_file.get());
  if (m_recorder) listeners.push_back(m_recorder.get());
  return listeners;
}

}  // namespace trainstep::cli
