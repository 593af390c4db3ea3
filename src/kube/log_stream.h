// The log of one container, each line once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kube/client.h"

namespace trainstep::kube {

struct LogSource {
  std::string name_space;
  std::string pod;
  std::string container;
  bool previous = false;  // of the attempt before a restart in place
};

// Follows with timestamps. sinceTime has whole seconds, so after a reconnect the overlap is recognised by time stamp and text; a line that was cut
// by the end of a connection is read again as a whole. Lines of one time stamp that are equal are counted, not merged.
class LogStream {
 public:
  struct Sink {
    // Whole lines without their time stamps, each with its newline (a last one without a newline gets it); valid during the call only.
    std::function<void(std::string_view lines)> lines;
    // Something is missing: rotated away, or the container is gone ("lines between 08:15:30 and 08:16:02 were rotated away").
    std::function<void(const std::string& what)> lost;
    // Everything the kubelet still serves has been given. Only after ended(), or when the log cannot be had (404: pod gone; then lost() came before).
    std::function<void()> complete;
  };
  LogStream(Client& client, LogSource source, Sink sink);
  LogStream(const LogStream&) = delete;
  LogStream& operator=(const LogStream&) = delete;
  ~LogStream();  // no callback comes any more
  // The container has ended: read what is left, then complete().
  void ended();

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

}  // namespace trainstep::kube
