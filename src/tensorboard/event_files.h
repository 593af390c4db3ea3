// The curves in a folder that a training has written TensorBoard logs to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "data/path_snapshot.h"
#include "result/metrics.h"

namespace trainstep::tensorboard {

// Which files, and what of them, this training has written.
struct Written {
  // `path` is relative to the folder, "/train/events.out.tfevents.1": as walk_tree() says it. Empty: all of them.
  std::function<bool(const std::string& path, const struct stat& found)> file{};
  std::optional<Time> since{};  // older events are not taken
};

// In an attempt that began at `began`, by the clock of its machine, when the folder was as `before` says; it must outlive the result. As of a
// program's log, its last attempt alone counts: what one that failed has said is true of no model. Nor is what it has brought with it: logs that came
// with another model.
Written written_since(const PathSnapshot& before, Time began);

struct Limits {
  std::size_t files = 10'000;
  std::chrono::milliseconds time{10'000};
};

struct Logs {
  std::vector<result::MetricSeries> curves;  // named as TensorBoard shows them (result/tensorboard_curves.h)
  std::vector<std::string> told;             // for people, a sentence each: what could not be read
};

// All event files in the folder and below it: regular files with "tfevents" in their names, as TensorBoard finds them; links are not followed. Those
// of one run are read in the order of their names, numbers in them as numbers: writers count up. A record that has not come whole is left out, and so
// is one whose sum does not fit; where the next one begins is then known, unless its length is damaged: that ends the file. Only heads are read of
// what is no scalar. Where there is more than the limits allow, nothing is taken at all: the last value of a part is not the last one.
Logs read_event_files(const std::filesystem::path& folder, const Written& written = {}, const Limits& limits = {});

}  // namespace trainstep::tensorboard
