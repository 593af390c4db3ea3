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

}  // namespace

void hand_over(Loop& loop, log::Log& log, const step::Inputs& inputs, const plan::Plan* plan, run::Outcome& outcome) {
  const step::FileReader reader = [](const std::string& path, std::size_t limit) { return read_file(path, limit); };
  step::Story story{inputs,
                    outcome,
                    plan,
                    plan == nullptr ? std::vector<kinds::Replicas>{} : kinds::find(plan->kind).replicas(*plan),
                    step::final_metrics(outcome, reader),
                    target_path(inputs, "report")};
  if (auto written = step::write_outputs(story, reader); !written) {
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
