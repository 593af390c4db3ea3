// A collection, seen as it changes: list, then watch from there, for ever.
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
  bool metadata_only = false;   // as PartialObjectMetadata: a step does not need its Workflow's megabytes
  Duration timeout{1'800'000};  // timeoutSeconds of one connection: what a server commonly allows
  Duration silence{60'000};     // added to `timeout`: a connection silent for longer than both is dead
  bool needed = false;          // a refusal (403) before the first watch is asked again, too: API servers that start answer so
  bool followed = false;        // by another process, until now: a refusal is believed no sooner than after a watch of our own
  // Optional: takes from each object what its reader does not need.
  std::function<void(Json&)> trim{};
};

// Listing (paged), then watching from its resourceVersion with bookmarks; a connection that ends is opened again from the last version seen, 410 and
// a lost place mean listing again. A list that is older than what has been seen is a lagging server's: another is asked for, a few times, as one that
// was restored from a backup has only older ones. Never gives up but on an answer that trying again cannot help (401, 403, 404 and other 4xx), which
// is `failed`: a 403 at once as long as it never watched, others after some ten seconds; later after some five minutes of nothing else, as API
// servers that start answer so for a while.
class Watch {
 public:
  struct Sink {
    std::function<void(std::vector<Json> items)> synced;  // everything there is now; what is missing from it is gone
    std::function<void(Json object)> changed;             // added or modified; may repeat what is known
    std::function<void(Json object)> deleted;             // its last state
    std::function<void(ApiError error)> failed;           // nothing more comes
  };
  Watch(Client& client, WatchOptions options, Sink sink);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();  // ends it; no callback comes any more
  // A list has been received.
  [[nodiscard]] bool synced() const;
  // Of the state that was told last; empty: none was.
  [[nodiscard]] const std::string& version() const;
  // When the server was last heard of on this watch (bytes of any kind); unset: never.
  [[nodiscard]] std::optional<Time> heard() const;

 private:
  struct State;
  std::shared_ptr<State> m_state;  // held while a callback runs, which may destroy the watch
};

}  // namespace trainstep::kube
