// Reads the curves from the TensorBoard logs that a training run has written to a folder.
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

// Which files, and which of their events, this training has written.
struct Written {
  // `path` is relative to the folder, "/train/events.out.tfevents.1", as walk_tree() reports it. Empty: all files.
  std::function<bool(const std::string& path, const struct stat& found)> file{};
  std::optional<Time> since{};  // older events are ignored
};

// When an attempt began, also by a clock that is never set back.
struct Start {
  Time wall = wall_clock();
  std::chrono::steady_clock::time_point steady = std::chrono::steady_clock::now();
  // By the machine's clock if that was set back by `now`: the attempt has written nothing that is older.
  [[nodiscard]] Time earliest(const Start& now) const;
};

// For an attempt that began at `began`, by the clock of its machine, when the folder was as in `before`, which must outlive the result. As with a
// program's log, only the last attempt counts: what a failed one has logged is not true of any model. Nor do logs count that the program has copied
// with another model.
Written written_since(const PathSnapshot& before, Time began);

struct Limits {
  std::size_t files = 10'000;
  std::chrono::milliseconds time{10'000};
};

struct Logs {
  std::vector<result::MetricSeries> curves;  // named as TensorBoard shows them (result/tensorboard_curves.h)
  std::vector<std::string> told;             // what could not be read, for display, a sentence each
};

// All event files in the folder and below it: regular files with "tfevents" in their names, as TensorBoard finds them; links are not followed. Those
// of one run are read in the order of their names, with numbers compared numerically, because writers count up. Incomplete records, and records with
// a wrong checksum, are skipped; the next record can then be located unless the length is damaged: that ends the file. Of records that are not
// scalars only the heads are read. If the limits are exceeded, nothing is returned at all: the last value of a part is not the last one.
Logs read_event_files(const std::filesystem::path& folder, const Written& written = {}, const Limits& limits = {});

}  // namespace trainstep::tensorboard
