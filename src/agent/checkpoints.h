// What a program saves on its way (job_options.checkpoint_dir): brought to the job's prefix while it runs, and back before it begins again – in a new
// container, a new pod, or a new attempt of the whole job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/checkpoint_sets.h"
#include "base/running_loop.h"
#include "objectstore/local_tree.h"
#include "objectstore/transfer.h"
#include "plan/task.h"
#include "staging/stores.h"

namespace trainstep::agent {

using Tell = std::function<void(const std::string& line)>;

// Lies in the folder while it is being filled. Of a volume that outlives the pod, the next one learns by it that not all is there.
inline constexpr std::string_view restoring_mark = ".trainstep-restoring";

// Whether there are any in this pod, and all of them: from the container before.
bool has_checkpoints(const plan::TaskCheckpoints& checkpoints);

// Fetches the newest complete set, with its links and the times of change of files and folders; that nothing lies there is no error. What is here
// stays where it lies on a volume – it outlived its pod, or another pod has fetched it –, unless a pod was ended while it filled the folder. Errors:
// as staging::Fetching; denied, where the folder cannot be written to.
Result<void> restore_checkpoints(RunningLoop& loop, staging::Stores& stores, const plan::TaskCheckpoints& checkpoints, const Tell& tell);

// Looks at the folder now and then, and keeps the state in which it found it: sends what is new or has changed, then the set that lists all files,
// then removes what no set lists any more. What fails is told and tried again at the next look: a training does not end because of a checkpoint.
class CheckpointSync {
 public:
  // References must outlive it. Begins at once. `seed`: random, tells this process from others.
  CheckpointSync(RunningLoop& loop, staging::Stores& stores, const plan::TaskCheckpoints& checkpoints, Tell tell, std::uint64_t seed,
                 Duration between_looks = Duration(15'000));
  CheckpointSync(const CheckpointSync&) = delete;
  CheckpointSync& operator=(const CheckpointSync&) = delete;
  ~CheckpointSync();

  // The program has ended: one last look, at most `limit` long; the loop runs meanwhile.
  void finish(Duration limit);

 private:
  void look();
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
  void end_look();
  void fail(const std::string& what);
  [[nodiscard]] bool is_saved(const objectstore::LocalFile& file) const;
  [[nodiscard]] std::optional<CheckpointSet> whole_set() const;

  RunningLoop& m_loop;
  staging::Stores& m_stores;
  const plan::TaskCheckpoints& m_checkpoints;
  Tell m_tell;
  std::string m_writer;
  Duration m_between_looks;
  objectstore::Address m_at;
  bool m_loaded = false;
  int m_uploads_tries = 0;                        // of the look for uploads of attempts that were killed
  std::set<std::string> m_there;                  // keys that we know of at the place
  std::set<std::string> m_before;                 // writers of sets that were there when we began
  bool m_shared = false;                          // a pod that has begun later saves there, too: it may go on from what is ours
  CheckpointSet m_set;                            // the last one
  std::uint64_t m_number = 0;                     // the highest of any
  std::map<std::string, SavedFile> m_saved;       // by path: the last state of each that is there
  std::map<std::string, std::int64_t> m_touched;  // by path: of those that this process has sent, the times of their status
  std::uint64_t m_count = 0;                      // of files that were sent
  objectstore::LocalTree m_seen;                  // in this round
  std::vector<objectstore::LocalFile> m_left;     // of them, to be sent; the next one last
  std::string m_key;                              // of the one under way
  std::map<std::string, int> m_restless;          // by path: looks in which it changed, or went, while it was read
  std::set<std::string> m_changed;                // of this look
  int m_rounds = 0;                               // of this look
  std::string m_problem, m_told, m_left_out;      // of this look; what was told last
  std::unique_ptr<NewestSet> m_newest;
  std::unique_ptr<objectstore::Transfer> m_transfer;
  std::unique_ptr<objectstore::Listing> m_listing;
  std::unique_ptr<objectstore::Removal> m_removal;
  std::unique_ptr<objectstore::UploadListing> m_uploads;
  std::set<objectstore::Client::CallId> m_calls;
  std::function<void()> m_done;  // of the last look; empty: others follow
  Loop::TimerId m_timer = 0;
};

}  // namespace trainstep::agent
