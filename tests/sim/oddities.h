// Unusual but legitimate behaviour of a cluster.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/time.h"
#include "data/json.h"
#include "sim/random.h"

namespace trainstep::sim {

struct Oddities {
  // Another API server answers, which is behind the others. By its name an object is asked for in the store, nearly.
  double behind = 0;  // chance of a GET, a list, a watch of jobs, pods and events
  Duration list_lag{0}, get_lag{0}, watch_lag{0};
  double brief = 0;                       // chance that a watch ends with one of its first events, or without any
  std::array<Duration, 3> node_clocks{};  // against the API server's
  Duration controllers_clock{0};          // likewise
  std::optional<Duration> held = {};      // so long a finalizer holds the job when it is deleted
  bool strange_status = false;            // conditions in any order, several of a type, of unknown types; counts that lag behind
  bool contradicts = false;               // … and both ends at once
  double no_log = 0;                      // chance that a log is not served at that moment
  [[nodiscard]] bool held_for_ever() const { return held && *held == Duration::max(); }
  [[nodiscard]] bool clocks_differ() const;
  [[nodiscard]] std::string describe() const;
};
// An object that is held by an unknown finalizer.
inline constexpr auto holding_finalizer = "example.com/backup";

// Each one at times.
Oddities draw_oddities(Random& random);

// A job as it is served by who writes status in such a way. `both`: an end is told together with its contrary.
void make_strange(Json& job, Random random, bool both);

}  // namespace trainstep::sim
