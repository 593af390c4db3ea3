// SPDX-License-Identifier: Apache-2.0
#include "cluster/step_cleanup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/data.h"

namespace trainstep::cluster {
namespace {

using enum result::VerdictClass;
using Lost = staging::Fetching::Lost;

// How long a step that ends without a job, and brought nothing, tries to remove what an earlier attempt may have left.
constexpr Duration max_read_time{5'000};
// How long the removal of data may take without a signal.
constexpr Duration unhurried{120'000};

// `more`: what else could not be done.
std::string join(std::string problem, const std::string& more) { return problem.empty() ? more : std::move(problem) + "; " + more; }

std::string data_stays(std::string problem, const Error& error) {
  return join(std::move(problem), fmt::format("cannot remove the job's data: {}", error.message));
}

}  // namespace

StepCleanup::StepCleanup(Context context, const result::Verdict& verdict, std::function<void(std::string)> done)
    : m_context(std::move(context)), m_verdict(verdict), m_done(std::move(done)) {}

void StepCleanup::begin() {
  if (m_context.signalled || m_verdict.verdict_class == cancelled) limit();
  if (!m_context.backend) return remove_leftovers(false);
  if (!m_context.backend->exists()) return remove_leftovers(!keeps_data() && !resumes());
  clean_up_job();
}

// A retry of the step is a new job of the same name, which continues from the checkpoints.
bool StepCleanup::resumes() const {
  return m_verdict.verdict_class != succeeded && m_context.plan && !m_context.plan->data.task.checkpoints.path.empty();
}

// Results that were delivered but could not be downloaded are all that remains of the training – unless they were abandoned, or something was not
// written.
bool StepCleanup::unfetched() const {
  const auto* collection = m_context.collection;
  const auto verdict = m_verdict.verdict_class;
  if (!collection || verdict == succeeded || verdict == cancelled) return false;
  return !(collection->fetched() && verdict == user) && collection->lost() != Lost::all;
}

bool StepCleanup::keeps_data() const {
  return !m_context.data || unfetched() || m_verdict.verdict_class == interrupted || m_context.plan->options.cleanup == "never";
}

// The step has ended without a job of its own. Removes what it has uploaded for one, unless another attempt follows or the job of an earlier one
// exists. `whole`: everything in the prefix.
void StepCleanup::remove_leftovers(bool whole) {
  const bool follows = m_verdict.verdict_class == interrupted || (m_context.retried && m_verdict.verdict_class != cancelled);
  const bool goes = (whole || m_context.brought) && !follows && m_context.plan->options.cleanup != "never";
  if (!goes) return m_timers.keep(m_context.loop.timer(Duration(0), [this] { end(""); }));
  if (!m_context.brought && m_context.signalled)  // none of it is ours
    m_timers.keep(m_context.loop.timer(max_read_time, [this] {
      end(fmt::format("cannot tell whether an earlier attempt left data at {}: timed out after {}", m_context.plan->data.prefix.uri,
                      trainstep::describe(max_read_time)));
    }));
  m_search = std::make_unique<JobSearch>(m_context.client, *m_context.plan, m_context.name_space, std::nullopt,
                                         [this, whole](const JobSearch::Answer& found) { looked(found, whole); });
}

void StepCleanup::looked(const JobSearch::Answer& found, bool whole) {
  const auto stay = [this, whole](const Error& error) {
    end(whole ? data_stays("", error) : fmt::format("the inputs at {} are kept: {}", m_context.plan->data.prefix.uri, error.message));
  };
  if (!found) return stay(found.error().error);
  if (*found) return end("");
  const auto removed = [this, stay](const Result<void>& done) { done ? end("") : stay(done.error()); };
  const auto rest = [this, whole, removed](const Result<void>& inputs) {
    if (!whole || !inputs) return removed(inputs);
    m_context.data->remove_unfinished(false, time_left() / 2, removed);
  };
  m_context.brought ? m_context.data->remove_inputs(rest) : rest({});
}

void StepCleanup::clean_up_job() {
  auto& backend = *m_context.backend;
  const bool keep = keeps_data(), good = m_verdict.verdict_class == succeeded;
  const auto* report = backend.report();
  const bool taken_back = !good && !on_claims(*m_context.plan).empty();
  const bool needed =
      taken_back || !m_context.plan->data.downloads.empty() || report == nullptr || report->shortened;  // by the attempt that adopts the job
  const auto* collection = m_context.collection;
  if (collection && (collection->lost() != Lost::nothing || (!keep && needed))) backend.data_will_be_deleted();
  if (good && m_context.data)
    for (const auto& line : m_context.data->confirm()) warn(line);
  if (m_context.signalled || m_verdict.verdict_class == cancelled) backend.set_kill_time(m_context.killed_at());
  if (!keep) backend.await_pods();
  const bool stays = unfetched() && m_verdict.verdict_class != interrupted && m_context.plan->data.prefix.in_store();
  backend.conclude(
      m_verdict, [this](const std::string& text) { warn(text); }, [this, stays](std::string problem) { job_cleaned_up(std::move(problem), stays); });
}

// `stays`: the delivered outputs do, in the prefix.
void StepCleanup::job_cleaned_up(std::string problem, bool stays) {
  m_pods_gone = true;
  const auto& plan = *m_context.plan;
  if (stays)
    problem = join(std::move(problem), fmt::format("{} is kept at {}",
                                                   m_context.collection->lost() == Lost::some ? "what is left of the delivered outputs"
                                                                                              : "what the training has delivered",
                                                   delivered_to(plan)));
  if (keeps_data()) {
    if (m_context.data && m_verdict.verdict_class != succeeded && m_verdict.verdict_class != interrupted)
      for (const auto& line : m_context.data->left_on_claims()) problem = join(std::move(problem), line);
    if (m_context.data && stays && !plan.data.uploads.empty() && plan.options.cleanup != "never")
      return m_context.data->remove_used_inputs([this, problem](const Result<void>& inputs) {
        end(inputs ? problem : join(problem, "cannot remove the job's inputs: " + inputs.error().message));
      });
    return end(std::move(problem));
  }
  if (m_verdict.verdict_class == cancelled && resumes()) {
    const auto& kept = plan.distribution.indexed ? plan.data.prefix.uri : plan.data.task.checkpoints.to.uri;
    for (auto* listener : m_context.listeners)
      listener->info(m_context.loop.now(), fmt::format("checkpoints are kept at {} for the next attempt of this run", kept));
  }
  const auto removed = [this, problem](const Result<void>& data) { end(data ? problem : data_stays(problem, data.error())); };
  if (m_verdict.verdict_class == succeeded) return m_context.data->remove_prefix(removed);
  m_context.data->remove_unfinished(resumes(), time_left() / 2, removed);
}

Duration StepCleanup::time_left() const {
  if (!m_limited) return unhurried;
  return std::max(Duration(0), std::chrono::duration_cast<Duration>(m_context.killed_at() - m_context.loop.now()) * 9 / 10);
}

void StepCleanup::limit() {
  if (std::exchange(m_limited, true)) return;
  m_timers.keep(m_context.loop.timer(time_left(), [this] {
    if (!m_context.data) return end("no time left to wait for the API server: the job may still exist, or not be marked as done");
    const auto& prefix = m_context.plan->data.prefix;
    end(fmt::format("no time left {}: its data at {} may remain",
                    m_pods_gone ? "to remove the data of the job" : "to wait until the job's pods are gone",
                    prefix.in_store() ? prefix.uri : "the locations of its outputs"));
  }));
}

void StepCleanup::end(std::string problem) {
  if (const auto done = std::exchange(m_done, nullptr)) done(std::move(problem));
}

void StepCleanup::warn(const std::string& text) {
  for (auto* listener : m_context.listeners) listener->warn(m_context.loop.now(), text);
}

}  // namespace trainstep::cluster
