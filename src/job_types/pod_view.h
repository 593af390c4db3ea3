// What a step has to know of a pod, read out of the object once: a job of a thousand replicas keeps a thousand of these.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "data/json.h"

namespace trainstep::job_types {

struct ContainerStateTerminated {
  int exit_code = 0;
  std::optional<int> signal;              // the runtimes tell it as an exit code of 128 + signal, which stays in exit_code
  std::string reason;                     // "OOMKilled", "Error", "Completed", "StartError", …
  std::optional<Time> started, finished;  // whole seconds, the kubelet's clock
  std::string message{};                  // why it could not start, or what the program left in its termination message
};

struct ContainerView {
  enum class State { waiting, running, terminated };
  std::string name;
  State state = State::waiting;
  std::string reason;                                   // of waiting: "ErrImagePull", "CreateContainerConfigError", "PodInitializing"; may be empty
  std::string message;                                  // of waiting
  std::optional<ContainerStateTerminated> termination;  // of terminated
  std::optional<ContainerStateTerminated> last;         // of the attempt before a restart in place
  std::optional<Time> started;                          // of running
  int restarts = 0;
  bool sidecar = false;  // an init container that runs beside the others (restartPolicy Always)
};

struct PodView {
  std::string name;
  std::string uid;
  std::optional<Time> created;
  std::string node;     // empty: has no place yet
  std::string phase;    // "Pending", "Running", "Succeeded", "Failed", "Unknown"
  std::string reason;   // of the pod: "Evicted", "NodeLost", "Preempting", …; may be empty
  std::string message;  // of the pod
  bool deleting = false;
  std::string unschedulable;      // the scheduler's message, while it finds no place ("" otherwise)
  std::optional<Time> scheduled;  // when it was given its node
  bool considered = false;        // a scheduler has said something of it
  std::string scheduler;          // which one it is to be; may be empty
  bool sandboxed = false;         // its volumes and its network are there (condition PodReadyToStartContainers, on by default since 1.29)
  std::string disruption;         // reason of a true DisruptionTarget condition: "PreemptionByScheduler", "EvictionByEvictionAPI", …
  std::vector<ContainerView> init_containers, containers;

  [[nodiscard]] const ContainerView* container(const std::string& container_name) const;
  // The pod has ended, whatever became of it.
  [[nodiscard]] bool over() const { return phase == "Succeeded" || phase == "Failed"; }
  // One of its containers runs or has run.
  [[nodiscard]] bool began() const;
  // It has failed because it used more disk than it may: its own limits, not its node's want.
  [[nodiscard]] bool over_its_limit() const;
  // Something other than the program ended it: eviction, preemption, loss of its node.
  [[nodiscard]] bool disrupted() const;
};

// Any JSON is allowed: what is not there, or of another shape, is absent.
PodView read_pod(const Json& object);
// Takes from a pod what neither read_pod() nor its owner's search needs: most of its specification, annotations, managed fields. A thousand pods of a
// list are then some megabytes.
void trim_pod(Json& object);

}  // namespace trainstep::job_types
