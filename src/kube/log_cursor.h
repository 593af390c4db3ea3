// How far a log was read, in constant memory: which lines that a new connection serves are known, which are new, and whether some are missing
// between.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "kube/log_line.h"

namespace trainstep::kube {

// A kubelet serves the lines of its log file in their order, without those stamped before sinceTime, a whole second. So a new connection begins with
// just as many lines as were taken with such stamps before: those are counted, for a second before the last one, as the two streams of a container
// are stamped apart and may be a little out of order. If the first or last of them is another line, the file is not the one it was (rotated): then
// stamps alone tell what is known, and equal lines of the last stamp are counted.
class LogCursor {
 public:
  enum class Step {
    skip,     // known
    deliver,  // new
    gap,      // new, but the last known line did not come before it: accept_gap() and take it again, or give up this connection
    astray,   // these lines make no sense: give up this connection
  };

  static std::size_t hash_of(Stamp stamp, std::string_view text);
  // A new connection begins; it must ask for since().
  void begin();
  // sinceTime in seconds; none: from the beginning.
  [[nodiscard]] std::optional<std::int64_t> since() const { return m_since; }
  Step take(Stamp stamp, std::string_view text);
  void accept_gap();

  // Of this connection, so far:
  enum class Place {
    known,   // still among the lines that are known
    caught,  // all that is known has come: what comes is new
    lost,    // the last known line has not come (yet)
  };
  [[nodiscard]] Place place() const;
  // The connection has ended before all known lines came: the next one goes by stamps alone.
  void distrust() { m_distrusted = true; }
  // This connection has turned out to serve a log that another cursor, copied here, knows: stamps tell what is known.
  void join() {
    m_since.reset();
    search();
  }
  // Nothing is known yet.
  [[nodiscard]] bool fresh() const { return !m_any; }
  // The newest stamp that was delivered; none: nothing was.
  [[nodiscard]] std::optional<Stamp> last() const;

 private:
  // The delivered lines since a second.
  struct Mark {
    std::int64_t second = 0;
    std::uint64_t count = 0;
    std::size_t first = 0;
    std::size_t last = 0;
    bool sound = true;  // whether a connection since that second would begin with them
    void add(std::size_t hash);
  };
  enum class Mode { fresh, counting, searching };

  void record(Stamp stamp, std::size_t hash);
  void advance(std::int64_t second);
  void search();
  Step search_for(Stamp stamp, std::size_t hash);
  [[nodiscard]] bool stepped_back() const;

  bool m_any = false;
  Stamp m_newest = 0;                    // of all delivered
  Stamp m_latest = 0;                    // of the last delivered
  std::size_t m_latest_hash = 0;         //
  std::vector<std::size_t> m_at_newest;  // hashes of the lines with the newest stamp
  Mark m_all;                            // since the beginning
  std::array<Mark, 2> m_marks;           // since the second before the newest one; since that one

  Mode m_mode = Mode::fresh;
  std::optional<std::int64_t> m_since;
  Mark m_mark;               // what is counted against
  std::uint64_t m_seen = 0;  // of its lines
  Stamp m_target = 0;        // what is searched for
  std::vector<std::size_t> m_left;
  bool m_found = false;
  bool m_distrusted = false;
};

}  // namespace trainstep::kube
