// Saves the checkpoints of the program (job_options.checkpoint_dir) to the job's prefix while it runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/checkpoint_sets.h"
#include "agent/checkpoints.h"
#include "base/running_loop.h"
#include "objectstore/listing.h"
#include "objectstore/local_tree.h"
#include "objectstore/transfer.h"
#include "plan/task.h"
#include "staging/stores.h"

namespace trainstep::agent {

// Scans the folder regularly and saves its state at that moment: sends what is new or has changed, then the set that lists all files, then removes
// what no set lists any more. Failures are reported and retried at the next scan: a training run does not fail because of a checkpoint.
class CheckpointSync {
 public:
  // References must outlive it. Starts at once. `seed`: random, distinguishes this process from others.
  CheckpointSync(RunningLoop& loop, staging::Stores& stores, const plan::TaskCheckpoints& checkpoints, Log log, std::uint64_t seed,
                 Duration interval = Duration(15'000));
  CheckpointSync(const CheckpointSync&) = delete;
  CheckpointSync& operator=(const CheckpointSync&) = delete;

  // The program has ended: one last scan, for at most `limit`; the loop runs meanwhile.
  void finish(Duration limit);

 private:
  void scan();
  void load();
  void begin_round();
  void next();
  void sent(const objectstore::LocalFile& file, const Result<void>& result);
  void end_round();
  void write_set(CheckpointSet set);
  void clean_up();
  void unless_shared(const std::function<void()>& then);
  void remove(std::vector<objectstore::Address> rest, const std::function<void()>& then);
  void remove_superseded();
  void give_up_uploads();
  void end_scan();
  void fail(const std::string& what);
  [[nodiscard]] bool is_saved(const objectstore::LocalFile& file) const;
  [[nodiscard]] std::optional<CheckpointSet> whole_set() const;

  RunningLoop& m_loop;
  staging::Stores& m_stores;
  const plan::TaskCheckpoints& m_checkpoints;
  Log m_log;
  std::string m_writer;
  Duration m_interval;
  objectstore::Address m_at;
  bool m_loaded = false;
  int m_uploads_tries = 0;                        // attempts to list uploads of killed attempts
  std::set<std::string> m_there;                  // known keys in the store
  std::set<std::string> m_before;                 // writers of sets that existed at the start
  bool m_shared = false;                          // a pod that started later also saves there: it may resume from our files
  CheckpointSet m_set;                            // the latest one
  std::uint64_t m_number = 0;                     // the highest of any set
  std::map<std::string, SavedFile> m_saved;       // by path: the latest state of each that is in the store
  std::map<std::string, std::int64_t> m_touched;  // by path: status change times of the files that this process has sent
  std::uint64_t m_count = 0;                      // of files sent
  objectstore::LocalTree m_seen;                  // in this round
  std::vector<objectstore::LocalFile> m_left;     // files of m_seen still to be sent; the next one last
  std::string m_key;                              // of the file being sent
  std::map<std::string, int> m_unstable_scans;    // by path: scans in which it changed or was removed while being read
  std::set<std::string> m_changed;                // in this scan
  int m_rounds = 0;                               // in this scan
  std::string m_problem, m_told, m_left_out;      // of this scan; last reported; last reported
  std::unique_ptr<NewestSet> m_newest;
  std::unique_ptr<objectstore::Transfer> m_transfer;
  std::unique_ptr<objectstore::Listing> m_listing;
  std::unique_ptr<objectstore::Removal> m_removal;
  std::unique_ptr<objectstore::UploadListing> m_uploads;
  objectstore::PendingCall m_call;     // writes a set
  objectstore::PendingCalls m_aborts;  // of uploads of killed attempts
  std::function<void()> m_done;        // called after the last scan; empty: more scans follow
  Timer m_timer;
};

}  // namespace trainstep::agent
