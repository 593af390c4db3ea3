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
#include "base/pending.h"
#include "http/transport.h"
#include "kube/api_error.h"
#include "kube/connection_health.h"
#include "kube/credentials.h"
#include "kube/server_clock.h"

namespace trainstep::kube {

// A resource, a collection or an object in it: "/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME/SUB" (core: "/api/v1/…").
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

// How long a call is retried: exponential back-off from 250 ms to 30 s with jitter; Retry-After is a minimum, up to 30 s. No attempt starts after
// `at_most`; one in progress then is awaited for 36 s at most: an API server responds to writes within 34 s.
struct Retry {
  std::optional<Duration> at_most;  // unset: until cancelled
  bool silence_counts = true;       // false: a server that does not respond at all is retried regardless of `at_most`
  bool surely_there = false;        // the object is known to exist: 404 and 403 are retried for some seconds
  bool doubts_refusals = false;     // a 403, and what is not about the object (a gateway's page, its 302, 400 or 404), are retried for some seconds
  Duration doubt_pause = Duration::max();  // the longest pause between those
};

// After a connection of this duration a watch, or a log that is followed, starts its back-off again.
inline constexpr Duration steady_after{30'000};

// What the object to delete must be. By the time a DELETE arrives, the name may belong to another object: none is sent without a uid.
struct Preconditions {
  std::string uid;
  std::string version{};  // resourceVersion; empty: any
};

// The form in which a collection is requested.
struct Shape {
  bool metadata_only = false;         // PartialObjectMetadata
  std::function<void(Json&)> trim{};  // optional: removes from each object what its reader does not need, before the next ones are parsed
};

class Client;
using PendingCall = Pending<Client>;

class Client {
 public:
  using CallId = std::uint64_t;
  using Done = std::function<void(Answer)>;  // called from the loop, once, never from within the requesting call
  // Called when connection problems begin (with the reason) and end (with ""), for the log. Not called for a first failure after which the retry
  // succeeds.
  using OnHealthChange = ConnectionHealth::OnChange;

  // References must outlive the client; watches and log streams must be destroyed before it. It may be destroyed in any callback. `seed`: for the
  // jitter.
  Client(Loop& loop, http::Transport& transport, std::shared_ptr<Credentials> credentials, std::uint64_t seed);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();  // cancels everything
  void on_trouble(OnHealthChange trouble) { m_connection_health.on_change(std::move(trouble)); }
  // Called with every Secret that was read, before the reader gets it.
  void on_secret(std::function<void(const Json& secret)> call) { m_on_secret = std::move(call); }

  // A 2xx that is not about the object named by the path is not from an API server: the call is retried, and fails with status 502. The same applies
  // to patches and DELETEs.
  PendingCall get(const Path& path, const http::Query& query, Retry retry, Done done);
  // All pages, 50 objects each, as one List: {"metadata": {"resourceVersion": …}, "items": […]}, each item with apiVersion and kind. An expired
  // continue token restarts the list.
  PendingCall list(const Path& path, const http::Query& query, Retry retry, Done done, Shape shape = {});
  // `path`: the collection. fieldValidation=Strict; dry_run: dryRun=All. If the response of an attempt was lost, the retry may find its own object
  // (AlreadyExists).
  PendingCall create(const Path& path, const Json& object, bool dry_run, Retry retry, Done done);
  // RFC 7396 merge patch. Errors that may be transient are retried a few times, and so are conflicts, unless the patch has a resourceVersion: without
  // one it must only change what no other writer changes. Retry-After is limited to a quarter of Retry::at_most.
  PendingCall merge_patch(const Path& path, const Json& patch, Retry retry, Done done);
  // RFC 6902 JSON patch: `operations` are applied all or none. A "test" that fails is an ApiError with status 422. Must have the same effect if it is
  // sent twice. Retried as above.
  PendingCall json_patch(const Path& path, const Json& operations, Retry retry, Done done);
  // Server-side apply with the field manager "trainstep", forced.
  PendingCall apply(const Path& path, const Json& object, Retry retry, Done done);
  // "Not found" is an ApiError with status 404; an object that does not match the preconditions, 409; a missing uid is an internal error.
  PendingCall remove(const Path& path, Propagation propagation, const Preconditions& preconditions, Retry retry, Done done);
  void cancel(CallId call);
  // Little time is left: pending reads are sent again now, with at most a second between attempts. The first two attempts time out after 5 s each,
  // the next two after 10 s, and so on.
  void hurry();

  // For streams (watch.h, log_stream.h): one request with the current token, no retry. A 401 makes the next one read the token again.
  http::Transport::Id stream(const Path& path, const http::Query& query, const std::string& accept, Duration silence,
                             http::Transport::Handler handler);
  void cancel_stream(http::Transport::Id id);
  void hold_stream(http::Transport::Id id, bool held);
  // For users of streams: `who` has failed at least twice in a row; works again; no longer exists (not needed after works()).
  // `breaks`: as for ConnectionHealth.
  void failing(const void* who, const ApiError& error, bool breaks = false) { m_connection_health.failing(who, error, breaks); }
  void works(const void* who) { m_connection_health.works(who); }
  void forget(const void* who) { m_connection_health.forget(who); }
  // The delay after `tries` failed attempts (from 1): exponential, with jitter, at least `floor`, of which at most 30 s count.
  Duration pause(int tries, std::optional<Duration> floor = {});
  // The error for a stream that ended without a 2xx, with the token redacted; for 401 it names the credentials. `secrets`: other secrets in the
  // request, which servers quote as well.
  [[nodiscard]] ApiError error_of(const std::string& what, const Result<http::Response>& response, std::vector<std::string> secrets = {}) const;
  [[nodiscard]] Loop& loop() { return m_loop; }
  // How far the API server's clock is ahead of ours, by its last responses; unset: unknown.
  [[nodiscard]] std::optional<Duration> clock() const { return m_clock.ahead(m_loop.now()); }
  [[nodiscard]] const Credentials& credentials() const { return *m_credentials; }

 private:
  struct Call;
  struct Listing;
  http::Request request(const std::string& method, const Path& path, const http::Query& query) const;
  CallId begin(http::Request request, std::string what, Retry retry, Done done);
  CallId begin_patch(const Path& path, const char* type, const Json& body, Retry retry, Done done);
  CallId refuse(Error error, Done done);
  void send(CallId id);
  void answered(CallId id, const Result<http::Response>& response);
  void failed(CallId id, ApiError error);
  void too_late(CallId id);
  void succeeded(CallId id, Json value);
  Answer next_page(Call& call, Json page);
  void finish(CallId id, Answer answer);
  [[nodiscard]] std::string about_rejected() const;
  [[nodiscard]] Answer read(const Call& call, const Result<http::Response>& response) const;

  Loop& m_loop;
  http::Transport& m_transport;
  std::shared_ptr<Credentials> m_credentials;
  std::mt19937_64 m_random;
  ConnectionHealth m_connection_health;
  std::function<void(const Json&)> m_on_secret;
  std::map<CallId, std::unique_ptr<Call>> m_calls;
  ServerClock m_clock;
  std::string m_token;    // the last one sent
  bool m_worked = false;  // the credentials were accepted at least once
  bool m_hurried = false;
  CallId m_next = 1;
  std::set<http::Transport::Id> m_streams;        // in progress
  std::map<http::Transport::Id, Timer> m_unsent;  // streams that failed because there is no token
};

}  // namespace trainstep::kube
