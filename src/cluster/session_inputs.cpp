// Session: what happens before there is a job: its inputs are uploaded, or the credentials for its outputs read.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "cluster/ownership.h"
#include "cluster/session.h"

namespace trainstep::cluster {
namespace {

constexpr Duration owners_timeout{300'000};
constexpr Duration slow{10'000};

// Such a job is followed, or refused: its inputs belong to it. Any other is created again, with the present inputs.
bool keeps_its_inputs(Existing existing) {
  using enum Existing;
  return existing == earlier_attempt || existing == later_attempt || existing == other_spec || existing == unknown_spec;
}

}  // namespace

// The job of an earlier attempt; nullopt: there is none.
void Session::look_for_earlier(std::function<void(Result<std::optional<Existing>>)> done) {
  if (m_plan->fresh_run) return done(std::nullopt);
  const auto looked = [this, done](const JobSearch::Answer& found) {
    if (m_over || m_early) return;
    if (!found) return done(found.error().error);
    if (!*found) return done(std::nullopt);
    judge_earlier((*found)->object, *m_plan, [this, done](Existing existing) {
      if (!m_over && !m_early) done(existing);
    });
  };
  m_search = std::make_unique<JobSearch>(m_remote ? *m_remote : m_home, *m_plan, m_job_name_space, std::nullopt, looked,
                                         kube::Retry{owners_timeout, m_options.pod.name.empty()});
}

void Session::judge_earlier(const Json& job, const plan::Plan& plan, std::function<void(Existing)> done) {
  m_order->judge(job, [this, job, &plan, done = std::move(done)](bool /*later*/) {
    done(judge_existing(job, plan, job_types::find(plan.job_type), attempt(), m_order->began()));
  });
}

// The inputs of a job that an earlier attempt created are never replaced while it exists. The submission determines whether there may be one that
// cannot be seen.
void Session::bring_inputs() {
  m_preparing = true;
  look_for_earlier([this](const Result<std::optional<Existing>>& existing) {
    const bool exists = existing && *existing;
    m_unwanted = exists && **existing == Existing::unwanted;
    if (!exists || !keeps_its_inputs(**existing)) return upload();
    m_preparing = false;
    say("a job of this run exists; its inputs are kept");
    m_data->read_credentials([this](const Result<void>& found) {
      if (!found && !m_over && !m_early) say(outputs_wait(found.error()));
    });
    begin_to_follow();
  });
}

void Session::upload() {
  m_data->upload([this](Result<void> uploaded) {
    if (m_over || m_early) return;  // a stop that is being handled winds down itself, as long as m_preparing is set
    m_preparing = false;
    if (!uploaded && !m_unwanted) return finish_early(result::from_error(uploaded.error()));
    if (!uploaded) m_without = std::move(uploaded.error());
    begin_to_follow();
  });
}

// Finds out before the training what would cost the step its outputs after it. A job that is already running is followed nevertheless: nothing
// else would end it, and the credentials may be readable by then.
void Session::read_credentials() {
  m_preparing = true;
  m_data->read_credentials([this](const Result<void>& found) {
    if (m_over || m_early) return;
    if (!m_preparing) return found ? void() : say(outputs_wait(found.error()));
    if (found) return go_on_with_keys();
    m_slow.cancel();
    look_for_earlier([this, error = found.error()](const Result<std::optional<Existing>>& existing) mutable {
      if (!existing) {
        error.message += fmt::format("; whether a job of this run exists is unknown: {}", existing.error().message);
        if (existing.error().kind == ErrorKind::unavailable) error.kind = ErrorKind::unavailable;
      }
      const bool exists = existing && *existing;
      const bool goes_on = exists && keeps_its_inputs(**existing);
      if (!goes_on && (!exists || **existing != Existing::unwanted)) return finish_early(result::from_error(error));
      if (goes_on) say(outputs_wait(error));
      m_without = std::move(error);
      go_on_with_keys();
    });
  });
  m_slow = m_loop.timer(slow, [this] {
    if (m_preparing && !m_early && !m_over)
      look_for_earlier([this](const Result<std::optional<Existing>>& existing) {
        const bool exists = m_preparing && existing && *existing;
        if (!exists || (**existing != Existing::earlier_attempt && **existing != Existing::later_attempt)) return;
        m_without = Error{ErrorKind::unavailable, "the credentials of the object store are not available yet"};
        say(outputs_wait(*m_without));
        go_on_with_keys();
      });
  });
}

void Session::go_on_with_keys() {
  m_slow.cancel();
  m_preparing = false;
  begin_to_follow();
}

// We were not told to stop, but our upload would overwrite what the next attempt uploads for its job.
void Session::missed_pod() {
  if (!m_preparing || m_plan->data.uploads.empty() || m_early || m_over) return;
  m_order->ask_replaced([this, alive = m_alive](const Result<bool>& replaced) {
    if (!*alive || !m_preparing || m_early || m_over || !replaced || !*replaced) return;
    m_preparing = false;
    make_data();  // cancels what is in progress
    finish_early({result::VerdictClass::interrupted, "this step's pod is gone: the inputs are left to the next attempt", std::nullopt, false, 0});
  });
}

}  // namespace trainstep::cluster
