// SPDX-License-Identifier: Apache-2.0
#include "kube/watch.h"

#include <utility>

#include "http/lines.h"
#include "kube/early_breaks.h"
#include "kube/version.h"
#include "kube/watch_event.h"

namespace trainstep::kube {
namespace {

constexpr Duration very_short{1'000};        // as in client-go: such a connection without an event counts as failed
constexpr int eventless_limit = 2;           // consecutive connections without an event, before listing again
constexpr int max_watch_refusals = 20;       // consecutive refusals: about five minutes
constexpr int max_first_watch_refusals = 7;  // refusals before the first watch: for example a gateway's 404
constexpr int same_version_limit = 2;        // failures at one version, before the position counts as lost
constexpr int max_stale_lists = 6;           // consecutive lists older than what was seen: half a minute
// API servers send a bookmark about every minute (apiserver/pkg/storage/cacher); one that has sent some and is then silent for this long is dead.
constexpr Duration bookmark_timeout{300'000};
// … and from one that sends nothing at all, data may never arrive here. Events, which have no watch cache, have no bookmarks.
constexpr Duration unheard_limit{600'000};
constexpr auto accept = "application/json";
constexpr auto accept_metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

}  // namespace

struct Watch::State : std::enable_shared_from_this<Watch::State> {
  State(Client& the_client, WatchOptions the_options, Sink the_sink)
      : client(the_client), options(std::move(the_options)), sink(std::move(the_sink)), what("watch " + options.path.describe()) {}

  // Wraps a member function as a callback that does nothing after the watch was closed or destroyed.
  template <typename... Arguments>
  auto here(void (State::*member)(Arguments...)) {
    return [weak = weak_from_this(), member](auto&&... arguments) {
      const auto self = weak.lock();
      if (self != nullptr && !self->closed) ((*self).*member)(std::forward<decltype(arguments)>(arguments)...);
    };
  }
  [[nodiscard]] http::Query selectors() const;
  void list();
  void listed(Answer answer);
  bool is_stale(const std::string& listed);
  void connect();
  void head(const http::Response& response);
  void data(std::string_view bytes);
  bool take(const http::Lines::Line& line);
  bool tell(WatchEvent event);
  void done(Result<http::Response> response);
  void steady();
  void proved();
  void silent();
  void unheard();
  void listen();
  void report_trouble(const ApiError& error);
  void again(const std::optional<ApiError>& error);
  void go_on();
  void close();

  Client& client;
  WatchOptions options;
  Sink sink;
  std::string what;
  http::Lines lines;
  std::string version;
  std::string newest;  // the newest of all seen
  std::string gone;    // the version of the last deletion since the list
  std::optional<Time> heard;
  std::optional<ApiError> broken;  // why this connection cannot be used any more
  PendingCall call;
  http::Transport::Id stream = 0;
  Timer pause;
  Timer steady_timer;
  EarlyBreaks early_breaks;
  Timer silence_timer;
  std::optional<Time> began;  // when the response on this connection began
  bool bookmarked = false;    // on this connection
  bool spoken = false;        // an event or bookmark arrived on this connection
  bool moved = false;         // … with something new
  int quiet = 0;              // consecutive connections that ended without one
  bool synced = false;
  bool opened = false;  // a watch was accepted
  bool lost = true;     // the position is lost: list
  bool closed = false;
  bool expired = false;  // the position was lost since the last progress
  int tries = 0;         // connections since the last progress
  int stale = 0;         // consecutive stale lists
  int vain = 0;          // failures caused by the server
  int refusals = 0;      // since the last accepted watch
  int unauthorized = 0;
};

http::Query Watch::State::selectors() const {
  http::Query query;
  if (!options.label_selector.empty()) query.emplace_back("labelSelector", options.label_selector);
  if (!options.field_selector.empty()) query.emplace_back("fieldSelector", options.field_selector);
  return query;
}

void Watch::State::list() {
  call = client.list(options.path, selectors(), {}, here(&State::listed), {.metadata_only = options.metadata_only, .trim = options.trim});
}

void Watch::State::listed(Answer answer) {
  if (answer || answer.error().status != 0) heard = client.loop().now();
  if (!answer) return report_trouble(answer.error());
  if (is_stale(resource_version(*answer))) return;
  version = newest = resource_version(*answer);
  gone.clear();
  lost = version.empty();
  synced = true;
  vain = unauthorized = quiet = 0;
  std::vector<Json> items;
  items.reserve((*answer)["items"].size());
  for (auto& item : (*answer)["items"]) items.push_back(std::move(item));
  if (sink.synced) sink.synced(std::move(items));
  if (!closed) connect();
}

// A stale list would make the reader see known objects vanish and reappear. true: it is requested again.
bool Watch::State::is_stale(const std::string& listed) {
  if (!is_older_version(listed, newest) || ++stale > max_stale_lists) {
    stale = 0;
    return false;
  }
  pause = client.loop().timer(client.pause(stale), here(&State::list));
  return true;
}

void Watch::State::connect() {
  auto query = selectors();
  const auto seconds = std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(options.timeout).count(), 1);
  query.insert(query.end(), {{"watch", "true"}, {"allowWatchBookmarks", "true"}, {"timeoutSeconds", std::to_string(seconds)}});
  if (!version.empty()) query.emplace_back("resourceVersion", version);
  lines.reset();
  began.reset();
  bookmarked = spoken = moved = false;
  early_breaks.begins();
  stream = client.stream(options.path, query, options.metadata_only ? accept_metadata : accept, options.timeout + options.silence,
                         {here(&State::head), here(&State::data), here(&State::done)});
  listen();
}

void Watch::State::head(const http::Response& response) {
  heard = client.loop().now();
  if (response.status / 100 != 2) return;
  opened = true;
  refusals = unauthorized = 0;
  early_breaks.accepted();
  if (!early_breaks.are_repeated()) client.works(this);
  steady_timer = client.loop().timer(steady_after, here(&State::steady));
  began = heard;
  listen();
}

void Watch::State::listen() {
  silence_timer.cancel();
  if (bookmarked)
    silence_timer = client.loop().timer(bookmark_timeout, here(&State::silent));
  else if (!spoken && options.path.plural != "events")
    silence_timer = client.loop().timer(unheard_limit, here(&State::unheard));
}

// Perhaps there were no events; perhaps they do not arrive here.
void Watch::State::unheard() {
  silence_timer = {};
  client.cancel_stream(std::exchange(stream, 0));
  lost = true;
  again({});
}

void Watch::State::steady() {
  tries = vain = 0;
  expired = false;
  proved();
}

void Watch::State::proved() {
  early_breaks.good();
  client.works(this);
}

void Watch::State::silent() {
  silence_timer = {};
  client.cancel_stream(std::exchange(stream, 0));
  report_trouble(ApiError{{ErrorKind::unavailable, what + ": no data received on the connection"}, 0, {}, {}, {}});
}

void Watch::State::data(std::string_view bytes) {
  heard = client.loop().now();
  if (silence_timer) listen();
  if (lines.feed(bytes, [this](const auto& line) { return take(line); }) || closed) return;
  client.cancel_stream(std::exchange(stream, 0));
  report_trouble(std::exchange(broken, {}).value_or(ApiError{}));
}

// false: stop reading this connection; either `broken` is set or the watch is closed.
bool Watch::State::take(const http::Lines::Line& line) {
  if (line.first && line.last && line.text.empty()) return true;
  auto event = line.first && line.last ? read_watch_event(line.text) : Error{ErrorKind::unavailable, "an event is too long"};
  if (!event) {
    ++vain;
    event.error().kind = ErrorKind::unavailable;
    broken = ApiError{in_context(what, std::move(event.error())), 0, {}, {}, {}};
    return false;
  }
  if (event->type != WatchEvent::Type::error) return tell(std::move(*event));
  broken = watch_error(what, event->object);
  return false;
}

bool Watch::State::tell(WatchEvent event) {
  if (!std::exchange(spoken, true)) listen();
  // A bookmark with the known version is nothing new.
  if (event.type != WatchEvent::Type::bookmark || event.version != version) {
    moved = true;
    quiet = 0;
  }
  if (!event.version.empty() && event.version != version) {
    version = event.version;
    if (!is_older_version(version, newest)) newest = version;
    vain = 0;
    expired = false;
    // A server that ends each connection after a bookmark is asked ever more rarely: nothing happens there.
    if (event.type != WatchEvent::Type::bookmark) tries = 0;
  }
  if (event.type == WatchEvent::Type::bookmark) {
    bookmarked = true;
    listen();
    return true;
  }
  if (event.type == WatchEvent::Type::deleted) {
    // A repeated deletion. The reader would take it for another object of that name, created and deleted.
    if (!event.version.empty() && event.version == gone) return true;
    gone = event.version;
  }
  if (options.trim) options.trim(event.object);
  const auto& told = event.type == WatchEvent::Type::deleted ? sink.deleted : sink.changed;
  if (told) told(std::move(event.object));
  return !closed;
}

void Watch::State::done(Result<http::Response> response) {
  stream = 0;
  if (response && response->status / 100 == 2) {
    proved();
    // A connection that ends this soon, or repeatedly without news, may go through something that does not pass on events. Where nothing happens, a
    // connection brings only bookmarks of the known version for its whole requested time.
    const auto lived = began ? client.loop().now() - *began : Duration{0};
    const bool as_asked = spoken && lived >= options.timeout - options.silence;
    if (!moved && !as_asked && ((lived < very_short && !spoken) || ++quiet >= eventless_limit)) lost = true;
    return again({});
  }
  // A connection that breaks within its first event, again and again.
  if (began && !moved && ++quiet >= eventless_limit) lost = true;
  report_trouble(client.error_of(what, response));
}

void Watch::State::report_trouble(const ApiError& error) {
  if (error.status != 0 && error.status != 401) ++vain;
  if (error.status == 410 || vain >= same_version_limit) lost = true;
  // A server that was down has lost its history. It responds, so its current state is requested soon, but later the second time.
  if (error.status == 410 && !std::exchange(expired, true)) tries = 0;
  if (error.status == 410 || retryable(error)) return again(error);
  if (error.status >= 400 && error.status != 401) lost = true;  // 400: the version is unknown to this server
  if (error.status != 0) ++(error.status == 401 ? unauthorized : refusals);
  // After the first 401 the token is read again. A successful list shows that the credentials were accepted.
  const bool accepted = opened || options.followed || (synced && error.status == 401);
  const bool may_pass = error.status == 401 ? unauthorized == 1 : refusals < max_first_watch_refusals && (error.status != 403 || options.needed);
  if (accepted ? std::max(refusals, unauthorized) < max_watch_refusals : may_pass) return again(error);
  close();
  if (sink.failed) sink.failed(error);
}

void Watch::State::again(const std::optional<ApiError>& error) {
  steady_timer.cancel();
  silence_timer.cancel();
  ++tries;
  const bool early = error && early_breaks.broke();
  if (error && tries > 1) client.failing(this, *error, early);
  const auto floor = error ? error->retry_after : std::nullopt;
  pause = client.loop().timer(client.pause(tries, floor), here(&State::go_on));
}

void Watch::State::go_on() { lost ? list() : connect(); }

void Watch::State::close() {
  closed = true;
  call.cancel();
  if (stream != 0) client.cancel_stream(stream);
  pause.cancel();
  steady_timer.cancel();
  silence_timer.cancel();
  client.forget(this);
}

Watch::Watch(Client& client, WatchOptions options, Sink sink) : m_state(std::make_shared<State>(client, std::move(options), std::move(sink))) {
  m_state->list();
}

Watch::~Watch() {
  if (!m_state->closed) m_state->close();
}

bool Watch::synced() const { return m_state->synced; }
const std::string& Watch::version() const { return m_state->version; }
std::optional<Time> Watch::heard() const { return m_state->heard; }

}  // namespace trainstep::kube
