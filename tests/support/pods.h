// Pods as real kubelets, schedulers and controllers write them: what matters of `kubectl get pod -o json` of such pods.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "data/json.h"

namespace trainstep::test {

inline Json pod(const std::string& name, const std::string& uid, Json status, const std::string& node = "node-1") {
  Json object = {{"apiVersion", "v1"},
                 {"kind", "Pod"},
                 {"metadata", {{"name", name}, {"uid", uid}, {"creationTimestamp", "2026-11-21T08:00:00Z"}}},
                 {"spec", {{"containers", Json::array({{{"name", "train"}, {"image", "registry.example/train:1"}}})}, {"restartPolicy", "Never"}}},
                 {"status", std::move(status)}};
  if (!node.empty()) object["spec"]["nodeName"] = node;
  return object;
}

inline Json condition(const std::string& type, const std::string& value, const std::string& reason = "", const std::string& message = "") {
  Json result = {{"type", type}, {"status", value}, {"lastProbeTime", nullptr}, {"lastTransitionTime", "2026-11-21T08:00:01Z"}};
  if (!reason.empty()) result["reason"] = reason;
  if (!message.empty()) result["message"] = message;
  return result;
}

inline Json waiting(const std::string& reason, const std::string& message = "") {
  Json state = {{"reason", reason}};
  if (!message.empty()) state["message"] = message;
  return {{"waiting", std::move(state)}};
}

inline Json running(const std::string& since = "2026-11-21T08:00:05Z") { return {{"running", {{"startedAt", since}}}}; }

inline Json terminated(int code, const std::string& reason = "", const std::string& finished = "2026-11-21T08:01:00Z",
                       const std::string& started = "2026-11-21T08:00:05Z") {
  return {{"terminated",
           {{"exitCode", code},
            {"reason", !reason.empty() ? reason : (code == 0 ? "Completed" : "Error")},
            {"startedAt", started},
            {"finishedAt", finished},
            {"containerID", "containerd://0123456789abcdef"}}}};
}

inline Json container(Json state, int restarts = 0, Json last_state = Json::object(), const std::string& name = "train") {
  return {{"name", name},   {"state", std::move(state)}, {"lastState", std::move(last_state)},
          {"ready", false}, {"restartCount", restarts},  {"image", "registry.example/train:1"},
          {"imageID", ""},  {"started", false}};
}

inline Json status(const std::string& phase, Json containers, Json init_containers = Json::array()) {
  Json result = {{"phase", phase}, {"conditions", Json::array()}, {"hostIP", "10.0.0.1"}, {"qosClass", "Guaranteed"}};
  if (!containers.empty()) result["containerStatuses"] = std::move(containers);
  if (!init_containers.empty()) result["initContainerStatuses"] = std::move(init_containers);
  return result;
}

// --- the usual life ---
inline Json unscheduled(const std::string& message = "0/5 nodes are available: 5 Insufficient cpu.") {
  return {
      {"phase", "Pending"}, {"conditions", Json::array({condition("PodScheduled", "False", "Unschedulable", message)})}, {"qosClass", "Guaranteed"}};
}
inline Json creating() { return status("Pending", Json::array({container(waiting("ContainerCreating"))})); }
inline Json runs(int restarts = 0, Json last_state = Json::object()) {
  return status("Running", Json::array({container(running(), restarts, std::move(last_state))}));
}
inline Json succeeded() { return status("Succeeded", Json::array({container(terminated(0))})); }
inline Json failed(int code, const std::string& reason = "", const std::string& finished = "2026-11-21T08:01:00Z") {
  return status("Failed", Json::array({container(terminated(code, reason, finished))}));
}

// --- what goes wrong ---
inline Json with_condition(Json pod_status, Json what) {
  pod_status["conditions"].push_back(std::move(what));
  return pod_status;
}
// The kubelet evicts: pkg/kubelet/eviction, since 1.26 with the condition.
inline Json evicted(const std::string& finished = "2026-11-21T08:01:00Z") {
  auto result =
      with_condition(failed(137, "", finished), condition("DisruptionTarget", "True", "TerminationByKubelet",
                                                          "The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi. "));
  result["reason"] = "Evicted";
  result["message"] = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi. ";
  return result;
}
// Evicted before a container has run: no statuses at all.
inline Json evicted_early() {
  return {{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "Pod was rejected: The node had condition: [DiskPressure]. "}};
}
// The scheduler makes room for a pod of higher priority.
inline Json preempted() {
  return with_condition(failed(143), condition("DisruptionTarget", "True", "PreemptionByScheduler",
                                               "default-scheduler: preempting to accommodate a higher priority pod"));
}
// The node is lost and the pod collected: the kubelet never wrote an end.
inline Json node_lost() {
  auto result =
      with_condition(runs(), condition("DisruptionTarget", "True", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"));
  result["conditions"].push_back(condition("Ready", "False", "", ""));
  return result;
}
// The Job controller deletes the pods of a job that is over its deadline.
inline Json deadline_pod() { return failed(143); }
inline Json crash_loop(int restarts, int code, const std::string& finished = "2026-11-21T08:01:00Z") {
  return status("Running", Json::array({container(waiting("CrashLoopBackOff", "back-off 10s restarting failed container=train pod=train-1"), restarts,
                                                  terminated(code, "", finished))}));
}
inline Json init_failed(int code) {
  return status("Failed", Json::array({container(waiting("PodInitializing"))}),
                Json::array({container(terminated(code), 0, Json::object(), "init-pytorch")}));
}

}  // namespace trainstep::test
