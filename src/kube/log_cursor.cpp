// SPDX-License-Identifier: Apache-2.0
#include "kube/log_cursor.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace trainstep::kube {
namespace {

constexpr std::size_t max_equal_timestamps = 4096;  // bounds memory if the clock does not advance

}  // namespace

std::size_t LogCursor::hash_of(Stamp stamp, std::string_view text) {
  constexpr std::size_t spread = 0x9E3779B97F4A7C15U;
  return std::hash<std::string_view>()(text) ^ (static_cast<std::size_t>(stamp) * spread);
}

void LogCursor::Mark::add(std::size_t hash) {
  if (count++ == 0) first = hash;
  last = hash;
}

bool LogCursor::stepped_back() const { return second_of(m_latest) < m_marks[0].second; }

std::optional<Stamp> LogCursor::last() const { return m_any ? std::optional(m_newest) : std::nullopt; }

LogCursor::Place LogCursor::place() const {
  if (m_mode == Mode::fresh || (m_mode == Mode::searching && m_found)) return Place::caught;
  return m_mode == Mode::counting && m_seen > 0 ? Place::known : Place::lost;
}

void LogCursor::begin() {
  const auto distrusted = std::exchange(m_distrusted, false);
  m_seen = 0;
  m_mode = Mode::fresh;
  if (!m_any) return;
  m_mark = stepped_back() ? m_all : m_marks[0];
  const auto counts = m_mark.sound && !distrusted;
  // The clock was set back, so new timestamps may be anywhere: reads everything again.
  m_since = !stepped_back() ? std::optional(m_mark.second) : counts ? std::nullopt : std::optional(second_of(m_latest));
  m_mode = Mode::counting;
  if (!counts) search();
}

void LogCursor::search() {
  m_mode = Mode::searching;
  m_found = false;
  m_target = stepped_back() ? m_latest : m_newest;
  m_left = stepped_back() ? std::vector{m_latest_hash} : m_at_newest;
}

LogCursor::Step LogCursor::take(Stamp stamp, std::string_view text) {
  const auto hash = hash_of(stamp, text);
  if (m_mode != Mode::fresh && m_since && second_of(stamp) < *m_since) return Step::skip;  // before sinceTime
  if (m_mode == Mode::counting && m_seen == 0 && hash != m_mark.first) search();
  if (m_mode == Mode::searching) return search_for(stamp, hash);
  if (m_mode == Mode::fresh) {
    record(stamp, hash);
    return Step::deliver;
  }
  if (++m_seen < m_mark.count) return Step::skip;
  if (hash != m_mark.last) return distrust(), Step::astray;
  m_mode = Mode::fresh;
  return Step::skip;
}

LogCursor::Step LogCursor::search_for(Stamp stamp, std::size_t hash) {
  if (stamp < m_target) return Step::skip;
  const auto known = stamp == m_target ? std::find(m_left.begin(), m_left.end(), hash) : m_left.end();
  if (known != m_left.end()) {
    m_left.erase(known);
    m_found = true;
    return Step::skip;
  }
  if (!m_found) return Step::gap;
  accept_gap();
  record(stamp, hash);
  return Step::deliver;
}

void LogCursor::accept_gap() {
  m_mode = Mode::fresh;
  m_all.sound = m_marks[0].sound = m_marks[1].sound = false;
}

void LogCursor::advance(std::int64_t second) {
  m_marks[0] = second == m_marks[1].second + 1 && m_any ? m_marks[1] : Mark{.second = second - 1};
  m_marks[1] = Mark{.second = second};
}

void LogCursor::record(Stamp stamp, std::size_t hash) {
  if (!m_any || stamp > m_newest) {
    if (!m_any || second_of(stamp) > m_marks[1].second) advance(second_of(stamp));
    m_newest = stamp;
    m_at_newest.clear();
  }
  m_any = true;
  if (stamp == m_newest && m_at_newest.size() < max_equal_timestamps) m_at_newest.push_back(hash);
  m_latest = stamp;
  m_latest_hash = hash;
  m_all.add(hash);
  for (auto& mark : m_marks)
    if (second_of(stamp) >= mark.second) mark.add(hash);
}

}  // namespace trainstep::kube
