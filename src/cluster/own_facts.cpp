// SPDX-License-Identifier: Apache-2.0
#include "cluster/own_facts.h"

#include <utility>

namespace trainstep::cluster {
namespace {

constexpr Duration hasty_look{2'000};  // how often our own pod is read once this process is to end

}  // namespace

OwnFacts::OwnFacts(Context context, std::function<void(Result<Facts>)> done) : m_context(std::move(context)), m_done(std::move(done)) {}

void OwnFacts::use(Facts facts) {
  m_context.loop.post(m_lifetime.bind([this, facts = std::move(facts)]() mutable { finish(std::move(facts)); }));
}

void OwnFacts::look() { look({}); }

void OwnFacts::look(kube::Retry retry) {
  const auto know_it = m_lifetime.bind([this](Result<Facts> facts) {
    if (m_left) return;
    if (!facts && facts.error().kind == ErrorKind::unavailable && m_in_haste) return;  // there is another look, or no time for one
    finish(std::move(facts));
  });
  find_facts(m_context.home, m_context.name_space, m_context.pod, know_it, retry);
}

void OwnFacts::read_own_pod_before_stop() {
  if (m_left) return;
  m_in_haste = true;
  look({Duration(0)});
  m_next_look = m_context.loop.timer(hasty_look, [this] { read_own_pod_before_stop(); });
}

void OwnFacts::continue_with_run_id() {
  if (m_left) return;
  m_context.log("cannot read this step's own pod: looking for a job by its run id only");
  Facts facts;
  facts.name_space = m_context.pod.name_space.empty() ? m_context.name_space : m_context.pod.name_space;
  finish(std::move(facts));
}

void OwnFacts::finish(Result<Facts> facts) {
  if (std::exchange(m_left, true)) return;
  m_done(std::move(facts));
}

}  // namespace trainstep::cluster
