// The log of one container, each line once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kube/client.h"
#include "kube/container_logs.h"

namespace trainstep::kube {

struct LogSource {
  std::string name_space;
  std::string pod;
  std::string container;
  bool previous = false;  // of the attempt before a restart in place
};

// Follows the log with timestamps. sinceTime has whole seconds, so after a reconnect the overlap is detected (log_cursor.h); a line that was cut off
// at the end of a connection is read again completely. Lines of more than 1 MiB are split. Waits for a container that has not started yet, and keeps
// following one that has ended until ended() is called. Reads the log of one attempt: a new attempt in the same container needs a new stream.
class LogStream {
 public:
  struct Sink {
    // Complete lines without their timestamps, each with its newline (added to a last line without one); valid only during the call.
    std::function<void(std::string_view lines)> lines;
    // Lines are, or may be, missing: "lines between 08:15:30 and 08:16:02 may be missing: the log was rotated", "… : the pod is gone". UTC. A last
    // line that may be incomplete is only quoted there.
    std::function<void(const std::string& what)> lost;
    // Optional: the API server responds, but cannot get the log at present, usually from the pod's node; with the reason. Called once for each such
    // period.
    std::function<void(const std::string& what)> waits{};
    // Optional: a connection with follow has ended: so has the container, or something on the way has closed it.
    std::function<void()> ended{};
    // Everything the kubelet still serves was delivered; nothing more follows. Called only after ended(), or if the log cannot be read (the pod is
    // gone, no permission; then lost() was called before).
    std::function<void()> complete;
  };
  // `siblings`: shared by all streams of this pod and container name, which are created in the order of the attempts; null: there is only this
  // stream.
  LogStream(Client& client, LogSource source, Sink sink, std::shared_ptr<ContainerLogs> siblings = nullptr);
  LogStream(const LogStream&) = delete;
  LogStream& operator=(const LogStream&) = delete;
  ~LogStream();  // no callbacks are called any more
  // The container has ended: reads the rest, then calls complete(). `restarted`: it runs again in place, so the rest is in the log of the previous
  // attempt. A source that is `previous` has ended from the beginning.
  void ended(bool restarted = false);
  // The pod no longer exists, and another one may get its name: data in transit is taken (for at most 5 s), nothing more is requested. complete()
  // follows, possibly from within this call.
  void abandon();
  // While held, nothing more is read (http::Transport::hold).
  void hold(bool held);

 private:
  struct State;
  std::shared_ptr<State> m_state;  // kept alive while a callback runs, which may destroy the stream
};

}  // namespace trainstep::kube
