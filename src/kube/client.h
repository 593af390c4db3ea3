// The verbs of the Kubernetes API: asynchronous, retried by the table of api_error.h, with the current credentials.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "http/transport.h"
#include "kube/api_error.h"
#include "kube/connection_health.h"
#include "kube/credentials.h"
#include "kube/server_clock.h"

namespace trainstep::kube {

// A resource, a collection or an object of it: "/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME/SUB" (core: "/api/v1/…").
struct Path {
  std::string group_version;  // "v1", "batch/v1", "kubeflow.org/v1"
  std::string plural{};       // empty: the group version itself (discovery)
  std::string name_space{};   // empty: cluster scope
  std::string name{};         // empty: the collection
  std::string subresource{};  // "log", "status"; empty: none
  [[nodiscard]] std::vector<std::string> segments() const;
  // "pytorchjobs/train-1", for messages.
  [[nodiscard]] std::string describe() const;
};

enum class Propagation { foreground, background, orphan };

// How long a verb is tried again; the pause doubles from 250 ms to 30 s with jitter, Retry-After is a floor, up to 30 s. No try begins later; one
// that is under way then is awaited, 36 s at most: an API server answers writes within 34 s.
struct Retry {
  std::optional<Duration> at_most;  // unset: until it is cancelled
  bool silence_counts = true;       // false: a server that does not answer at all is waited for, `at_most` or not
  bool surely_there = false;        // what is asked for: that it is not, or may not be seen, is asked again for some seconds
};

// What the object to be deleted must be. A name may be another object's by the time that a DELETE arrives: without a uid none is sent.
struct Preconditions {
  std::string uid;
  std::string version{};  // resourceVersion; empty: in whatever state
};

// What is asked for of a collection.
struct Shape {
  bool metadata_only = false;         // PartialObjectMetadata
  std::function<void(Json&)> trim{};  // optional: takes from each object what its reader does not need, before the next ones are read
};

class Client {
 public:
  using CallId = std::uint64_t;
  using Done = std::function<void(Answer)>;  // from the loop, once, never from within the call that asks
  // Trouble begins (the reason) and ends (empty): for the story. Not told for a first failure that the next try mends.
  using Trouble = ConnectionHealth::Tell;

  // References must outlive the client; watches and log streams must be gone before it. It may be destroyed in any callback. `seed`: of the jitter.
  Client(Loop& loop, http::Transport& transport, std::shared_ptr<Credentials> credentials, std::uint64_t seed);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();  // cancels everything
  void on_trouble(Trouble trouble) { m_connection_health.on_change(std::move(trouble)); }

  // A 2xx that does not speak of the object which the path names is no API server's: it is tried again, and told as status 502. So it is for
  // patches and DELETEs.
  CallId get(const Path& path, const http::Query& query, Retry retry, Done done);
  // All pages, 50 objects each, as one List: {"metadata": {"resourceVersion": …}, "items": […]}, each item with apiVersion and kind. An expired
  // continue token begins anew.
  CallId list(const Path& path, const http::Query& query, Retry retry, Done done, Shape shape = {});
  // `path`: the collection. fieldValidation=Strict; dry_run: dryRun=All. After a try whose answer was lost, the next may find its own object
  // (AlreadyExists).
  CallId create(const Path& path, const Json& object, bool dry_run, Retry retry, Done done);
  // RFC 7396 merge patch. A refusal that may be of the moment is tried again a few times, as is a conflict, unless the patch names a resourceVersion:
  // else it is of what no other writer changes. No Retry-After counts for more than a quarter of the patience.
  CallId merge_patch(const Path& path, const Json& patch, Retry retry, Done done);
  // Server-side apply as the field manager "trainstep", forced.
  CallId apply(const Path& path, const Json& object, Retry retry, Done done);
  // "Not found" is an ApiError with status 404; another object than the preconditions ask for, 409; no uid is an internal error.
  CallId remove(const Path& path, Propagation propagation, const Preconditions& preconditions, Retry retry, Done done);
  void cancel(CallId call);
  // Little time is left: what only reads is asked for anew now, with a second between two tries at most. The first two are given 5 s each, the next
  // two 10 s, and so on.
  void hurry();

  // For streams (watch.h, log_stream.h): one request with the current token, no retry. 401 makes the next one read the token anew.
  http::Transport::Id stream(const Path& path, const http::Query& query, const std::string& accept, Duration silence,
                             http::Transport::Handler handler);
  void cancel_stream(http::Transport::Id id);
  void hold_stream(http::Transport::Id id, bool held);
  // For those who stream: `who` has failed twice or more in a row; is no longer there (what got answers needs no word).
  void failing(const void* who, const ApiError& error) { m_connection_health.failing(who, error); }
  void works(const void* who) { m_connection_health.works(who); }
  void forget(const void* who) { m_connection_health.forget(who); }
  // The pause after `tries` tries in vain (from 1): doubling, with jitter, at least `floor`, of which no more than 30 s count.
  Duration pause(int tries, std::optional<Duration> floor = {});
  // A stream's end that was no 2xx, as an error without the token that was sent; a 401 names how we authenticate.
  // `secrets`: what else the request carried, which servers quote as well.
  [[nodiscard]] ApiError error_of(const std::string& what, const Result<http::Response>& response, std::vector<std::string> secrets = {}) const;
  [[nodiscard]] Loop& loop() { return m_loop; }
  // How much the API server's clock is ahead of ours, by its last answers; unset: it does not tell.
  [[nodiscard]] std::optional<Duration> clock() const { return m_clock.ahead(m_loop.now()); }
  [[nodiscard]] const Credentials& credentials() const { return *m_credentials; }

 private:
  struct Call;
  struct Listing;
  http::Request request(const std::string& method, const Path& path, const http::Query& query) const;
  CallId begin(http::Request request, std::string what, Retry retry, Done done);
  CallId refuse(Error error, Done done);
  void send(CallId id);
  void answered(CallId id, const Result<http::Response>& response);
  void failed(CallId id, ApiError error);
  void too_late(CallId id);
  void succeeded(CallId id, Json value);
  Answer next_page(Call& call, Json page);
  void finish(CallId id, Answer answer);
  [[nodiscard]] Answer read(const Call& call, const Result<http::Response>& response) const;

  Loop& m_loop;
  http::Transport& m_transport;
  std::shared_ptr<Credentials> m_credentials;
  std::mt19937_64 m_random;
  ConnectionHealth m_connection_health;
  std::map<CallId, std::unique_ptr<Call>> m_calls;
  ServerClock m_clock;
  std::string m_token;    // the last one that was sent
  bool m_worked = false;  // the server has let us in once
  bool m_hurried = false;
  CallId m_next = 1;
  std::set<http::Transport::Id> m_streams;                // under way
  std::map<http::Transport::Id, Loop::TimerId> m_unsent;  // streams for which there is no token
};

}  // namespace trainstep::kube
