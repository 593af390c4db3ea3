// Session: what happens before there is a job: its inputs are uploaded, or the credentials for its outputs read.
// SPDX-License-Identifier: Apache-2.0
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

// The inputs of a job that an earlier attempt created are never replaced while it exists. The submission determines whether there may be one that
// cannot be seen.
void Session::bring_inputs() {
  m_uploading = true;
  if (m_plan->fresh_run) return upload();
  const auto looked = [this](const JobSearch::Answer& found) {
    if (m_over || m_early) return;
    if (!found || !*found) return upload();
    m_order->judge((*found)->object, [this, job = (*found)->object](bool /*later*/) { decide_on_inputs(job); });
  };
  m_search = std::make_unique<JobSearch>(m_remote ? *m_remote : m_home, *m_plan, m_job_name_space, std::nullopt, looked,
                                         kube::Retry{patience, m_options.pod.name.empty()});
}

void Session::decide_on_inputs(const Json& job) {
  if (m_over || m_early) return;
  if (!keeps_its_inputs(judge_existing(job, *m_plan, job_types::find(m_plan->job_type), attempt(), m_order->began()))) return upload();
  m_uploading = false;
  say("a job of this run exists; its inputs are kept");
  begin_to_follow();
}

void Session::upload() {
  m_data->upload([this](Result<void> uploaded) {
    m_uploading = false;
    if (m_over || m_early) return;
    if (!uploaded) return finish_early(result::from_error(uploaded.error()));
    begin_to_follow();
  });
}

// Before there is a job: without credentials for the store its outputs could not be downloaded.
void Session::open_stores() {
  m_uploading = true;
  m_data->open_stores([this](const Result<void>& opened) {
    if (m_over || m_early) return;
    if (!opened) return decide_without_stores(opened.error());
    m_uploading = false;
    begin_to_follow();
  });
}

// The job of an earlier attempt is followed nevertheless: whoever has the permission can download its outputs.
void Session::decide_without_stores(const Error& why) {
  const auto looked = [this, why](const JobSearch::Answer& found) {
    if (m_over || m_early) return;
    m_uploading = false;
    found && *found ? begin_to_follow() : finish_early(result::from_error(why));
  };
  m_search = std::make_unique<JobSearch>(m_remote ? *m_remote : m_home, *m_plan, m_job_name_space, std::nullopt, looked,
                                         kube::Retry{patience, m_options.pod.name.empty()});
}

// We were not told to stop, but our upload would overwrite what the next attempt uploads for its job.
void Session::missed_pod() {
  if (!m_uploading || m_early || m_over) return;
  m_order->ask_replaced([this, alive = m_alive](const Result<bool>& replaced) {
    if (!*alive || !m_uploading || m_early || m_over || !replaced || !*replaced) return;
    m_uploading = false;
    make_data();  // cancels what is in progress
    finish_early({result::VerdictClass::interrupted, "this step's pod is gone: the inputs are left to the next attempt", std::nullopt, false, 0});
  });
}

}  // namespace trainstep::cluster
