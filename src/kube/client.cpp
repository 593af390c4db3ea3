// SPDX-License-Identifier: Apache-2.0
#include "kube/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/redact.h"
#include "data/json_reader.h"
#include "data/secrets.h"
#include "http/retry.h"
#include "kube/token_source.h"

namespace trainstep::kube {

// The pages of a collection received so far.
struct Client::Listing {
  Shape shape;
  Json items = Json::array();
  std::set<std::string> tokens;  // continue tokens received so far
  int expired = 0;               // number of times that one has expired
};

struct Client::Call {
  http::Request request;
  std::string what;
  std::vector<std::string> secrets;  // in the request
  Done done;
  int tries = 0;
  int hurried = 0;                       // attempts since hurry()
  bool refused = false;                  // the last response was 401
  int unauthorized = 0;                  // number of 401 responses, including those with a token that was read again
  std::string names;                     // the object that a 2xx must be about; empty: anything
  std::string changes;                   // the object of a patch: transient errors (is_transient) are retried as well …
  bool versioned = false;                // … except conflicts: the patch is for one version
  int moments = 0;                       // number of such errors
  Duration max_pause = Duration::max();  // for a patch, whatever the server requests: a job that is kept must not be lost by it
  bool late = false;                     // no further attempt
  bool silence_counts = true;
  bool surely_there = false, doubts_refusals = false;
  bool reads_secret = false;
  http::Transport::Id exchange = 0;
  Timer pause;
  Timer limit;
  std::optional<ApiError> error;  // during the pause
  std::unique_ptr<Listing> listing;
};

namespace {

// Interval between checks whether a token is available.
constexpr Duration token_look{20};
constexpr Duration try_limit{36'000};
constexpr int max_rejections = 8;        // rejections after the credentials were accepted before: a minute
constexpr int max_transient_errors = 7;  // transient conflicts and refusals: half a minute
constexpr Duration short_pause{5'000};   // one too short to be reported
constexpr int max_doubts = 5;            // reports that an object which must exist does not: about ten seconds
constexpr Duration hurried_limit{5'000};
constexpr Duration hurried_pause{1'000};
constexpr std::size_t body_limit = std::size_t{64} << 20U;

bool is_success(int status) { return status >= 200 && status < 300; }

bool reads(const http::Request& request) { return request.method == "GET"; }

// An object of that name, or a Status that names it, which is the response to a DELETE of an object that is gone immediately.
bool speaks_of(const Json& answer, const std::string& name) {
  if (name.empty()) return true;
  if (!answer.is_object()) return false;
  const auto* kind = find(answer, "kind");
  const auto* about = find(answer, kind != nullptr && *kind == "Status" ? "details" : "metadata");
  const auto* its = about != nullptr && about->is_object() ? find(*about, "name") : nullptr;
  return its != nullptr && *its == name;
}

}  // namespace

Client::Client(Loop& loop, http::Transport& transport, std::shared_ptr<Credentials> credentials, std::uint64_t seed)
    : m_loop(loop), m_transport(transport), m_credentials(std::move(credentials)), m_random(seed), m_connection_health(loop) {}

Client::~Client() {
  while (!m_calls.empty()) cancel(m_calls.begin()->first);
  for (const auto id : m_streams) m_transport.cancel(id);
}

http::Request Client::request(const std::string& method, const Path& path, const http::Query& query) const {
  http::Request result;
  result.method = method;
  result.url = m_credentials->server.with_path(path.segments());
  result.url.query = query;
  result.headers = {{"User-Agent", "trainstep/" TRAINSTEP_VERSION}, {"Accept", "application/json"}};
  result.endpoint = m_credentials->endpoint;
  result.limit = try_limit;
  result.body_limit = body_limit;
  return result;
}

Client::CallId Client::begin(http::Request request, std::string what, Retry retry, Done done) {
  const auto id = m_next++;
  auto& call = m_calls.emplace(id, std::make_unique<Call>()).first->second;
  call->request = std::move(request);
  call->what = std::move(what);
  call->done = std::move(done);
  call->silence_counts = retry.silence_counts;
  call->surely_there = retry.surely_there;
  call->doubts_refusals = retry.doubts_refusals;
  call->max_pause = retry.doubt_pause;
  if (retry.at_most) {
    call->limit = m_loop.timer(*retry.at_most, [this, id] { too_late(id); });
    call->max_pause = std::min<Duration>(call->max_pause, *retry.at_most / 4);
  }
  send(id);
  return id;
}

// Sends nothing.
Client::CallId Client::refuse(Error error, Done done) {
  const auto id = m_next++;
  auto& call = m_calls.emplace(id, std::make_unique<Call>()).first->second;
  call->done = std::move(done);
  call->pause = m_loop.timer(Duration(0), [this, id, error = std::move(error)] { finish(id, tl::unexpected(ApiError{error, 0, {}, {}, {}})); });
  return id;
}

void Client::send(CallId id) {
  auto& call = *m_calls.at(id);
  call.pause.cancel();
  if (!m_credentials->token->ready(m_loop.now())) {
    call.pause = m_loop.timer(token_look, [this, id] { send(id); });
    return;
  }
  ++call.tries;
  auto token = m_credentials->token->token(m_loop.now());
  if (!token) {
    call.error = ApiError{in_context(call.what, std::move(token.error())), 0, {}, {}, {}};
    call.pause = m_loop.timer(Duration(0), [this, id] { failed(id, std::exchange(m_calls.at(id)->error, {}).value_or(ApiError{})); });
    return;
  }
  auto sent = call.request;
  if (m_hurried && reads(call.request)) sent.limit = std::min(hurried_limit * ((++call.hurried + 1) / 2), try_limit);
  m_token = *token;
  if (!token->empty()) sent.headers.push_back({"Authorization", "Bearer " + *token});
  if (auto own = m_credentials->token->endpoint()) sent.endpoint = std::move(own);
  call.exchange = m_transport.start(std::move(sent), {.head = {}, .data = {}, .done = [this, id](const auto& response) { answered(id, response); }});
}

ApiError Client::error_of(const std::string& what, const Result<http::Response>& response, std::vector<std::string> secrets) const {
  if (!response) {
    auto error = in_context(what, response.error());
    if (error.kind == ErrorKind::timeout) error.kind = ErrorKind::unavailable;  // the limit of an attempt is ours, not the user's
    return {std::move(error), 0, {}, {}, {}};
  }
  secrets.push_back(m_token);
  add_base64(secrets);
  // In the body they are escaped once more than in its message.
  auto error = api_error(what, response->status, redacted(response->body, secrets), http::retry_after(*response, m_loop.now()));
  error.error.message = redacted(error.error.message, secrets);
  if (error.status == 401) error.error.message += about_rejected();
  return error;
}

// With the time at which the token has expired, by the server's clock.
std::string Client::about_rejected() const {
  auto text = fmt::format(" (the API server rejected the credentials: {})", m_credentials->description);
  if (m_credentials->remedy.empty()) return text;
  const auto expiry = expiry_of(m_token);
  if (expiry && *expiry <= m_loop.now() + clock().value_or(Duration(0))) text += "; it has expired at " + to_rfc3339(*expiry);
  return text + "; " + m_credentials->remedy;
}

Answer Client::read(const Call& call, const Result<http::Response>& response) const {
  if (!response || !is_success(response->status)) return tl::unexpected(error_of(call.what, response, call.secrets));
  auto value = response->body.empty() ? Result<Json>(Json()) : read_answer(response->body, "the answer", {.bytes = body_limit, .nodes = 10'000'000});
  if (value && speaks_of(*value, call.names)) return std::move(*value);
  return tl::unexpected(not_the_servers(call.what + ": " + (value ? "the answer does not mention it" : value.error().message)));
}

void Client::answered(CallId id, const Result<http::Response>& response) {
  auto& call = *m_calls.at(id);
  call.exchange = 0;
  if (const auto time = response ? http::server_time(*response) : std::nullopt) m_clock.add_sample(*time, m_loop.now());
  auto answer = read(call, response);
  const auto status = answer ? 200 : answer.error().status;
  const auto again = status == 401 && !call.refused;
  call.refused = status == 401;  // after no response: by the next attempt the token may have expired again
  if (again) {
    m_credentials->token->refused();
    send(id);
  } else if (answer) {
    succeeded(id, std::move(*answer));
  } else {
    failed(id, std::move(answer.error()));
  }
}

void Client::failed(CallId id, ApiError error) {
  auto& call = *m_calls.at(id);
  const auto expired = error.status == 410 && call.listing != nullptr;
  auto wait = pause(call.tries, error.retry_after);
  if (error.status == 0 || retryable(error)) {
    if (call.tries > 1 || wait > short_pause) m_connection_health.failing(&call, error);
  } else {
    m_connection_health.works(&call);
  }
  // Credentials that were accepted before are about to be replaced: the kubelet takes up to a minute.
  const bool token_due = error.status == 401 && m_worked && ++call.unauthorized <= max_rejections;
  const bool late = call.late && (call.silence_counts || error.status != 0);
  if (token_due) call.refused = false;  // the next 401 makes it read the token again
  const bool odd = (call.surely_there && (error.status == 403 || error.status == 404)) || (call.doubts_refusals && is_odd(error, call.names));
  const bool doubtful = odd && ++call.moments <= max_doubts;
  const bool conflict = error.status == 409 && call.versioned;
  const bool momentary =
      doubtful || (!conflict && !call.changes.empty() && is_transient(error, call.changes) && ++call.moments <= max_transient_errors);
  if (late || !(expired || token_due || momentary || retryable(error))) {
    if (call.tries > 1 && (momentary || retryable(error))) error.error.message += fmt::format(" (after {} attempts)", call.tries);
    return finish(id, tl::unexpected(std::move(error)));
  }
  if (expired) {
    call.listing->items = Json::array();
    call.listing->tokens.clear();
    std::erase_if(call.request.url.query, [](const auto& pair) { return pair.first == "continue"; });
    // A client too slow to read all pages in time reads them in one request.
    if (++call.listing->expired > 1) std::erase_if(call.request.url.query, [](const auto& pair) { return pair.first == "limit"; });
  }
  if (!call.changes.empty() || odd) wait = std::min(wait, call.max_pause);
  if (m_hurried && reads(call.request)) wait = std::min(wait, hurried_pause);
  call.error = std::move(error);
  call.pause = m_loop.timer(wait, [this, id] { send(id); });
}

void Client::too_late(CallId id) {
  auto& call = *m_calls.at(id);
  call.late = true;
  if (call.exchange != 0) return;
  call.pause.cancel();
  auto error = std::exchange(call.error, {}).value_or(ApiError{});
  if (error.retry_after) return failed(id, std::move(error));
  send(id);
}

void Client::succeeded(CallId id, Json value) {
  auto& call = *m_calls.at(id);
  m_connection_health.works(&call);
  m_worked = true;
  if (call.listing == nullptr) return finish(id, std::move(value));
  auto whole = next_page(call, std::move(value));
  if (!whole) return failed(id, std::move(whole.error()));
  if (!whole->is_null()) return finish(id, std::move(*whole));
  call.tries = 0;
  send(id);
}

void Client::finish(CallId id, Answer answer) {
  auto call = std::move(m_calls.extract(id).mapped());
  call->limit.cancel();
  call->pause.cancel();
  m_connection_health.forget(call.get());
  if (answer && call->reads_secret && m_on_secret) m_on_secret(*answer);
  if (call->done) call->done(std::move(answer));  // last: may destroy this object
}

void Client::cancel(CallId id) {
  auto found = m_calls.extract(id);
  if (found.empty()) return;
  const auto& call = *found.mapped();
  if (call.exchange != 0) m_transport.cancel(call.exchange);
  m_connection_health.forget(&call);
}

void Client::hurry() {
  if (std::exchange(m_hurried, true)) return;
  for (auto& [id, call] : m_calls) {
    if (!reads(call->request) || call->late) continue;
    if (call->exchange != 0) m_transport.cancel(std::exchange(call->exchange, 0));
    send(id);
  }
}

Duration Client::pause(int tries, std::optional<Duration> floor) { return http::retry_pause(tries, floor, m_random); }

namespace {

constexpr auto page_size = "50";
constexpr auto accept_metadata_list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

void set_header(http::Request& request, const std::string& name, const std::string& value) {
  for (auto& header : request.headers)
    if (header.name == name) {
      header.value = value;
      return;
    }
  request.headers.push_back({name, value});
}

void set_body(http::Request& request, const std::string& type, const Json& value) {
  set_header(request, "Content-Type", type);
  request.body = to_text(value);
}

// "create pytorchjobs/train-1": the collection's path does not contain the name.
std::string describe_new(const Path& path, const Json& object) {
  const auto* metadata = object.is_object() ? find(object, "metadata") : nullptr;
  const auto* name = metadata != nullptr && metadata->is_object() ? find(*metadata, "name") : nullptr;
  return "create " + path.describe() + (name != nullptr && name->is_string() ? "/" + name->get<std::string>() : "");
}

// The items in the list of a built-in kind lack apiVersion and kind.
void name_kind(Json& item, const std::string& version, const std::string& list_kind) {
  constexpr std::string_view suffix = "List";
  if (!item.is_object() || item.contains("kind") || !list_kind.ends_with(suffix)) return;
  item["apiVersion"] = version;
  item["kind"] = list_kind.substr(0, list_kind.size() - suffix.size());
}

}  // namespace

PendingCall Client::get(const Path& path, const http::Query& query, Retry retry, Done done) {
  const auto id = begin(request("GET", path, query), "get " + path.describe(), retry, std::move(done));
  auto& call = *m_calls.at(id);
  if (path.subresource.empty()) call.names = path.name;
  call.reads_secret = path.plural == "secrets";
  return {*this, id};
}

PendingCall Client::list(const Path& path, const http::Query& query, Retry retry, Done done, Shape shape) {
  auto first = request("GET", path, query);
  first.url.query.emplace_back("limit", page_size);
  if (shape.metadata_only) set_header(first, "Accept", accept_metadata_list);
  const auto id = begin(std::move(first), "list " + path.describe(), retry, std::move(done));
  auto& listing = m_calls.at(id)->listing = std::make_unique<Listing>();
  listing->shape = std::move(shape);
  return {*this, id};
}

PendingCall Client::create(const Path& path, const Json& object, bool dry_run, Retry retry, Done done) {
  http::Query query{{"fieldValidation", "Strict"}};
  if (dry_run) query.emplace_back("dryRun", "All");
  auto post = request("POST", path, query);
  set_body(post, "application/json", object);
  const auto id = begin(std::move(post), describe_new(path, object), retry, std::move(done));
  if (path.plural == "secrets") m_calls.at(id)->secrets = values_of_secret(object);
  return {*this, id};
}

Client::CallId Client::begin_patch(const Path& path, const char* type, const Json& body, Retry retry, Done done) {
  auto sent = request("PATCH", path, {});
  set_body(sent, type, body);
  const auto id = begin(std::move(sent), "patch " + path.describe(), retry, std::move(done));
  auto& call = *m_calls.at(id);
  call.changes = call.names = path.name;
  return id;
}

PendingCall Client::merge_patch(const Path& path, const Json& patch, Retry retry, Done done) {
  const auto id = begin_patch(path, "application/merge-patch+json", patch, retry, std::move(done));
  const auto* metadata = find(patch, "metadata");
  m_calls.at(id)->versioned = metadata != nullptr && metadata->is_object() && find(*metadata, "resourceVersion") != nullptr;
  return {*this, id};
}

PendingCall Client::json_patch(const Path& path, const Json& operations, Retry retry, Done done) {
  const auto id = begin_patch(path, "application/json-patch+json", operations, retry, std::move(done));
  if (path.plural == "secrets")
    for (const auto& operation : operations) m_calls.at(id)->secrets.push_back(text_of(operation, "value"));
  return {*this, id};
}

PendingCall Client::apply(const Path& path, const Json& object, Retry retry, Done done) {
  auto sent = request("PATCH", path, {{"fieldManager", "trainstep"}, {"force", "true"}});
  set_body(sent, "application/apply-patch+yaml", object);  // JSON is YAML
  const auto id = begin(std::move(sent), "apply " + path.describe(), retry, std::move(done));
  auto& call = *m_calls.at(id);
  call.names = path.name;
  if (path.plural == "secrets") call.secrets = values_of_secret(object);
  return {*this, id};
}

PendingCall Client::remove(const Path& path, Propagation propagation, const Preconditions& preconditions, Retry retry, Done done) {
  constexpr const char* policies[] = {"Foreground", "Background", "Orphan"};
  Json options{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"propagationPolicy", policies[static_cast<int>(propagation)]}};
  options["preconditions"]["uid"] = preconditions.uid;
  if (!preconditions.version.empty()) options["preconditions"]["resourceVersion"] = preconditions.version;
  if (preconditions.uid.empty()) return {*this, refuse(internal_error(fmt::format("delete {}: unknown object", path.describe())), std::move(done))};
  auto sent = request("DELETE", path, {});
  set_body(sent, "application/json", options);
  const auto id = begin(std::move(sent), "delete " + path.describe(), retry, std::move(done));
  m_calls.at(id)->names = path.name;
  return {*this, id};
}

Answer Client::next_page(Call& call, Json page) {
  auto& listing = *call.listing;
  const auto* items = page.is_object() ? find(page, "items") : nullptr;
  if (!page.is_object() || !page.contains("items") || (items != nullptr && !items->is_array()))
    return tl::unexpected(ApiError{{ErrorKind::unavailable, call.what + ": the answer is not a list"}, 0, {}, {}, {}});
  const auto version = text_of(page, "apiVersion");
  const auto kind = text_of(page, "kind");
  if (items != nullptr) {
    for (auto& item : page["items"]) {
      name_kind(item, version, kind);
      if (listing.shape.trim) listing.shape.trim(item);
      listing.items.push_back(std::move(item));
    }
  }
  const auto* found = find(page, "metadata");
  const auto metadata = found != nullptr ? *found : Json::object();
  auto& query = call.request.url.query;
  std::erase_if(query, [](const auto& pair) { return pair.first == "continue"; });
  if (const auto token = text_of(metadata, "continue"); !token.empty()) {
    if (!listing.tokens.insert(token).second)
      return tl::unexpected(
          ApiError{internal_error(call.what + ": the API server repeated a continue token, so the list would not end"), 0, {}, {}, {}});
    query.emplace_back("continue", token);
    return Json();
  }
  return Json{{"metadata", {{"resourceVersion", text_of(metadata, "resourceVersion")}}}, {"items", std::move(listing.items)}};
}

http::Transport::Id Client::stream(const Path& path, const http::Query& query, const std::string& accept, Duration silence,
                                   http::Transport::Handler handler) {
  auto sent = request("GET", path, query);
  sent.limit.reset();
  sent.silence = silence;
  for (auto& header : sent.headers)
    if (header.name == "Accept") header.value = accept;
  const bool ready = m_credentials->token->ready(m_loop.now());
  auto token = ready ? m_credentials->token->token(m_loop.now()) : Result<std::string>(Error{ErrorKind::unavailable, "no new token yet"});
  if (!token) {
    constexpr auto own = http::Transport::Id{1} << 63U;  // transports never reach ids this large
    const auto id = own | m_next++;
    m_unsent[id] = m_loop.timer(Duration(0), [this, id, error = std::move(token.error()), done = std::move(handler.done)] {
      m_unsent.erase(id);
      done(error);  // last: may destroy this object
    });
    return id;
  }
  m_token = *token;
  if (!token->empty()) sent.headers.push_back({"Authorization", "Bearer " + *token});
  if (auto own = m_credentials->token->endpoint()) sent.endpoint = std::move(own);
  const auto id = std::make_shared<http::Transport::Id>(0);
  auto done = [this, id, call = std::move(handler.done)](Result<http::Response> response) {
    m_streams.erase(*id);
    if (response && response->status == 401) m_credentials->token->refused();
    call(std::move(response));  // last: may destroy this object
  };
  *id = m_transport.start(std::move(sent), {std::move(handler.head), std::move(handler.data), std::move(done)});
  m_streams.insert(*id);
  return *id;
}

void Client::cancel_stream(http::Transport::Id id) {
  m_unsent.erase(id);
  if (m_streams.erase(id) != 0) m_transport.cancel(id);
}

void Client::hold_stream(http::Transport::Id id, bool held) {
  if (m_streams.contains(id)) m_transport.hold(id, held);
}

}  // namespace trainstep::kube
