// What happens to the data of a job before there is one: its inputs are uploaded, or the credentials for its outputs read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/lifetime.h"
#include "cluster/attempt_order.h"
#include "cluster/earlier_job.h"
#include "cluster/step_data.h"
#include "plan/plan.h"
#include "result/verdict.h"

namespace trainstep::cluster {

class DataPreparation {
 public:
  struct Context {
    Loop& loop;
    const plan::Plan& plan;
    StepData& data;  // until the sink is called, or leave()
    EarlierJob& job;
    AttemptOrder& order;
    std::function<void(const std::string& line)> log;
  };
  struct Sink {
    // `why`: no job can be created; one of an earlier attempt is followed.
    std::function<void(std::optional<Error> why)> prepared;
    std::function<void(Error why)> failed;
    std::function<void()> replaced;  // our pod is gone: the inputs are left to the next attempt
  };

  // References must outlive it.
  DataPreparation(Context context, Sink sink);
  DataPreparation(const DataPreparation&) = delete;
  DataPreparation& operator=(const DataPreparation&) = delete;

  // Both call one function of the sink, once. An upload: unless there is a job whose inputs they are. The inputs of a job that an earlier attempt
  // created are never replaced while it exists. The submission determines whether there may be one that cannot be seen.
  void upload_inputs();
  // Finds out before the training what would cost the step its outputs after it. A job that is already running is followed nevertheless: nothing
  // else would end it, and the credentials may be readable by then.
  void read_credentials();
  // Our pod is no longer seen: whether another attempt has replaced this one, whose upload would overwrite what that uploads for its job.
  void ask_replaced();
  // A stop was requested, or the step has ended: the sink is not called any more. What is in progress ends with the StepData.
  void leave() { m_left = true; }
  // leave() came first. Returns whether it was in progress.
  bool end() { return std::exchange(m_in_progress, false); }

 private:
  void find_earlier_job(const std::function<void(Result<std::optional<Existing>> existing)>& done);
  void upload();
  void unreadable(Error error, const Result<std::optional<Existing>>& existing);
  void still_unread(const Result<std::optional<Existing>>& existing);
  void finish(std::optional<Error> why);

  Context m_context;
  Sink m_sink;
  Timer m_slow;
  bool m_unwanted = false;  // job_options.reattach forbids to follow the job of an earlier attempt
  bool m_in_progress = false;
  bool m_left = false;
  Lifetime m_lifetime;
};

// "a job of this run exists; its outputs cannot be fetched yet: …"
std::string describe_wait(const plan::Plan& plan, const Error& why);

}  // namespace trainstep::cluster
