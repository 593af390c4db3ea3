// A collection, seen as it changes: list, then watch from there, for ever.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/client.h"

namespace trainstep::kube {

struct WatchOptions {
  Path path;  // the collection
  std::string label_selector;
  std::string field_selector;
  bool metadata_only = false;   // as PartialObjectMetadata: a step does not need its Workflow's megabytes
  Duration timeout{1'800'000};  // timeoutSeconds of one connection: what a server commonly allows
  Duration silence{60'000};     // added to `timeout`: a connection silent for longer than both is dead
};

// Listing (paged), then watching from its resourceVersion with bookmarks; a connection that ends is opened again from the last version seen, 410 and
// a lost place mean listing again. Never gives up but on an answer that trying again cannot help (403, 404 of the resource), which is `failed`.
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
  // A sign of life from the server has been seen since: list or watch answered.
  [[nodiscard]] bool synced() const { return m_synced; }
  // When the server was last heard of on this watch (bytes of any kind); unset: never.
  [[nodiscard]] std::optional<Time> heard() const { return m_heard; }

 private:
  bool m_synced = false;
  std::optional<Time> m_heard;
};

}  // namespace trainstep::kube
