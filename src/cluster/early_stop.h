// A stop that is requested before a job is followed: what an earlier attempt may have created is found and ended, in the time that is left.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cluster/facts.h"
#include "cluster/stop_signals.h"
#include "cluster/workflow_monitor.h"
#include "result/verdict.h"

namespace trainstep::cluster {

class EarlyStop {
 public:
  struct Request {
    int signal = 0;  // 0: the pipeline wants an end
    std::optional<WorkflowMonitor::Eviction> eviction;
    std::string what;          // why the pipeline wants an end; empty: a signal was received
    bool why_unknown = false;  // it came before our pod was known, which still has to be read
  };
  struct Context {
    Loop& loop;
    const StopSignals& signals;
    const Facts& facts;  // defaults until they are known
    bool in_pod;
    std::function<void()> too_late;        // the time of our pod is over, except for reporting a verdict
    std::function<void()> do_without_pod;  // half of it is over, and our pod is not known
  };

  // References must outlive it.
  explicit EarlyStop(Context context);
  EarlyStop(const EarlyStop&) = delete;
  EarlyStop& operator=(const EarlyStop&) = delete;

  void begin(Request request);
  [[nodiscard]] bool has_begun() const { return m_begun; }
  // The time of a pod ends whether requests are answered or not. `half`: whether do_without_pod() is wanted. Allowed again once more is known of it.
  void limit(bool half);
  [[nodiscard]] bool is_limited() const { return static_cast<bool>(m_end); }
  [[nodiscard]] bool is_why_unknown() const { return m_request.why_unknown; }
  // Finds out why the signal came, in a third of the time that is left: the rest is for the job. `done` is called once.
  void ask_why(WorkflowMonitor& monitor, const std::function<void()>& done);
  // What was requested.
  [[nodiscard]] const Request& request() const { return m_request; }
  [[nodiscard]] result::Verdict cancelled(std::string message) const;

 private:
  Context m_context;
  Request m_request;
  bool m_begun = false;
  Timer m_end, m_half, m_hurry;
};

}  // namespace trainstep::cluster
