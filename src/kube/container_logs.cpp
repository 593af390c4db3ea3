// SPDX-License-Identifier: Apache-2.0
#include "kube/container_logs.h"

#include <algorithm>
#include <utility>

namespace trainstep::kube {

ContainerLogs::Id ContainerLogs::enter(const LogCursor& cursor, std::function<void()> retire) {
  if (m_readers.size() >= remembered)
    if (const auto gone = std::ranges::find(m_readers, nullptr, &Reader::cursor); gone != m_readers.end()) m_readers.erase(gone);
  auto& reader = m_readers.emplace_back();
  reader.id = m_next++;
  reader.cursor = &cursor;
  reader.retire = std::move(retire);
  return reader.id;
}

void ContainerLogs::leave(Id id) {
  const auto found = std::ranges::find(m_readers, id, &Reader::id);
  if (found == m_readers.end() || found->cursor == nullptr) return;
  found->last_state = *std::exchange(found->cursor, nullptr);
  found->retire = nullptr;
}

void ContainerLogs::begins(Id id, Stamp stamp, std::string_view text) {
  if (const auto found = std::ranges::find(m_readers, id, &Reader::id); found != m_readers.end())
    found->beginnings.push_back(LogCursor::hash_of(stamp, text));
}

ContainerLogs::Whose ContainerLogs::ask(Id id, Stamp stamp, std::string_view text, LogCursor& cursor) {
  const auto hash = LogCursor::hash_of(stamp, text);
  for (auto other = m_readers.rbegin(); other != m_readers.rend(); ++other) {
    if (other->id == id || std::ranges::find(other->beginnings, hash) == other->beginnings.end()) continue;
    if (other->id > id) return Whose::newer;
    cursor = other->cursor != nullptr ? *other->cursor : other->last_state;
    if (other->retire) other->retire();
    return Whose::older;
  }
  return Whose::nobodys;
}

}  // namespace trainstep::kube
