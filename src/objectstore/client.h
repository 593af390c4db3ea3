// The verbs of an object store: asynchronous, signed, tried again where that may help. Where the store says that a bucket lies in another region,
// that one is used; where it finds our clock wrong, its own.
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

#include "base/loop.h"
#include "http/transport.h"
#include "objectstore/address.h"
#include "objectstore/answers.h"
#include "objectstore/credentials.h"
#include "objectstore/store.h"

namespace trainstep::objectstore {

template <typename T>
using Answer = tl::expected<T, StoreError>;

// A part of an object, in bytes.
struct Range {
  std::int64_t first = 0;
  std::int64_t size = 0;
};

// What is sent, made anew for each try, so that nothing is kept in memory between them. Error: internal or input, and the call fails with it.
using Body = std::function<Result<std::string>()>;

// Takes an object's bytes as they come; `offset` counts from the range's beginning. When the call tries again, they come again from 0. Error: the
// call fails with it at once.
using Take = std::function<Result<void>(std::int64_t offset, std::string_view bytes)>;

struct Limits {
  Duration patience{300'000};     // a call that fails in a passing way is tried again for so long
  Duration housekeeping{60'000};  // the same of a look for what others have left: no result depends on it
  Duration hurry{5'000};          // the same of all calls, when the time of what they are for is over
  Duration silence{60'000};       // one try: no byte has moved for so long. What is gathered must be whole within its call's patience
  std::size_t largest_body = std::size_t{64} << 20U;
};

class Client {
 public:
  using CallId = std::uint64_t;
  template <typename T>
  using Done = std::function<void(Answer<T>)>;  // from the loop, once, never from within the call that asks

  // References must outlive it. `seed`: of the jitter.
  Client(Loop& loop, http::Transport& transport, Store store, std::shared_ptr<CredentialsProvider> keys, std::uint64_t seed, Limits limits = {});
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();  // cancels everything

  // In one piece; `headers` may hold Content-Type and the like. The body's SHA-256 is signed: the store refuses what was changed on the way.
  CallId put(const Address& to, Body body, Done<Object> done, std::vector<http::Header> headers = {});
  // The whole object, or a part of it. With `etag` only if the object is still that one (else conflict).
  CallId get(const Address& from, std::optional<Range> range, const std::string& etag, Done<std::string> done);
  // The same without keeping it in memory; → how many bytes came. For a `range` that many; the whole object has its own length.
  CallId fetch(const Address& from, std::optional<Range> range, const std::string& etag, Take take, Done<std::int64_t> done);
  CallId head(const Address& of, Done<Object> done);
  // One page: the objects whose keys begin with `prefix` (as it is: "a" finds "ab"), at most 1,000. `token`: of the page before, or "".
  CallId list(const std::string& bucket, const std::string& prefix, const std::string& token, Done<ListPage> done);
  // An object that is not there is removed.
  CallId remove(const Address& what, Done<std::monostate> done);

  // An upload in parts, each but the last of at least 5 MiB. The object appears when it is completed, and not before.
  CallId begin_upload(const Address& to, Done<std::string> done, std::vector<http::Header> headers = {});        // → the upload's id
  CallId put_part(const Address& to, const std::string& upload, int number, Body body, Done<std::string> done);  // number from 1 → the part's etag
  CallId complete_upload(const Address& to, const std::string& upload, const std::vector<std::string>& etags, Done<Object> done);
  CallId abort_upload(const Address& to, const std::string& upload, Done<std::monostate> done);
  // One page: uploads to keys that begin with this one's, begun and neither completed nor given up. `from`: where the page before says, or {}.
  CallId list_uploads(const Address& of, const MultipartUpload& from, Done<UploadPage> done);

  // Called with what is waited for, when the store has answered for some seconds that a call must be tried again, and then rarely. Who does not
  // answer at all is http::Waiting's business. Also once with how far the store's clock is from ours.
  void on_waiting(std::function<void(const std::string& text)> tell) { m_tell = std::move(tell); }
  // From now on calls have little patience, also those that are under way: the time of what they are for is over.
  void hurry();

  // No callback comes any more; what is on the wire may still take effect.
  void cancel(CallId id);
  [[nodiscard]] Loop& loop() { return m_loop; }

 private:
  struct Call;
  // Takes the answer, or tells why it cannot be one. `came`: bytes of it that a Take got.
  using Read = std::function<std::optional<StoreError>(http::Response& response, std::int64_t came)>;
  CallId begin(std::unique_ptr<Call> call);
  template <typename T>
  CallId call(std::unique_ptr<Call> call, std::function<Answer<T>(http::Response&)> read, Done<T> done);
  [[nodiscard]] Store store_for(const std::string& bucket) const;
  bool learn_region(const Call& call, const StoreError& error);
  bool learn_clock(const Call& call, const StoreError& error);
  // Not begun yet. `verb`: what it does, for messages.
  [[nodiscard]] std::unique_ptr<Call> prepared(const std::string& verb, const std::string& method, const Address& address,
                                               http::Query query = {}) const;
  [[nodiscard]] std::unique_ptr<Call> prepared_for_bucket(const std::string& verb, const std::string& bucket, const std::string& prefix,
                                                          http::Query query) const;
  void send(CallId id);
  void send_signed(CallId id, Result<Credentials> keys);
  http::Transport::Handler handler(CallId id, Call& call);
  void answered(CallId id, Result<http::Response> response);
  void failed(CallId id, StoreError error);
  void lose_patience(CallId id);
  void tell_waiting(CallId id);
  void finish(CallId id, std::optional<StoreError> error);

  Loop& m_loop;
  http::Transport& m_transport;
  Store m_store;
  std::map<std::string, std::string> m_regions;  // of buckets that lie elsewhere than the store's settings say
  std::shared_ptr<CredentialsProvider> m_keys;
  std::mt19937_64 m_random;
  Limits m_limits;
  std::map<CallId, std::unique_ptr<Call>> m_calls;
  CallId m_next = 1;
  bool m_hurry = false;
  Duration m_clock{};  // what the store's shows more than ours
  std::function<void(const std::string&)> m_tell;
  std::optional<Time> m_told;                                    // the last time
  std::shared_ptr<bool> m_alive = std::make_shared<bool>(true);  // for answers of a key source that come late
};

}  // namespace trainstep::objectstore
