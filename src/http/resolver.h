// DNS resolution on the loop. The same for all builds: the release cannot use getaddrinfo (docs/adr/0003-static-release.md), and libcurl's own c-ares
// would keep 120 KB for each stream.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/poll_loop.h"
#include "base/result.h"

namespace trainstep::http {

class Resolver {
 public:
  using Addresses = std::vector<std::string>;  // in order of preference
  using Found = std::function<void(const Result<Addresses>& addresses)>;

  // `servers`: "127.0.0.1:53,…" instead of the machine's. `loop` must outlive this object.
  explicit Resolver(PollLoop& loop, std::string servers = "");
  ~Resolver();  // pending callbacks are dropped
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Cached addresses, if any. If they are older than a minute, they are looked up again for the next call: a request on an open connection needs none
  // of them and must not wait.
  std::optional<Addresses> known(const std::string& name);
  // Calls `found` once, from the loop. Uses the machine's hosts file, name servers and search domains. Error: unavailable, with only the reason as
  // message.
  void resolve(const std::string& name, Found found);

 private:
  struct Lookup;
  struct Entry {
    Addresses addresses;
    std::chrono::steady_clock::time_point since;
  };
  void begin(const std::string& name);
  void ended(const std::string& name, const Result<Addresses>& addresses);

  PollLoop& m_loop;
  std::string m_servers;
  std::map<std::string, Entry> m_known;
  std::map<std::string, std::vector<Found>> m_waiting;
  std::map<std::string, std::shared_ptr<Lookup>> m_lookups;
};

}  // namespace trainstep::http
