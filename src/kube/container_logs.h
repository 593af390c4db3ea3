// The streams for one container name of one pod name, attempt after attempt. The API server identifies logs by pod name only: a stream that connects
// after its container was restarted, or its pod recreated, but before that is known here, gets the next attempt's log. Lines have timestamps in
// nanoseconds, so the first line identifies a log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kube/log_cursor.h"

namespace trainstep::kube {

class ContainerLogs {
 public:
  using Id = std::uint64_t;
  // Adds a stream for the newest attempt. `retire`: called when a later one reads the same log; not from within that stream's own calls.
  Id enter(const LogCursor& cursor, std::function<void()> retire);
  // Removes a stream; what it has read stays known.
  void leave(Id id);
  // The stream has found the first line of a log: of one of which nothing is known, or after a gap.
  void begins(Id id, Stamp stamp, std::string_view text);
  enum class Whose { nobodys, older, newer };
  // Which other stream has begun with this line. `older`: that stream is retired, and `cursor` is set to its position.
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
