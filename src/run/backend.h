// What carries out a job: local processes, Kubernetes, or the simulator of the tests.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/pressure.h"
#include "base/result.h"
#include "data/json.h"
#include "follow/event.h"
#include "result/metrics.h"

namespace trainstep::run {

// An output of the program after it has ended.
struct OutputFound {
  std::string name;  // formal name
  bool artifact = false;
  std::string path;                            // local path or URI of the artifact, or of the file of the value; empty: none
  bool present = false;                        // the artifact exists, or the value is known
  bool earlier = false;                        // what is at `path` is from an earlier run; of a present artifact only the metadata are from this one
  std::optional<Json> value;                   // value outputs, typed
  Json metadata = Json::object();              // KFP v2 artifact metadata that the program set
  std::string step_path{};                     // the path of the step that it was mapped to ("model_dir"); empty: it stays in the run's own folder
  std::string pending{};                       // where it is until Backend::commit(); empty: at `path`
  bool no_file = false;                        // the program made a folder at the path of a file (plan::is_shared_file()); it is not delivered
  bool metrics = false;                        // declared as metrics, whatever its name
  bool floating = false;                       // declared as a Float, even if its value is a whole number
  std::vector<result::MetricSeries> curves{};  // from the TensorBoard logs among the artifact's files
};

class Backend {
 public:
  using Sink = std::function<void(follow::Event)>;
  virtual ~Backend() = default;

  // Starts the backend; everything else is reported by events, the first of which is Prepared or BackendFailed. `sink` is only called from the loop
  // and must outlive the backend.
  virtual void prepare(Sink sink) = 0;
  virtual void start(const follow::StartMember& /*order*/) {}
  virtual void stop(const follow::StopMember& /*order*/) {}
  virtual void follow_log(const follow::FollowLog& /*order*/) {}
  virtual void end_log(const follow::EndLog& /*order*/) {}
  virtual void refresh() {}
  virtual void watch_pod_events() {}
  virtual void remove_job(const follow::RemoveJob& /*order*/) {}
  // The reader of the log is too slow, or has caught up: until then processes that write into our pipes are blocked, so that nothing is lost.
  virtual void hold_output(Pressure /*pressure*/) {}
  // Receives the unfinished last line of a member; called from the loop, any number of times.
  using Unfinished = std::function<void(follow::MemberIndex member, std::string_view line)>;
  virtual void on_unfinished(const Unfinished& /*call*/) {}
  virtual void keep_job(const follow::KeepJob& /*order*/) {}
  // After a successful Finish: what the program left. Errors (input, internal): something cannot be read.
  virtual Result<std::vector<OutputFound>> collect() = 0;
  // After collect(), when nothing else can make the step fail: moves the outputs to their final places, each as a whole. Nothing has changed there
  // before. Returns what users should know, one sentence each. Errors: denied, internal.
  virtual Result<std::vector<std::string>> commit() { return std::vector<std::string>(); }
};

}  // namespace trainstep::run
