// The log of one container, each line once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kube/client.h"
#include "kube/log_kin.h"

namespace trainstep::kube {

struct LogSource {
  std::string name_space;
  std::string pod;
  std::string container;
  bool previous = false;  // of the attempt before a restart in place
};

// Follows with timestamps. sinceTime has whole seconds, so after a reconnect the overlap is recognised (log_cursor.h); a line that was cut by the end
// of a connection is read again as a whole. Lines of more than 1 MiB come as several. A container that has not started yet is waited for; one that
// has ended is, too, until ended() says so. The log of one attempt: a new attempt in the same container needs a new stream.
class LogStream {
 public:
  struct Sink {
    // Whole lines without their time stamps, each with its newline (a last one without a newline gets it); valid during the call only.
    std::function<void(std::string_view lines)> lines;
    // Something is, or may be, missing: "lines between 08:15:30 and 08:16:02 may be missing: the log was rotated", "… : the pod is gone". UTC.
    std::function<void(const std::string& what)> lost;
    // Optional: the API server answers, and cannot get the log now, from the pod's node most often; why. Once for each such time.
    std::function<void(const std::string& what)> waits{};
    // Optional: a connection that follows has come to its end – so has the container, or something on the way.
    std::function<void()> ended{};
    // Everything the kubelet still serves has been given, nothing more comes. Only after ended(), or when the log cannot be had (the pod is gone, no
    // permission; then lost() came before).
    std::function<void()> complete;
  };
  // `kin`: what the streams of this pod's name and container share, in the order of its attempts; null: there is only this one.
  LogStream(Client& client, LogSource source, Sink sink, std::shared_ptr<LogKin> kin = nullptr);
  LogStream(const LogStream&) = delete;
  LogStream& operator=(const LogStream&) = delete;
  ~LogStream();  // no callback comes any more
  // The container has ended: read what is left, then complete(). `restarted`: it runs again in place, so what is left is the log of the attempt
  // before. A source that is `previous` has ended from the beginning.
  void ended(bool restarted = false);
  // The pod does not exist any more, and another one may have its name: what is on its way is taken
  // (5 s at most), nothing more is asked for. complete() follows, perhaps from here.
  void abandon();
  // While it is held, nothing more is read (http::Transport::hold).
  void hold(bool held);

 private:
  struct State;
  std::shared_ptr<State> m_state;  // held while a callback runs, which may destroy the stream
};

}  // namespace trainstep::kube
