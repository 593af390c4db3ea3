// SPDX-License-Identifier: Apache-2.0
#include "cluster/earlier_job.h"

#include <utility>

#include "cluster/first_contact.h"

namespace trainstep::cluster {
namespace {

constexpr Duration owners_timeout{300'000};

}  // namespace

EarlierJob::EarlierJob(Context context) : m_context(std::move(context)) {}

void EarlierJob::look(const plan::Plan& plan, std::function<void(const JobSearch::Answer&)> done, bool doubts_absence) {
  const auto looked = [&place = m_context.place, done = std::move(done)](JobSearch::Answer found) {
    if (!found && place.is_remote()) found.error().error.message += remedy_for(found.error());
    done(found);
  };
  m_search = std::make_unique<JobSearch>(m_context.place.client(), plan, m_context.place.name_space(), std::nullopt, looked,
                                         kube::Retry{owners_timeout, m_context.at_shell}, doubts_absence);
}

void EarlierJob::judge(const Json& job, const plan::Plan& plan, std::function<void(Existing)> done) {
  m_context.order.judge(job, [this, job, &plan, done = std::move(done)](bool /*later*/) {
    done(judge_existing(job, plan, job_types::find(plan.job_type), m_context.attempt, m_context.order.began()));
  });
}

}  // namespace trainstep::cluster
