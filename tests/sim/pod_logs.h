// What containers have written and the kubelet still has: served to readers and followers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/time.h"

namespace trainstep::sim {

// Where one attempt of one container writes to.
struct LogKey {
  std::string pod_uid;
  std::string container;
  int attempt = 0;  // restarts in place before it
  auto operator<=>(const LogKey&) const = default;
};

struct LogLine {
  Time at;
  int nanoseconds = 0;  // 0 … 999,999, beyond the milliseconds
  std::string text;     // with its newline; without one only if it is the last and the program wrote none
};

// "2026-11-21T08:15:30.12Z": as Go's RFC3339Nano writes it, without trailing zeros.
std::string log_stamp(const LogLine& line);

class PodLogs {
 public:
  struct Reader {
    std::function<void(std::string_view bytes)> bytes;
    std::function<void()> end;   // nothing more comes
    std::function<bool()> gone;  // the client has disconnected
    bool stamps = false;
  };
  struct Log {
    std::vector<LogLine> lines;  // since the last rotation
    std::size_t rotated = 0;     // lines that are no longer served
    bool ended = false;
    std::list<Reader> followers;
  };

  Log& of(const LogKey& key) { return m_logs[key]; }
  [[nodiscard]] bool has(const LogKey& key) const { return m_logs.contains(key); }
  void write(const LogKey& key, LogLine line);
  void end(const LogKey& key);
  // Only the newest `keep` lines are served from now on; who follows misses nothing.
  void rotate(const LogKey& key, std::size_t keep);
  // The pod has gone from its node: all its logs with it. Followers see the end.
  void forget(const std::string& pod_uid);
  // The kubelet restarts: followers are cut off in the middle of a line.
  void cut_all();
  // The newest `tail` lines, of those the ones from `since` on; then, where the container still runs and `follow`, whatever comes.
  void read(const LogKey& key, Time since, std::size_t tail, bool follow, Reader reader);

 private:
  static void close(Log& log);
  std::map<LogKey, Log> m_logs;
};

}  // namespace trainstep::sim
