// SPDX-License-Identifier: Apache-2.0
#include "follow/pending_clock.h"

#include <cstddef>

namespace trainstep::follow {

std::optional<Duration> pending_limit(const Pending& pending, const plan::Limits& limits) {
  if (!pending.limit || *pending.limit == at_once) return pending.limit;
  using enum Pending::Kind;
  const auto kind = pending.kind;
  const bool starts = kind == image || kind == configuration || kind == registry || kind == container;
  const auto wanted = starts ? limits.starting : kind == claim ? limits.scheduling : limits.queued;
  return wanted ? wanted : pending.limit;
}

void PendingClock::see(const Present& present, Time at) {
  using Kind = Pending::Kind;
  // A pull, or a container, that fails first permanently and then transiently has not succeeded in between: its clock keeps running.
  const auto same = [&](std::size_t kind) {
    const auto is = [kind](Kind one) { return kind == static_cast<std::size_t>(one); };
    const auto there = [&](Kind one) { return present.at(static_cast<std::size_t>(one)) != nullptr; };
    return (is(Kind::image) && there(Kind::registry)) || (is(Kind::registry) && there(Kind::image)) ||
           (is(Kind::configuration) && there(Kind::container)) || (is(Kind::container) && there(Kind::configuration));
  };
  for (std::size_t kind = 0; kind < present.size(); ++kind) {
    auto& since = m_since.at(kind);
    if (present.at(kind) == nullptr && same(kind)) continue;
    if (present.at(kind) == nullptr)
      since.reset();
    else if (!since)
      since = at;
  }
}

void PendingClock::restart(Time at) {
  for (auto& since : m_since)
    if (since) since = at;
}

PendingClock::Due PendingClock::next(const Present& present, const plan::Limits& limits, Time at) const {
  Due due;
  for (std::size_t kind = 0; kind < present.size(); ++kind) {
    const auto* pending = present.at(kind);
    const auto limit = pending != nullptr ? pending_limit(*pending, limits) : std::nullopt;
    if (!limit) continue;
    const auto lasted = at - m_since.at(kind).value_or(at);
    if (due.pending == nullptr || *limit - lasted < due.left) due = {pending, lasted, *limit - lasted};
  }
  return due;
}

}  // namespace trainstep::follow
