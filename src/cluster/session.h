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

#include "cluster/backend.h"
#include "cluster/claim_nodes.h"
#include "cluster/facts.h"
#include "cluster/job_search.h"
#include "cluster/kubeflow_store.h"
#include "cluster/output_collection.h"
#include "cluster/ownership.h"
#include "cluster/remote.h"
#include "cluster/report_upload.h"
#include "cluster/step_cleanup.h"
#include "cluster/step_data.h"
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
  std::string configuration_secret;                // cluster_configuration_secret: another cluster for the job, a bucket for its data; empty: none
  bool as_train_model_job = false;                 // plan::Request::as_train_model_job
  std::map<std::string, std::string> environment;  // of this process: credentials of object stores
  // The plan, once it is known who we are and where the job is to be created. Errors: input.
  std::function<Result<plan::Plan>(const Facts& facts, const std::string& job_name_space)> make_plan;
};

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
  ~Session();

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
  void look_for_own_pod(kube::Retry retry);
  void look_in_haste();
  void know(Result<Facts> facts);
  void look_for_stores();
  void configure();
  [[nodiscard]] kube::Path configuration_secret() const;
  Result<void> connect(const Json& secret);
  void find_remote_keys();
  [[nodiscard]] bool lacks_store(const plan::Plan& plan) const;
  void find_kubeflow_store();
  void plan_and_run();
  void read_again();
  void prefer_earlier_store();
  void look_without(std::optional<Error> why);
  void looked_without(const JobSearch::Answer& found, Time began);
  void found_without(const Json& job);
  void follow_without(plan::Plan plan, Error why);
  void look_for_earlier(std::function<void(Result<std::optional<Existing>> existing)> done);
  void judge_earlier(const Json& job, const plan::Plan& plan, std::function<void(Existing)> done);
  [[nodiscard]] std::string outputs_wait(const Error& why) const;
  void bring_inputs();
  void upload();
  void read_credentials();
  void go_on_with_keys();
  void missed_pod();
  Result<void> route(plan::Plan& plan);
  [[nodiscard]] std::vector<OwnedObject> owned_objects() const;
  void training_ended(run::Outcome outcome);
  void hear_the_step(int looks);
  void collect_data();
  void collected(OutputCollection::Ended ended);
  void stop_collecting(int signal);
  void published(Result<void> result);
  void take_curves();
  void deliver();
  [[nodiscard]] std::string attempt() const;
  void run();
  void begin_to_follow();
  void seen_cancel(const std::string& what);
  [[nodiscard]] std::string what_may_be_left() const;
  void limit_early_stop();
  void hurry();
  void know_the_run_only();
  [[nodiscard]] std::string known_run() const;
  void stop_early(int signal, std::optional<WorkflowMonitor::Eviction> eviction, const std::string& what);
  void wind_down();
  [[nodiscard]] Time killed_at() const;
  void stop_runner(int signal, std::optional<WorkflowMonitor::Eviction> eviction);
  bool hurried(int signal);
  [[nodiscard]] bool is_retried() const;
  [[nodiscard]] std::unique_ptr<StepData> data_of_job();
  void make_data();
  void look_at_claims(plan::Plan plan);
  void follow_plan(plan::Plan plan);
  void finish_early(result::Verdict verdict);
  void say(const std::string& text);

  Loop& m_loop;
  http::Transport& m_transport;
  kube::Client m_home;                     // of the cluster of the step
  std::unique_ptr<kube::Client> m_remote;  // of that of the job, if it is another one
  SessionOptions m_options;
  std::vector<run::Listener*> m_listeners;
  std::function<void(Done)> m_done;
  Time m_began;
  Facts m_facts;
  Facts m_job_facts;  // for the job: another cluster knows nothing of our Workflow
  std::string m_job_name_space;
  Json m_configuration;  // the Secret of cluster_configuration_secret; null: none
  std::optional<JobStore> m_job_store;
  std::unique_ptr<KubeflowStore> m_kubeflow_store;  // once it has been looked for
  std::string m_access_mode;                        // of claims
  std::unique_ptr<ClaimLook> m_claim_look;          // null: no claim has to be checked
  std::unique_ptr<const plan::Plan> m_plan;
  std::unique_ptr<JobSearch> m_store_search;
  std::unique_ptr<JobSearch> m_search;  // of the job of an earlier attempt, if there is none of our own
  std::unique_ptr<StepData> m_data;     // null: the step does not handle the job's data
  std::map<std::string, std::string> m_contents;
  run::Outcome m_outcome;  // once the training has ended, unless its outputs are being collected
  std::unique_ptr<AttemptOrder> m_order;
  std::unique_ptr<ClusterBackend> m_backend;
  std::unique_ptr<run::Runner> m_runner;
  std::unique_ptr<OutputCollection> m_collection;  // once the training has succeeded, if the step handles its data
  std::unique_ptr<StepCleanup> m_cleanup;          // once the verdict is known
  std::unique_ptr<WorkflowMonitor> m_workflow_monitor;
  Pressure m_pressure = Pressure::none;
  std::unique_ptr<ReportUpload> m_report_upload;
  std::function<void(Result<void>)> m_published;  // while the report is being uploaded
  // A stop before there was a runner, which then only ends what exists.
  struct EarlyStop {
    int signal = 0;
    std::optional<WorkflowMonitor::Eviction> eviction;
    std::string what;
    bool why_unknown = false;  // it came before our pod was known, which still has to be read
  };
  std::optional<EarlyStop> m_early;
  Timer m_early_ends;
  PendingSet<Loop> m_timers;  // all others
  // What is read before there is a job may take this long until one of an earlier attempt is looked for without it.
  static constexpr Duration slow{10'000};
  Timer m_slow;
  kube::PendingCall m_call;  // reads a Secret
  int m_stops = 0;
  std::optional<Time> m_signalled;  // the first of them
  bool m_known = false;             // the facts are
  std::string m_reading;            // what is needed before a job is created, and is being read
  std::optional<Error> m_failed;    // the reading: a job of an earlier attempt is being looked for
  std::optional<Error> m_lacking;   // it could not be read
  std::optional<Error> m_without;   // why no job can be created, while one of an earlier attempt is followed
  bool m_configured = false;        // which cluster the job is in is known
  bool m_elsewhere = false;         // the configuration names another one
  bool m_unwanted = false;          // job_options.reattach forbids to follow the job of an earlier attempt
  bool m_preparing = false;         // inputs are being uploaded, or credentials read, before there is a job
  bool m_brought = false;           // inputs, before a stop came
  bool m_over = false;
  std::shared_ptr<bool> m_alive = std::make_shared<bool>(true);
};

}  // namespace trainstep::cluster
