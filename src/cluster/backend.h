// A job in a Kubernetes cluster: creates or adopts it, watches it, follows its logs, removes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "cluster/facts.h"
#include "cluster/job_claim.h"
#include "cluster/job_cleanup.h"
#include "cluster/job_events.h"
#include "cluster/job_keeping.h"
#include "cluster/job_logs.h"
#include "cluster/job_search.h"
#include "cluster/job_watch.h"
#include "cluster/keep_deadline_removal.h"
#include "cluster/keys_copy.h"
#include "cluster/owned_objects.h"
#include "cluster/removal.h"
#include "cluster/seen_job.h"
#include "cluster/step_lease.h"
#include "cluster/submit.h"
#include "cluster/time_left.h"
#include "result/pod_report.h"
#include "run/backend.h"
#include "run/outcome.h"

namespace trainstep::cluster {

class ClusterBackend : public run::Backend {
 public:
  // References must outlive it. `name_space`: of the job; `attempt`: random, identifies this process. With `existing` (attach) that job is followed,
  // none is created.
  ClusterBackend(kube::Client& client, const plan::Plan& plan, const Facts& facts, std::string name_space, std::string attempt,
                 std::optional<Submitted> existing = std::nullopt);
  ~ClusterBackend() override;

  // Before prepare(): objects that are to be created with the job and owned by it.
  void create_with_job(std::vector<OwnedObject> objects) { m_wanted = std::move(objects); }
  // Before prepare(): the keys that the job has in another cluster are renewed while it is followed.
  void renew_keys(KeysRenewal::Source source) { m_keys_source.emplace(std::move(source)); }
  // Before prepare(): no job is created (Submission::only_follow).
  void only_follow(Error why) { m_no_create = std::move(why); }
  // Before prepare(): replaces the times of `facts` if the job is in another cluster than its step. Must outlive this object.
  void ordered_by(AttemptOrder& order) { m_seen.ordered_by(order); }
  // Before prepare(): no job is created or followed; one that an earlier attempt has created is only looked for if it is to be removed or kept.
  void only_end() { m_only_end = true; }
  // A stop was requested, and its reason is still being determined: from now on no job is created.
  void forbid_create() {
    m_create_forbidden = true;
    if (m_submission) m_submission->hold();
  }
  // When the end of our pod began, by the cluster's clock.
  void set_end_began(Time time) { m_ends_since = time; }
  // When our pod will get SIGKILL, by our own clock: the remaining requests of the end are completed or given up before.
  void set_kill_time(Time time);
  // Pods of a cancelled job still write during their grace: the cleanup waits for their end.
  void await_pods() { m_awaits_pods = true; }
  // The job belongs to another step: it is never changed, and its pods need not be visible.
  void observe_only() { m_is_observer = true; }
  [[nodiscard]] bool is_observer() const { return m_is_observer; }
  // Of the primary, if it has succeeded; null: none was seen.
  [[nodiscard]] const result::PodReport* report() const { return m_report ? &*m_report : nullptr; }
  // The process that created the job (attempt_annotation); the record of its training has the same.
  [[nodiscard]] const std::string& creating_attempt() const { return m_creating_attempt; }

  void prepare(Sink sink) override;
  void follow_log(const follow::FollowLog& order) override { m_logs.follow(order); }
  void end_log(const follow::EndLog& order) override { m_logs.end(order); }
  void refresh() override;
  void watch_pod_events() override;
  void remove_job(const follow::RemoveJob& order) override;
  void hold_output(Pressure pressure) override { m_logs.hold(pressure != Pressure::none); }
  void keep_job(const follow::KeepJob& order) override;
  // Empty if no pod has reported it and the record of the training may (StepData::whole_report).
  Result<std::vector<run::OutputFound>> collect() override;
  static constexpr std::string_view no_report_reason =
      "no pod reports what the training returned and whether its outputs were delivered: the pods are gone, or the report exceeded the 12 KiB that "
      "the termination messages of a pod share";

  // After the outputs are safe: cluster/job_cleanup.h. Calls `done` once, from the loop, with what could not be done (empty: nothing); `tell`: what
  // it waits for.
  void conclude(const result::Verdict& verdict, std::function<void(std::string text)> log, std::function<void(std::string problem)> done);
  // Call it before conclude(): what the job has delivered is or will be deleted, so that an attempt that finds the job must recreate it.
  void data_will_be_deleted() { m_data_will_be_deleted = true; }
  // The end that the job's step has reported to its pipeline; unset: none.
  [[nodiscard]] std::optional<result::VerdictClass> reported_class() const { return m_seen.reported_class(); }
  [[nodiscard]] bool exists() const { return m_submitted.has_value(); }
  // It had ended before this attempt first saw it: its delivered outputs may have been deleted since.
  [[nodiscard]] bool was_over() const { return m_was_over; }
  [[nodiscard]] bool gone() const { return m_gone; }

 private:
  void submitted(Result<Submitted> submitted);
  void watch_job(const Submitted& submitted);
  void hold_lease();
  void renew_keys();
  void end_renewals();
  void stop_watching();
  void handle_job(const Json& object, job_types::Judgement judged);
  void handle_pod(follow::MemberIndex member, job_types::PodView pod);
  void read_report(const job_types::PodView& pod);
  void emit_pod_warning(const std::string& uid, const Json& event, std::optional<Time> last);
  void job_gone();
  void mark_gone();
  void find_job();
  void try_to_find(int tries);
  void found(std::optional<JobSearch::Found> job);
  [[nodiscard]] bool belongs_to_other_step(const Json& job) const;
  [[nodiscard]] bool create_sent() const;
  [[nodiscard]] bool create_may_take_effect() const;
  void go_on_with_found(const Json& job);
  [[nodiscard]] std::optional<Duration> clusters_clock() const;
  [[nodiscard]] KeepDeadline::Job keep_deadline_of_job() const;
  [[nodiscard]] bool belongs_to_other_attempt(const Json& job) const;
  void left_to_follower(std::string_view why);
  [[nodiscard]] bool is_success_needed(const Json& job) const;
  [[nodiscard]] job_types::Judgement judgement_of(const Json& job) const;
  // Not deleted, because it has succeeded. JobGone, if nothing is left to do for this step, although the job exists.
  void spared(const Json& job);
  [[nodiscard]] bool is_followed_by_us() const;
  void keep_found();
  void waits_in_queue();
  void kept();
  void cannot_keep(std::string why);
  void stop_keeping();
  void out_of_time();
  void follow_with_deadline(const Error& why);
  bool retry_may_help(const kube::ApiError& problem, int tries);
  void try_to_remove();
  void remove_seen();
  void removal_fails(const kube::ApiError& problem);
  void removal_ended(const Removal::Outcome& outcome);
  void removed();
  void report_gone();
  void log(std::string text) { emit(follow::BackendMessage{std::move(text)}); }
  template <typename What>
  void emit(What what) {
    m_sink({m_client.loop().now(), std::move(what)});
  }
  [[nodiscard]] kube::Path job_path() const;

  static constexpr std::string_view may_appear = "a create request got no response; a job of this run may still appear";

  kube::Client& m_client;
  const plan::Plan& m_plan;
  const Facts& m_facts;
  std::string m_name_space, m_attempt;
  AttemptOrder m_own_order;
  SeenJob m_seen;
  Sink m_sink;
  std::optional<Submitted> m_existing;
  bool m_is_observer = false;
  std::optional<Error> m_no_create;
  std::unique_ptr<Submission> m_submission;
  std::vector<OwnedObject> m_wanted;
  std::unique_ptr<OwnedObjects> m_owned_objects;
  std::optional<Submitted> m_submitted;
  job_types::Resource m_resource;  // of the submitted job
  std::string m_uid;
  std::string m_created;  // as written by the API server
  std::string m_creating_attempt;
  std::unique_ptr<JobWatch> m_watch;
  std::unique_ptr<JobEvents> m_events;
  std::unique_ptr<StepLease> m_step_lease;      // while the job is followed
  std::unique_ptr<KeysRenewal> m_keys_renewal;  // the same
  std::optional<KeysRenewal::Source> m_keys_source;
  JobLogs m_logs;
  JobClaim m_claim;
  std::unique_ptr<JobCleanup> m_cleanup;  // after the verdict
  Timer m_timer, m_adoption;
  std::optional<result::PodReport> m_report;                   // of the primary, if it has succeeded
  Deadline m_removal_ends;                                     // while the server responds
  bool m_removal_at_once = false, m_unless_succeeded = false;  // RemoveJob
  bool m_awaits_pods = false;                                  // of a cancelled job
  bool m_refusal_reported = false;
  bool m_data_will_be_deleted = false;
  std::unique_ptr<Removal> m_removal;
  std::unique_ptr<JobSearch> m_search;
  TimeLeft m_time;
  std::unique_ptr<JobKeeping> m_keeping;
  KeepDeadlineRemoval m_keep_deadline_removal;
  Timer m_keep_timer;              // the end of the keeping, or of everything
  bool m_created_once = false;     // at most one create was sent …
  bool m_create_seen = false;      // … and this is what it has created
  bool m_deleted = false;          // the server has accepted a DELETE of the verdict
  bool m_final_read_done = false;  // after that, for the job of such a create
  Deadline m_settled;              // by then a create whose response is lost has taken effect or never will
  std::optional<Time> m_ends_since;
  bool m_was_over = false;  // its status was final when it was found
  bool m_gone = false;
  bool m_removal_wanted = false;  // also before it is known whether a job exists
  bool m_keep_wanted = false;
  bool m_kept = false;  // it was left to another attempt before it was found
  bool m_only_end = false, m_create_forbidden = false;
};

}  // namespace trainstep::cluster
