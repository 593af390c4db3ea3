// Session: what happens before there is a job: its inputs are uploaded, or the credentials for its outputs read.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "cluster/ownership.h"
#include "cluster/session.h"

namespace trainstep::cluster {
namespace {

constexpr Duration patience{300'000};

// Such a job is followed, or refused: its inputs belong to it. Any other is created again, with the present inputs.
bool keeps_its_inputs(Existing existing) {
  using enum Existing;
  return existing == earlier_attempt || existing == later_attempt || existing == other_spec || existing == unknown_spec;
}

}  // namespace

// Whether the step continues with the job of an earlier attempt.
void Session::look_for_earlier(std::function<void(Result<bool> goes_on)> done) {
  if (m_plan->fresh_run) return done(false);
  const auto judged = [this, done](const Json& job) {
    if (m_over || m_early) return;
    done(keeps_its_inputs(judge_existing(job, *m_plan, job_types::find(m_plan->job_type), attempt(), m_order->began())));
  };
  const auto looked = [this, done, judged](const JobSearch::Answer& found) {
    if (m_over || m_early) return;
    if (!found) return done(found.error().error);
    if (!*found) return done(false);
    m_order->judge((*found)->object, [judged, job = (*found)->object](bool /*later*/) { judged(job); });
  };
  m_search = std::make_unique<JobSearch>(m_remote ? *m_remote : m_home, *m_plan, m_job_name_space, std::nullopt, looked,
                                         kube::Retry{patience, m_options.pod.name.empty()});
}

// The inputs of a job that an earlier attempt created are never replaced while it exists. The submission determines whether there may be one that
// cannot be seen.
void Session::bring_inputs() {
  m_preparing = true;
  look_for_earlier([this](const Result<bool>& goes_on) {
    if (!goes_on.value_or(false)) return upload();
    m_preparing = false;
    say("a job of this run exists; its inputs are kept");
    begin_to_follow();
  });
}

void Session::upload() {
  m_data->upload([this](Result<void> uploaded) {
    if (m_over || m_early) return;  // a stop that is being handled winds down itself, as long as m_preparing is set
    m_preparing = false;
    if (!uploaded) return finish_early(result::from_error(uploaded.error()));
    begin_to_follow();
  });
}

// Finds out before the training what would cost the step its outputs after it. A job that is already running is followed nevertheless: nothing
// else would end it, and the credentials may be readable by then.
void Session::read_credentials() {
  m_preparing = true;
  m_data->read_credentials([this](const Result<void>& found) {
    if (m_over || m_early) return;
    const auto go_on = [this] {
      m_preparing = false;
      begin_to_follow();
    };
    if (found) return go_on();
    look_for_earlier([this, go_on, error = found.error()](const Result<bool>& goes_on) mutable {
      if (!goes_on) {
        error.message += fmt::format("; whether a job of this run exists is unknown: {}", goes_on.error().message);
        if (goes_on.error().kind == ErrorKind::unavailable) error.kind = ErrorKind::unavailable;
      }
      if (!goes_on.value_or(false)) return finish_early(result::from_error(error));
      say(fmt::format("a job of this run exists; its outputs cannot be fetched yet: {}", error.message));
      go_on();
    });
  });
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
