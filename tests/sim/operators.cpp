// SPDX-License-Identifier: Apache-2.0
#include "sim/operators.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "sim/events.h"

namespace trainstep::sim {

Controller::Controller(Store& store, Collector& collector, Random random) : m_store(store), m_collector(collector), m_random(random) {
  m_store.listen([this](const Happening& happening) { heard(happening); });
}

void Controller::heard(const Happening& happening) {
  const auto& object = *happening.now;
  if (is_ours(*object.resource)) {
    if (happening.sort != Happening::Sort::deleted) wake(std::string(object.uid()));
    if (happening.sort == Happening::Sort::added) resync(std::string(object.uid()));
    return;
  }
  const auto* owners = dig(object.object, {"metadata", "ownerReferences"});
  if (owners == nullptr) return;
  for (const auto& owner : *owners) {
    const auto uid = text_at(owner, {"uid"});
    const auto live = m_store.by_uid(uid);
    if (live != nullptr && is_ours(*live->resource)) wake(std::string(uid));
  }
}

void Controller::wake(const std::string& uid, std::optional<Duration> delay) {
  if (!delay && !m_awake.insert(uid).second) return;
  const auto down = std::max(Duration{0}, std::chrono::duration_cast<Duration>(m_down_until - m_store.loop().now()));
  const auto pause = delay.value_or(m_random.between(Duration{5}, Duration{120}));
  m_store.loop().after(std::max(down, pause), [this, uid, planned = delay.has_value()] {
    if (planned) return wake(uid);
    if (m_store.loop().now() < m_down_until) {
      m_awake.erase(uid);
      return wake(uid);
    }
    m_awake.erase(uid);
    const auto job = m_store.by_uid(uid);
    if (job != nullptr && !job->deleting()) reconcile(job);
  });
}

// controller-runtime looks at everything every ten hours.
void Controller::resync(const std::string& uid) {
  m_store.loop().after(std::chrono::hours(10), [this, uid] {
    if (m_store.by_uid(uid) == nullptr) return;
    wake(uid);
    resync(uid);
  });
}

void Controller::try_again(const std::string& uid, Duration pause) {
  if (!m_waiting.insert(uid).second) return;
  m_store.loop().after(pause, [this, uid] {
    m_waiting.erase(uid);
    wake(uid);
  });
}

std::vector<VersionPtr> Controller::pods_of(const VersionPtr& job) const {
  auto result = m_store.dependents(job->uid());
  std::erase_if(result, [](const VersionPtr& object) { return object->resource->plural != "pods"; });
  return result;
}

bool Controller::create_pod(const VersionPtr& job, const std::string& name, const Json& pod_template, const Json& labels,
                            std::string_view restart_policy, const Json& finalizers) {
  Json metadata = {{"name", name}, {"namespace", job->name_space()}};
  const auto* own = dig(pod_template, {"metadata", "labels"});
  metadata["labels"] = own == nullptr ? Json::object() : *own;
  metadata["labels"].update(labels);
  metadata["ownerReferences"] = Json::array({controller_reference(job)});
  if (!finalizers.is_null()) metadata["finalizers"] = finalizers;
  Json spec = {{"restartPolicy", restart_policy}};
  for (const auto* list : {"initContainers", "containers"}) {
    const auto* containers = dig(pod_template, {"spec", list});
    if (containers == nullptr) continue;
    for (const auto& container : *containers) {
      Json copy = {{"name", text_at(container, {"name"})}, {"image", text_at(container, {"image"})}};
      for (const auto* member : {"command", "env"})
        if (const auto* value = dig(container, {member})) copy[member] = *value;
      spec[list].push_back(std::move(copy));
    }
  }
  if (const auto* grace = dig(pod_template, {"spec", "terminationGracePeriodSeconds"})) spec["terminationGracePeriodSeconds"] = *grace;
  Json pod = {
      {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}, {"status", {{"phase", "Pending"}}}};
  if (const auto why = m_refusal ? m_refusal(pod) : std::nullopt) {
    write_event(m_store, *job, "Warning", job->resource->built_in ? "FailedCreate" : "FailedCreatePod",
                "Error creating: pods \"" + name + "\" is forbidden: " + *why);
    try_again(std::string(job->uid()), m_random.between(Duration{5'000}, Duration{120'000}));
    return false;
  }
  const auto* pods = m_store.resource("v1", "pods");
  if (m_store.find(*pods, job->name_space(), name) != nullptr) {
    try_again(std::string(job->uid()), Duration{1'000});  // an old one of that name has not gone yet
    return false;
  }
  if (m_change) m_change(pod);
  m_store.create(*pods, std::move(pod));
  return true;
}

void Controller::write_status(const VersionPtr& job, Json status) {
  m_store.update(job->uid(), [&](Json& changed) { changed["status"] = std::move(status); });
}

void set_operator_condition(Json& status, const std::string& type, bool holds, const std::string& reason, const std::string& message,
                            const std::string& now) {
  auto& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (const auto& old : conditions)
    if (old.at("type") == type && (old.at("status") == "True") == holds && old.at("reason") == reason) return;
  const auto drop = [&conditions](std::string_view what) {
    conditions.erase(std::remove_if(conditions.begin(), conditions.end(), [what](const Json& old) { return text_at(old, {"type"}) == what; }),
                     conditions.end());
  };
  drop(type);
  if (type == "Running") drop("Restarting");
  if (type == "Restarting") drop("Running");
  if (type == "Succeeded" || type == "Failed")
    for (auto& old : conditions)
      if (old.at("type") == "Running") old["status"] = "False";
  conditions.push_back({{"type", type},
                        {"status", holds ? "True" : "False"},
                        {"reason", reason},
                        {"message", message},
                        {"lastUpdateTime", now},
                        {"lastTransitionTime", now}});
}

bool has_condition(const Json& status, std::string_view type) {
  const auto* conditions = dig(status, {"conditions"});
  return conditions != nullptr && std::any_of(conditions->begin(), conditions->end(), [type](const Json& condition) {
           return text_at(condition, {"type"}) == type && text_at(condition, {"status"}) == "True";
         });
}

Json controller_reference(const VersionPtr& owner) {
  return {{"apiVersion", owner->resource->group_version},
          {"kind", owner->resource->kind},
          {"name", owner->name()},
          {"uid", owner->uid()},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

std::string_view phase_of(const Version& pod) { return text_at(pod.object, {"status", "phase"}); }

std::int64_t exit_code_of(const Version& pod) {
  const auto* statuses = dig(pod.object, {"status", "containerStatuses"});
  return statuses == nullptr || statuses->empty() ? -1 : number_at(statuses->back(), {"state", "terminated", "exitCode"}, -1);
}

std::int64_t restarts_of(const Version& pod) {
  const auto* statuses = dig(pod.object, {"status", "containerStatuses"});
  return statuses == nullptr || statuses->empty() ? 0 : number_at(statuses->back(), {"restartCount"});
}

std::int64_t seconds_of(std::string_view time) {
  std::tm parts{};
  if (std::sscanf(std::string(time).c_str(), "%d-%d-%dT%d:%d:%d", &parts.tm_year, &parts.tm_mon, &parts.tm_mday, &parts.tm_hour, &parts.tm_min,
                  &parts.tm_sec) != 6)
    return 0;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return ::timegm(&parts);
}

}  // namespace trainstep::sim
