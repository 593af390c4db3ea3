// Whether a step could do in another cluster what it will have to, asked before anything is staged for its job there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cluster/earlier_job.h"
#include "cluster/job_place.h"
#include "cluster/preflight.h"
#include "plan/plan.h"

namespace trainstep::cluster {

// What `check` would report as an error refuses the cluster. Nothing is asked if a job of an earlier attempt is there. Silence, a quota that is used
// up and nodes that are too small decide nothing: the job would wait – if it must.
class StepPreflight {
 public:
  struct Context {
    Loop& loop;
    http::Transport& transport;
    const plan::Plan& plan;
    const Facts& facts;  // of the step
    JobPlace& place;
    EarlierJob& job;
    DataContext data;
    bool has_others;  // another cluster could get the job instead
    std::function<void(const std::string& line)> log;
  };
  struct Sink {
    std::function<void()> passed;
    std::function<void(Error why)> refused;
    std::function<void(std::string why)> would_wait{};  // only if another cluster could get the job
  };

  // References must outlive it.
  StepPreflight(Context context, Sink sink) : m_context(std::move(context)), m_sink(std::move(sink)) {}
  StepPreflight(const StepPreflight&) = delete;
  StepPreflight& operator=(const StepPreflight&) = delete;

  // Calls one function of the sink, once, from the loop or immediately.
  void begin();
  // A stop was requested, or the step has ended: the sink is not called any more. Returns whether it was in progress.
  bool leave() { return std::exchange(m_in_progress, false); }

 private:
  void ask(bool again);
  void asked(const Result<Diagnosis>& diagnosis, bool again);
  void judge_wait(const std::string& why);
  void refuse(const Diagnosis& diagnosis);
  void refuse(Error why);
  void pass();

  Context m_context;
  Sink m_sink;
  std::unique_ptr<Preflight> m_preflight;
  Timer m_timer;
  bool m_in_progress = false;
};

}  // namespace trainstep::cluster
