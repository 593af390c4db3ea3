// SPDX-License-Identifier: Apache-2.0
#include "cluster/removal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cluster/objects.h"
#include "kube/version.h"

namespace trainstep::cluster {
namespace {

constexpr int max_versioned_conflicts = 5;  // of an object that changes between each look and its DELETE; then it is deleted as it is
// An API server that has just started rejects all requests for a moment; a later rejection is final.
constexpr Duration refusal_timeout{10'000};
// How long a response is waited for silently, and before the object is read instead.
constexpr Duration answer_due{5'000};
constexpr Duration answer_lost{10'000};
constexpr Duration removal_interval{250};
constexpr Duration rare_look{1'000};  // once its end has made us wait for seconds

bool is_going(const Json& object) { return at(metadata_of(object), "deletionTimestamp") != nullptr; }

// Its pods and its other dependents are deleted before it.
bool takes_dependents(const Json& object) {
  const auto* finalizers = at(metadata_of(object), "finalizers");
  return finalizers != nullptr && finalizers->is_array() && std::ranges::find(*finalizers, "foregroundDeletion") != finalizers->end();
}

kube::ApiError no_answer(const kube::Path& path, Duration since) {
  return {{ErrorKind::unavailable, fmt::format("delete {}: no answer for {}", path.describe(), describe(since))}, 0, {}, {}, {}};
}

}  // namespace

Duration retry_pause(kube::Client& client, int tries, const kube::ApiError& problem) {
  constexpr Duration longest{6'250};
  return std::min(client.pause(tries, problem.retry_after), longest);
}

std::string what_remains(const Json& object) {
  auto names = finalizers_of(object);
  std::erase(names, "foregroundDeletion");
  return names.empty() ? "its pods" : fmt::format("its finalizer{} {}", names.size() == 1 ? "" : "s", join(names, ", "));
}

Error Removal::Outcome::error() const {
  if (problem) return problem->error;
  return {ErrorKind::unavailable, "the deletion was accepted, but the object is not being deleted"};
}

Removal::Removal(kube::Client& client, Order order, Sink sink) : m_client(client), m_order(std::move(order)), m_sink(std::move(sink)) {
  if (m_order.taken) {
    look();
    return;
  }
  limit_tries();
  remove();
}

void Removal::limit_tries() {
  m_late = false;
  m_limit = m_client.loop().timer(m_order.timeout, [this] { too_late(); });
}

void Removal::remove() {
  ++m_tries;
  const bool versioned = !m_order.version.empty() && m_conflicts < max_versioned_conflicts;
  const kube::Preconditions seen{m_order.uid, versioned ? m_order.version : ""};
  m_call = m_client.remove(m_order.path, kube::Propagation::foreground, seen, {Duration(0)}, [this, versioned](const kube::Answer& answer) {
    m_due.cancel();
    answered(answer, versioned);
  });
  m_due = m_client.loop().timer(answer_due, [this] {
    m_due = m_client.loop().timer(answer_lost - answer_due, [this] { silent(); });
    m_sink.failing(no_answer(m_order.path, answer_due));
  });
}

// It is read instead: that needs no write.
void Removal::silent() {
  m_call.cancel();
  m_lost = true;
  m_hopeless = m_late;
  look();
}

void Removal::answered(const kube::Answer& answer, bool versioned) {
  if (!answer) {
    const auto& problem = answer.error();
    if (kube::tells_absent(problem, m_order.path.name)) return finish(End::gone);
    m_lost = m_lost || (problem.status == 0 && !kube::lacks_token(problem));
    if (problem.status != 409 || !versioned) return refused(problem);
    ++m_conflicts;
    m_conflict = true;
    return look();
  }
  if (!m_order.to_the_end) return finish(End::taken);
  m_order.taken = true;
  m_tries = 0;
  look();
}

// A longer pause requested by a server than a part of the timeout must not cost the DELETE.
void Removal::refused(const kube::ApiError& problem) {
  if (!may_help(problem)) return finish(m_order.taken ? End::taken : End::failed, problem);
  const auto pause = std::min(m_client.pause(std::max(m_tries, 1), problem.retry_after), m_order.timeout / 4);
  if (m_tries > 1 || pause >= answer_due) m_sink.failing(problem);
  m_next = m_client.loop().timer(pause, [this] { look(); });
}

// Other responses – a proxy's 400 or 410, a method that is not allowed – may not come from the API server, and need not be final. A server that is
// back gets its time again.
bool Removal::may_help(const kube::ApiError& problem) {
  if (kube::lacks_token(problem)) return !m_late;
  if (problem.status == 0) {
    if (m_order.silence && !m_silence_ends) m_silence_ends.emplace(m_client.loop()).set(*m_order.silence);
    limit_tries();
    const bool final = problem.error.kind == ErrorKind::internal;  // ours, not the server's
    return !final && !(m_silence_ends && m_silence_ends->passed());
  }
  m_silence_ends.reset();
  if (!m_limit && !m_late) limit_tries();
  if (problem.status == 403) {
    if (problem.error.kind != ErrorKind::denied) return false;  // a webhook that has seen this very object
    if (!m_refusal_ends) m_refusal_ends.emplace(m_client.loop()).set(refusal_timeout);
    if (m_refusal_ends->passed()) return false;
  } else {
    m_refusal_ends.reset();
  }
  return !m_late;
}

void Removal::too_late() {
  m_limit = {};
  m_late = true;
  if (!m_next) return;
  m_next.cancel();
  look();
}

// A DELETE that was not received, or was refused, must not hit an object that has become another, or is to stay, in the meantime.
void Removal::look() {
  m_next = {};
  m_call = m_client.get(m_order.path, {}, {Duration(0)}, [this](kube::Answer answer) { seen(std::move(answer)); });
}

void Removal::seen(kube::Answer answer) {
  if (answer && uid_of(*answer).empty())
    answer = tl::unexpected(
        kube::ApiError{{ErrorKind::unavailable, fmt::format("get {}: the answer is not an object", m_order.path.describe())}, 502, {}, {}, {}});
  const bool was_there = std::exchange(m_conflict, false);
  if (!answer) {
    const auto& problem = answer.error();
    if (kube::tells_absent(problem, m_order.path.name)) return was_there ? remove() : absent();
    if (m_hopeless) return finish(End::failed, problem);
    if (!m_order.taken && problem.status != 0) return remove();  // it need not be readable
    ++m_tries;
    return refused(problem);  // a DELETE would not be received either
  }
  m_silence_ends.reset();
  if (uid_of(*answer) != m_order.uid) {
    const bool had_the_name_before = kube::is_older_version(text(metadata_of(*answer), "resourceVersion"), m_order.version);
    return was_there && had_the_name_before ? remove() : finish(End::gone);
  }
  m_last = std::move(*answer);
  m_order.taken ? await_end() : try_again();
}

// A server that answers a GET may be behind one that knows the object, which was just created; for a write that is never so.
void Removal::absent() {
  if (m_order.taken || m_hopeless || std::exchange(m_seen_absent, true)) return finish(End::gone);
  remove();
}

// A DELETE without a response may have been accepted. So may that of another client, which orphans the pods.
void Removal::try_again() {
  if (m_order.spares && m_order.spares(m_last)) return finish(End::spared);
  if (m_lost && is_going(m_last) && (takes_dependents(m_last) || m_hopeless)) return answered(Json(), false);
  if (m_hopeless) return finish(End::failed, no_answer(m_order.path, answer_lost));
  if (!m_order.version.empty()) m_order.version = text(metadata_of(m_last), "resourceVersion");
  remove();
}

void Removal::await_end() {
  m_limit.cancel();
  m_late = false;
  m_tries = 0;
  m_refusal_ends.reset();
  if (!m_end_told) m_end_told.emplace(m_client.loop()).set(answer_due);
  if (m_order.end_timeout && !m_end_ends) m_end_ends.emplace(m_client.loop()).set(*m_order.end_timeout);
  if (m_end_ends && m_end_ends->passed()) return finish(is_going(m_last) ? End::taken : End::failed);
  const bool waited = m_end_told->passed();
  m_next = m_client.loop().timer(waited ? rare_look : removal_interval, [this] { look(); });
  if (waited && m_sink.remains) std::exchange(m_sink.remains, nullptr)(m_last);
}

void Removal::finish(End end, std::optional<kube::ApiError> problem) {
  for (auto* timer : {&m_next, &m_due, &m_limit}) timer->cancel();
  const auto done = std::move(m_sink.done);  // the callback may destroy this object
  done({end, std::move(problem), std::move(m_last)});
}

}  // namespace trainstep::cluster
