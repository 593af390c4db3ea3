// Who carries a job out: local processes, Kubernetes, the tests' simulator.
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

// An output of the program after its end.
struct OutputFound {
  std::string name;  // formal
  bool artifact = false;
  std::string path;                            // local path or uri of the artifact or of the value's file; empty: none
  bool present = false;                        // the artifact exists, or the value is known
  bool earlier = false;                        // what lies at `path` is from before: of an artifact that is present, only the metadata are this run's
  std::optional<Json> value;                   // value outputs, typed
  Json metadata = Json::object();              // KFP v2 artifact metadata that the program set
  std::string step_path{};                     // the step's path it was mapped to ("model_dir"); empty: kept in the run's own place
  std::string pending{};                       // where it lies until Backend::commit(); empty: at `path`
  bool metrics = false;                        // it is declared to hold metrics, whatever its name
  bool floating = false;                       // it is declared as a Float; its value may be whole all the same
  std::vector<result::MetricSeries> curves{};  // of the TensorBoard logs among an artifact's files
};

class Backend {
 public:
  using Sink = std::function<void(follow::Event)>;
  virtual ~Backend() = default;

  // Begins; everything else comes as events, the first of them Prepared or BackendFailed. `sink` is called from the loop only and outlives the
  // backend.
  virtual void prepare(Sink sink) = 0;
  virtual void start(const follow::StartMember& /*order*/) {}
  virtual void stop(const follow::StopMember& /*order*/) {}
  virtual void follow_log(const follow::FollowLog& /*order*/) {}
  virtual void end_log(const follow::EndLog& /*order*/) {}
  virtual void look_again() {}
  virtual void watch_pod_events() {}
  virtual void remove_job(const follow::RemoveJob& /*order*/) {}
  // The log's reader does not keep up, or does again: those who write into pipes of ours wait, and nothing is lost meanwhile.
  virtual void hold_output(Pressure /*pressure*/) {}
  // Whoever wants to see what members have begun to write and not ended yet; from the loop, any number of times.
  using Unfinished = std::function<void(follow::MemberIndex member, std::string_view line)>;
  virtual void on_unfinished(Unfinished /*call*/) {}
  virtual void keep_job(const follow::KeepJob& /*order*/) {}
  // After Finish with success: what the program left. Error: input or internal when something is unreadable.
  virtual Result<std::vector<OutputFound>> collect() = 0;
  // After collect(), when nothing else can fail the step any more: puts the outputs to their places, each as a whole. Before it, nothing has changed
  // there. → what people should know, a sentence each. Errors: denied, internal.
  virtual Result<std::vector<std::string>> commit() { return std::vector<std::string>(); }
};

}  // namespace trainstep::run
