// The state of a pod as needed by a step, parsed from the object once: a job of a thousand replicas keeps a thousand of these.
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
  std::optional<int> signal;              // runtimes report it as exit code 128 + signal, which stays in exit_code
  std::string reason;                     // "OOMKilled", "Error", "Completed", "StartError", …
  std::optional<Time> started, finished;  // whole seconds, by the kubelet's clock
  std::string message{};                  // why it could not start, or the program's termination message
};

struct ContainerView {
  enum class State { waiting, running, terminated };
  std::string name;
  State state = State::waiting;
  std::string reason;                                   // if waiting: "ErrImagePull", "CreateContainerConfigError", "PodInitializing"; may be empty
  std::string message;                                  // if waiting
  std::optional<ContainerStateTerminated> termination;  // if terminated
  std::optional<ContainerStateTerminated> last;         // of the attempt before a restart in place
  std::optional<Time> started;                          // if running
  int restarts = 0;
  bool sidecar = false;  // an init container that runs alongside the others (restartPolicy Always)
};

struct PodView {
  std::string name;
  std::string uid;
  std::optional<Time> created;
  std::string node;     // empty: not scheduled yet
  std::string phase;    // "Pending", "Running", "Succeeded", "Failed", "Unknown"
  std::string reason;   // of the pod: "Evicted", "NodeLost", "Preempting", …; may be empty
  std::string message;  // of the pod
  bool deleting = false;
  std::string unschedulable;         // the scheduler's message while the pod cannot be scheduled ("" otherwise)
  std::optional<Time> scheduled;     // when it was assigned to its node
  bool considered = false;           // a scheduler has considered it
  std::string scheduler;             // the requested one; may be empty
  bool sandboxed = false;            // its volumes and network are set up (condition PodReadyToStartContainers, on by default since 1.29)
  std::string disruption;            // reason of a true DisruptionTarget condition: "PreemptionByScheduler", "EvictionByEvictionAPI", …
  std::optional<Time> disrupted_at;  // … and when that became true
  std::vector<ContainerView> init_containers, containers;

  [[nodiscard]] const ContainerView* container(const std::string& container_name) const;
  // The pod has ended, with any result.
  [[nodiscard]] bool over() const { return phase == "Succeeded" || phase == "Failed"; }
  // One of its containers is running or has run.
  [[nodiscard]] bool began() const;
  // It failed because it exceeded its own disk limits, not because its node was short of disk.
  [[nodiscard]] bool over_its_limit() const;
  // The pod was ended by something other than the program: eviction, preemption, loss of its node.
  [[nodiscard]] bool disrupted() const;
};

// Accepts any JSON: missing members, and those of another shape, count as absent.
PodView read_pod(const Json& object);
// Removes from a pod what is needed neither by read_pod() nor to find its owner: most of its spec, annotations, managed fields. A list of a thousand
// pods then takes a few megabytes.
void trim_pod(Json& object);

}  // namespace trainstep::job_types
