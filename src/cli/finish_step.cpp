// SPDX-License-Identifier: Apache-2.0
#include "cli/finish_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/redact.h"
#include "base/regular_file.h"
#include "cli/termination_log.h"
#include "job_types/job_type.h"
#include "objectstore/address.h"
#include "step/outputs.h"
#include "step/report.h"
#include "step/results.h"
#include "step/secrets.h"

namespace trainstep::cli {
namespace {

// Reads files, and the addresses whose contents are known.
step::FileReader reader_of(const std::map<std::string, std::string>& contents) {
  return [&contents](const std::string& path, std::size_t limit) -> Result<std::string> {
    if (!objectstore::is_address(path)) return read_regular_file(path, limit);
    const auto found = contents.find(path);
    if (found == contents.end()) return Error{ErrorKind::denied, path + " was not read"};
    if (found->second.size() > limit) return input_error(fmt::format("{} is larger than {} bytes", path, limit));
    return found->second;
  };
}

const step::OutputTarget* report_target(const step::Inputs& inputs) {
  const auto found = std::ranges::find(inputs.targets, "report", &step::OutputTarget::name);
  return found == inputs.targets.end() ? nullptr : &*found;
}

// An address at which only a launcher, or this process, can put it; empty: it stays at its path.
std::string report_address(const step::Inputs& inputs, const ToPipeline& pipeline) {
  const auto* target = report_target(inputs);
  const bool carried = pipeline.publish && target != nullptr && target->kind == step::OutputTarget::Kind::artifact;
  return carried && objectstore::is_address(target->uri) ? target->uri : std::string();
}

// A launcher uploads after a success. A cancelled step has no time, and the next attempt reports an interrupted one.
bool must_be_published(const result::Verdict& verdict) {
  using enum result::VerdictClass;
  return verdict.verdict_class != succeeded && verdict.verdict_class != cancelled && verdict.verdict_class != interrupted;
}

void write_last_words(const step::StepSummary& summary, const std::string& termination_log) {
  if (summary.succeeded()) return;
  std::vector<std::string> variables;
  if (summary.plan != nullptr)
    for (const auto& variable : summary.plan->environment)
      if (variable.value.is_string()) variables.push_back(variable.name + "=" + variable.value.get<std::string>());
  const auto sentence = redacted(step::closing_lines(summary).front(), step::secrets_of(summary.inputs, summary.plan));
  write_termination_log(termination_log, sentence, std::move(variables));
}

// Where a file is before the outputs are committed.
std::string place_of(const step::Inputs& inputs, const run::Outcome& outcome, const std::string& path) {
  const auto is_target = [&](const run::OutputFound& output) {
    return std::ranges::any_of(inputs.targets,
                               [&](const step::OutputTarget& target) { return target.name == output.step_path && target.path == path; });
  };
  for (const auto& output : outcome.outputs)
    if (!output.pending.empty() && (path == output.path || is_target(output))) return output.pending;
  return path;
}

}  // namespace

void finish_step(Loop& loop, Listeners& listeners, const step::Inputs& inputs, const plan::Plan* plan, run::Outcome& outcome,
                 const ToPipeline& pipeline, std::function<void()> done) {
  auto& log = listeners.own_log();
  bool committed = false;
  std::vector<std::string> placed;
  const step::FileReader reader = [&, read = reader_of(pipeline.contents)](const std::string& path, std::size_t limit) {
    return read(committed ? path : place_of(inputs, outcome, path), limit);
  };
  const auto commit = [&]() -> Result<void> {
    if (!pipeline.commit) return {};
    ASSIGN(const auto told, pipeline.commit());
    committed = true;
    for (auto& output : outcome.outputs)
      if (!std::exchange(output.pending, "").empty()) placed.push_back(fmt::format("{}: the training's output is at {}", output.name, output.path));
    for (const auto& line : told) log.write(loop.now(), log::Level::warning, line);
    return {};
  };
  for (const auto& line : step::unread_metrics(outcome, reader)) log.write(loop.now(), log::Level::warning, line);
  for (const auto& line : step::other_members(outcome, reader)) log.write(loop.now(), log::Level::warning, line);
  const auto* report = report_target(inputs);
  const auto secrets = step::secrets_of(inputs, plan);
  auto left_out = step::redact(outcome, secrets);
  auto metrics = step::final_metrics(outcome, reader);
  std::erase_if(metrics, [&](const result::Metric& metric) {
    const bool secret = step::is_secret(metric.value, secrets);
    if (secret) left_out.push_back(redacted(metric.name, secrets));
    return secret;
  });
  if (!left_out.empty())
    log.write(loop.now(), log::Level::warning,
              fmt::format("metrics left out, because they may show a secret (a variable or parameter whose name sounds like one): {}",
                          fmt::join(left_out, ", ")));
  const auto summary = std::make_shared<step::StepSummary>(
      step::StepSummary{inputs, outcome, plan, plan == nullptr ? std::vector<job_types::Replicas>{} : job_types::find(plan->job_type).replicas(*plan),
                        std::move(metrics), report == nullptr ? std::string() : report->path, pipeline.folders});
  if (const auto line = step::left_out_metrics(*summary)) log.write(loop.now(), log::Level::warning, *line);
  auto written = step::write_outputs(*summary, reader, commit);
  if (!written && written.error().kind == ErrorKind::cancelled) {
    outcome.verdict.verdict_class = result::VerdictClass::cancelled;
    outcome.verdict.signal = pipeline.stopped;
    written = step::write_outputs(*summary, reader, {});
  }
  if (!written) {
    if (summary->succeeded())
      outcome.verdict = result::lost_outputs(written.error());
    else
      log.write(loop.now(), log::Level::warning, written.error().message + "; the output paths do not contain the outputs of this run");
    for (const auto& line : placed) log.write(loop.now(), log::Level::warning, line);
    const bool told = written.error().kind == ErrorKind::input || written.error().kind == ErrorKind::conflict;
    if (!told || (pipeline.folders != nullptr && !pipeline.folders->check(summary->report_location)))
      summary->report_location.clear();  // it could not be written either
  }
  listeners.ended(loop.now(), outcome.verdict);
  write_last_words(*summary, pipeline.termination_log);
  const auto address = report_address(inputs, pipeline);
  const auto tell = [&loop, &log, summary, done = std::move(done)] {
    for (const auto& line : step::closing_lines(*summary)) log.conclude(loop.now(), summary->succeeded(), line);
    done();
  };
  if (address.empty()) return tell();
  summary->report_location = summary->succeeded() ? address : "";
  if (!must_be_published(outcome.verdict)) return tell();
  pipeline.publish(address, step::render_report(*summary), [&loop, &log, summary, address, tell](const Result<void>& published) {
    if (published)
      summary->report_location = address;
    else
      log.write(loop.now(), log::Level::warning, fmt::format("cannot write the report to {}: {}", address, published.error().message));
    tell();
  });
}

log::ReaderTimeout reader_timeout(const result::Verdict& verdict) {
  using enum result::VerdictClass;
  const bool wanted = verdict.verdict_class == cancelled || verdict.verdict_class == interrupted || verdict.verdict_class == timeout;
  return wanted ? log::ReaderTimeout{Duration(2'000), Duration(10'000)} : log::ReaderTimeout{Duration(60'000), {}};
}

Listeners::Listeners(Loop& loop, log::Options options, std::unique_ptr<Recorder> recorder, int fd)
    : m_log(fd, options, loop.now()), m_console(loop, m_log), m_recorder(std::move(recorder)) {
  if (m_recorder) m_recorder->on_problem([this, &loop](const std::string& problem) { m_console.warn(loop.now(), problem); });
  if (const auto* path = std::getenv("ARGO_PROGRESS_FILE"); path != nullptr && *path != '\0') m_progress_file = std::make_unique<ProgressFile>(path);
}

std::vector<run::Listener*> Listeners::all() {
  std::vector<run::Listener*> listeners{&m_console};
  if (m_progress_file) listeners.push_back(m_progress_file.get());
  if (m_recorder) listeners.push_back(m_recorder.get());
  return listeners;
}

void Listeners::ended(Time at, const result::Verdict& verdict) {
  if (m_recorder) m_recorder->ends(verdict, at);
}

}  // namespace trainstep::cli
