// The cleanup of a job and its data that follows from the verdict of its step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/backend.h"
#include "cluster/job_search.h"
#include "cluster/output_collection.h"
#include "cluster/step_data.h"
#include "run/listener.h"

namespace trainstep::cluster {

// Removes the job and its data, or keeps them for the next attempt, for an attempt that adopts the job, or because they are all that remains of a
// training.
class StepCleanup {
 public:
  struct Context {
    Loop& loop;
    kube::Client& client;                // of the job's cluster
    std::string name_space;              // of the job
    const plan::Plan* plan;              // null: the step ended before it had one
    ClusterBackend* backend;             // null: it ended before it followed a job
    StepData* data;                      // null: the step does not handle the job's data, or leaves them
    const OutputCollection* collection;  // null: the training has not succeeded, or there are no data
    bool brought;                        // inputs were uploaded for a job
    bool retried;                        // another attempt follows unless the step succeeds or is cancelled
    bool signalled;                      // SIGTERM or SIGINT was received
    std::function<Time()> killed_at;     // when SIGKILL follows the first signal, or would follow one that arrives now
    std::vector<run::Listener*> listeners;
  };

  // References must outlive it. Calls `done` once, from the loop or from end(), with what could not be done (empty: nothing).
  StepCleanup(Context context, const result::Verdict& verdict, std::function<void(std::string problem)> done);
  StepCleanup(const StepCleanup&) = delete;
  StepCleanup& operator=(const StepCleanup&) = delete;

  void begin();
  // A signal was received: it ends before SIGKILL, whatever a store or an API server is doing.
  void limit();
  // Gives up what is in progress. Does nothing once it has ended.
  void end(std::string problem);
  [[nodiscard]] bool in_progress() const { return m_done != nullptr; }

 private:
  void remove_leftovers(bool whole);
  void looked(const JobSearch::Answer& found, bool whole);
  void clean_up_job();
  void job_cleaned_up(std::string problem, bool stays);
  [[nodiscard]] bool resumes() const;
  [[nodiscard]] bool unfetched() const;
  [[nodiscard]] bool keeps_data() const;
  [[nodiscard]] Duration time_left() const;
  void warn(const std::string& text);

  Context m_context;
  result::Verdict m_verdict;
  std::function<void(std::string)> m_done;
  std::unique_ptr<JobSearch> m_search;
  bool m_limited = false;
  bool m_pods_gone = false;  // the backend's own cleanup is done
  PendingSet<Loop> m_timers;
};

}  // namespace trainstep::cluster
