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

namespace {

void write(Store& store, std::string_view type, const Json& about, std::string_view reason, const std::string& message) {
  const auto* resource = store.resource("v1", "events");
  if (resource == nullptr) return;
  const auto now = to_rfc3339(store.loop().now());
  const auto name = fmt::format("{}.{:x}", text_at(about, {"name"}), store.number());
  store.create(*resource, {{"apiVersion", "v1"},
                           {"kind", "Event"},
                           {"metadata", {{"name", name}, {"namespace", about.at("namespace")}}},
                           {"involvedObject", about},
                           {"reason", reason},
                           {"message", message},
                           {"firstTimestamp", now},
                           {"lastTimestamp", now},
                           {"count", 1},
                           {"type", type}});
}

}  // namespace

void write_event(Store& store, const Version& object, std::string_view type, std::string_view reason, const std::string& message) {
  write(store, type,
        {{"kind", object.resource->kind},
         {"namespace", object.name_space()},
         {"name", object.name()},
         {"uid", object.uid()},
         {"apiVersion", object.resource->group_version}},
        reason, message);
}

void write_event(Store& store, std::string_view kind, std::string_view name_space, std::string_view name, std::string_view uid,
                 std::string_view reason, const std::string& message) {
  write(store, "Warning", {{"kind", kind}, {"namespace", name_space}, {"name", name}, {"uid", uid}}, reason, message);
}

}  // namespace trainstep::sim
