// One step in a cluster, from its inputs to its verdict and its cleanup: facts, plan, job, end. With any loop and any transport.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/lifetime.h"
#include "cluster/attempt_order.h"
#include "cluster/backend.h"
#include "cluster/cluster_choice.h"
#include "cluster/data_preparation.h"
#include "cluster/earlier_job.h"
#include "cluster/earlier_job_adoption.h"
#include "cluster/early_stop.h"
#include "cluster/facts.h"
#include "cluster/job_place.h"
#include "cluster/lease_permission.h"
#include "cluster/observer_outcome.h"
#include "cluster/output_collection.h"
#include "cluster/own_facts.h"
#include "cluster/plan_preparation.h"
#include "cluster/report_upload.h"
#include "cluster/step_cleanup.h"
#include "cluster/step_data.h"
#include "cluster/step_preflight.h"
#include "cluster/stop_signals.h"
#include "cluster/workflow_monitor.h"
#include "kube/client.h"
#include "run/runner.h"

namespace trainstep::cluster {

struct SessionOptions {
  std::string name_space;                          // of the step, and of its job
  OwnPod pod;                                      // our own; without a name: not in a pod
  std::string run_id;                              // if it is an input: known wherever the step runs
  std::string where;                               // "in-cluster", "context x": for the log
  std::uint64_t seed = 0;                          // random: identifies this process, and spreads its retries
  std::optional<Submitted> existing;               // attach: follow this job, create none
  std::optional<Facts> facts;                      // attach: used instead of our own pod
  bool wants_stores = false;                       // an input or output has an address in an object store
  std::vector<std::string> configuration_secrets;  // cluster_configuration_secret: other clusters for the job, and a bucket for its data
  bool as_train_model_job = false;                 // plan::Request::as_train_model_job
  std::map<std::string, std::string> environment;  // of this process: credentials of object stores
  // The plan, once it is known who we are and where the job is to be created. Errors: input.
  std::function<Result<plan::Plan>(const Facts& facts, const std::string& job_name_space)> make_plan;
};

// Wires the parts of a step: its own facts, the plan, the data before there is a job, the job, its outputs, the cleanup – and a stop, which may come
// at any time.
class Session {
 public:
  struct Done {
    run::Outcome outcome;
    const plan::Plan* plan = nullptr;             // null: the step ended before it had one
    std::map<std::string, std::string> contents;  // by address: outputs that the program delivered there, as far as they were read
  };
  // References must outlive it.
  Session(Loop& loop, http::Transport& transport, std::shared_ptr<kube::Credentials> credentials, SessionOptions options,
          std::vector<run::Listener*> listeners);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Calls `done` once, from the loop. Then the caller writes its outputs and calls conclude().
  void begin(std::function<void(Done)> done);
  // SIGTERM or SIGINT was received. Allowed at any time: before a job of this run is known, it is looked for. A second one at a shell, or a second
  // SIGINT, ends the waiting.
  void request_stop(int signal);
  // The reader of the log is too slow, or has caught up.
  void hold_output(Pressure pressure);
  // After `done` of begin(): uploads the report of a failed step to its address. SIGTERM and SIGINT end it (cancelled).
  void publish(const std::string& uri, std::string page, std::function<void(Result<void>)> done);
  // Between the two, after a success: as run::Backend::commit().
  Result<std::vector<std::string>> commit();
  // The cleanup that follows from the verdict; calls `done` from the loop, with what could not be done (empty: nothing).
  void conclude(const result::Verdict& verdict, std::function<void(std::string problem)> done);

 private:
  [[nodiscard]] Result<plan::Plan> make_plan() const { return m_options.make_plan(m_facts, m_place->name_space()); }
  [[nodiscard]] std::unique_ptr<JobPlace> make_place(const std::string& secret, std::function<void(const std::string& line)> log);
  void facts_read(Result<Facts> facts);
  void leaves(const std::string& origin);
  void use_cluster();
  void refuse_cluster(const Error& why);
  void cluster_chosen();
  void prepare_plan();
  void read_again();
  void adopt(plan::Plan plan, std::optional<Error> why);
  void own_pod_not_seen();
  void follow_plan(plan::Plan plan);
  void run_preflight();
  void make_data() { m_data = data_of_job(); }
  [[nodiscard]] std::unique_ptr<StepData> data_of_job();
  void prepare_data();
  void prepared(std::optional<Error> why);
  void replaced();
  void begin_to_follow();
  void create_with_job();
  void run();
  void training_ended(run::Outcome outcome);
  void observe_outcome(run::Outcome outcome);
  void collect_data(run::Outcome outcome);
  void collected(OutputCollection::Ended ended);
  void deliver(run::Outcome outcome);
  void published(Result<void> result);
  [[nodiscard]] bool is_retried() const;
  [[nodiscard]] bool in_pod() const { return !m_options.pod.name.empty(); }
  [[nodiscard]] std::string attempt() const;
  [[nodiscard]] Time killed_at() const { return m_signals.killed_at(m_facts); }
  [[nodiscard]] std::string what_may_be_left() const;
  [[nodiscard]] std::string known_run() const;
  void seen_cancel(const std::string& what);
  void stop_collecting(int signal);
  void stop_runner(int signal, std::optional<WorkflowMonitor::Eviction> eviction);
  void stop_early(int signal, std::optional<WorkflowMonitor::Eviction> eviction, const std::string& what);
  void limit_early_stop();
  void limit_search(const std::string& why);
  void hurry();
  void stop_and_conclude();
  void out_of_time();
  void finish_early(result::Verdict verdict);
  void log(const std::string& line);

  Loop& m_loop;
  http::Transport& m_transport;
  kube::Client m_home;  // of the cluster of the step
  SessionOptions m_options;
  std::vector<run::Listener*> m_listeners;
  std::function<void(Done)> m_done;
  Time m_began;
  Facts m_facts;
  bool m_facts_known = false;  // the facts are
  OwnFacts m_own_facts;
  ClusterChoice m_choice;
  std::unique_ptr<JobPlace> m_place;  // in the cluster that is tried or used
  StopSignals m_signals;
  EarlyStop m_early_stop;
  // Once the facts are known:
  std::unique_ptr<AttemptOrder> m_order;
  std::unique_ptr<WorkflowMonitor> m_workflow_monitor;  // until the training has ended
  std::unique_ptr<EarlierJob> m_earlier_job;
  std::unique_ptr<PlanPreparation> m_plan_preparation;
  std::unique_ptr<EarlierJobAdoption> m_adoption;
  std::unique_ptr<plan::Plan> m_plan;
  std::unique_ptr<StepPreflight> m_preflight;  // of a job in another cluster
  std::unique_ptr<StepData> m_data;            // null: the step does not handle the job's data
  std::unique_ptr<DataPreparation> m_data_preparation;
  std::unique_ptr<LeasePermission> m_lease_permission;  // asked before a job without an owner is created
  bool m_inputs_uploaded = false;                       // inputs, before a stop came
  std::optional<Error> m_why_no_create;                 // why no job can be created, while one of an earlier attempt is followed
  std::unique_ptr<ClusterBackend> m_backend;
  std::unique_ptr<run::Runner> m_runner;
  std::unique_ptr<ObserverOutcome> m_observer_outcome;  // once the job has ended, of another step
  std::unique_ptr<OutputCollection> m_collection;       // once the training has succeeded, if the step handles its data
  std::map<std::string, std::string> m_contents;
  std::unique_ptr<StepCleanup> m_cleanup;  // once the verdict is known
  Pressure m_pressure = Pressure::none;
  std::unique_ptr<ReportUpload> m_report_upload;
  std::function<void(Result<void>)> m_published;  // while the report is being uploaded
  PendingSet<Loop> m_timers;
  bool m_over = false;
  Lifetime m_lifetime;
};

}  // namespace trainstep::cluster
