// What a seed draws: which data, where they lie, what becomes of the training, what goes wrong around it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "objectstore/transfer.h"
#include "plan/data.h"
#include "sim/data/store_network.h"
#include "sim/data/tree.h"

namespace trainstep::sim::data {

// What is wrong for good, or for long.
enum class Ailment {
  none,
  no_input,        // nothing lies at an input's address
  no_bucket,       // the outputs' bucket is missing
  may_not_write,   // keys that may not write where the outputs belong
  keys_withdrawn,  // they could at first, from `withdrawn` on they cannot; for `withdrawn_for`
};

// How a run of the program ends.
enum class End { well, fails, no_value, no_model, only_folders, writes_on };

struct Scenario {
  explicit Scenario(Random random);

  ObjectStore::Ways ways;
  objectstore::TransferLimits limits;
  Faults faults;                                       // outages: counted from Time{}
  bool through_prefix = false;                         // the step carries inputs and outputs, they have no addresses of their own
  std::vector<std::pair<std::string, Tree>> inputs;    // by name
  std::vector<std::string> artifacts{"model"};         // outputs that are files
  std::string single;                                  // which of them is a file, not a folder; whichever attempt created it
  bool checkpoints = false, checkpoints_stay = false;  // … in the pod, from one container to the next
  int keep = 2;                                        // checkpoints that the program keeps
  Duration between_files{1};                           // of one checkpoint
  bool links = false;                                  // the program makes links, and things that cannot travel
  bool plain_checkpoints = false;                      // an earlier version has left one
  bool indexed = false;                                // an indexed job: replicas share nothing with the primary
  std::size_t value_size = 4;                          // of a text that the program returns
  Duration finishing{1'800'000};
  int epochs = 1;
  Duration epoch{1'000};
  Ailment ailment = Ailment::none;
  Duration withdrawn{}, withdrawn_for{};
  bool stale = false;           // an earlier job of that name has left its record and its model
  bool stale_manifest = false;  // and told what it has put there
  bool odd_keys = false;        // beside an input's files lie objects that can be none
  bool strangers = false;       // unrelated objects appear in the job's prefix
  double losses = 0;            // chance that an object that was delivered there is gone or another one when the step fetches it
  bool foreign = false;         // another client has objects, and an upload in progress, at the outputs' addresses
  double kills = 0;             // chance that an attempt does not come to its own end
  double bad_ends = 0;          // chance that a run of the program does not end well
  double lost_ends = 0;         // probability that the success of an attempt is not reported
  double restarts_in_pod = 0;   // chance that the next attempt is in the same pod
  int attempts = 6;
  Random later;  // of what is drawn on the way

  // Neither faults nor waiting: what takes longer than it needs is a mistake of ours.
  [[nodiscard]] bool calm() const { return faults.rate == 0 && faults.slow == 0 && faults.outages.empty() && ailment == Ailment::none; }
  [[nodiscard]] std::string describe() const;
  // With the addresses of this scenario and no paths yet.
  [[nodiscard]] plan::DataPlan plan() const;
  // What a run of the program writes for an artifact, from what it has read.
  [[nodiscard]] Tree written(const std::string& artifact, std::uint64_t read, int run) const;
  // Its files, by path; two of them are large.
  [[nodiscard]] Tree checkpoint(std::uint64_t read, int at_epoch) const;
};

// Where they lie, as "bucket/key".
std::string where(const plan::TaskPlace& place);
// Of the one replica that an indexed job has beside its primary.
inline constexpr auto other_index = "1";

}  // namespace trainstep::sim::data
