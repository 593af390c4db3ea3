// The operations of an object store: asynchronous, signed, retried where that may help. If the store says that a bucket is in another region, that
// one is used; if it rejects our clock, its own time is used.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/lifetime.h"
#include "base/loop.h"
#include "base/pending.h"
#include "http/transport.h"
#include "objectstore/address.h"
#include "objectstore/answers.h"
#include "objectstore/credentials.h"
#include "objectstore/store.h"

namespace trainstep::objectstore {

template <typename T>
using Answer = tl::expected<T, StoreError>;

// A range of bytes of an object.
struct Range {
  std::int64_t first = 0;
  std::int64_t size = 0;
};

// The body to send, generated for each attempt, so that nothing is kept in memory in between. Error: internal or input; the call fails with it.
using Body = std::function<Result<std::string>()>;

// Receives an object's bytes as they arrive; `offset` is relative to the start of the range. A retry starts again from 0. Error: the call fails with
// it immediately.
using Take = std::function<Result<void>(std::int64_t offset, std::string_view bytes)>;

struct Limits {
  Duration timeout{300'000};      // how long a call is retried after transient failures
  Duration housekeeping{60'000};  // the same for listing leftovers of others, which no result depends on
  Duration hurry{5'000};          // the same for all calls after hurry()
  Duration silence{60'000};  // for one attempt: no byte transferred for this long. Collected bodies must also be complete within the call's timeout
  std::size_t max_body_size = std::size_t{64} << 20U;
};

class Client;
using PendingCall = Pending<Client>;
using PendingCalls = PendingSet<Client>;

class Client {
 public:
  using CallId = std::uint64_t;
  template <typename T>
  using Done = std::function<void(Answer<T>)>;  // called from the loop, once, never from within the requesting call

  // References must outlive this object. `seed`: for the jitter.
  Client(Loop& loop, http::Transport& transport, Store store, std::shared_ptr<CredentialsProvider> keys, std::uint64_t seed, Limits limits = {});
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();  // cancels all calls

  // Uploads in one piece; `headers` may contain Content-Type and the like. The body's SHA-256 is signed, so that the store rejects a body corrupted
  // in transit.
  PendingCall put(const Address& to, Body body, Done<Object> done, std::vector<http::Header> headers = {});
  // The whole object, or a range of it. With `etag`, only if the object still has it (otherwise conflict).
  PendingCall get(const Address& from, std::optional<Range> range, const std::string& etag, Done<std::string> done);
  // The same without collecting it in memory; returns the number of bytes: the size of `range`, or of the whole object.
  PendingCall fetch(const Address& from, std::optional<Range> range, const std::string& etag, Take take, Done<std::int64_t> done);
  PendingCall head(const Address& of, Done<Object> done);
  // One page: the objects whose keys start with `prefix` (a plain prefix: "a" matches "ab"), at most 1,000. `token`: from the previous page, or "".
  PendingCall list(const std::string& bucket, const std::string& prefix, const std::string& token, Done<ListPage> done);
  // Removing an object that does not exist succeeds.
  PendingCall remove(const Address& what, Done<std::monostate> done);

  // Multipart upload; each part but the last has at least 5 MiB. The object does not exist until the upload is completed.
  PendingCall begin_upload(const Address& to, Done<std::string> done, std::vector<http::Header> headers = {});  // → the upload ID
  PendingCall put_part(const Address& to, const std::string& upload, int number, Body body,
                       Done<std::string> done);  // number from 1 → the part's ETag
  PendingCall complete_upload(const Address& to, const std::string& upload, const std::vector<std::string>& etags, Done<Object> done);
  PendingCall abort_upload(const Address& to, const std::string& upload, Done<std::monostate> done);
  // One page: uploads in progress to keys that start with this one's. `from`: the markers of the previous page, or {}.
  PendingCall list_uploads(const Address& of, const MultipartUpload& from, Done<UploadPage> done);

  // `tell` is called with the reason when retries after error responses have lasted for some seconds, then at increasing intervals. Servers without
  // any response are reported by http::Waiting. Also called once with the offset of the store's clock.
  void on_waiting(std::function<void(const std::string& text)> tell) { m_tell = std::move(tell); }
  // From now on calls, including those in progress, give up early: the time for their purpose is over.
  void hurry();

  // No callbacks are called any more; a request that was sent may still take effect.
  void cancel(CallId id);
  [[nodiscard]] Loop& loop() { return m_loop; }
  // How far the store's clock is assumed to be ahead of ours.
  [[nodiscard]] Duration clock() const { return m_clock; }
  // As configured, or as the store has reported it.
  [[nodiscard]] std::string region_of(const std::string& bucket) const { return store_for(bucket).region; }

 private:
  struct Call;
  // Takes the response, or returns why it is invalid. `came`: number of bytes that a Take received.
  using Read = std::function<std::optional<StoreError>(http::Response& response, std::int64_t came)>;
  PendingCall begin(std::unique_ptr<Call> call);
  template <typename T>
  PendingCall call(std::unique_ptr<Call> call, std::function<Answer<T>(http::Response&)> read, Done<T> done);
  [[nodiscard]] Store store_for(const std::string& bucket) const;
  bool update_region(const Call& call, const StoreError& error);
  bool update_clock(const Call& call, const StoreError& error);
  // Creates a call without starting it. `verb`: the operation, for messages.
  [[nodiscard]] std::unique_ptr<Call> prepared(const std::string& verb, const std::string& method, const Address& address,
                                               http::Query query = {}) const;
  [[nodiscard]] std::unique_ptr<Call> prepared_fetch(const Address& from, std::optional<Range> range, const std::string& etag, Take take,
                                                     Done<std::int64_t> done) const;
  [[nodiscard]] std::unique_ptr<Call> prepared_for_bucket(const std::string& verb, const std::string& bucket, const std::string& prefix,
                                                          http::Query query) const;
  void send(CallId id);
  void send_signed(CallId id, Result<Credentials> keys);
  http::Transport::Handler handler(CallId id, Call& call);
  void answered(CallId id, Result<http::Response> response);
  void failed(CallId id, StoreError error);
  void time_out(CallId id);
  void tell_waiting(CallId id);
  void finish(CallId id, std::optional<StoreError> error);

  Loop& m_loop;
  http::Transport& m_transport;
  Store m_store;
  std::map<std::string, std::string> m_regions;  // of buckets in other regions than configured
  std::shared_ptr<CredentialsProvider> m_credentials;
  std::mt19937_64 m_random;
  Limits m_limits;
  std::map<CallId, std::unique_ptr<Call>> m_calls;
  CallId m_next = 1;
  bool m_hurry = false;
  Duration m_clock{};  // the store's clock minus ours
  std::function<void(const std::string&)> m_tell;
  std::optional<Time> m_told;  // time of the last message
  Lifetime m_lifetime;         // for late replies of a credentials provider
};

}  // namespace trainstep::objectstore
