// Keeps track of a collection: list, then watch from there, without end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/client.h"

namespace trainstep::kube {

struct WatchOptions {
  Path path;  // the collection
  std::string label_selector{};
  std::string field_selector{};
  bool metadata_only = false;   // as PartialObjectMetadata: a step does not need the megabytes of its Workflow
  Duration timeout{1'800'000};  // timeoutSeconds of one connection: what servers commonly allow
  Duration silence{60'000};     // added to `timeout`: a connection silent for longer than both is dead
  bool needed = false;          // a 403 before the first watch is retried as well: starting API servers answer like that
  bool followed = false;        // another process has watched it until now: refusals are retried as if this watch had been accepted before
  // Optional: removes from each object what its reader does not need.
  std::function<void(Json&)> trim{};
};

// Lists (in pages), then watches from the list's resourceVersion with bookmarks; a connection that ends is reopened from the last version seen; after
// 410 or a lost position it lists again. A list older than what was seen is from a lagging server: it is requested again, a few times, because a
// server restored from a backup has only older ones. Gives up only on errors that a retry cannot fix (401, 403, 404 and other 4xx) and reports
// `failed`: on a 403 immediately if there was no watch yet, on others after about ten seconds; later only after about five minutes of nothing else,
// because starting API servers answer like that for a while.
class Watch {
 public:
  struct Sink {
    std::function<void(std::vector<Json> items)> synced;  // the complete current list; what is missing from it was deleted
    std::function<void(Json object)> changed;             // added or modified; may repeat what is known
    std::function<void(Json object)> deleted;             // its last state
    std::function<void(ApiError error)> failed;           // nothing more follows
  };
  Watch(Client& client, WatchOptions options, Sink sink);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();  // ends it; no callbacks are called any more
  // A list has been received.
  [[nodiscard]] bool synced() const;
  // Version of the last reported state; empty: none.
  [[nodiscard]] const std::string& version() const;
  // When data was last received on this watch; unset: never.
  [[nodiscard]] std::optional<Time> heard() const;

 private:
  struct State;
  std::shared_ptr<State> m_state;  // kept alive while a callback runs, which may destroy the watch
};

}  // namespace trainstep::kube
