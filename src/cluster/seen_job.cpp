// SPDX-License-Identifier: Apache-2.0
#include "cluster/seen_job.h"

#include "cluster/has_run.h"
#include "cluster/keep_deadline.h"
#include "cluster/objects.h"
#include "cluster/ownership.h"

namespace trainstep::cluster {
namespace {

// As a queue does.
bool is_suspended(const Json& job) {
  const auto* spec = at(&job, "spec");
  const auto* policy = at(spec, "runPolicy");
  const auto* suspended = at(policy != nullptr ? policy : spec, "suspend");
  return suspended != nullptr && *suspended == true;
}

}  // namespace

void SeenJob::found(const Json& object) {
  const bool made_by_us = text(at(metadata_of(object), "annotations"), attempt_annotation) == m_attempt;
  m_follower_before = made_by_us ? "" : follower_of(object);
  m_version = text(metadata_of(object), "resourceVersion");
}

void SeenJob::take(const Json& object) {
  m_version = text(metadata_of(object), "resourceVersion");
  m_started = from_rfc3339(text(at(&object, "status"), "startTime"));
  m_has_keep_deadline = cluster::has_keep_deadline(object);
  m_reported_class = outcome_of(object);
  m_begun = m_begun || m_started || m_has_keep_deadline || has_run(object);  // no other was left by an earlier attempt
  m_waits = is_suspended(object) && !m_begun;
  m_deadline = own_deadline(object, m_plan.options.run_policy.active_deadline);
  m_taken_over = is_taken_over(object);
  m_later = m_order->is_later(object);
}

void SeenJob::set_begun() {
  m_begun = true;
  m_waits = false;
}

bool SeenJob::is_taken_over(const Json& object) const {
  if (m_order->is_later(object)) return true;
  const auto follower = follower_of(object);
  return !follower.empty() && follower != m_attempt && follower != m_follower_before;
}

}  // namespace trainstep::cluster
