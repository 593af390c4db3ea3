// Watches the step's own pod and Workflow (metadata only), so that a cancel is known before its signal arrives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cluster/facts.h"
#include "kube/watch.h"

namespace trainstep::cluster {

class WorkflowMonitor {
 public:
  // `cancelled`: called once, when the pipeline stops the step ("the workflow was stopped"). `missed`: whenever our pod is no longer seen, though it
  // may exist.
  WorkflowMonitor(
      kube::Client& client, const Facts& facts, std::function<void(const std::string& what)> cancelled, std::function<void()> missed = [] {});
  WorkflowMonitor(const WorkflowMonitor&) = delete;
  WorkflowMonitor& operator=(const WorkflowMonitor&) = delete;

  struct Eviction {
    std::string what;
    std::optional<Time> since;  // by the cluster's clock
  };
  // After a SIGTERM: why it came, if it is not a cancel – our pod is deleted or evicted while its Workflow goes on, and is neither being stopped nor
  // past its deadline. Both are read after the signal, because its cause is older. Waits for what cannot be seen yet, for a third of the pod's grace
  // and at most 10 s; under KFP's launcher, which leaves at most a second, 30 ms; and not at all if the Workflow may not be seen. In doubt it is a
  // cancel. `done` is called once, immediately if it is known. Only one question may be pending.
  using Why = std::function<void(std::optional<Eviction> eviction)>;
  void ask_why(Why done);
  // Answers a pending question: in doubt. False: there is none.
  bool hurry();

 private:
  void look();
  void check_both();
  [[nodiscard]] Time clusters_now() const;
  void handle_pod(const Json& pod, bool whole);
  void ask_who_completed();
  void handle_completed_pod(const kube::Answer& answer);
  void handle_workflow(const Json& workflow);
  void confirm_end();
  void ask_for_workflow();
  void ask_later(std::function<void()> ask);
  void list_workflow();
  void seen_again(const Json& workflow);
  void confirm_by_name();
  void end_if_over(const Json& workflow);
  void look_whether_it_lives(const Json& workflow);
  void workflow_gone();
  void cancel(const std::string& what);
  void answer(std::optional<Eviction> eviction);

  kube::Client& m_client;
  const Facts& m_facts;
  Why m_why;
  kube::PendingCall m_pod_call, m_workflow_call;
  Timer m_timer, m_next_look;
  kube::PendingCall m_get;             // whether the Workflow is gone
  kube::PendingCall m_end_call;        // whether the Workflow has ended, as its watch reports
  kube::PendingCall m_completed_call;  // whether our pod, which is labelled as completed, was lost
  Timer m_get_timer;
  int m_unanswered_gets = 0;  // without a response
  int m_lists_without = 0;    // consecutive ones, without the permission to get it
  std::function<void(const std::string&)> m_cancelled;
  std::function<void()> m_missed;
  std::unique_ptr<kube::Watch> m_pod, m_workflow;
  std::optional<Eviction> m_eviction;  // of the pod, as it was last seen
  bool m_workflow_lives = false;       // it was read after the signal
  bool m_blind = false;                // it may not be seen, so that a SIGTERM is never known to be an eviction
  bool m_done = false;
};

}  // namespace trainstep::cluster
