// Watches: from a version on, with bookmarks, until their time is over.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/api_server.h"

namespace trainstep::sim {
namespace {

std::string event(std::string_view type, const std::string& object) {
  std::string line;
  line.reserve(object.size() + 40);
  line.append(R"({"type":")").append(type).append(R"(","object":)").append(object).append("}\n");
  return line;
}

std::string bookmark(const Resource& resource, bool metadata_only, std::uint64_t number) {
  return event("BOOKMARK", fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{}","creationTimestamp":null}}}})",
                                       metadata_only ? "PartialObjectMetadata" : resource.kind,
                                       metadata_only ? "meta.k8s.io/v1" : resource.group_version, number));
}

std::int64_t whole(std::string_view text, std::int64_t otherwise) {
  std::int64_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

void ApiServer::watch(Call request, const Target& to, bool metadata_only, const WirePtr& wire) {
  const auto asked_version = asked(request, "resourceVersion");
  const auto from = static_cast<std::uint64_t>(whole(asked_version, 0));
  std::string fields(asked(request, "fieldSelector"));
  if (!to.name.empty()) fields += (fields.empty() ? "metadata.name=" : ",metadata.name=") + to.name;
  const auto watcher =
      std::make_shared<Watcher>(Watcher{wire, to.resource, to.name_space, Selector(asked(request, "labelSelector"), fields), metadata_only,
                                        asked(request, "allowWatchBookmarks") == "true", m_options.brief ? m_options.brief() : std::nullopt, from});
  const bool too_old = from != 0 && from < m_store.compacted();
  if (too_old && m_options.expired_as_http) return reply(wire, {410, expired_object(from, m_store.compacted()).dump() + "\n"});
  wire->open(200, {{"Content-Type", "application/json"}, {"Transfer-Encoding", "chunked"}});
  if (too_old) {
    wire->send(event("ERROR", expired_object(from, m_store.compacted()).dump()));
    wire->close();
    return;
  }
  if (watcher->brief && watcher->brief->events == 0) return end_early(*watcher);
  if (from == 0) {
    for (const auto& version : m_store.list(*to.resource, to.name_space))
      if (watcher->selector.matches(version->object)) wire->send(event("ADDED", metadata_only ? version->metadata_text() : version->text()));
  } else {
    const auto& history = m_store.history();
    auto at = std::partition_point(history.begin(), history.end(), [from](const Happening& happening) { return happening.number <= from; });
    for (; at != history.end() && !wire->closed(); ++at) tell(*watcher, *at);
  }
  const auto seconds = whole(asked(request, "timeoutSeconds"), 1'800);
  m_store.loop().after(std::min(m_options.max_watch_time, Duration{seconds * 1000}), [watcher = std::weak_ptr(watcher)] {
    const auto live = watcher.lock();
    if (live != nullptr && !live->wire->closed()) live->wire->close();
  });
  keep(watcher);
  m_watchers.push_back(watcher);
}

// A bookmark now and then, as long as the connection is open.
void ApiServer::keep(const std::shared_ptr<Watcher>& watcher) {
  if (!watcher->bookmarks) return;
  m_store.loop().after(m_options.bookmarks, [this, weak = std::weak_ptr(watcher)] {
    const auto live = weak.lock();
    if (live == nullptr || live->wire->closed()) return;
    live->wire->send(bookmark(*live->resource, live->metadata_only, m_store.number()));
    keep(live);
  });
}

// An object that comes into the selector's sight is ADDED, one that leaves it DELETED.
void ApiServer::tell(Watcher& watcher, const Happening& happening) {
  const auto& now = *happening.now;
  if (now.resource != watcher.resource || (!watcher.name_space.empty() && now.name_space() != watcher.name_space)) return;
  const bool is = happening.sort != Happening::Sort::deleted && watcher.selector.matches(now.object);
  const bool was = happening.before != nullptr && watcher.selector.matches(happening.before->object);
  if (!is && !was) return;
  watcher.wire->send(event(is && was ? "MODIFIED" : is ? "ADDED" : "DELETED", watcher.metadata_only ? now.metadata_text() : now.text()));
  watcher.told = happening.number;
  if (watcher.brief && --watcher.brief->events <= 0) end_early(watcher);
}

void ApiServer::end_early(Watcher& watcher) {
  using enum Brief::End;
  const auto end = watcher.brief->end;
  if (end == gone) watcher.wire->send(event("ERROR", expired_object(watcher.told, watcher.told + 1).dump()));
  if (end == torn) watcher.wire->send(R"({"type":"MODIFIED","object":{"kind":")");
  if (end == bookmarks && watcher.bookmarks)
    for (int i = 0; i < 2; ++i) watcher.wire->send(bookmark(*watcher.resource, watcher.metadata_only, watcher.told));
  watcher.wire->close();
}

void ApiServer::heard(const Happening& happening) {
  m_watchers.remove_if([](const auto& watcher) { return watcher->wire->closed(); });
  for (const auto& watcher : m_watchers) tell(*watcher, happening);
}

void ApiServer::drop_streams() {
  for (const auto& watcher : std::exchange(m_watchers, {}))
    if (!watcher->wire->closed()) watcher->wire->close();
  m_logs.cut_all();
}

}  // namespace trainstep::sim
