// SPDX-License-Identifier: Apache-2.0
#include "kube/watch.h"

#include <utility>

#include "http/lines.h"
#include "kube/version.h"
#include "kube/watch_event.h"

namespace trainstep::kube {
namespace {

constexpr Duration steady_after{30'000};  // a connection that lived so long is no reason to pause longer
constexpr Duration very_short{1'000};     // as client-go counts: such a connection without an event is none
constexpr int quiet_limit = 2;            // connections without an event in a row, before what there is is listed again
constexpr int patience = 20;              // refusals in a row: some five minutes
constexpr int first_patience = 7;         // refusals of one that has never watched: a gateway's 404, say
constexpr int vain_limit = 2;             // failures at one version, before the place counts as lost
constexpr int most_stale = 6;             // lists in a row that are older than what has been seen: half a minute
// API servers send a bookmark about every minute (apiserver/pkg/storage/cacher); one that has done so and is silent for long is not there any more.
constexpr Duration bookmark_patience{300'000};
// … and one that sends nothing from the beginning may never get here. Of events, which have no watch cache, there are no bookmarks.
constexpr Duration unheard_limit{600'000};
constexpr auto accept = "application/json";
constexpr auto accept_metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

}  // namespace

struct Watch::State : std::enable_shared_from_this<Watch::State> {
  State(Client& the_client, WatchOptions the_options, Sink the_sink)
      : client(the_client), options(std::move(the_options)), sink(std::move(the_sink)), what("watch " + options.path.describe()) {}

  // A member function as a callback, for as long as the watch is there.
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
  void silent();
  void unheard();
  void listen();
  void in_trouble(const ApiError& error);
  void again(const std::optional<ApiError>& error);
  void go_on();
  void close();

  Client& client;
  WatchOptions options;
  Sink sink;
  std::string what;
  http::Lines lines;
  std::string version;
  std::string newest;  // of all that were seen
  std::string gone;    // the version of the last deletion since the list
  std::optional<Time> heard;
  std::optional<ApiError> broken;  // why what comes on this connection is of no use any more
  Client::CallId call = 0;
  http::Transport::Id stream = 0;
  Loop::TimerId pause = 0;
  Loop::TimerId steady_timer = 0;
  Loop::TimerId silence_timer = 0;
  std::optional<Time> began;  // this connection, as the server's answer began
  bool bookmarked = false;    // on this connection
  bool spoken = false;        // an event, a bookmark, on this connection
  bool moved = false;         // … that tells more than was known
  int quiet = 0;              // connections in a row that ended without one
  bool synced = false;
  bool opened = false;  // a watch was answered
  bool lost = true;     // the place: list
  bool closed = false;
  bool expired = false;  // since there was progress the place was lost
  int tries = 0;         // connections since there was progress
  int stale = 0;         // lists in a row that were
  int vain = 0;          // of them, those that the server spoilt
  int refusals = 0;      // since the last watch that was answered
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
  call = 0;
  if (answer || answer.error().status != 0) heard = client.loop().now();
  if (!answer) return in_trouble(answer.error());
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

// Who believed it would see what it knows come and go once more. True: it is asked for again.
bool Watch::State::is_stale(const std::string& listed) {
  if (!is_older_version(listed, newest) || ++stale > most_stale) {
    stale = 0;
    return false;
  }
  pause = client.loop().after(client.pause(stale), here(&State::list));
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
  stream = client.stream(options.path, query, options.metadata_only ? accept_metadata : accept, options.timeout + options.silence,
                         {here(&State::head), here(&State::data), here(&State::done)});
  listen();
}

void Watch::State::head(const http::Response& response) {
  heard = client.loop().now();
  if (response.status / 100 != 2) return;
  opened = true;
  refusals = unauthorized = 0;
  client.works(this);
  steady_timer = client.loop().after(steady_after, here(&State::steady));
  began = heard;
  listen();
}

void Watch::State::listen() {
  client.loop().cancel(std::exchange(silence_timer, 0));
  if (bookmarked)
    silence_timer = client.loop().after(bookmark_patience, here(&State::silent));
  else if (!spoken && options.path.plural != "events")
    silence_timer = client.loop().after(unheard_limit, here(&State::unheard));
}

// Perhaps there was nothing to tell; perhaps it never gets here.
void Watch::State::unheard() {
  silence_timer = 0;
  client.cancel_stream(std::exchange(stream, 0));
  lost = true;
  again({});
}

void Watch::State::steady() {
  tries = vain = 0;
  expired = false;
}

void Watch::State::silent() {
  silence_timer = 0;
  client.cancel_stream(std::exchange(stream, 0));
  in_trouble(ApiError{{ErrorKind::unavailable, what + ": the connection is silent"}, 0, {}, {}, {}});
}

void Watch::State::data(std::string_view bytes) {
  heard = client.loop().now();
  if (silence_timer != 0) listen();
  if (lines.feed(bytes, [this](const auto& line) { return take(line); }) || closed) return;
  client.cancel_stream(std::exchange(stream, 0));
  in_trouble(std::exchange(broken, {}).value_or(ApiError{}));
}

// False: no more of this connection; either `broken` says why or the watch is closed.
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
  // A bookmark of what is known tells nothing.
  if (event.type != WatchEvent::Type::bookmark || event.version != version) {
    moved = true;
    quiet = 0;
  }
  if (!event.version.empty() && event.version != version) {
    version = event.version;
    if (!is_older_version(version, newest)) newest = version;
    tries = vain = 0;
    expired = false;
  }
  if (event.type == WatchEvent::Type::bookmark) {
    bookmarked = true;
    listen();
    return true;
  }
  if (event.type == WatchEvent::Type::deleted) {
    // Said twice. To the reader the second would be another object of that name, which was there and has gone.
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
    // What ends so soon, or again and again, without news may be something on the way that does not let events through. Where nothing happens,
    // bookmarks of what is known are all that a connection brings in the whole time that it was asked for.
    const auto lived = began ? client.loop().now() - *began : Duration{0};
    const bool as_asked = spoken && lived >= options.timeout - options.silence;
    if (!moved && !as_asked && ((lived < very_short && !spoken) || ++quiet >= quiet_limit)) lost = true;
    return again({});
  }
  in_trouble(client.error_of(what, response));
}

void Watch::State::in_trouble(const ApiError& error) {
  if (error.status != 0 && error.status != 401) ++vain;
  if (error.status == 410 || vain >= vain_limit) lost = true;
  // A server that was away and is back has no past. It answers, so what it has now is asked for soon, but for the second time not so soon.
  if (error.status == 410 && !std::exchange(expired, true)) tries = 0;
  if (error.status == 410 || retryable(error)) return again(error);
  if (error.status >= 400 && error.status != 401) lost = true;  // 400: the version is none of this server's
  if (error.status != 0) ++(error.status == 401 ? unauthorized : refusals);
  // After a first 401 the token is read anew. Who could list has been let in.
  const bool accepted = opened || options.followed || (synced && error.status == 401);
  const bool may_pass = error.status == 401 ? unauthorized == 1 : refusals < first_patience && (error.status != 403 || options.needed);
  if (accepted ? std::max(refusals, unauthorized) < patience : may_pass) return again(error);
  close();
  if (sink.failed) sink.failed(error);
}

void Watch::State::again(const std::optional<ApiError>& error) {
  client.loop().cancel(steady_timer);
  client.loop().cancel(std::exchange(silence_timer, 0));
  ++tries;
  if (error && tries > 1) client.failing(this, *error);
  const auto floor = error ? error->retry_after : std::nullopt;
  pause = client.loop().after(client.pause(tries, floor), here(&State::go_on));
}

void Watch::State::go_on() { lost ? list() : connect(); }

void Watch::State::close() {
  closed = true;
  if (call != 0) client.cancel(call);
  if (stream != 0) client.cancel_stream(stream);
  client.loop().cancel(pause);
  client.loop().cancel(steady_timer);
  client.loop().cancel(silence_timer);
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
