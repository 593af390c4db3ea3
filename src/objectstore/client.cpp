// SPDX-License-Identifier: Apache-2.0
#include "objectstore/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/redact.h"
#include "data/digest.h"
#include "data/md5.h"
#include "http/retry.h"

namespace trainstep::objectstore {

struct Client::Call {
  http::Request request;  // without URL, body and signature
  Address at;             // only a bucket for operations on a bucket
  http::Query query;
  std::string what;               // "put s3://bucket/key", for messages
  bool lacks_object_key = false;  // an operation on objects without a key: never sent
  Body body{};                    // may be empty
  Read read{};
  std::function<void(std::optional<StoreError>)> done{};

  Take take{};  // set for calls that do not collect the response; the same for the next two
  std::function<std::optional<StoreError>(const http::Response& head)> check{};
  std::int64_t came = 0;                // bytes received in this attempt
  std::optional<StoreError> problem{};  // why this attempt was aborted
  bool received(const http::Response& head, std::string_view bytes);

  // Detection of corruption: compares the content with the MD5 in the response, if there is one (md5_told).
  bool compares = false;                                           // the response is about the content of an object or a part
  std::function<bool(const http::Response& head)> brings_whole{};  // with `take`: whether the response has the whole object
  std::optional<Md5> sum{};                                        // in this attempt: of the received whole object
  std::string sent_md5{};                                          // in this attempt: of the body sent
  std::optional<StoreError> other_content(const http::Response& response);

  Duration timeout{};
  bool late = false;  // no further attempt
  Timer limit;
  std::optional<StoreError> last{};  // the reason for the current retry
  bool heard = false;                // the last attempt got a response
  Timer word;
  std::size_t words = 0;
  int tries = 0;
  Credentials keys{};    // of this attempt
  bool renewed = false;  // the credentials were renewed after an error
  std::string region{};  // of this attempt
  bool moved = false;    // another region was tried
  Duration clock{};      // of this attempt: the assumed offset of the store's clock
  bool clocked = false;  // the offset was corrected
  http::Transport::Id exchange = 0;
  Timer pause;
};

namespace {

// The error of a call that requires a certain version of an object, if it is another one.
StoreError another_object(const std::string& what) { return {{ErrorKind::conflict, what + ": it changed in the meantime"}, 412, {}, {}, {}, {}}; }

}  // namespace

Client::Client(Loop& loop, http::Transport& transport, Store store, std::shared_ptr<CredentialsProvider> keys, std::uint64_t seed, Limits limits)
    : m_loop(loop), m_transport(transport), m_store(std::move(store)), m_credentials(std::move(keys)), m_random(seed), m_limits(limits) {}

Client::~Client() {
  while (!m_calls.empty()) cancel(m_calls.begin()->first);
}

std::unique_ptr<Client::Call> Client::prepared(const std::string& verb, const std::string& method, const Address& address, http::Query query) const {
  auto call = std::make_unique<Call>();
  call->what = verb + ' ' + address.text();
  call->lacks_object_key = address.key.empty();
  auto& request = call->request;
  request.method = method;
  call->at = address;
  call->query = std::move(query);
  call->timeout = m_limits.timeout;
  request.headers = {{"User-Agent", "trainstep/" TRAINSTEP_VERSION}};
  request.endpoint = m_store.trust;
  request.silence = m_limits.silence;
  request.body_limit = m_limits.max_body_size;
  return call;
}

std::unique_ptr<Client::Call> Client::prepared_for_bucket(const std::string& verb, const std::string& bucket, const std::string& prefix,
                                                          http::Query query) const {
  auto call = prepared(verb, "GET", Address{"s3", bucket, ""}, std::move(query));
  call->what = fmt::format("{} {}/{}", verb, bucket, prefix);
  call->lacks_object_key = false;
  return call;
}

PendingCall Client::begin(std::unique_ptr<Call> begun) {
  const auto id = m_next++;
  auto& call = *m_calls.emplace(id, std::move(begun)).first->second;
  if (!call.body && !call.take) call.request.limit = call.timeout;  // a response that trickles in would never trigger `silence`
  call.pause = m_loop.timer(Duration(0), [this, id] { send(id); });
  call.limit = m_loop.timer(m_hurry ? std::min(call.timeout, m_limits.hurry) : call.timeout, [this, id] { time_out(id); });
  return {*this, id};
}

// At the deadline: a retry delay that the store requested, possibly an hour, is not waited for; after hurry(), our own is not either.
void Client::time_out(CallId id) {
  auto& call = *m_calls.at(id);
  call.late = true;
  if (!call.pause || !call.last || !(m_hurry || call.last->retry_after)) return;
  call.pause = m_loop.timer(Duration(0), [this, id] { failed(id, *m_calls.at(id)->last); });
}

void Client::hurry() {
  m_hurry = true;
  for (const auto& entry : m_calls) entry.second->limit = m_loop.timer(m_limits.hurry, [this, id = entry.first] { time_out(id); });
}

// Intervals between messages; the last one repeats. One call reports for all.
void Client::tell_waiting(CallId id) {
  constexpr std::array pauses{Duration(55'000), Duration(240'000), Duration(600'000)};
  auto& call = *m_calls.at(id);
  call.word = m_loop.timer(pauses.at(std::min(call.words++, pauses.size() - 1)), [this, id] { tell_waiting(id); });
  const auto now = m_loop.now();
  if (!m_tell || !call.last || !call.heard || (m_told && now - *m_told < pauses.front())) return;
  m_told = now;
  m_tell(fmt::format("waiting for {}: {}", m_store.endpoint.origin(), call.last->error.message));
}

void Client::send(CallId id) {
  auto& call = *m_calls.at(id);
  call.pause.cancel();
  ++call.tries;
  m_credentials->ask(m_lifetime.bind([this, id](Result<Credentials> keys) {
    if (m_calls.contains(id)) send_signed(id, std::move(keys));
  }));
}

void Client::send_signed(CallId id, Result<Credentials> keys) {
  auto& call = *m_calls.at(id);
  if (!keys) {
    auto why = in_context(call.what, std::move(keys.error()));
    using enum ErrorKind;  // a missing credentials file is not a missing object
    if (why.kind == not_found || why.kind == conflict || why.kind == denied) why.kind = input;
    return failed(id, {std::move(why), 0, {}});
  }
  // An operation on an object would otherwise apply to the bucket.
  if (call.lacks_object_key) return finish(id, StoreError{in_context(call.what, input_error("a bucket is not an object: a key is required")), 0, {}});
  auto sent = call.request;
  const auto store = store_for(call.at.bucket);
  sent.url = url_of(store, call.at.bucket, call.at.key, call.query);
  if (call.body) {
    auto body = call.body();
    if (!body) return finish(id, StoreError{in_context(call.what, std::move(body.error())), 0, {}});
    sent.body = std::move(*body);
    if (call.compares) call.sent_md5 = md5_hex(sent.body);
    // A bucket with Object Lock rejects uploads without Content-MD5 (Amazon S3 API Reference, PutObject).
    if (const auto digest = from_hex(call.sent_md5); call.compares && digest) sent.headers.push_back({"Content-MD5", encode_base64(*digest)});
  }
  call.keys = std::move(*keys);
  call.region = store.region;
  call.clock = m_clock;
  if (auto can = sign(sent, call.keys, store.region, sha256_hex(sent.body), m_loop.now() + m_clock); !can)
    return failed(id, {in_context(call.what, std::move(can.error())), 0, {}});
  call.came = 0;
  call.sum.reset();
  call.problem.reset();
  call.exchange = m_transport.start(std::move(sent), handler(id, call));
}

http::Transport::Handler Client::handler(CallId id, Call& call) {
  http::Transport::Handler result{.head = {}, .data = {}, .done = [this, id](auto response) { answered(id, std::move(response)); }};
  if (call.take) result.sink = [&call](const http::Response& head, std::string_view bytes) { return call.received(head, bytes); };
  return result;
}

// Passes bytes to `take` only if they belong to the requested object.
bool Client::Call::received(const http::Response& head, std::string_view bytes) {
  if (came == 0) problem = check(head);
  if (problem) return false;
  if (came == 0 && brings_whole(head)) sum.emplace();
  if (sum) sum->add(bytes);
  const auto offset = std::exchange(came, came + static_cast<std::int64_t>(bytes.size()));
  auto taken = take(offset, bytes);
  if (!taken) problem = StoreError{in_context(what, std::move(taken.error())), 0, {}};
  if (!taken) late = true;  // no retry: it would fail in the same way
  return taken.has_value();
}

// Neither the length nor the signed hash detects a store, or a proxy in front of it, that corrupts or confuses data.
std::optional<StoreError> Client::Call::other_content(const http::Response& response) {
  const auto told = compares ? md5_told(response) : std::string();
  if (take && came == 0 && brings_whole(response)) sum.emplace();  // no body arrived for an object that may have content
  const auto ours = sum ? sum->hex() : sent_md5;
  if (told.empty() || ours.empty() || told == ours) return std::nullopt;
  const auto* why = take ? "the received data differs from the object store's" : "the object store's data differs from what was sent";
  return StoreError{in_context(what, Error{ErrorKind::unavailable, fmt::format("{}: their MD5 is {}, its ETag {}", why, ours, told)}), 0, {}};
}

void Client::answered(CallId id, Result<http::Response> response) {
  auto& call = *m_calls.at(id);
  call.exchange = 0;
  call.heard = response.has_value();
  if (call.problem) return failed(id, std::move(*call.problem));
  if (!response) return failed(id, {in_context(call.what, std::move(response.error())), 0, {}});
  const bool other = response->status == 412 && call.take;
  if (other) return failed(id, another_object(call.what));
  if (response->status / 100 != 2)
    return failed(id, refused(call.what, *response, m_loop.now(), call.request.method != "HEAD" && call.request.method != "DELETE"));
  if (auto problem = call.read(*response, call.came)) return failed(id, std::move(*problem));
  if (auto problem = call.other_content(*response)) return failed(id, std::move(*problem));
  finish(id, std::nullopt);
}

// AWS has one host per region, and other hosts only redirect.
Store Client::store_for(const std::string& bucket) const {
  auto store = m_store;
  const auto found = m_regions.find(bucket);
  if (found == m_regions.end()) return store;
  auto& host = store.endpoint.host;
  if (host == "s3.amazonaws.com" || host == fmt::format("s3.{}.amazonaws.com", store.region))
    host = fmt::format("s3.{}.amazonaws.com", found->second);
  store.region = found->second;
  return store;
}

// Whether the next attempt will use another region.
bool Client::update_region(const Call& call, const StoreError& error) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };  // it becomes part of a host name
  if (error.region.empty() || error.region == call.region || !std::ranges::all_of(error.region, allowed)) return false;
  m_regions[call.at.bucket] = error.region;
  return true;
}

// Whether the next attempt will use another time. Stores tolerate 15 minutes; a node whose clock is off can still train.
bool Client::update_clock(const Call& call, const StoreError& error) {
  constexpr Duration worth_it{240'000};
  if (!error.clock) return false;
  const auto difference = std::chrono::duration_cast<Duration>(*error.clock - m_loop.now());
  if (std::chrono::abs(difference - call.clock) < worth_it) return false;
  const bool known = std::chrono::abs(difference - std::exchange(m_clock, difference)) < worth_it;
  if (m_tell && !known)
    m_tell(fmt::format("the clock of {} is {} {} this machine's: signing requests with its time", m_store.endpoint.origin(),
                       trainstep::describe(std::chrono::abs(difference)), difference > Duration(0) ? "ahead of" : "behind"));
  return true;
}

void Client::failed(CallId id, StoreError error) {
  auto& call = *m_calls.at(id);
  error.error.message = redacted(error.error.message, {call.keys.secret_key, call.keys.session_token});  // stores quote what they were sent
  const bool moves = !call.moved && update_region(call, error);
  const bool clocks = !moves && !call.clocked && update_clock(call, error);
  if (moves || clocks) {
    (moves ? call.moved : call.clocked) = true;
    call.pause = m_loop.timer(Duration(0), [this, id] { send(id); });
    return;
  }
  // Credentials may have been rotated: the cached ones may be outdated.
  const bool rejected = error.status == 401 || error.status == 403 || error.code == "ExpiredToken" || (error.status == 400 && error.code.empty());
  const bool retry_with_new_credentials = rejected && !std::exchange(call.renewed, true);
  if (retry_with_new_credentials) m_credentials->refused(call.keys);
  const auto pause = http::retry_pause(call.tries, error.retry_after, m_random);
  if (!retry_with_new_credentials && !(retryable(error) && !call.late)) {
    if (const auto renewal = rejected ? m_credentials->renewal() : std::string(); !renewal.empty()) error.error.message += "; " + renewal;
    if (call.tries > 1 && retryable(error)) error.error.message += fmt::format(" (after {} attempts)", call.tries);
    return finish(id, std::move(error));
  }
  constexpr Duration first_word{5'000};
  if (!call.word) call.word = m_loop.timer(first_word, [this, id] { tell_waiting(id); });
  if (!retry_with_new_credentials) call.last = std::move(error);
  call.pause = m_loop.timer(retry_with_new_credentials ? Duration(0) : pause, [this, id] { send(id); });
}

void Client::finish(CallId id, std::optional<StoreError> error) {
  const auto call = std::move(m_calls.extract(id).mapped());
  call->limit.cancel();
  call->word.cancel();
  call->done(std::move(error));  // last: may destroy this object
}

void Client::cancel(CallId id) {
  const auto found = m_calls.extract(id);
  if (found.empty()) return;
  if (found.mapped()->exchange != 0) m_transport.cancel(found.mapped()->exchange);
}

namespace {

Answer<std::monostate> nothing(http::Response&) { return std::monostate(); }

StoreError garbled(const std::string& what, std::string_view why) {
  return {in_context(what, Error{ErrorKind::unavailable, std::string(why)}), 0, {}};
}

template <typename T>
Answer<T> or_garbled(const std::string& what, Result<T> read) {
  if (read) return std::move(*read);
  return tl::unexpected(StoreError{in_context(what, std::move(read.error())), 0, {}});
}

Body text_body(std::string text) {
  return [text = std::move(text)] { return Result<std::string>(text); };
}

}  // namespace

template <typename T>
PendingCall Client::call(std::unique_ptr<Call> call, std::function<Answer<T>(http::Response&)> read, Done<T> done) {
  auto value = std::make_shared<T>();
  call->read = [value, read = std::move(read)](http::Response& response, std::int64_t) -> std::optional<StoreError> {
    auto answer = read(response);
    if (!answer) return std::move(answer.error());
    *value = std::move(*answer);
    return std::nullopt;
  };
  call->done = [value, done = std::move(done)](std::optional<StoreError> error) {
    if (error) return done(tl::unexpected(std::move(*error)));
    done(std::move(*value));
  };
  return begin(std::move(call));
}

PendingCall Client::put(const Address& to, Body body, Done<Object> done, std::vector<http::Header> headers) {
  auto asked = prepared("put", "PUT", to);
  asked->body = std::move(body);
  asked->compares = true;
  for (auto& header : headers) asked->request.headers.push_back(std::move(header));
  auto read = [what = asked->what, key = to.key](http::Response& response) -> Answer<Object> {
    if (auto late = late_error(what, response.body)) return tl::unexpected(std::move(*late));
    auto etag = etag_of(response);
    if (etag.empty()) return tl::unexpected(garbled(what, "an object without an etag"));  // the response was not from an object store
    return Object{key, 0, std::move(etag)};
  };
  return call<Object>(std::move(asked), std::move(read), std::move(done));
}

PendingCall Client::get(const Address& from, std::optional<Range> range, const std::string& etag, Done<std::string> done) {
  const auto text = std::make_shared<std::string>();
  auto take = [text, most = m_limits.max_body_size](std::int64_t offset, std::string_view bytes) -> Result<void> {
    if (offset == 0) text->clear();
    if (bytes.size() > most - text->size()) return input_error("the object is too large to be read at once");
    *text += bytes;
    return {};
  };
  auto asked = prepared_fetch(from, range, etag, std::move(take), [text, done = std::move(done)](Answer<std::int64_t> answer) {
    if (!answer) return done(tl::unexpected(std::move(answer.error())));
    if (*answer == 0) text->clear();
    done(std::move(*text));
  });
  asked->request.limit = m_limits.timeout;
  return begin(std::move(asked));
}

PendingCall Client::fetch(const Address& from, std::optional<Range> range, const std::string& etag, Take take, Done<std::int64_t> done) {
  return begin(prepared_fetch(from, range, etag, std::move(take), std::move(done)));
}

std::unique_ptr<Client::Call> Client::prepared_fetch(const Address& from, std::optional<Range> range, const std::string& etag, Take take,
                                                     Done<std::int64_t> done) const {
  constexpr std::size_t buffer = 262'144;
  auto asked = prepared("get", "GET", from);
  auto& headers = asked->request.headers;
  if (range) headers.push_back({"Range", fmt::format("bytes={}-{}", range->first, range->first + range->size - 1)});
  if (!etag.empty()) headers.push_back({"If-Match", '"' + etag + '"'});
  if (range) asked->request.buffer = buffer;
  asked->take = std::move(take);
  asked->compares = true;
  asked->brings_whole = [range](const http::Response& head) {
    const auto all = range ? fmt::format("bytes 0-{}/{}", range->size - 1, range->size) : std::string();
    return range ? head.header("Content-Range").value_or("") == all : head.status == 200;
  };
  asked->check = [what = asked->what, range, etag](const http::Response& head) -> std::optional<StoreError> {
    // Some stores ignore If-Match.
    if (const auto came = etag_of(head); !etag.empty() && !came.empty() && came != etag) return another_object(what);
    const auto length = fmt::format("{}", range ? range->size : 0);
    const auto place = range ? fmt::format("bytes {}-{}/", range->first, range->first + range->size - 1) : std::string();
    if (range && (head.status != 206 || head.header("Content-Length").value_or(length) != length ||
                  !std::string_view(head.header("Content-Range").value_or(place)).starts_with(place)))
      return garbled(what, "got another range than requested");
    return std::nullopt;
  };
  const auto size = std::make_shared<std::int64_t>();
  asked->read = [size, what = asked->what, range, check = asked->check](const http::Response& head, std::int64_t came) -> std::optional<StoreError> {
    if (auto problem = came == 0 ? check(head) : std::nullopt) return problem;
    if (range && came != range->size) return garbled(what, fmt::format("expected {1} bytes, got {0}", came, range->size));
    *size = came;
    return std::nullopt;
  };
  asked->done = [size, done = std::move(done)](std::optional<StoreError> error) {
    if (error) return done(tl::unexpected(std::move(*error)));
    done(*size);
  };
  return asked;
}

PendingCall Client::head(const Address& of, Done<Object> done) {
  auto asked = prepared("head", "HEAD", of);
  auto read = [what = asked->what, key = of.key](http::Response& response) -> Answer<Object> {
    Object object{key, 0, etag_of(response), std::string(response.header(mark_header).value_or(""))};
    const auto length = response.header("Content-Length").value_or("");
    if (std::from_chars(length.data(), length.data() + length.size(), object.size).ec != std::errc{})
      return tl::unexpected(garbled(what, "an object without a length"));
    return object;
  };
  return call<Object>(std::move(asked), std::move(read), std::move(done));
}

PendingCall Client::list(const std::string& bucket, const std::string& prefix, const std::string& token, Done<ListPage> done) {
  http::Query query{{"encoding-type", "url"}, {"list-type", "2"}, {"prefix", prefix}};
  if (!token.empty()) query.emplace_back("continuation-token", token);
  auto asked = prepared_for_bucket("list", bucket, prefix, std::move(query));
  auto read = [what = asked->what](http::Response& response) { return or_garbled(what, read_list_page(response.body)); };
  return call<ListPage>(std::move(asked), std::move(read), std::move(done));
}

PendingCall Client::list_uploads(const Address& of, const MultipartUpload& from, Done<UploadPage> done) {
  http::Query query{{"encoding-type", "url"}, {"prefix", of.key}, {"uploads", ""}};
  if (!from.key.empty()) query.emplace_back("key-marker", from.key);
  if (!from.upload.empty()) query.emplace_back("upload-id-marker", from.upload);
  auto asked = prepared_for_bucket("list the uploads of", of.bucket, of.key, std::move(query));
  asked->lacks_object_key = of.key.empty();
  asked->timeout = std::min(m_limits.timeout, m_limits.housekeeping);
  asked->request.silence = std::min(m_limits.silence, m_limits.housekeeping / 3);  // one lost response must not use up the whole timeout
  auto read = [what = asked->what](http::Response& response) { return or_garbled(what, read_uploads(response.body)); };
  return call<UploadPage>(std::move(asked), std::move(read), std::move(done));
}

PendingCall Client::remove(const Address& what, Done<std::monostate> done) {
  return call<std::monostate>(prepared("remove", "DELETE", what), nothing, [done = std::move(done)](Answer<std::monostate> answer) {
    if (!answer && answer.error().code == "NoSuchKey") return done(std::monostate());
    done(std::move(answer));
  });
}

PendingCall Client::begin_upload(const Address& to, Done<std::string> done, std::vector<http::Header> headers) {
  auto asked = prepared("start the upload of", "POST", to, {{"uploads", ""}});
  for (auto& header : headers) asked->request.headers.push_back(std::move(header));
  auto read = [what = asked->what](http::Response& response) { return or_garbled(what, read_upload_id(response.body)); };
  return call<std::string>(std::move(asked), std::move(read), std::move(done));
}

PendingCall Client::put_part(const Address& to, const std::string& upload, int number, Body body, Done<std::string> done) {
  auto asked = prepared(fmt::format("upload part {} of", number), "PUT", to, {{"partNumber", std::to_string(number)}, {"uploadId", upload}});
  asked->body = std::move(body);
  asked->compares = true;
  auto read = [what = asked->what](http::Response& response) -> Answer<std::string> {
    if (auto late = late_error(what, response.body)) return tl::unexpected(std::move(*late));
    auto etag = etag_of(response);
    if (etag.empty()) return tl::unexpected(garbled(what, "a part without an etag"));
    return etag;
  };
  return call<std::string>(std::move(asked), std::move(read), std::move(done));
}

// A retry may find that the first attempt took effect: then the upload is gone and the object exists.
PendingCall Client::complete_upload(const Address& to, const std::string& upload, const std::vector<std::string>& etags, Done<Object> done) {
  auto asked = prepared("complete", "POST", to, {{"uploadId", upload}});
  asked->body = text_body(completion(etags));
  asked->request.headers.push_back({"Content-Type", "application/xml"});
  asked->request.silence = m_limits.timeout;  // some stores send nothing while they assemble the parts
  auto read = [what = asked->what, key = to.key](http::Response& response) {
    return read_completed(what, response.body).map([&](std::string etag) { return Object{key, 0, std::move(etag)}; });
  };
  return call<Object>(std::move(asked), std::move(read), std::move(done));
}

PendingCall Client::abort_upload(const Address& to, const std::string& upload, Done<std::monostate> done) {
  return call<std::monostate>(prepared("abort the upload of", "DELETE", to, {{"uploadId", upload}}), nothing,
                              [done = std::move(done)](Answer<std::monostate> answer) {
                                if (!answer && answer.error().error.kind == ErrorKind::not_found) return done(std::monostate());
                                done(std::move(answer));
                              });
}

}  // namespace trainstep::objectstore
