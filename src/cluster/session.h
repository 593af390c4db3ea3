// One step in a cluster, from its inputs to its verdict and its clean-up: facts, plan, job, end. On any loop, over any transport.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/backend.h"
#include "cluster/facts.h"
#include "cluster/own_life.h"
#include "kube/client.h"
#include "run/runner.h"

namespace trainstep::cluster {

struct SessionOptions {
  std::string name_space;  // where the step is, and its job
  std::string pod;         // our own; empty: we are in none
  std::string where;       // "in-cluster", "context x": for the story
  std::string attempt;     // random
  // What to run, once it is known who we are. Errors: input.
  std::function<Result<plan::Plan>(const Facts& facts)> make_plan;
};

class Session {
 public:
  struct Done {
    run::Outcome outcome;
    const plan::Plan* plan = nullptr;  // null: the step ended before there was one
  };
  // References must outlive it.
  Session(Loop& loop, kube::Client& client, SessionOptions options, std::vector<run::Listener*> listeners);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Calls `done` once, from the loop. Then the caller writes its outputs and calls conclude().
  void begin(std::function<void(Done)> done);
  // SIGTERM or SIGINT arrived.
  void request_stop(int signal);
  // The clean-up that the verdict asks for; `done` from the loop, with what could not be done (empty: nothing).
  void conclude(const result::Verdict& verdict, std::function<void(std::string problem)> done);

 private:
  void know(Result<Facts> facts);
  void run();
  void finish_early(result::Verdict verdict);
  void say(const std::string& text);

  Loop& m_loop;
  kube::Client& m_client;
  SessionOptions m_options;
  std::vector<run::Listener*> m_listeners;
  std::function<void(Done)> m_done;
  Time m_began;
  Facts m_facts;
  std::optional<plan::Plan> m_plan;
  std::unique_ptr<ClusterBackend> m_backend;
  std::unique_ptr<run::Runner> m_runner;
  std::unique_ptr<OwnLife> m_own_life;
  bool m_over = false;
  std::shared_ptr<bool> m_alive = std::make_shared<bool>(true);
};

}  // namespace trainstep::cluster
