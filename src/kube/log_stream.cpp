// SPDX-License-Identifier: Apache-2.0
#include "kube/log_stream.h"

#include <fmt/format.h>

#include <utility>

#include "http/lines.h"
#include "kube/log_cursor.h"

namespace trainstep::kube {
namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20U;
constexpr Duration follow_silence{3'600'000};  // a program may be quiet; the transport's keep-alive finds dead connections earlier
constexpr Duration read_silence{60'000};
constexpr Duration steady_after{30'000};  // a connection that lived so long is no reason to pause longer
// The end of a followed log is most likely the container's, of which ended() tells soon. Should the container run again before that, its new lines
// look like those after a rotation: so lines that do not fit wait a while for ended().
constexpr Duration pause_after_end{2'000};
constexpr Duration doubt_after_end{10'000};
constexpr Duration longest_wait_for_start{5'000};
constexpr Duration last_words{5'000};  // of a pod that is gone, on a connection that is open
constexpr int patience = 8;            // refusals in a row of what was allowed before: API servers that start answer so
constexpr int final_patience = 10;     // answers in a row that are no log, after the end: some two minutes
constexpr std::string_view removed = "unable to retrieve container logs for ";  // the kubelet's words, with status 200

bool holds(const ApiError& error, std::string_view part) { return error.error.message.find(part) != std::string::npos; }

enum class Refusal { wait, again, gone, hopeless };

Refusal judge(const ApiError& error) {
  if (error.status == 401 || retryable(error)) return Refusal::again;
  if (error.status == 404) {
    const auto* kind = error.details.is_object() ? find(error.details, "kind") : nullptr;
    // Otherwise it is the kubelet that does not know the container (yet).
    return kind != nullptr && *kind == "pods" ? Refusal::gone : Refusal::wait;
  }
  if (error.status == 400 && (holds(error, " waiting to start") || holds(error, " is terminated"))) return Refusal::wait;
  return Refusal::hopeless;
}

}  // namespace

struct LogStream::State : std::enable_shared_from_this<LogStream::State> {
  State(Client& the_client, LogSource the_source, Sink the_sink, std::shared_ptr<LogKin> the_kin)
      : client(the_client), source(std::move(the_source)), sink(std::move(the_sink)), kin(std::move(the_kin)) {}

  // A member function as a callback, for as long as the stream is there.
  template <typename... Arguments>
  auto here(void (State::*member)(Arguments...)) {
    return [weak = weak_from_this(), member](auto&&... arguments) {
      const auto self = weak.lock();
      if (self != nullptr && !self->closed) ((*self).*member)(std::forward<decltype(arguments)>(arguments)...);
    };
  }
  void open();
  void reopen();
  void head(const http::Response& response);
  void data(std::string_view bytes);
  bool take(const http::Lines::Line& line);
  bool take_stamped(Stamp at, std::string_view text);
  bool of_another(Stamp at, std::string_view text);
  bool missing(Stamp until);
  bool flush();
  void done(const Result<http::Response>& response);
  void at_end();
  void refused(const ApiError& error);
  void again(Duration at_least, Duration at_most, std::optional<Duration> floor = {});
  void steady() { tries = 0; }
  void no_doubt() { doubt = 0; }
  void give_up(const std::string& why);
  void pod_gone() { give_up("the pod is gone"); }
  void retire();
  void superseded();
  void complete();
  void close();
  [[nodiscard]] std::string missing_after(const std::string& why) const;

  Client& client;
  LogSource source;
  Sink sink;
  std::shared_ptr<LogKin> kin;
  LogKin::Id kin_id = 0;
  LogCursor cursor;
  http::Lines lines{longest_line};
  std::string batch;           // lines to tell, within data() only
  std::optional<Stamp> stamp;  // of the line that was read last on this connection
  std::string note;            // what the kubelet said instead of a log
  http::Transport::Id stream = 0;
  Loop::TimerId pause = 0;
  Loop::TimerId steady_timer = 0;
  Loop::TimerId doubt = 0;
  bool closed = false;
  bool ended = false;
  bool previous = false;
  bool abandoned = false;
  bool retired = false;       // a later attempt's stream reads on
  bool reading_rest = false;  // this connection reads what is left
  bool opened = false;        // a log was served once
  bool cut_short = false;     // the rest ended before what is known
  int tries = 0;              // connections since there was progress
  int refusals = 0;           // answers in a row that were no log
};

void LogStream::State::open() {
  reading_rest = ended;
  note.clear();
  stamp.reset();
  lines.reset();
  cursor.begin();
  http::Query query{{"container", source.container}, {"timestamps", "true"}};
  if (!reading_rest) query.emplace_back("follow", "true");
  if (previous) query.emplace_back("previous", "true");
  const auto since = cursor.since().value_or(0);
  if (since > 0) query.emplace_back("sinceTime", to_rfc3339(Time(std::chrono::seconds(since))));
  stream = client.stream({"v1", "pods", source.name_space, source.pod, "log"}, query, "application/json, */*",
                         reading_rest ? read_silence : follow_silence, {here(&State::head), here(&State::data), here(&State::done)});
}

// After ended(): what is under way, or waits to be, is cut, the rest is read at once. The kubelet itself notices an end only after seconds.
void LogStream::State::reopen() {
  if (stream != 0) client.cancel_stream(std::exchange(stream, 0));
  client.loop().cancel(pause);
  client.loop().cancel(steady_timer);
  tries = refusals = 0;
  open();
}

void LogStream::State::head(const http::Response& response) {
  if (response.status / 100 != 2) return;
  opened = true;
  refusals = 0;
  client.works(this);
  steady_timer = client.loop().after(steady_after, here(&State::steady));
}

void LogStream::State::data(std::string_view bytes) {
  batch.reserve(bytes.size());
  const auto all = lines.feed(bytes, [this](const auto& line) { return take(line); });
  if (closed || !flush() || all) return;
  client.cancel_stream(std::exchange(stream, 0));
  if (retired) return;
  again(pause_after_end, pause_after_end);
}

// False: no more of this connection.
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
  // A line without a stamp (kubelets that are none write such) goes with the one before it.
  return take_stamped(stamp.value_or(0), text);
}

bool LogStream::State::take_stamped(Stamp at, std::string_view text) {
  if (retired) return false;
  if (cursor.fresh() && of_another(at, text)) return false;
  auto step = cursor.take(at, text);
  if (step == LogCursor::Step::gap) {
    if (doubt != 0 && !ended) return false;
    if (of_another(at, text) || !missing(at)) return false;
    step = cursor.take(at, text);
  }
  if (step == LogCursor::Step::astray) return false;
  if (step == LogCursor::Step::deliver) {
    tries = 0;
    batch.append(text).push_back('\n');
  }
  return true;
}

// True: with this line begins the log of a later attempt, whose stream reads it.
bool LogStream::State::of_another(Stamp at, std::string_view text) {
  if (!kin) return false;
  switch (kin->ask(kin_id, at, text, cursor)) {
    case LogKin::Whose::nobodys:
      kin->begins(kin_id, at, text);
      return false;
    case LogKin::Whose::older:
      kin->begins(kin_id, at, text);
      cursor.join();
      return false;
    case LogKin::Whose::newer:
      retire();
      return true;
  }
  return false;
}

// Not at once: it may be another stream's callback that this is called from.
void LogStream::State::retire() {
  if (std::exchange(retired, true)) return;
  client.loop().cancel(pause);
  pause = client.loop().after(Duration(0), here(&State::superseded));
}

void LogStream::State::superseded() { give_up("its container runs again, or its pod was made anew"); }

bool LogStream::State::missing(Stamp until) {
  if (!flush()) return false;
  const auto what =
      fmt::format("lines between {} and {} may be missing: the log was rotated", clock_time(cursor.last().value_or(0)), clock_time(until));
  if (sink.lost) sink.lost(what);
  if (closed) return false;
  cursor.accept_gap();
  return true;
}

// False: closed meanwhile.
bool LogStream::State::flush() {
  const auto told = std::exchange(batch, {});
  if (!told.empty() && sink.lines) sink.lines(told);
  return !closed;
}

void LogStream::State::done(const Result<http::Response>& response) {
  stream = 0;
  client.loop().cancel(steady_timer);
  if (retired) return;
  if (response && response->status / 100 == 2) return at_end();
  const auto error = client.error_of("read the log of pods/" + source.pod, response);
  if (error.status != 0) return refused(error);
  if (tries > 0) client.failing(this, error);
  again(Duration(0), Duration::max());
}

void LogStream::State::at_end() {
  if (reading_rest) {
    lines.finish([this](const auto& line) { return take(line); });
    if (closed || !flush()) return;
    if (cursor.place() != LogCursor::Place::known) return complete();
    // All that is served is less than was read: a connection cut unseen, or, the second time, another file.
    if (std::exchange(cut_short, true)) cursor.distrust();
  }
  if (abandoned) {  // the end of a connection to a pod that has gone is the log's end
    lines.finish([this](const auto& line) { return take(line); });
    if (!closed && flush()) complete();
    return;
  }
  if (!reading_rest) {
    client.loop().cancel(doubt);
    doubt = client.loop().after(doubt_after_end, here(&State::no_doubt));
  }
  again(pause_after_end, Duration::max());
}

void LogStream::State::refused(const ApiError& error) {
  ++refusals;
  const auto refusal = judge(error);
  if (refusal == Refusal::gone) return give_up("the pod is gone");
  if (refusal == Refusal::hopeless && !(opened && refusals < patience)) return give_up(error.error.message);
  if (reading_rest && refusal == Refusal::wait && error.status == 400) return complete();  // it never started
  if (reading_rest && refusals >= final_patience) return give_up(error.error.message);
  again(Duration(0), refusal == Refusal::wait ? longest_wait_for_start : Duration::max(), error.retry_after);
}

void LogStream::State::again(Duration at_least, Duration at_most, std::optional<Duration> floor) {
  if (abandoned) return pod_gone();
  client.loop().cancel(steady_timer);
  const auto wait = std::max(std::min(client.pause(++tries, floor), at_most), at_least);
  pause = client.loop().after(wait, here(&State::open));
}

std::string LogStream::State::missing_after(const std::string& why) const {
  if (const auto last = cursor.last()) return fmt::format("lines after {} may be missing: {}", clock_time(*last), why);
  return "no line could be read: " + why;
}

void LogStream::State::give_up(const std::string& why) {
  const auto what = missing_after(why);
  const auto call = sink.lost;
  if (call) call(what);
  if (closed) return;
  close();
  if (sink.complete) sink.complete();
}

void LogStream::State::complete() {
  if (!note.empty()) return give_up(note);
  if (cursor.place() == LogCursor::Place::lost) return give_up("the log no longer holds the last line that was read");
  close();
  if (sink.complete) sink.complete();
}

void LogStream::State::close() {
  closed = true;
  if (kin) kin->leave(kin_id);
  if (stream != 0) client.cancel_stream(stream);
  for (const auto timer : {pause, steady_timer, doubt}) client.loop().cancel(timer);
  client.forget(this);
}

LogStream::LogStream(Client& client, LogSource source, Sink sink, std::shared_ptr<LogKin> kin)
    : m_state(std::make_shared<State>(client, std::move(source), std::move(sink), std::move(kin))) {
  auto& state = *m_state;
  if (state.kin) state.kin_id = state.kin->enter(state.cursor, state.here(&State::retire));
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
  state->client.loop().cancel(state->pause);
  state->pause = state->client.loop().after(last_words, state->here(&State::pod_gone));
}

void LogStream::ended(bool restarted) {
  auto& state = *m_state;
  if (state.closed || state.abandoned || state.retired || (state.ended && (!restarted || state.previous))) return;
  state.ended = true;
  state.previous = restarted;
  // Not at once: this may be called from one of the stream's own callbacks.
  state.client.loop().cancel(state.pause);
  state.pause = state.client.loop().after(Duration(0), state.here(&State::reopen));
}

}  // namespace trainstep::kube
