// One log under way: log_stream.cpp makes its connections, log_stream_lines.cpp finds what is new in them. Only for these two.
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

// The end of a followed log is most likely the container's, of which ended() tells soon. Should the container run again before that, its new lines
// look like those after a rotation: so lines that do not fit wait a while for ended().
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
  bool take_stamped(Stamp at, std::string_view text, bool last);
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
  http::Lines lines{longest_line + longest_stamp + 1};  // pieces of more than longest_line, whatever the stamp
  std::string batch;                                    // lines to tell, within data() only
  std::optional<Stamp> stamp;                           // of the line that was read last on this connection
  std::string note;                                     // what the kubelet said instead of a log
  http::Transport::Id stream = 0;
  Loop::TimerId pause = 0;
  Loop::TimerId steady_timer = 0;
  Loop::TimerId doubt = 0;
  bool closed = false;
  bool held = false;
  bool ended = false;
  bool previous = false;
  bool abandoned = false;
  bool retired = false;       // a later attempt's stream reads on
  bool reading_rest = false;  // this connection reads what is left
  bool page = false;          // this connection has brought something else with a 2xx
  bool opened = false;        // a log was served once
  bool cut_short = false;     // the rest ended before what is known
  int tries = 0;              // connections since there was progress
  int refusals = 0;           // answers in a row that were no log
  int absences = 0;           // of them, in a row, that there is no such pod
  bool refusal_told = false;  // of those in a row
  bool unreadable = false;    // for long, when the container ended
  Deadline silent, hopeless;  // since the first of them: when it is told, and when the rest of a log is given up
  Deadline absent;            // since the first of those that there is no such pod
};

}  // namespace trainstep::kube
