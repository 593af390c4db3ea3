// A Kubernetes API server in memory: discovery, the verbs, watches, pod logs, as a client sees them over HTTP.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/message.h"
#include "sim/collector.h"
#include "sim/past.h"
#include "sim/pod_logs.h"
#include "sim/selector.h"
#include "sim/status.h"
#include "sim/store.h"

namespace trainstep::sim {

// The server's end of one exchange.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual void open(int code, std::vector<http::Header> headers) = 0;
  virtual void send(std::string_view bytes) = 0;
  virtual void close() = 0;
  // The other side is gone: nothing that is sent arrives.
  [[nodiscard]] virtual bool closed() const = 0;
};
using WirePtr = std::shared_ptr<Wire>;

// What a request is about.
struct Target {
  const Resource* resource = nullptr;
  std::string name_space, name, subresource;
};

// A watch that ends early: with the last of so many events, or at once.
struct Brief {
  enum class End { closed, gone, bookmarks, torn };  // as it should be; 410; after bookmarks of what is known; in the middle of a line
  int events = 0;
  End end = End::closed;
};

class ApiServer {
 public:
  static void reply(const WirePtr& wire, const Reply& reply);
  // Looks at an object that is to be created (`dry_run`: only as a try) and may change it; an answer refuses it.
  using Admission = std::function<std::optional<Reply>(const Resource& resource, Json& object, bool dry_run)>;
  struct Options {
    std::string name_space = "lab";
    std::string user = "system:serviceaccount:lab:pipeline-runner";
    Duration bookmarks{60'000};
    Duration max_watch_time{3'600'000};
    bool expired_as_http = false;                         // 410 as the answer, not as an ERROR event
    std::map<std::string, std::string> also_served = {};  // "kubeflow.org/v1 mpijobs" → the version whose objects are shown there
    // How far the server is behind that answers a GET of one object, or a list; asked for each.
    std::function<Duration(const Resource& resource, bool one)> lag = nullptr;
    std::function<std::optional<Brief>()> brief = nullptr;  // whether a watch is; asked for each
    // Instead of a pod's log; asked for each.
    std::function<std::optional<Reply>(const Resource& pods, std::string_view pod)> log_trouble = nullptr;
  };

  ApiServer(Store& store, PodLogs& logs, Collector& collector, Options options);
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // A request has arrived. Everything it does is done before this returns; streams go on.
  void handle(const http::Request& request, const WirePtr& wire);

  void admit(Admission admission) { m_admissions.push_back(std::move(admission)); }
  // Refused with 403: "list events", "get workflows", "create pytorchjobs".
  void deny(std::string what) { m_denied.insert(std::move(what)); }
  // The same for clients with this token.
  void deny(const std::string& token, std::string what) { m_denied_to[token].insert(std::move(what)); }
  // Tokens that are good; empty: any is.
  std::set<std::string>& tokens() { return m_tokens; }
  // The server goes down: every stream ends without a word.
  void drop_streams();
  Options& options() { return m_options; }

 private:
  struct Watcher {
    WirePtr wire;
    const Resource* resource;
    std::string name_space;
    Selector selector;
    bool metadata_only;
    bool bookmarks;
    std::optional<Brief> brief = {};
    std::uint64_t told = 0;  // the number of what was told last
  };
  using Call = const http::Request&;

  std::optional<Target> target(Call request) const;
  std::optional<Reply> refused(Call request) const;
  [[nodiscard]] bool may(Call request, const std::string& what) const;
  Reply discovery(std::string_view group_version) const;
  Reply answer(Call request, const Target& target, bool metadata_only);
  [[nodiscard]] Past past(const Target& target) const;
  Reply get(const Target& target, bool metadata_only) const;
  Reply list(Call request, const Target& target, bool metadata_only) const;
  Reply create(Call request, const Target& target);
  Reply patch(Call request, const Target& target);
  Reply apply(const Target& target, Json object, bool dry_run);
  Reply change(const Target& target, const VersionPtr& object, const Json& patch);
  Reply remove(Call request, const Target& target);
  std::optional<Reply> admitted(const Resource& resource, Json& object, bool dry_run);
  void watch(Call request, const Target& target, bool metadata_only, const WirePtr& wire);
  void keep(const std::shared_ptr<Watcher>& watcher);
  static void tell(Watcher& watcher, const Happening& happening);
  static void end_early(Watcher& watcher);
  void heard(const Happening& happening);
  void log(Call request, const Target& target, const WirePtr& wire);

  Store& m_store;
  PodLogs& m_logs;
  Collector& m_collector;
  Options m_options;
  std::vector<Admission> m_admissions;
  std::set<std::string> m_denied, m_tokens;
  std::map<std::string, std::set<std::string>> m_denied_to;
  std::list<std::shared_ptr<Watcher>> m_watchers;
};

// The first value of that name in the query, or "".
std::string_view asked(const http::Request& request, std::string_view name);
std::string_view header_of(const http::Request& request, std::string_view name);

}  // namespace trainstep::sim
