// SPDX-License-Identifier: Apache-2.0
#include "kube/log_stream.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/deadline.h"
#include "base/max_line_length.h"
#include "base/printable.h"
#include "base/text.h"
#include "http/lines.h"
#include "kube/early_breaks.h"
#include "kube/log_cursor.h"
#include "kube/log_line.h"
#include "kube/log_refusal.h"

namespace trainstep::kube {
namespace {

constexpr std::size_t max_timestamp_length = 36;                                // "2026-11-21T08:15:30.123456789+02:00 "
constexpr std::string_view removed = "unable to retrieve container logs for ";  // the kubelet's message, with status 200

// A followed log usually ends because the container does, which ended() will tell soon. If the container is restarted before that, its new lines look
// like those after a rotation: so for a while, lines that do not continue what was read are held back until ended() is called.
constexpr Duration pause_after_end{2'000};
constexpr Duration held_lines_timeout{10'000};

}  // namespace

struct LogStream::State : std::enable_shared_from_this<LogStream::State> {
  State(Client& the_client, LogSource the_source, Sink the_sink, std::shared_ptr<ContainerLogs> the_kin)
      : client(the_client),
        source(std::move(the_source)),
        sink(std::move(the_sink)),
        siblings(std::move(the_kin)),
        silent(the_client.loop()),
        give_up_at(the_client.loop()),
        absent(the_client.loop()) {}

  // Wraps a member function as a callback that does nothing after the stream was closed or destroyed.
  template <typename... Arguments>
  auto here(void (State::*member)(Arguments...)) {
    return [weak = weak_from_this(), member](auto&&... arguments) {
      const auto self = weak.lock();
      if (self != nullptr && !self->closed) ((*self).*member)(std::forward<decltype(arguments)>(arguments)...);
    };
  }
  // The same for one connection: not called any more once another one is the current one.
  template <typename Argument>
  auto here(void (State::*member)(Argument), std::uint64_t connection) {
    return [weak = weak_from_this(), member, connection](const std::remove_cvref_t<Argument>& argument) {
      const auto self = weak.lock();
      if (self == nullptr || self->closed) return;
      if (connection == self->current) return ((*self).*member)(argument);
      if (self->kept && self->kept->number == connection) self->kept->arrived(argument);
    };
  }
  void open();
  void keep();
  bool last_line_confirmed();
  void read_kept(std::string why);
  void reopen();
  void head(const http::Response& response);
  void data(std::string_view bytes);
  bool take(const http::Lines::Line& line);
  bool take_stamped(Stamp at, std::string_view text, bool last);
  bool belongs_to_other_attempt(Stamp at, std::string_view text);
  bool missing(Stamp until);
  bool flush();
  void done(const Result<http::Response>& response);
  void at_end();
  void refused(const ApiError& error);
  void again(Duration at_least, Duration at_most, std::optional<Duration> floor = {});
  void steady();
  void proved();
  void clear_held_lines() { held_lines_timer = {}; }
  void give_up(const std::string& why);
  void pod_gone() { give_up(abandoned_because); }
  void retire();
  void superseded();
  void complete();
  void close();
  [[nodiscard]] std::string missing_after(const std::string& why) const;

  // The connection that followed the log to the end of its container, while another one reads the rest: if that cannot be read any more – the kubelet
  // removes the containers of a deleted pod – this one still has it.
  struct Kept {
    std::uint64_t number = 0;
    http::Transport::Id stream = 0;
    http::Lines lines;
    std::optional<Stamp> stamp;
    LogCursor cursor;
    std::uint64_t delivered = 0;
    std::string bytes{};                               // already on their way when it was held
    std::optional<Result<http::Response>> response{};  // it has ended
    void arrived(const http::Response&) {}
    void arrived(std::string_view more) { bytes.append(more); }
    void arrived(const Result<http::Response>& end) { response = end; }
  };

  Client& client;
  LogSource source;
  Sink sink;
  std::shared_ptr<ContainerLogs> siblings;
  ContainerLogs::Id kin_id = 0;
  LogCursor cursor;
  http::Lines lines{max_line_length + max_timestamp_length + 1};  // allows pieces of more than max_line_length, whatever the timestamp's length
  std::string batch;                                              // lines to deliver, only within data()
  std::optional<Stamp> stamp;                                     // of the last line read on this connection
  std::string note;                                               // the kubelet's message in place of a log
  http::Transport::Id stream = 0;
  std::uint64_t current = 0;    // the number of this connection
  std::uint64_t delivered = 0;  // lines
  std::optional<Kept> kept;
  std::string last_line;  // of the connection before, if it has no newline
  int readings = 0;       // with different last lines
  std::string abandoned_because = "the pod is gone";
  Timer pause;
  Timer steady_timer;
  EarlyBreaks early_breaks;
  Timer held_lines_timer;
  bool closed = false;
  bool held = false;
  bool ended = false;
  bool previous = false;
  bool abandoned = false;
  bool was_kept = false;          // this connection is the one that was kept
  bool retired = false;           // a later attempt's stream continues
  bool reading_rest = false;      // this connection reads the rest
  bool served = false;            // this connection got a log
  bool page = false;              // this connection got something other than a log with a 2xx
  bool opened = false;            // a log was served at least once
  bool cut_short = false;         // the rest ended before the last known line
  int tries = 0;                  // connections since the last progress
  int refusals = 0;               // consecutive responses that were not a log
  int absences = 0;               // consecutive ones that said there is no such pod
  bool refusal_reported = false;  // for the current series
  bool unreadable = false;        // for a long time, when the container ended
  Deadline silent, give_up_at;    // since the first refusal: when to report it, when to give up the rest of the log
  Deadline absent;                // since the first response that there is no such pod
};

namespace {

constexpr Duration follow_silence{3'600'000};  // a program may print nothing for long; the transport's keep-alive detects dead connections earlier
constexpr Duration read_silence{60'000};
constexpr Duration max_start_wait{5'000};
constexpr Duration last_words{5'000};      // for data in transit from a deleted pod, on an open connection
constexpr int max_refusals = 8;            // consecutive refusals after a log was served: starting API servers answer like that
constexpr int max_first_refusals = 6;      // … before any log was served: some seconds
constexpr int absences_believed = 3;       // 404s for a pod that is not known to be gone: an API server may lag behind the others …
constexpr Duration absence_lasts{5'000};   // … and for at least this long
constexpr int max_readings = 6;            // of a rest whose last line has no newline and is another one each time
constexpr int max_final_refusals = 10;     // consecutive responses that are not a log, after the end
constexpr int few_tries = 6;               // … if the log was unreadable for long before
constexpr Duration refusals_end{120'000};  // … and this long
constexpr Duration refusal_is_told{5'000};

// The page of a proxy or a login in place of a log: the kubelet sends text/plain.
bool is_page(const http::Response& head) {
  const auto type = head.header("Content-Type").value_or("");
  return type.starts_with("text/html") || type.starts_with("application/json") || type.starts_with("application/xml");
}

}  // namespace

void LogStream::State::open() {
  if (!lines.unfinished().empty()) last_line = lines.unfinished();
  reading_rest = ended;
  page = served = false;
  const auto connection = ++current;
  note.clear();
  stamp.reset();
  lines.reset();
  cursor.begin();
  early_breaks.begins();
  http::Query query{{"container", source.container}, {"timestamps", "true"}};
  if (!reading_rest) query.emplace_back("follow", "true");
  if (previous) query.emplace_back("previous", "true");
  const auto since = cursor.since().value_or(0);
  if (since > 0) query.emplace_back("sinceTime", to_rfc3339(Time(std::chrono::seconds(since))));
  stream = client.stream({"v1", "pods", source.name_space, source.pod, "log"}, query, "application/json, */*",
                         reading_rest ? read_silence : follow_silence,
                         {here(&State::head, connection), here(&State::data, connection), here(&State::done, connection)});
  if (held) client.hold_stream(stream, true);
}

// Holds the connection that follows the log. Not one that was opened after a pause: it may follow the next attempt's log.
void LogStream::State::keep() {
  const auto id = std::exchange(stream, 0);
  if (id == 0) return;
  if (reading_rest || !served || held_lines_timer) return client.cancel_stream(id);
  client.hold_stream(id, true);
  kept = Kept{.number = current, .stream = id, .lines = std::move(lines), .stamp = stamp, .cursor = cursor, .delivered = delivered};
}

// A last line without a newline is the program's, or something on the way has ended the connection within a line: then it is longer on the next one.
bool LogStream::State::last_line_confirmed() {
  const std::string line(lines.unfinished());
  if (line.starts_with(removed)) return true;
  const bool read_twice = line == last_line || (kept && kept->bytes.empty() && line == kept->lines.unfinished());
  last_line = line;
  return line.empty() || read_twice || ++readings == max_readings;
}

// The rest cannot be read: what is left comes from the connection that was kept, within seconds.
void LogStream::State::read_kept(std::string why) {
  auto last = std::move(*std::exchange(kept, {}));
  if (stream != 0) client.cancel_stream(stream);
  steady_timer.cancel();
  stream = last.response ? 0 : last.stream;
  current = last.number;
  lines = std::move(last.lines);
  stamp = last.stamp;
  note.clear();
  reading_rest = page = false;
  abandoned = was_kept = true;
  abandoned_because = std::move(why);
  if (delivered == last.delivered)
    cursor = last.cursor;
  else
    cursor.join();  // the other one has read some of it
  pause = client.loop().timer(last_words, here(&State::pod_gone));
  if (!last.response) client.hold_stream(stream, held);
  if (!last.bytes.empty()) data(last.bytes);
  if (!closed && last.response) done(*last.response);
}

// After ended(): reads the rest at once, on a new connection. The kubelet itself notices an end only after seconds.
void LogStream::State::reopen() {
  keep();
  pause.cancel();
  steady_timer.cancel();
  unreadable = refusals > 0 && give_up_at.passed();
  tries = refusals = 0;
  open();
}

void LogStream::State::head(const http::Response& response) {
  if (response.status / 100 != 2) return;
  page = is_page(response);
  if (page) return;
  opened = served = true;
  refusals = absences = 0;
  refusal_reported = false;
  early_breaks.accepted();
  if (!early_breaks.are_repeated()) client.works(this);
  steady_timer = client.loop().timer(steady_after, here(&State::steady));
}

void LogStream::State::steady() {
  tries = 0;
  proved();
}

void LogStream::State::proved() {
  early_breaks.good();
  client.works(this);
}

void LogStream::State::done(const Result<http::Response>& response) {
  stream = 0;
  steady_timer.cancel();
  if (retired) return;
  const auto what = "read the log of pods/" + source.pod;
  if (response && response->status / 100 == 2) {
    if (page) return refused(not_the_servers(what + ": the answer is an HTML page, not a log"));
    proved();
    return at_end();
  }
  const auto error = client.error_of(what, response);
  if (error.status != 0) return refused(error);
  if (refusals > 0) give_up_at.set(refusals_end);  // time without any response does not count
  const bool early = early_breaks.broke();
  if (tries > 0) client.failing(this, error, early);
  again(Duration(0), Duration::max());
}

void LogStream::State::at_end() {
  if (reading_rest) {
    if (!abandoned && !last_line_confirmed()) return again(Duration(0), readings == 1 ? Duration(0) : Duration::max());
    lines.finish([this](const auto& line) { return take(line); });
    if (closed || !flush()) return;
    if (cursor.place() != LogCursor::Place::known) return complete();
    // Less was served than is known: the connection was cut unnoticed, or, if it happens twice, the file is another one.
    if (std::exchange(cut_short, true)) cursor.distrust();
  }
  // It cannot be read again: half a line must not be taken for a whole one.
  if (was_kept && !lines.unfinished().empty() && lines.unfinished() != last_line) return give_up(abandoned_because);
  if (abandoned) {  // the end of a connection to a deleted pod is the end of the log
    lines.finish([this](const auto& line) { return take(line); });
    if (!closed && flush()) complete();
    return;
  }
  if (!reading_rest) {
    if (sink.ended) sink.ended();
    held_lines_timer = client.loop().timer(held_lines_timeout, here(&State::clear_held_lines));
  }
  again(pause_after_end, Duration::max());
}

void LogStream::State::refused(const ApiError& error) {
  const auto refusal = log_refusal_of(error);
  if (++refusals == 1) {
    silent.set(refusal_is_told);
    give_up_at.set(refusals_end);
  }
  // The API server responds, but cannot get the log from the pod's node: nothing else reports that.
  if (refusal == LogRefusal::again && silent.passed() && !std::exchange(refusal_reported, true) && sink.waits) {
    const auto call = sink.waits;
    call(fmt::format("cannot be read at present ({}); trying again", error.error.message));
    if (closed) return;
  }
  absences = refusal == LogRefusal::gone ? absences + 1 : 0;
  if (absences == 1) absent.set(absence_lasts);
  if (refusal == LogRefusal::gone && (abandoned || (absences >= absences_believed && absent.passed()))) return give_up("the pod is gone");
  const int believed = opened || says_nothing(error) ? max_refusals : previous ? 1 : max_first_refusals;
  if (refusal == LogRefusal::permanent && refusals >= believed) return give_up(error.error.message);
  // The log is not given up after the first refusals that follow a long silence: a token may have expired meanwhile.
  const bool soon = unreadable || give_up_at.passed() || error.status == 400;
  // A server that requests a delay is retried, and a gateway's response says nothing about the log.
  const bool later = (error.status == 429 || !error.is_status) && !give_up_at.passed();
  if (reading_rest && !later && refusals >= (soon ? few_tries : max_final_refusals)) return give_up(error.error.message);
  again(Duration(0), refusal == LogRefusal::wait ? max_start_wait : Duration::max(), error.retry_after);
}

void LogStream::State::again(Duration at_least, Duration at_most, std::optional<Duration> floor) {
  if (abandoned) return pod_gone();
  steady_timer.cancel();
  const auto wait = std::max(std::min(client.pause(++tries, floor), at_most), at_least);
  pause = client.loop().timer(wait, here(&State::open));
}

std::string LogStream::State::missing_after(const std::string& why) const {
  const auto last = cursor.last();
  auto what = last ? fmt::format("lines after {} may be missing: {}", clock_time(*last), why) : "cannot read any line: " + why;
  const auto half = read_log_line(lines.unfinished().empty() ? last_line : lines.unfinished());
  if (half && half->stamp >= last.value_or(0)) what += "; of the next one, this was read: " + excerpt(half->text);
  return what;
}

void LogStream::State::give_up(const std::string& why) {
  if (kept && !retired) return read_kept(why);
  const auto what = missing_after(why);
  const auto call = sink.lost;
  if (call) call(what);
  if (closed) return;
  close();
  if (sink.complete) sink.complete();
}

void LogStream::State::complete() {
  if (!note.empty()) return give_up(note);
  if (cursor.place() == LogCursor::Place::lost) return give_up("the log no longer contains the last line that was read");
  close();
  if (sink.complete) sink.complete();
}

void LogStream::State::close() {
  closed = true;
  if (siblings) siblings->leave(kin_id);
  if (stream != 0) client.cancel_stream(stream);
  if (kept && !kept->response) client.cancel_stream(kept->stream);
  for (auto* timer : {&pause, &steady_timer, &held_lines_timer}) timer->cancel();
  client.forget(this);
}

LogStream::LogStream(Client& client, LogSource source, Sink sink, std::shared_ptr<ContainerLogs> siblings)
    : m_state(std::make_shared<State>(client, std::move(source), std::move(sink), std::move(siblings))) {
  auto& state = *m_state;
  if (state.siblings) state.kin_id = state.siblings->enter(state.cursor, state.here(&State::retire));
  state.previous = state.ended = state.source.previous;
  state.open();
}

LogStream::~LogStream() {
  if (!m_state->closed) m_state->close();
}

void LogStream::abandon() {
  const auto state = m_state;
  if (state->closed || state->abandoned || state->retired) return;
  state->abandoned = true;
  if (state->stream == 0) return state->pod_gone();
  state->pause.cancel();
  state->pause = state->client.loop().timer(last_words, state->here(&State::pod_gone));
}

void LogStream::hold(bool held) {
  if (m_state->closed || std::exchange(m_state->held, held) == held || m_state->stream == 0) return;
  m_state->client.hold_stream(m_state->stream, held);
}

void LogStream::ended(bool restarted) {
  auto& state = *m_state;
  if (state.closed || state.abandoned || state.retired || (state.ended && (!restarted || state.previous))) return;
  state.ended = true;
  state.previous = restarted;
  // Deferred: this may be called from one of the stream's own callbacks.
  state.pause = state.client.loop().timer(Duration(0), state.here(&State::reopen));
}

namespace {

// The offset of a line of the agent within one of the program's that has no newline yet: "loss=0.125trainstep: …". Some runtimes merge the output of
// both streams as it comes. They can only be separated here: in the pod the program writes to the log itself, so its last byte is unknown, and a
// newline before each line of the agent would be an empty line in most logs. npos: none. A program that mentions such a line has a blank or a quote
// before it.
std::size_t agents_line(std::string_view text) {
  const auto at = text.find("trainstep: ", 1);
  if (at == std::string_view::npos || text.starts_with("trainstep: ")) return std::string_view::npos;
  return std::string_view(" \t\"'`([{<:=/,-_").find(text[at - 1]) == std::string_view::npos ? at : std::string_view::npos;
}

}  // namespace

void LogStream::State::data(std::string_view bytes) {
  if (page) return;
  batch.reserve(bytes.size());
  const auto all = lines.feed(bytes, [this](const auto& line) { return take(line); });
  if (closed || !flush() || all) return;
  client.cancel_stream(std::exchange(stream, 0));
  if (retired) return;
  again(pause_after_end, pause_after_end);
}

// false: stop reading this connection.
bool LogStream::State::take(const http::Lines::Line& line) {
  auto text = line.text;
  if (line.first) {
    if (const auto read = read_log_line(line.text)) {
      stamp = read->stamp;
      text = read->text;
    } else if (line.text.starts_with(removed)) {
      note = line.text;
      return true;
    }
  }
  // A line without a timestamp (written by something other than a kubelet) belongs to the one before it.
  return take_stamped(stamp.value_or(0), text, line.last);
}

bool LogStream::State::take_stamped(Stamp at, std::string_view text, bool last) {
  if (retired) return false;
  if (cursor.fresh() && belongs_to_other_attempt(at, text)) return false;
  auto step = cursor.take(at, text);
  if (step == LogCursor::Step::gap) {
    if (held_lines_timer && !ended) return false;
    if (belongs_to_other_attempt(at, text) || !missing(at)) return false;
    step = cursor.take(at, text);
  }
  if (step == LogCursor::Step::astray) return false;
  if (step == LogCursor::Step::deliver) {
    tries = 0;
    ++delivered;
    last_line.clear();
    if (const auto glued = agents_line(text); glued != std::string_view::npos) {
      batch.append(text.substr(0, glued)).push_back('\n');
      text.remove_prefix(glued);
    }
    if (last && text.size() > max_line_length) {  // otherwise its end would look like a line that continues
      batch.append(text.substr(0, max_line_length + 1)).push_back('\n');
      text.remove_prefix(max_line_length + 1);
    }
    batch.append(text).push_back('\n');
  }
  return true;
}

// true: this line begins the log of a later attempt, which that attempt's stream reads.
bool LogStream::State::belongs_to_other_attempt(Stamp at, std::string_view text) {
  if (!siblings) return false;
  switch (siblings->ask(kin_id, at, text, cursor)) {
    case ContainerLogs::Whose::nobodys:
      siblings->begins(kin_id, at, text);
      return false;
    case ContainerLogs::Whose::older:
      siblings->begins(kin_id, at, text);
      cursor.join();
      return false;
    case ContainerLogs::Whose::newer:
      retire();
      return true;
  }
  return false;
}

// Deferred: this may be called from another stream's callback.
void LogStream::State::retire() {
  if (std::exchange(retired, true)) return;
  pause = client.loop().timer(Duration(0), here(&State::superseded));
}

void LogStream::State::superseded() { give_up("its container was restarted, or its pod recreated"); }

bool LogStream::State::missing(Stamp until) {
  if (!flush()) return false;
  const auto what =
      fmt::format("lines between {} and {} may be missing: the log was rotated", clock_time(cursor.last().value_or(0)), clock_time(until));
  if (sink.lost) sink.lost(what);
  if (closed) return false;
  cursor.accept_gap();
  return true;
}

// false: closed by a callback.
bool LogStream::State::flush() {
  const auto told = std::exchange(batch, {});
  if (!told.empty() && sink.lines) sink.lines(told);
  return !closed;
}

}  // namespace trainstep::kube
