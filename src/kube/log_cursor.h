// The position in a log that was read so far, in constant memory: which lines of a new connection are known, which are new, and whether lines are
// missing in between.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "kube/log_line.h"

namespace trainstep::kube {

// A kubelet serves the lines of its log file in order, without those before sinceTime, which has whole seconds. A new connection therefore begins
// with exactly the lines that were taken since that second: they are counted, starting a second before the last one, because the two streams of a
// container are stamped separately and may be slightly out of order. If the first or last of these lines differs, the file was rotated: then only
// timestamps decide what is known, and equal lines with the last timestamp are counted.
class LogCursor {
 public:
  enum class Step {
    skip,     // known
    deliver,  // new
    gap,      // new, but the last known line did not precede it: accept_gap() and take the line again, or drop this connection
    astray,   // inconsistent lines: drop this connection
  };

  static std::size_t hash_of(Stamp stamp, std::string_view text);
  // Starts a new connection, which must request since().
  void begin();
  // sinceTime in seconds; nullopt: from the beginning.
  [[nodiscard]] std::optional<std::int64_t> since() const { return m_since; }
  Step take(Stamp stamp, std::string_view text);
  void accept_gap();

  // The position of this connection so far:
  enum class Place {
    known,   // still within the known lines
    caught,  // past the known lines: what follows is new
    lost,    // the last known line has not been found (yet)
  };
  [[nodiscard]] Place place() const;
  // The connection has ended before all known lines arrived: the next one uses only timestamps.
  void distrust() { m_distrusted = true; }
  // This connection turned out to serve a log for which another cursor, copied to this object, was kept: timestamps decide what is known.
  void join() {
    m_since.reset();
    search();
  }
  // Nothing was read yet.
  [[nodiscard]] bool fresh() const { return !m_any; }
  // The newest timestamp delivered; nullopt: none.
  [[nodiscard]] std::optional<Stamp> last() const;

 private:
  // The lines delivered since a certain second.
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
  Stamp m_newest = 0;  // of all delivered lines
  Stamp m_latest = 0;  // of the last delivered line
  std::size_t m_latest_hash = 0;
  std::vector<std::size_t> m_at_newest;  // hashes of the lines with the newest timestamp
  Mark m_all;                            // since the beginning
  std::array<Mark, 2> m_marks;           // since the second before the newest one; since that one

  Mode m_mode = Mode::fresh;
  std::optional<std::int64_t> m_since;
  Mark m_mark;               // the lines to count
  std::uint64_t m_seen = 0;  // number of them seen on this connection
  Stamp m_target = 0;        // the timestamp to search for
  std::vector<std::size_t> m_left;
  bool m_found = false;
  bool m_distrusted = false;
};

}  // namespace trainstep::kube
