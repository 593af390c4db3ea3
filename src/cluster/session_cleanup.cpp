// Session: the cleanup of the job and its data, once the verdict is known.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/data.h"
#include "cluster/job_search.h"
#include "cluster/session.h"

namespace trainstep::cluster {
namespace {

// How long a step that ends without a job, and brought nothing, tries to remove what an earlier attempt may have left.
constexpr Duration longest_look{5'000};

// `more`: what else could not be done.
std::string join(std::string problem, const std::string& more) { return problem.empty() ? more : std::move(problem) + "; " + more; }

std::string data_stays(std::string problem, const Error& error) {
  return join(std::move(problem), fmt::format("cannot remove the job's data: {}", error.message));
}

}  // namespace

// By the clock of the step's cluster.
bool Session::is_retried() const {
  const auto now = m_loop.now() + m_home.clock().value_or(Duration{0});
  return m_facts.retry != Retry::none && (!m_facts.retried_until || now < *m_facts.retried_until);
}

// The step has ended without a job of its own. Removes what it has uploaded for one, unless another attempt follows or the job of an earlier one
// exists. `whole`: everything in the prefix.
void Session::leave_data(const result::Verdict& verdict, bool whole) {
  using enum result::VerdictClass;
  const bool retried = is_retried();
  const bool follows = verdict.verdict_class == interrupted || (retried && verdict.verdict_class != cancelled);
  const bool brought = m_data && (m_brought || m_data->has_uploaded());
  const bool goes = (whole || brought) && !follows && m_plan->options.cleanup != "never";
  if (!goes)
    return m_loop.post([this, alive = m_alive] {
      if (*alive) concluded("");
    });
  const auto looked = [this, whole, brought](const JobSearch::Answer& found) {
    const auto stay = [this, whole](const Error& error) {
      concluded(whole ? data_stays("", error) : fmt::format("the inputs at {} are kept: {}", m_plan->data.prefix.uri, error.message));
    };
    if (!found) return stay(found.error().error);
    if (*found) return concluded("");
    const auto removed = [this, stay](const Result<void>& done) { done ? concluded("") : stay(done.error()); };
    const auto rest = [this, whole, removed](const Result<void>& inputs) {
      if (!whole || !inputs) return removed(inputs);
      m_data->remove_unfinished(false, time_to_clean() / 2, removed);
    };
    brought ? m_data->remove_inputs(rest) : rest({});
  };
  if (!brought && m_signalled)  // none of it is ours
    m_timers.keep(m_loop.timer(longest_look, [this] {
      concluded(fmt::format("whether an earlier attempt left data at {} could not be determined in {}", m_plan->data.prefix.uri,
                            trainstep::describe(longest_look)));
    }));
  m_search = std::make_unique<JobSearch>(m_remote ? *m_remote : m_home, *m_plan, m_job_name_space, std::nullopt, looked);
}

void Session::conclude(const result::Verdict& verdict, std::function<void(std::string)> done) {
  using enum result::VerdictClass;
  m_concluded = std::move(done);
  const bool cancelled_now = verdict.verdict_class == cancelled;
  if (m_signalled || cancelled_now) limit_cleanup();
  if (!m_backend) return leave_data(verdict, false);
  // A retry of the step is a new job of the same name, which continues from the checkpoints.
  const bool resumes = verdict.verdict_class != succeeded && m_plan && !m_plan->data.task.checkpoints.path.empty();
  // Results that were delivered but could not be downloaded are all that remains of the training – unless nobody wants them, or something was not
  // written.
  using enum staging::Fetching::Lost;
  const bool unwanted = verdict.verdict_class == succeeded || cancelled_now || (m_fetched && verdict.verdict_class == user);
  const bool unfetched = m_trained && !unwanted && m_lost != all;
  const bool keep = !m_data || unfetched || verdict.verdict_class == interrupted || m_plan->options.cleanup == "never";
  if (!m_backend->exists()) return leave_data(verdict, !keep && !resumes);
  const auto* report = m_backend->report();
  const bool taken_back = verdict.verdict_class != succeeded && !on_claims(*m_plan).empty();
  const bool needed = taken_back || !m_plan->data.downloads.empty() || report == nullptr || report->shortened;  // by whoever adopts the job
  if (m_lost != nothing || (!keep && m_trained && needed)) m_backend->data_goes();
  const auto tell = [this](const std::string& text) {
    for (auto* listener : m_listeners) listener->warn(m_loop.now(), text);
  };
  if (verdict.verdict_class == succeeded && m_data)
    for (const auto& line : m_data->confirm()) tell(line);
  if (m_signalled || cancelled_now) m_backend->dies_at(killed_at());
  if (!keep) m_backend->await_pods();
  const bool stays = unfetched && verdict.verdict_class != interrupted && m_plan->data.prefix.in_store();
  const bool left = m_data && verdict.verdict_class != succeeded && verdict.verdict_class != interrupted;
  m_backend->conclude(
      verdict, tell, [this, keep, left, resumes, stays, cancelled_now, good = verdict.verdict_class == succeeded](std::string problem) {
        m_pods_gone = true;
        if (stays)
          problem = join(std::move(problem),
                         fmt::format("{}the delivered outputs are kept at {}", m_lost == some ? "what is left of " : "", delivered_to(*m_plan)));
        if (keep && left)
          for (const auto& line : m_data->left_on_claims()) problem = join(std::move(problem), line);
        if (keep) return concluded(std::move(problem));
        const auto& kept = m_plan->distribution.indexed ? m_plan->data.prefix.uri : m_plan->data.task.checkpoints.to.uri;
        if (cancelled_now && resumes) say(fmt::format("checkpoints are kept at {} for the next attempt of this run", kept));
        const auto removed = [this, problem](const Result<void>& data) { concluded(data ? problem : data_stays(problem, data.error())); };
        good ? m_data->remove_prefix(removed) : m_data->remove_unfinished(resumes, time_to_clean() / 2, removed);
      });
}

// After a signal we are killed soon, whatever a store or an API server is doing.
Duration Session::time_to_clean() const {
  constexpr Duration unhurried{120'000};
  if (!m_cleanup_limited) return unhurried;
  return std::max(Duration(0), std::chrono::duration_cast<Duration>(killed_at() - m_loop.now()) * 9 / 10);
}

void Session::limit_cleanup() {
  if (std::exchange(m_cleanup_limited, true)) return;
  m_timers.keep(m_loop.timer(time_to_clean(), [this] {
    if (!m_concluded) return;
    if (!m_data) return concluded("no time left to wait for the API server: the job may still exist, or not be marked as done");
    concluded(fmt::format("no time left {}: its data at {} may remain",
                          m_pods_gone ? "to remove the data of the job" : "to wait for the end of the job's pods",
                          m_plan->data.prefix.in_store() ? m_plan->data.prefix.uri : "the locations of its outputs"));
  }));
}

void Session::concluded(std::string problem) {
  if (const auto done = std::exchange(m_concluded, nullptr)) done(std::move(problem));
}

}  // namespace trainstep::cluster
