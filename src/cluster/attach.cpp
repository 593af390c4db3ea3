// SPDX-License-Identifier: Apache-2.0
#include "cluster/attach.h"

#include <utility>

#include "cluster/jobs.h"

namespace trainstep::cluster {
namespace {

SessionOptions options_for(Place place, const plan::Plan& plan, Submitted job) {
  SessionOptions options;
  options.name_space = std::move(place.name_space);
  options.where = std::move(place.where);
  options.seed = place.seed;
  options.make_plan = [plan](const Facts&, const std::string&) -> Result<plan::Plan> { return plan; };
  options.facts = facts_of(job);
  options.existing = std::move(job);
  return options;
}

}  // namespace

Attachment::Attachment(Loop& loop, http::Transport& transport, std::shared_ptr<kube::Credentials> credentials, Place place, const plan::Plan& plan,
                       Submitted job, std::vector<run::Listener*> listeners)
    : m_transport(loop, transport),
      m_session(loop, m_transport, std::move(credentials), options_for(std::move(place), plan, std::move(job)), std::move(listeners)) {}

}  // namespace trainstep::cluster
