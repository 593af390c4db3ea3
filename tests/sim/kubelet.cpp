// SPDX-License-Identifier: Apache-2.0
#include "sim/kubelet.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/events.h"

namespace trainstep::sim {
namespace {

Json condition(std::string_view type, bool holds, std::string_view reason, const std::string& message, Time at) {
  Json result = {{"type", type}, {"status", holds ? "True" : "False"}, {"lastTransitionTime", to_rfc3339(at)}};
  if (!reason.empty()) result["reason"] = reason;
  if (!message.empty()) result["message"] = message;
  return result;
}

void set_condition(Json& pod, Json wanted) {
  auto& conditions = pod["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (auto& old : conditions)
    if (old.at("type") == wanted.at("type")) {
      old = std::move(wanted);
      return;
    }
  conditions.push_back(std::move(wanted));
}

// Kubelets sort by name.
Json& container_status(Json& pod, const std::string& container) {
  auto& statuses = pod["status"]["containerStatuses"];
  if (!statuses.is_array()) statuses = Json::array();
  const auto found = std::find_if(statuses.begin(), statuses.end(), [&](const Json& status) { return status.at("name") == container; });
  if (found != statuses.end()) return *found;
  Json status = {{"name", container}, {"state", Json::object()}, {"lastState", Json::object()}, {"ready", false}, {"restartCount", 0}};
  return *statuses.insert(container == sidecar_name ? statuses.begin() : statuses.end(), std::move(status));
}

// What the kubelet says of a start that it tries again: first its cause, then that it waits.
struct Trouble {
  std::string reason, message, afterwards;
};

Trouble trouble_of(PodScript::Start start) {
  using enum PodScript::Start;
  switch (start) {
    case image_pull:
      return {"ErrImagePull", "failed to pull and unpack image: not found", "ImagePullBackOff"};
    case invalid_image:
      return {"InvalidImageName", "couldn't parse image name: invalid reference format", ""};
    case registry_busy:
      return {"ErrImagePull",
              "failed to pull and unpack image \"registry.example/train:1\": failed to copy: httpReadSeeker: failed open: unexpected status code "
              "https://registry.example/v2/train/manifests/1: 429 Too Many Requests - Server message: toomanyrequests: You have reached your pull "
              "rate limit.",
              "ImagePullBackOff"};
    case runtime_busy:
      return {"CreateContainerError", "context deadline exceeded", "CreateContainerError"};
    case config_missing:
    case volume_missing:
    case volume_busy:
    case runs:
      break;
  }
  return {"CreateContainerConfigError", "secret \"keys\" not found", ""};
}

}  // namespace

Kubelet::Kubelet(Store& store, PodLogs& logs, Random random, Draw draw) : m_store(store), m_logs(logs), m_random(random), m_draw(std::move(draw)) {
  m_store.listen([this](const Happening& happening) { heard(happening); });
}

void Kubelet::heard(const Happening& happening) {
  const auto& pod = *happening.now;
  if (pod.resource->plural != "pods") return;
  const std::string uid(pod.uid());
  if (happening.sort == Happening::Sort::added) {
    const auto* containers = dig(pod.object, {"spec", "containers"});
    if (containers == nullptr || containers->empty() || !text_at(pod.object, {"spec", "nodeName"}).empty()) return;  // not ours: the step's own pod
    auto life = std::make_shared<Life>();
    life->who = {std::string(pod.name()), uid, replica_of(pod.object), 0};
    life->container = text_at(containers->front(), {"name"});
    life->sidecar = containers->size() > 1;
    m_lives.emplace(uid, life);
    draw(life);
    later(m_random.between(Duration{10}, Duration{200}), life, [this, life] { schedule(life); });
  } else if (happening.sort == Happening::Sort::deleted) {
    m_store.loop().post([this, uid] { vanish(uid); });
  } else if (pod.deleting() && !happening.before->deleting()) {
    m_store.loop().after(m_random.between(Duration{5}, Duration{300}), [this, uid] { terminate(uid); });
  }
}

void Kubelet::later(Duration delay, const LifePtr& life, std::function<void()> task) {
  m_store.loop().after(delay, [life, turn = life->turn, task = std::move(task)] {
    if (life->turn == turn) task();
  });
}

void Kubelet::draw(const LifePtr& life) {
  life->who.attempt = m_attempts[life->who.replica];
  life->script = m_draw(life->who);
}

// Reports wait for the kubelet, in their order.
void Kubelet::report(const LifePtr& life, const std::function<void(Json& pod)>& change) {
  m_reports.emplace_back(life->who.uid, change);
  send_reports();
}

void Kubelet::send_reports() {
  if (m_store.loop().now() < m_down_until) return;
  for (const auto& [uid, change] : std::exchange(m_reports, {})) m_store.update(uid, change);
}

void Kubelet::schedule(const LifePtr& life) {
  const auto& wait = life->script.schedulable;
  if (wait && *wait == Duration{0}) return bound(life);
  const auto now = m_store.loop().now();
  const std::string message =
      "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available: 3 No preemption victims found.";
  const auto pod = m_store.update(life->who.uid, [&](Json& changed) {
    changed["status"]["phase"] = "Pending";
    set_condition(changed, condition("PodScheduled", false, "Unschedulable", message, now));
  });
  if (pod == nullptr) return;
  write_event(m_store, *pod, "Warning", "FailedScheduling", message);
  if (wait) later(*wait, life, [this, life] { bound(life); });
}

void Kubelet::bound(const LifePtr& life) {
  const auto number = m_random.between(1, 3);
  const auto node = fmt::format("node-{}", number);
  life->clock = m_clocks.at(static_cast<std::size_t>(number - 1));
  const auto now = m_store.loop().now();
  const auto pod = m_store.update(life->who.uid, [&](Json& changed) {
    changed["spec"]["nodeName"] = node;
    changed["status"]["phase"] = "Pending";
    set_condition(changed, condition("PodScheduled", true, "", "", now));
    container_status(changed, life->container)["state"] = {{"waiting", {{"reason", "ContainerCreating"}}}};
    if (life->sidecar) container_status(changed, sidecar_name)["state"] = {{"waiting", {{"reason", "ContainerCreating"}}}};
  });
  if (pod == nullptr) return;
  using enum PodScript::Start;
  const auto wanted = life->script.start;
  if (wanted == runs) return later(life->script.pulling, life, [this, life] { start(life); });
  if (wanted == volume_missing || wanted == volume_busy)
    later(Duration{100}, life, [this, life] { mount_in_vain(life, Duration{500}); });
  else
    later(life->script.pulling, life, [this, life] { try_in_vain(life); });
  if (wanted == registry_busy || wanted == runtime_busy || wanted == volume_busy)
    later(life->script.pulling + life->script.starts_after, life, [this, life] {
      ++life->turn;
      start(life);
    });
}

void Kubelet::tell_waiting(const LifePtr& life, const std::string& reason, const std::string& message) {
  report(life, [container = life->container, reason, message](Json& changed) {
    container_status(changed, container)["state"] = {{"waiting", {{"reason", reason}, {"message", message}}}};
  });
}

void Kubelet::try_in_vain(const LifePtr& life) {
  const auto [reason, message, afterwards] = trouble_of(life->script.start);
  tell_waiting(life, reason, message);
  if (const auto live = m_store.by_uid(life->who.uid)) write_event(m_store, *live, "Warning", "Failed", "Error: " + reason + ": " + message);
  if (afterwards.empty()) return;
  if (life->script.start == PodScript::Start::runtime_busy)
    later(Duration{30'000}, life, [this, life] {
      tell_waiting(life, "CreateContainerError", R"(failed to reserve container name "train_0": name "train_0" is reserved for "0123abcd")");
    });
  else
    later(Duration{12'000}, life, [this, life, afterwards, why = fmt::format("{}: {}", reason, message)] {
      tell_waiting(life, afterwards, "Back-off pulling image \"registry.example/train:1\": " + why);  // as kubelets do since 1.32
    });
  if (life->script.start != PodScript::Start::image_pull)
    later(m_random.between(Duration{40'000}, Duration{300'000}), life, [this, life] { try_in_vain(life); });
}

// Of a volume the pod's status says nothing. Kubelets try again after twice the time, two minutes at most (goroutinemap/exponentialbackoff).
void Kubelet::mount_in_vain(const LifePtr& life, Duration pause) {
  const auto pod = m_store.by_uid(life->who.uid);
  if (pod == nullptr) return;
  if (life->script.start == PodScript::Start::volume_missing)
    write_event(m_store, *pod, "Warning", "FailedMount", "MountVolume.SetUp failed for volume \"volume-0\" : secret \"keys\" not found");
  else
    write_event(m_store, *pod, "Warning", "FailedAttachVolume",
                "Multi-Attach error for volume \"pvc-1\" Volume is already exclusively attached to one node and can't be attached to another");
  later(pause, life, [this, life, next = std::min(pause * 2, Duration{122'000})] { mount_in_vain(life, next); });
}

void Kubelet::start(const LifePtr& life) {
  life->running = true;
  life->started = clock(life);
  m_began.emplace(life->who.uid, m_store.loop().now());
  ++m_attempts[life->who.replica];
  m_logs.of({life->who.uid, life->container, life->restarts});
  const auto restarts = life->restarts;
  report(life, [this, container = life->container, now = life->started, restarts, who = life->who](Json& changed) {
    m_told_attempts[who.replica] = who.attempt + 1;
    changed["status"]["phase"] = "Running";
    if (!changed["status"].contains("startTime")) changed["status"]["startTime"] = to_rfc3339(now);
    set_condition(changed, condition("Ready", true, "", "", now));
    auto& status = container_status(changed, container);
    status["state"] = {{"running", {{"startedAt", to_rfc3339(now)}}}};
    status["ready"] = true;
    status["restartCount"] = restarts;
  });
  if (life->sidecar && restarts == 0) {
    const LogKey key{life->who.uid, sidecar_name, 0};
    m_logs.write(key, {life->started, 0, fmt::format("{} try {} of the proxy\n", life->who.replica, life->who.attempt)});
    report(life, [now = life->started](Json& changed) {
      container_status(changed, sidecar_name)["state"] = {{"running", {{"startedAt", to_rfc3339(now)}}}};
    });
  }
  write_lines(life);
  const auto& script = life->script;
  if (script.rotated)
    later(*script.rotated, life, [this, life] {
      const LogKey key{life->who.uid, life->container, life->restarts};
      m_logs.rotate(key, static_cast<std::size_t>(life->script.rotated->count() % 3));
      const auto kept = m_logs.of(key).lines.size();
      std::size_t seen = 0;
      for (auto line = m_written.rbegin(); line != m_written.rend(); ++line)
        if (line->pod_uid == life->who.uid && line->attempt == life->who.attempt && ++seen > kept) line->lost = true;
    });
  if (!script.runs_for) return;
  later(*script.runs_for, life, [this, life] {
    if (life->script.end == PodScript::End::node_lost)
      lose_node(life);
    else if (life->script.end == PodScript::End::vanishes)
      lose_pod(life);
    else
      end(life, life->script.end, life->script.exit_code);
  });
}

void Kubelet::write_lines(const LifePtr& life) {
  for (std::size_t i = 0; i < life->script.lines.size(); ++i)
    later(life->script.lines[i].after, life, [this, life, i] {
      const auto& text = life->script.lines[i].text;
      const auto now = m_store.loop().now();
      m_logs.write({life->who.uid, life->container, life->restarts}, {clock(life), static_cast<int>(m_random.between(0, 999)) * 1000, text});
      m_written.push_back({life->who.uid, life->who.replica, life->who.attempt, text, now});
    });
}

void Kubelet::end(const LifePtr& life, PodScript::End how, int code) {
  life->running = false;
  life->unreported = true;
  ++life->turn;
  const auto now = clock(life);
  m_logs.end({life->who.uid, life->container, life->restarts});
  if (how == PodScript::End::oom) code = 137;
  // The kubelet looks once a second.
  later(m_random.between(Duration{20}, Duration{1'100}), life, [this, life, how, code, now] { report_end(life, how, code, now); });
}

void Kubelet::report_end(const LifePtr& life, PodScript::End how, int code, Time finished) {
  life->unreported = false;
  const auto pod = m_store.by_uid(life->who.uid);
  if (pod == nullptr) return;
  const auto policy = text_at(pod->object, {"spec", "restartPolicy"});
  const bool evicted = how == PodScript::End::evicted;
  const bool restarts = !evicted && !pod->deleting() && (policy == "Always" || (policy == "OnFailure" && code != 0));
  Json terminated = {{"exitCode", code},
                     {"reason", how == PodScript::End::oom ? "OOMKilled"
                                : code == 0                ? "Completed"
                                                           : "Error"},
                     {"startedAt", to_rfc3339(life->started)},
                     {"finishedAt", to_rfc3339(finished)}};
  if (!life->script.message.empty()) terminated["message"] = life->script.message;
  const std::string phase = code == 0 && !evicted ? "Succeeded" : "Failed";
  const bool waits = life->sidecar && !restarts && !evicted && !pod->deleting();  // for the sidecar
  report(life, [container = life->container, terminated, restarts, evicted, waits, phase, finished](Json& changed) {
    set_condition(changed, condition("Ready", false, "ContainersNotReady", "", finished));
    auto& status = container_status(changed, container);
    status["ready"] = false;
    if (restarts) {
      status["state"] = {{"waiting", {{"reason", "CrashLoopBackOff"}, {"message", "back-off restarting failed container"}}}};
      status["lastState"] = {{"terminated", terminated}};
      return;
    }
    if (!waits) changed["status"]["phase"] = phase;
    if (evicted) {
      changed["status"]["reason"] = "Evicted";
      changed["status"]["message"] = "The node was low on resource: memory.";
      set_condition(changed, condition("DisruptionTarget", true, "TerminationByKubelet", "The node was low on resource: memory.", finished));
      changed["status"].erase("containerStatuses");
    } else {
      status["state"] = {{"terminated", terminated}};
    }
  });
  if (waits) later(m_random.between(Duration{100}, Duration{4'000}), life, [this, life, phase] { sidecar_ends(life, phase); });
  if (restarts) again(life);
}

void Kubelet::sidecar_ends(const LifePtr& life, const std::string& phase) {
  m_logs.end({life->who.uid, sidecar_name, 0});
  const Json terminated = {
      {"exitCode", 0}, {"reason", "Completed"}, {"startedAt", to_rfc3339(life->started)}, {"finishedAt", to_rfc3339(clock(life))}};
  report(life, [phase, terminated](Json& changed) {
    changed["status"]["phase"] = phase;
    container_status(changed, sidecar_name)["state"] = {{"terminated", terminated}};
  });
}

// In place: after a pause that doubles from 10 s to 5 minutes; the first time at once.
void Kubelet::again(const LifePtr& life) {
  const auto pause = life->restarts == 0 ? Duration{200} : std::min(Duration{300'000}, Duration{5'000} * (1 << std::min(life->restarts, 6)));
  later(pause, life, [this, life] {
    ++life->restarts;
    draw(life);
    start(life);
  });
}

bool Kubelet::evict(const std::string& pod_uid, const std::string& /*reason*/) {
  const auto found = m_lives.find(pod_uid);
  if (found == m_lives.end() || !found->second->running) return false;
  end(found->second, PodScript::End::evicted, 137);
  return true;
}

bool Kubelet::exit(const std::string& pod_uid, int code, std::string message) {
  const auto found = m_lives.find(pod_uid);
  if (found == m_lives.end() || !found->second->running) return false;
  found->second->script.message = std::move(message);
  end(found->second, PodScript::End::exits, code);
  return true;
}

// The node has stopped reporting. After five minutes the pod is deleted by taint, which is not confirmed until the pod garbage collector forces it.
void Kubelet::lose_node(const LifePtr& life) {
  life->running = false;
  ++life->turn;
  forget_lines(life);
  const auto now = m_store.loop().now();
  later(Duration{50'000}, life, [this, life, now] {
    m_store.update(life->who.uid, [now](Json& changed) {
      set_condition(changed, condition("Ready", false, "NodeNotReady", "", now));
      changed["status"]["reason"] = "NodeLost";
    });
  });
  later(Duration{350'000}, life, [this, life] {
    m_store.update(life->who.uid, [this](Json& changed) {
      auto& metadata = changed["metadata"];
      if (metadata.contains("deletionTimestamp")) return;
      metadata["deletionTimestamp"] = to_rfc3339(m_store.loop().now() + std::chrono::seconds(30));
      metadata["deletionGracePeriodSeconds"] = 30;
      set_condition(changed, condition("DisruptionTarget", true, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint",
                                       m_store.loop().now()));
    });
  });
  later(Duration{600'000}, life, [this, life] {
    m_store.update(life->who.uid, [](Json& changed) { changed["status"]["phase"] = "Failed"; });
    m_store.update(life->who.uid, [](Json& changed) { changed["metadata"]["deletionGracePeriodSeconds"] = 0; });
  });
}

void Kubelet::forget_lines(const LifePtr& life) {
  for (auto& line : m_written)
    if (line.pod_uid == life->who.uid) line.lost = true;
}

// A node that is shut off, a garbage collector, a preemption: the end of the program was not observed, and then the pod is gone. At times its
// status is Unknown for a while before.
void Kubelet::lose_pod(const LifePtr& life) {
  life->running = false;
  ++life->turn;
  forget_lines(life);
  const auto vanish = [this, uid = life->who.uid] {
    m_store.update(uid, [this](Json& changed) {
      changed["metadata"]["deletionTimestamp"] = to_rfc3339(m_store.loop().now());
      changed["metadata"]["deletionGracePeriodSeconds"] = 0;
    });
  };
  if (m_random.chance(0.4)) return vanish();
  m_store.update(life->who.uid, [](Json& changed) {
    changed["status"]["phase"] = "Unknown";
    changed["status"]["reason"] = "NodeLost";
  });
  later(m_random.between(Duration{100}, Duration{90'000}), life, vanish);
}

// SIGTERM, and the pod goes when its container has ended.
void Kubelet::terminate(const std::string& uid) {
  const auto found = m_lives.find(uid);
  if (found == m_lives.end()) return;
  const auto life = found->second;
  const auto pod = m_store.by_uid(uid);
  if (pod == nullptr || text_at(pod->object, {"status", "reason"}) == "NodeLost") return;
  const auto grace = Duration{number_at(pod->object, {"metadata", "deletionGracePeriodSeconds"}) * 1000};
  const bool was_running = life->running;
  const auto stop = was_running ? std::min(life->script.dies_after, grace) : Duration{0};
  if (!was_running && !life->unreported) ++life->turn;
  // It may end by itself meanwhile.
  m_store.loop().after(stop, [this, life, uid] {
    if (life->running) end(life, PodScript::End::exits, 143);
    m_store.loop().after(m_random.between(Duration{1'200}, Duration{2'000}),
                         [this, uid] { m_store.update(uid, [](Json& changed) { changed["metadata"]["deletionGracePeriodSeconds"] = 0; }); });
  });
}

void Kubelet::vanish(const std::string& uid) {
  const auto found = m_lives.find(uid);
  if (found == m_lives.end()) return;
  ++found->second->turn;
  m_lives.erase(found);
  m_logs.forget(uid);
}

void Kubelet::restart(Time until) {
  m_down_until = std::max(m_down_until, until);
  m_store.loop().after(std::chrono::duration_cast<Duration>(m_down_until - m_store.loop().now()), [this] { send_reports(); });
  m_logs.cut_all();
}

}  // namespace trainstep::sim
