// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "kube/log_stream_state.h"

namespace trainstep::kube {
namespace {

constexpr std::string_view removed = "unable to retrieve container logs for ";  // the kubelet's message, with status 200

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
  if (cursor.fresh() && of_another(at, text)) return false;
  auto step = cursor.take(at, text);
  if (step == LogCursor::Step::gap) {
    if (doubt && !ended) return false;
    if (of_another(at, text) || !missing(at)) return false;
    step = cursor.take(at, text);
  }
  if (step == LogCursor::Step::astray) return false;
  if (step == LogCursor::Step::deliver) {
    tries = 0;
    if (const auto glued = agents_line(text); glued != std::string_view::npos) {
      batch.append(text.substr(0, glued)).push_back('\n');
      text.remove_prefix(glued);
    }
    if (last && text.size() > longest_line) {  // otherwise its end would look like a line that continues
      batch.append(text.substr(0, longest_line + 1)).push_back('\n');
      text.remove_prefix(longest_line + 1);
    }
    batch.append(text).push_back('\n');
  }
  return true;
}

// true: this line begins the log of a later attempt, which that attempt's stream reads.
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
