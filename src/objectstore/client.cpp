// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/redact.h"
#include "data/digest.h"
#include "http/retry.h"
#include "objectstore/client_call.h"

namespace trainstep::objectstore {

Client::Client(Loop& loop, http::Transport& transport, Store store, std::shared_ptr<CredentialsProvider> keys, std::uint64_t seed, Limits limits)
    : m_loop(loop), m_transport(transport), m_store(std::move(store)), m_keys(std::move(keys)), m_random(seed), m_limits(limits) {}

Client::~Client() {
  *m_alive = false;
  while (!m_calls.empty()) cancel(m_calls.begin()->first);
}

std::unique_ptr<Client::Call> Client::prepared(const std::string& verb, const std::string& method, const Address& address, http::Query query) const {
  auto call = std::make_unique<Call>();
  call->what = verb + ' ' + address.text();
  call->keyless = address.key.empty();
  auto& request = call->request;
  request.method = method;
  call->at = address;
  call->query = std::move(query);
  call->timeout = m_limits.timeout;
  request.headers = {{"User-Agent", "trainstep/" TRAINSTEP_VERSION}};
  request.endpoint = m_store.trust;
  request.silence = m_limits.silence;
  request.body_limit = m_limits.largest_body;
  return call;
}

std::unique_ptr<Client::Call> Client::prepared_for_bucket(const std::string& verb, const std::string& bucket, const std::string& prefix,
                                                          http::Query query) const {
  auto call = prepared(verb, "GET", Address{"s3", bucket, ""}, std::move(query));
  call->what = fmt::format("{} {}/{}", verb, bucket, prefix);
  call->keyless = false;
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
  m_keys->ask([this, id, alive = m_alive](Result<Credentials> keys) {
    if (*alive && m_calls.contains(id)) send_signed(id, std::move(keys));
  });
}

void Client::send_signed(CallId id, Result<Credentials> keys) {
  auto& call = *m_calls.at(id);
  if (!keys) {
    auto why = in_context(call.what, std::move(keys.error()));
    using enum ErrorKind;  // a missing file is not a missing object: the store has said nothing
    if (why.kind == not_found || why.kind == conflict || why.kind == denied) why.kind = input;
    return failed(id, {std::move(why), 0, {}});
  }
  // An operation on an object would otherwise apply to the bucket.
  if (call.keyless) return finish(id, StoreError{in_context(call.what, input_error("a bucket is not an object: a key is required")), 0, {}});
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
  sign(sent, call.keys, store.region, sha256_hex(sent.body), m_loop.now() + m_clock);
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
  if (!taken) late = true;  // a retry would fail in the same way
  return taken.has_value();
}

// Neither the length nor the signed hash detects a store, or a proxy before it, that mixes up or corrupts its data.
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
bool Client::learn_region(const Call& call, const StoreError& error) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };  // it becomes part of a host name
  if (error.region.empty() || error.region == call.region || !std::ranges::all_of(error.region, allowed)) return false;
  m_regions[call.at.bucket] = error.region;
  return true;
}

// Whether the next attempt will use another time. Stores tolerate 15 minutes; a node whose clock is off can still train.
bool Client::learn_clock(const Call& call, const StoreError& error) {
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
  const bool moves = !call.moved && learn_region(call, error);
  const bool clocks = !moves && !call.clocked && learn_clock(call, error);
  if (moves || clocks) {
    (moves ? call.moved : call.clocked) = true;
    call.pause = m_loop.timer(Duration(0), [this, id] { send(id); });
    return;
  }
  // Credentials are rotated while we work: the cached ones may be the old ones.
  const bool rejected = error.status == 401 || error.status == 403 || error.code == "ExpiredToken" || (error.status == 400 && error.code.empty());
  const bool keys_again = rejected && !std::exchange(call.renewed, true);
  if (keys_again) m_keys->refused(call.keys);
  const auto pause = http::retry_pause(call.tries, error.retry_after, m_random);
  if (!keys_again && !(retryable(error) && !call.late)) {
    if (const auto renewal = rejected ? m_keys->renewal() : std::string(); !renewal.empty()) error.error.message += "; " + renewal;
    if (call.tries > 1 && retryable(error)) error.error.message += fmt::format(" (after {} attempts)", call.tries);
    return finish(id, std::move(error));
  }
  constexpr Duration first_word{5'000};
  if (!call.word) call.word = m_loop.timer(first_word, [this, id] { tell_waiting(id); });
  if (!keys_again) call.last = std::move(error);
  call.pause = m_loop.timer(keys_again ? Duration(0) : pause, [this, id] { send(id); });
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

}  // namespace trainstep::objectstore
