// The state of one log stream: log_stream.cpp handles its connections, log_stream_lines.cpp finds the new lines. Only for these two.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/deadline.h"
#include "base/longest_line.h"
#include "http/lines.h"
#include "kube/log_cursor.h"
#include "kube/log_stream.h"

namespace trainstep::kube {

inline constexpr std::size_t longest_stamp = 36;  // "2026-11-21T08:15:30.123456789+02:00 "

// A followed log usually ends because the container does, which ended() will tell soon. If the container is restarted before that, its new lines look
// like those after a rotation: so for a while, lines that do not fit wait for ended().
inline constexpr Duration pause_after_end{2'000};
inline constexpr Duration doubt_after_end{10'000};

struct LogStream::State : std::enable_shared_from_this<LogStream::State> {
  State(Client& the_client, LogSource the_source, Sink the_sink, std::shared_ptr<LogKin> the_kin)
      : client(the_client),
        source(std::move(the_source)),
        sink(std::move(the_sink)),
        kin(std::move(the_kin)),
        silent(the_client.loop()),
        hopeless(the_client.loop()),
        absent(the_client.loop()) {}

  // Wraps a member function as a callback that does nothing after the stream was closed or destroyed.
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
  bool take_stamped(Stamp at, std::string_view text, bool last);
  bool of_another(Stamp at, std::string_view text);
  bool missing(Stamp until);
  bool flush();
  void done(const Result<http::Response>& response);
  void at_end();
  void refused(const ApiError& error);
  void again(Duration at_least, Duration at_most, std::optional<Duration> floor = {});
  void steady() { tries = 0; }
  void no_doubt() { doubt = {}; }
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
  http::Lines lines{longest_line + longest_stamp + 1};  // allows pieces of more than longest_line, whatever the timestamp's length
  std::string batch;                                    // lines to deliver, only within data()
  std::optional<Stamp> stamp;                           // of the last line read on this connection
  std::string note;                                     // the kubelet's message in place of a log
  http::Transport::Id stream = 0;
  Timer pause;
  Timer steady_timer;
  Timer doubt;
  bool closed = false;
  bool held = false;
  bool ended = false;
  bool previous = false;
  bool abandoned = false;
  bool retired = false;       // a later attempt's stream continues
  bool reading_rest = false;  // this connection reads the rest
  bool page = false;          // this connection got something other than a log with a 2xx
  bool opened = false;        // a log was served at least once
  bool cut_short = false;     // the rest ended before the last known line
  int tries = 0;              // connections since the last progress
  int refusals = 0;           // consecutive responses that were no log
  int absences = 0;           // consecutive ones that said there is no such pod
  bool refusal_told = false;  // for the current series
  bool unreadable = false;    // for a long time, when the container ended
  Deadline silent, hopeless;  // since the first refusal: when to report it, when to give up the rest of the log
  Deadline absent;            // since the first response that there is no such pod
};

}  // namespace trainstep::kube
