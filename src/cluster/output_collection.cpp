// SPDX-License-Identifier: Apache-2.0
#include "cluster/output_collection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/data.h"
#include "follow/describe.h"

namespace trainstep::cluster {
namespace {

constexpr Duration curves_limit{30'000};

Error of_another_job() { return {ErrorKind::not_found, "it is the record of another job"}; }

}  // namespace

OutputCollection::OutputCollection(Context context, run::Outcome outcome, std::function<void(Ended)> done)
    : m_context(std::move(context)), m_outcome(std::move(outcome)), m_done(std::move(done)) {}

void OutputCollection::begin() {
  const auto& limits = m_context.plan.options.limits;
  const auto now = m_context.loop.now();
  limit("finishing", "finishing", limits.finishing, m_outcome.timeline.spent_in(result::Phase::finishing, now));  // downloading is a part of it
  limit("total", "the whole step", limits.total, std::chrono::duration_cast<Duration>(now - m_outcome.started));
  const auto* told = m_context.backend.report();
  if (told != nullptr && !told->shortened) return download();
  m_context.data.whole_report([this, where = std::string(told == nullptr ? ClusterBackend::no_report_reason : "")](Result<result::PodReport> report) {
    reported(std::move(report), where);
  });
}

void OutputCollection::limit(const std::string& option, const std::string& of, const std::optional<Duration>& time, Duration spent) {
  if (!time) return;
  m_timers.keep(m_context.loop.timer(std::max(*time - spent, Duration{}), [this, option, of, time = *time] {
    if (!m_done || m_fetched) return;
    lose({result::VerdictClass::timeout,
          fmt::format("the training succeeded; the limit of {} for {} (job_options.limits.{}) was exceeded while its outputs were being fetched",
                      follow::describe_limit(time), of, option),
          std::nullopt, false, 0},
         Data::unfinished);
  }));
}

// `where`: why the record is needed; empty: the pods have told most of it.
void OutputCollection::reported(Result<result::PodReport> report, const std::string& where) {
  m_lost = m_context.data.lost();
  if (report && report->attempt != m_context.backend.creating_attempt()) {
    report = of_another_job();
    m_lost = staging::Fetching::Lost::some;
  }
  if (!report) return lose(where.empty() ? report.error() : in_context(where, report.error()));
  auto outputs = outputs_of(m_context.plan, *report);
  if (!outputs) return lose(result::lost_outputs(outputs.error()));
  m_outcome.outputs = std::move(*outputs);
  download();
}

void OutputCollection::download() {
  if (m_context.plan.data.downloads.empty()) return look();
  m_context.data.download(m_outcome.outputs, [this](const Result<void>& downloaded) {
    if (downloaded) return look();
    m_lost = m_context.data.lost();
    lose(downloaded.error());
  });
}

void OutputCollection::look() {
  const bool unseen = m_context.backend.reported_class() == result::VerdictClass::succeeded || m_context.backend.was_over();
  m_context.data.look_for(m_outcome.outputs, unseen ? StepData::Where::everywhere : StepData::Where::on_claims, [this](const Result<void>& there) {
    if (there) return read();
    m_lost = m_context.data.lost();
    if (m_lost == staging::Fetching::Lost::all) m_outcome.outputs.clear();  // no location is named if nothing is there
    lose(there.error());
  });
}

void OutputCollection::read() {
  m_context.data.read(m_outcome.outputs, [this](std::map<std::string, std::string> contents) {
    m_fetched = true;
    m_contents = std::move(contents);
    fetch_curves();
  });
}

void OutputCollection::lose(Error error) {
  if (error.kind == ErrorKind::input) error.kind = ErrorKind::conflict;  // caused by the store, or by a path of the step: not by the program
  lose(result::lost_outputs(error));
}

void OutputCollection::lose(result::Verdict verdict, Data data) {
  m_outcome.verdict = std::move(verdict);
  const auto& downloads = m_context.plan.data.downloads;
  for (auto& output : m_outcome.outputs)  // nothing was committed
    if (std::ranges::find(downloads, output.name, &plan::StagedPath::name) != downloads.end())
      if (output.pending.empty()) output.pending = output.path;
  end(data);
}

// What had no room in the message of a pod. The step has everything it needs: no failure of the store, limit or signal changes its end.
void OutputCollection::fetch_curves() {
  const auto* told = m_context.backend.report();
  if (told == nullptr || !told->curves_thinned || told->shortened || !m_context.plan.data.task.record.somewhere()) return end();
  m_curves = m_context.other_data();
  m_curves->whole_report([this](Result<result::PodReport> report) {
    m_timers.keep(m_context.loop.timer(Duration(0), [this, report = std::move(report)]() mutable {  // m_curves needs it until then
      if (m_curves) curves_fetched(std::move(report));
    }));
  });
  m_timers.keep(m_context.loop.timer(curves_limit, [this] {
    if (m_curves) curves_fetched(Error{ErrorKind::unavailable, "no answer for 30 s"});
  }));
}

void OutputCollection::curves_fetched(Result<result::PodReport> report) {
  m_curves.reset();
  if (report && report->attempt != m_context.backend.creating_attempt()) report = of_another_job();
  if (!report) m_context.log(fmt::format("the curves of TensorBoard logs are incomplete: {}", report.error().message));
  for (auto& output : m_outcome.outputs) {
    if (!report) break;
    const auto whole = std::ranges::find(report->outputs, output.name, &result::ReportedOutput::name);
    if (whole != report->outputs.end()) output.curves = std::move(whole->curves);
  }
  end();
}

void OutputCollection::leave(int signal, bool retried) {
  if (m_curves) return curves_fetched(Error{ErrorKind::cancelled, fmt::format("{} arrived in the meantime", result::signal_name(signal))});
  if (!m_done || m_fetched) return;
  m_outcome.verdict = {
      result::VerdictClass::interrupted,
      fmt::format("the training succeeded, but {} was received while its outputs were being fetched; {} at {}", result::signal_name(signal),
                  retried ? "the next attempt will use them" : "they are kept", delivered_to(m_context.plan)),
      std::nullopt, true, signal};
  end(Data::left);
}

void OutputCollection::drop(const std::string& what) {
  if (!m_done || m_fetched) return;
  m_outcome.verdict = {result::VerdictClass::cancelled, what, std::nullopt, false, 0};
  end(Data::unfinished);
}

void OutputCollection::end(Data data) { std::exchange(m_done, nullptr)({std::move(m_outcome), std::move(m_contents), data}); }

}  // namespace trainstep::cluster
