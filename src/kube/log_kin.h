// The streams that read one place – a container of a pod's name – attempt after attempt. The API server knows logs by the pod's name alone: a stream
// that connects while its container has been started again, or its pod made anew, and nobody has told yet, is given the next attempt's log. Lines
// carry nanoseconds, so the first one tells logs apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kube/log_cursor.h"

namespace trainstep::kube {

class LogKin {
 public:
  using Id = std::uint64_t;
  // A stream for the newest attempt. `retire`: a later one has begun to read the same log; not called from within its own calls.
  Id enter(const LogCursor& cursor, std::function<void()> retire);
  // No stream any more: what it has read stays known.
  void leave(Id id);
  // It begins with this line: in a log of which nothing is known, or after a gap.
  void begins(Id id, Stamp stamp, std::string_view text);
  enum class Whose { nobodys, older, newer };
  // Who else has begun with this line. `older`: that stream is retired, and `cursor` knows what it has read.
  Whose ask(Id id, Stamp stamp, std::string_view text, LogCursor& cursor);

 private:
  struct Reader {
    Id id = 0;
    std::vector<std::size_t> beginnings;
    const LogCursor* cursor = nullptr;  // of a live stream
    LogCursor last_state{};             // of one that has left
    std::function<void()> retire;
  };
  static constexpr std::size_t remembered = 8;

  Id m_next = 1;
  std::vector<Reader> m_readers;  // in the order of their attempts
};

}  // namespace trainstep::kube
