// The simulated world that a whole step is run against: cluster, network and pipeline in one process, on virtual time, from a seed. It knows what is
// true, so that the step's words and deeds can be held against it. README.md tells how a step is connected.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/credentials.h"
#include "result/verdict.h"
#include "sim/scenario.h"

namespace trainstep::sim {

// A process of the step, as the world sees it.
class Step {
 public:
  virtual ~Step() = default;  // may come at any time: that is SIGKILL
  virtual void begin() = 0;
  virtual void signal(int number) = 0;
};

// What one process of the step finds around it, and whom it tells what it does. Valid for this life only.
struct Context {
  const Scenario& scenario;
  Loop& loop;  // its clock may be wrong
  http::Transport& transport;
  std::shared_ptr<kube::Credentials> credentials;
  std::string name_space;
  std::string pod;                                                              // its own, as its host name has it
  std::string node_id;                                                          // of its Workflow's node, which Argo tells each container
  std::string attempt;                                                          // random, of this process
  std::uint64_t seed = 0;                                                       // for its jitter
  std::function<void(std::string_view text)> info;                              // a line of the step's story
  std::function<void(std::string_view member, std::string_view lines)> output;  // whole lines of a replica, each with its newline
  std::function<void(const result::Verdict& verdict)> exit;                     // the process ends, as its last deed; from the loop
};
using Factory = std::function<std::unique_ptr<Step>(const Context& surroundings)>;

// One life of the step.
struct Life {
  struct Line {
    std::string member, text;
  };
  int number = 0;
  std::vector<Line> lines;
  std::optional<result::Verdict> verdict;  // unset: it was killed
  bool signalled = false;
  bool doubts = false;   // it has said that a job may still be there
  int network_life = 0;  // its number in Network::requests()
};

// A job that was created for the step.
struct JobRecord {
  std::string uid, name;
  Time made{};                             // when the API server wrote it
  bool lapsed = false;                     // it was kept for another attempt, for as long as it was to be
  bool succeeded = false, failed = false;  // as the operator has decided; found out without the code under test
  std::optional<Time> ended = {};          // when that was decided
  std::optional<Time> began = {};          // when its primary replica first ran, whenever that was told
  std::optional<Time> removed = {};        // when another client deleted it
  bool waits = false;                      // in its queue, and nothing has begun
  bool reported = false;                   // the step has told its pipeline of a failure, and noted that on the job
  bool deleted_by_world = false;
  bool deleted_by_step = false;
  bool gone = false;
};

class World {
 public:
  struct Options {
    ScenarioOverrides overrides;
    bool trace = false;  // tell everything
    Duration longest = std::chrono::hours(24 * 20);
    int max_tasks = 3'000'000;
  };
  explicit World(std::uint64_t seed) : World(seed, Options{}) {}
  World(std::uint64_t seed, Options options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Runs the step, as many lives as its fate gives it, then lets things settle and takes the Workflow away. Returns what was promised and not kept;
  // empty: all is well. Call it once. `visitor`: one who attaches to the run, where the scenario has one.
  std::vector<std::string> run(const Factory& factory, const Factory& visitor = nullptr);

  [[nodiscard]] const Scenario& scenario() const { return m_scenario; }
  [[nodiscard]] const std::vector<Life>& lives() const { return m_lives; }
  [[nodiscard]] const std::vector<JobRecord>& jobs() const { return m_jobs; }
  // How many API calls the step has made, in all its lives.
  [[nodiscard]] int calls() const { return m_network.calls(); }
  [[nodiscard]] int calls_of_life(std::size_t number) const { return number < m_calls_of.size() ? m_calls_of[number] : 0; }
  [[nodiscard]] std::string trace() const { return m_scenario.describe() + "\n" + m_trace.text(); }
  // The parts, for tests that want more than a seed draws.
  [[nodiscard]] SimLoop& loop() { return m_loop; }
  [[nodiscard]] Cluster& cluster() { return m_cluster; }
  [[nodiscard]] Network& network() { return m_network; }
  [[nodiscard]] const Network& network() const { return m_network; }
  // What a token file would hold now.
  [[nodiscard]] const std::string& token() const { return m_token; }

 private:
  friend class Oracle;
  struct Pod {
    std::string name, uid;
  };

  void set_up_cluster();
  void set_up_accidents();
  void set_up_oddities();
  std::optional<Reply> log_trouble(const Resource& pods, std::string_view pod);
  void hold(const std::string& uid);
  std::optional<Reply> admit(const Resource& resource, Json& object);
  std::optional<Reply> refuse_second(const Resource& resource, const Json& object);
  void job_heard(const Happening& happening);
  void pod_heard(const Version& pod);
  void job_created(const VersionPtr& job);
  void set_suspended(const std::string& uid, bool suspended);
  void rotate_token();
  void begin_life(const Factory& factory);
  void die();
  void bury();
  void cancel_run();
  void shut_down();
  void evict_step();
  void stop_step();
  void end_pod();
  void lose_step();
  void outlive();
  void make_twin();
  void twin_ended(const result::Verdict& verdict);
  void end_twin();
  void look_at_deadline(const Happening& happening);
  void look_at_mark(const Happening& happening);
  void look_at_removal(const std::string& path);
  [[nodiscard]] bool is_followed(const Version& job) const;
  void act();
  Network::Hook called(int number, const http::Request& request);
  Accident accident(const http::Request& request);
  void heard_saying(std::string_view text);
  void ended(const result::Verdict& verdict);
  [[nodiscard]] bool lives(const JobRecord& job) const;
  void send_signal(int number = 15);
  void settle();
  [[nodiscard]] std::shared_ptr<kube::Credentials> credentials(std::unique_ptr<kube::TokenSource> token) const;
  void begin_visit();
  void end_visit();
  void leave_traces_of_namesake(const Resource& resource, std::string_view name);
  void make_pod();
  [[nodiscard]] bool api_server_away(Time at, Duration at_least = {}) const;
  [[nodiscard]] bool is_job(const Resource& resource) const;
  [[nodiscard]] static bool is_stranger(const Version& object);

  SimLoop m_loop;
  Scenario m_scenario;
  Options m_options;
  Trace m_trace;
  Random m_random, m_odds;
  std::map<std::string, int> m_logs_refused;  // in a row, by pod
  Cluster m_cluster;
  Network m_network;
  std::string m_token;
  int m_tokens = 0;
  Time m_began, m_ended;     // m_ended: the last life
  Duration m_unattended{0};  // between two lives
  VersionPtr m_workflow;
  // Who attaches to the run: a process of its own, with a connection of its own.
  struct Visitor {
    std::unique_ptr<Network> network;
    std::unique_ptr<StepLoop> loop;
    std::unique_ptr<Step> step;
    Life life;
    std::string job;  // uid of the one that there was
    Time came;
  };
  // The process of the first life, where its pod is lost and it lives on: it has a connection of its own.
  struct Twin {
    std::unique_ptr<Network> network;
    std::unique_ptr<StepLoop> loop;
    std::unique_ptr<Step> step;
    Pod pod;
    bool in_doubt = false;  // why its signal comes cannot be seen
  };
  std::unique_ptr<Twin> m_twin;
  bool m_lost = false;  // its pod is, and it has not been buried yet
  Factory m_visit;
  std::unique_ptr<Visitor> m_visitor;
  Pod m_pod;
  std::vector<JobRecord> m_jobs;
  std::string m_stranger;  // its uid
  std::vector<Life> m_lives;
  std::vector<std::string> m_violations;
  std::unique_ptr<StepLoop> m_step_loop;
  std::unique_ptr<Step> m_step;
  bool m_dying = false, m_exited = false, m_another = false, m_acted = false;
  bool m_cancelled = false;             // the run was
  bool m_created = false;               // the first create has come
  int m_calls_before = 0;               // of earlier lives
  std::vector<int> m_calls_of;          // by life
  bool m_world_deletes = false;         // it is not the step that deletes now
  std::set<std::string> m_pods_at_end;  // that existed when the step ended
};

}  // namespace trainstep::sim
