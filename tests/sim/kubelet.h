// Scheduler and kubelets: what becomes of every pod, by the fate it has drawn.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/collector.h"
#include "sim/pod_logs.h"
#include "sim/store.h"

namespace trainstep::sim {

// Which pod asks for its fate.
struct PodIdentity {
  std::string name, uid;
  std::string replica;  // "worker-1", "master-0", "launcher", "main": the same for all attempts
  int attempt = 0;      // containers of this replica that were started before, in this pod or in others
};

// Of the container that a webhook adds; kubelets sort by name.
inline constexpr auto sidecar_name = "aaa-proxy";

struct PodScript {
  enum class Start { runs, image_pull, invalid_image, config_missing, volume_missing, registry_busy, runtime_busy, volume_busy };
  enum class End { exits, oom, evicted, node_lost, vanishes };
  struct Line {
    Duration after;  // the start
    std::string text;
  };
  std::optional<Duration> schedulable{Duration{0}};  // no node before; unset: never
  Duration pulling{500};
  Start start = Start::runs;
  Duration starts_after{0};                           // of the busy ones: so long it is tried in vain
  std::optional<Duration> runs_for{Duration{1'000}};  // unset: until it is stopped
  End end = End::exits;
  int exit_code = 0;
  std::string message;              // termination message
  std::vector<Line> lines;          // in order, none after runs_for
  std::optional<Duration> rotated;  // after the start: only the last few lines are left, or none
  Duration dies_after{100};         // SIGTERM
};

// A line that a container has written, for comparison with a step's output.
struct WrittenLine {
  std::string pod_uid, replica;
  int attempt = 0;
  std::string text;
  Time at;
  bool lost = false;  // rotated away, or never readable
};

class Kubelet {
 public:
  using Draw = std::function<PodScript(const PodIdentity&)>;
  // References must outlive it.
  Kubelet(Store& store, PodLogs& logs, Random random, Draw draw);
  // Those of node-1 … node-3, against the API server's.
  void set_clocks(const std::array<Duration, 3>& errors) { m_clocks = errors; }
  // No status is reported until then, log streams are cut off; containers keep running.
  void restart(Time until);
  [[nodiscard]] const std::vector<WrittenLine>& written() const { return m_written; }
  // How many containers of this replica the API server knows to have been started.
  [[nodiscard]] int attempts(const std::string& replica) const {
    const auto found = m_told_attempts.find(replica);
    return found == m_told_attempts.end() ? 0 : found->second;
  }
  // When the pod's program first ran, which may be told later.
  [[nodiscard]] std::optional<Time> began(std::string_view pod_uid) const {
    const auto found = m_began.find(pod_uid);
    return found == m_began.end() ? std::nullopt : std::optional(found->second);
  }
  // Ends the pod as an eviction does (node pressure, preemption); false: it does not run.
  bool evict(const std::string& pod_uid, const std::string& reason);
  // Its program ends by itself; false: it does not run.
  bool exit(const std::string& pod_uid, int code, std::string message);

 private:
  struct Life {
    PodIdentity who;
    PodScript script;
    std::string container;
    bool sidecar = false;
    bool running = false;
    bool unreported = false;  // has ended, but this was not reported yet
    int restarts = 0;         // in place
    Duration clock{0};        // its node's, against the API server's
    Time started;             // by that clock
    int turn = 0;             // what was planned for an earlier turn is off
  };
  using LifePtr = std::shared_ptr<Life>;

  void heard(const Happening& happening);
  void later(Duration delay, const LifePtr& life, std::function<void()> task);
  void schedule(const LifePtr& life);
  void bound(const LifePtr& life);
  void tell_waiting(const LifePtr& life, const std::string& reason, const std::string& message);
  void try_in_vain(const LifePtr& life);
  void mount_in_vain(const LifePtr& life, Duration pause);
  void start(const LifePtr& life);
  void write_lines(const LifePtr& life);
  void end(const LifePtr& life, PodScript::End how, int code);
  void sidecar_ends(const LifePtr& life, const std::string& phase);
  void report_end(const LifePtr& life, PodScript::End how, int code, Time finished);
  void again(const LifePtr& life);
  void lose_node(const LifePtr& life);
  void lose_pod(const LifePtr& life);
  void forget_lines(const LifePtr& life);
  [[nodiscard]] Time clock(const LifePtr& life) const { return m_store.loop().now() + life->clock; }
  void terminate(const std::string& uid);
  void vanish(const std::string& uid);
  void report(const LifePtr& life, const std::function<void(Json& pod)>& change);
  void send_reports();
  void draw(const LifePtr& life);

  Store& m_store;
  PodLogs& m_logs;
  Random m_random;
  Draw m_draw;
  Time m_down_until;
  std::array<Duration, 3> m_clocks{};
  std::vector<std::pair<std::string, std::function<void(Json& pod)>>> m_reports;  // not sent yet, by the pod's uid
  std::map<std::string, LifePtr> m_lives;                                         // by the pod's uid
  std::map<std::string, int> m_attempts, m_told_attempts;                         // by replica
  std::map<std::string, Time, std::less<>> m_began;                               // by the pod's uid
  std::vector<WrittenLine> m_written;
};

}  // namespace trainstep::sim
