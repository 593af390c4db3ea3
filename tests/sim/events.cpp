// SPDX-License-Identifier: Apache-2.0
#include "sim/events.h"

#include <fmt/format.h>

namespace trainstep::sim {

std::string replica_of(const Json& pod) {
  const auto label = [&pod](std::string_view name) { return std::string(text_at(pod, {"metadata", "labels", name})); };
  auto type = label("training.kubeflow.org/replica-type");
  if (type.empty()) type = label("training.kubeflow.org/job-role");
  if (type == "launcher") return type;
  if (const auto index = label("training.kubeflow.org/replica-index"); !type.empty()) return type + "-" + (index.empty() ? "0" : index);
  if (const auto index = label("batch.kubernetes.io/job-completion-index"); !index.empty()) return "worker-" + index;
  return "main";
}

void write_event(Store& store, const Version& object, std::string_view type, std::string_view reason, const std::string& message) {
  const auto* resource = store.resource("v1", "events");
  if (resource == nullptr) return;
  const auto now = to_rfc3339(store.loop().now());
  store.create(*resource, {{"apiVersion", "v1"},
                           {"kind", "Event"},
                           {"metadata", {{"name", fmt::format("{}.{:x}", object.name(), store.number())}, {"namespace", object.name_space()}}},
                           {"involvedObject",
                            {{"kind", object.resource->kind},
                             {"namespace", object.name_space()},
                             {"name", object.name()},
                             {"uid", object.uid()},
                             {"apiVersion", object.resource->group_version}}},
                           {"reason", reason},
                           {"message", message},
                           {"firstTimestamp", now},
                           {"lastTimestamp", now},
                           {"count", 1},
                           {"type", type}});
}

}  // namespace trainstep::sim
