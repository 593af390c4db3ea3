// The object stores of a task, each with a client.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "http/transport.h"
#include "objectstore/client.h"
#include "objectstore/transfer.h"
#include "plan/task.h"
#include "staging/sync_state.h"

namespace trainstep::staging {

class Stores {
 public:
  struct Opened {
    plan::TaskStore store;
    std::shared_ptr<objectstore::CredentialsProvider> keys;
  };
  // References must outlive it. Errors: input, a store's address or certificate file.
  static Result<std::unique_ptr<Stores>> open(Loop& loop, http::Transport& transport, std::vector<Opened> stores, std::uint64_t seed,
                                              objectstore::TransferLimits limits = {});
  // In a pod: the credentials are in the files that each store names, otherwise in `environment`.
  static Result<std::unique_ptr<Stores>> open(Loop& loop, http::Transport& transport, const std::vector<plan::TaskStore>& stores,
                                              const std::map<std::string, std::string>& environment, std::uint64_t seed,
                                              objectstore::TransferLimits limits = {});
  Stores(const Stores&) = delete;
  Stores& operator=(const Stores&) = delete;
  ~Stores() = default;

  [[nodiscard]] Loop& loop() { return m_loop; }
  // What was staged before. Assign one with a folder to keep it across processes.
  [[nodiscard]] SyncState& sync_state() { return m_sync_state; }
  [[nodiscard]] objectstore::Client& of(const plan::TaskPlace& place) { return *m_clients.at(place.store); }
  // These two call the client's function of the same name for each store.
  void on_waiting(const std::function<void(const std::string&)>& log) {
    for (const auto& client : m_clients) client->on_waiting(log);
  }
  void hurry() {
    for (const auto& client : m_clients) client->hurry();
  }
  [[nodiscard]] const objectstore::TransferLimits& limits() const { return m_limits; }

 private:
  Stores(Loop& loop, objectstore::TransferLimits limits) : m_loop(loop), m_limits(limits) {}
  Loop& m_loop;
  objectstore::TransferLimits m_limits;
  std::vector<std::unique_ptr<objectstore::Client>> m_clients;
  SyncState m_sync_state;
};

}  // namespace trainstep::staging
