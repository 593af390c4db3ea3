// What happens to the step itself: its pod and its Workflow, watched (metadata only), so that a cancel is known before its signal comes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cluster/facts.h"
#include "kube/watch.h"

namespace trainstep::cluster {

class OwnLife {
 public:
  // `cancelled`: called once, when the pipeline's side shows that an end is wanted ("the workflow was stopped").
  OwnLife(kube::Client& client, const Facts& facts, std::function<void(const std::string& what)> cancelled);
  OwnLife(const OwnLife&) = delete;
  OwnLife& operator=(const OwnLife&) = delete;
  ~OwnLife();
  // For a SIGTERM: why it came, if it is no cancel – our pod is deleted or evicted while its Workflow lives on. `done` is called once, at once if
  // that is known, else within `patience` from the loop: only a server that answers now shows that the watches are live. While one question is open
  // others are not asked.
  using Why = std::function<void(std::optional<std::string> eviction)>;
  void ask_why(Why done);

 private:
  void look_at_pod(const Json& pod);
  void look_at_workflow(const Json& workflow);
  void cancel(const std::string& what);
  void answer(bool evicted);

  kube::Client& m_client;
  kube::Path m_pod_path;
  Why m_why;
  kube::Client::CallId m_call = 0;
  Loop::TimerId m_timer = 0;
  bool m_pod_deleted = false;
  std::function<void(const std::string&)> m_cancelled;
  std::unique_ptr<kube::Watch> m_pod, m_workflow;
  std::string m_pod_uid;
  bool m_pod_watched = false;
  bool m_workflow_lives = false;  // it is watched, and nothing speaks against it
  bool m_done = false;
};

}  // namespace trainstep::cluster
