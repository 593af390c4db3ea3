// A job in a Kubernetes cluster: creates or adopts it, watches it, follows its logs, removes it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "cluster/claim_owners.h"
#include "cluster/facts.h"
#include "cluster/freshness.h"
#include "cluster/job_search.h"
#include "cluster/lease.h"
#include "cluster/owned_objects.h"
#include "cluster/pod_index.h"
#include "cluster/removal.h"
#include "cluster/submit.h"
#include "kube/log_stream.h"
#include "kube/watch.h"
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
  void bring(std::vector<OwnedObject> objects) { m_wanted = std::move(objects); }
  // Before prepare(): no job is created (Submission::only_follow).
  void only_follow(Error why) { m_no_create = std::move(why); }
  // Before prepare(): replaces the times of `facts` if the job is in another cluster than its step. Must outlive this object.
  void ordered_by(AttemptOrder& order) { m_order = &order; }
  // Before prepare(): no job is created or followed; one that an earlier attempt has created is only looked for if it is to be removed or kept.
  void only_end() { m_only_end = true; }
  // The step was told to stop, and why is still being determined: from now on no job is created.
  void make_none() {
    m_make_none = true;
    if (m_submission) m_submission->hold();
  }
  // When the end of our pod began, by the cluster's clock.
  void ends_since(Time time) { m_ends_since = time; }
  // When our pod will get SIGKILL, by our own clock: the remaining requests of the end are completed or given up before.
  void dies_at(Time time);
  // Pods of a cancelled job still write during their grace: the cleanup waits for their end.
  void await_pods() { m_awaits_pods = true; }
  // The job belongs to another step: it is never changed, and its pods need not be visible.
  void only_look_on() { m_looks_on = true; }
  [[nodiscard]] bool looks_on() const { return m_looks_on; }
  // Of the primary, if it has succeeded; null: none was seen.
  [[nodiscard]] const result::PodReport* report() const { return m_report ? &*m_report : nullptr; }
  // The process that created the job (attempt_annotation); the record of its training has the same.
  [[nodiscard]] const std::string& made_by() const { return m_made_by; }

  void prepare(Sink sink) override;
  void follow_log(const follow::FollowLog& order) override;
  void end_log(const follow::EndLog& order) override;
  void look_again() override;
  void watch_pod_events() override;
  void remove_job(const follow::RemoveJob& order) override;
  void hold_output(Pressure pressure) override;
  void keep_job(const follow::KeepJob& order) override;
  // Empty if no pod has reported it and the record of the training may (StepData::whole_report).
  Result<std::vector<run::OutputFound>> collect() override;
  static constexpr std::string_view untold =
      "no pod reports what the training returned and whether its outputs were delivered: the pods are gone, or the report exceeded the 12 KiB that "
      "the termination messages of a pod share";

  // After the outputs are safe: marks the job as reported, or deletes it and waits for its end (job_options.cleanup; docs/cluster.md, What happens).
  // Calls `done` once, from the loop, with what could not be done (empty: nothing); `tell`: what it waits for.
  void conclude(const result::Verdict& verdict, std::function<void(std::string text)> tell, std::function<void(std::string problem)> done);
  // Call it before conclude(): what the job has delivered is or will be deleted, so that whoever finds the job has to create it again.
  void data_goes() { m_data_goes = true; }
  // The end that the job's step has reported to its pipeline; unset: none.
  [[nodiscard]] std::optional<result::VerdictClass> told() const { return m_told; }
  [[nodiscard]] bool exists() const { return m_submitted.has_value(); }
  // It had ended before this attempt first saw it: what it delivered may have been deleted since.
  [[nodiscard]] bool was_over() const { return m_was_over; }
  [[nodiscard]] bool gone() const { return m_gone; }

 private:
  void submitted(Result<Submitted> submitted);
  void watch_all();
  void watch_events(const std::string& object);
  void look_at_job(const Json& object);
  void look_at_pod(const Json& object);
  bool look_at_pods(const std::vector<Json>& items, const std::string& version);
  bool take_list(const Json& list);
  [[nodiscard]] bool has_gone(const kube::Answer& answer);
  void list_pods_soon();
  void list_pods(kube::PendingCall& call, std::function<void(kube::Answer)> done);
  void look_for_report(const job_types::PodView& pod);
  void look_at_pods_again(int turn);
  [[nodiscard]] bool is_behind(const Json& list);
  void pods_refused(int turn, const kube::ApiError& problem);
  void ask_for_job();
  void ask_again();
  void expect_end();
  void pod_over();
  void look_again_later(kube::Answer& answer);
  void job_gone();
  void pod_gone(const std::string& uid);
  void look_at_event(const Json& object);
  void find_job();
  void try_to_find(int tries);
  void found(std::optional<JobSearch::Found> job);
  [[nodiscard]] bool is_another_steps(const Json& job) const;
  [[nodiscard]] bool create_is_out() const;
  [[nodiscard]] bool create_may_come() const;
  void go_on_with_found();
  [[nodiscard]] Duration time_left() const;
  [[nodiscard]] Duration time_for_cleanup() const;
  [[nodiscard]] std::optional<Duration> clusters_clock() const;
  [[nodiscard]] Lease::Job lease_of_job() const;
  [[nodiscard]] bool is_taken_over(const Json& object) const;
  [[nodiscard]] bool is_anothers(const Json& job) const;
  [[nodiscard]] bool is_over(const Json& job) const;
  void know_follower(const Json& object);
  void left_to_follower(std::string_view why);
  [[nodiscard]] bool has_succeeded_for_somebody(const Json& job) const;
  [[nodiscard]] job_types::Judgement judgement_of(const Json& job) const;
  void spared(const Json& job);
  void lease_job();
  void try_to_lease(int tries);
  void lease_failed(int tries, const kube::ApiError& problem);
  void look_before_lease(int tries);
  void look_whether_it_waits();
  void waits_in_queue();
  void know_job(const Json& object);
  void look_at_keeping(const Json& object);
  void kept();
  void cannot_keep(std::string why);
  void stop_keeping();
  void out_of_time();
  void follow_with_deadline(const Error& why);
  void lift_in(Duration pause);
  void lift();
  bool may_help(const kube::ApiError& problem, int tries);
  void look_at_launcher(const Json& event);
  void tell_warning(const Json& event);
  void tell_pod_warning(const Json& event, std::optional<Time> last);
  [[nodiscard]] bool is_younger(const Json& event) const;
  [[nodiscard]] bool has_launcher_job() const { return m_resource.has_launcher_job; }
  [[nodiscard]] std::string launcher_name() const { return job_types::launcher_job(m_resource, m_plan.job_name); }
  void pods_hidden(const kube::ApiError& problem);
  [[nodiscard]] Duration removal_pause(int tries, const kube::ApiError& problem);
  void try_to_remove();
  void remove_seen();
  void removal_fails(const kube::ApiError& problem);
  void removal_ended(Removal::Outcome outcome);
  void removed();
  void job_has_gone();
  void remove_when_settled(std::function<void(std::string)> done);
  void remove_to_the_end(bool taken, std::function<void(std::string)> done);
  [[nodiscard]] bool leaves_claim() const;
  void hand_on_claim(std::function<void()> then);
  void release_claim(std::function<void(std::string)> done, const std::string& problem);
  void mark(const result::Verdict& verdict, std::function<void(std::string)> done);
  void tell(std::string text) { emit(follow::Told{std::move(text)}); }
  template <typename What>
  void emit(What what) {
    m_sink({m_client.loop().now(), std::move(what)});
  }
  [[nodiscard]] kube::Path job_path() const;
  [[nodiscard]] kube::Path claim_path() const { return {"v1", "persistentvolumeclaims", m_name_space, m_plan.pvc_name, ""}; }

  // How often removing the deadline of a followed job is tried: at most 60 times in the hour that it has.
  static constexpr Duration next_lift{60'000};
  static constexpr std::string_view may_appear = "a create request was not answered: a job of this run may still appear";
  static constexpr std::string_view is_followed = "another attempt of this step follows the job; leaving it unchanged";

  kube::Client& m_client;
  const plan::Plan& m_plan;
  const Facts& m_facts;
  std::string m_name_space, m_attempt;
  AttemptOrder m_own_order;
  AttemptOrder* m_order = &m_own_order;
  Sink m_sink;
  std::optional<Submitted> m_existing;
  bool m_looks_on = false;
  std::optional<Error> m_no_create;
  std::unique_ptr<Submission> m_submission;
  std::vector<OwnedObject> m_wanted;
  std::unique_ptr<OwnedObjects> m_owned_objects;
  std::unique_ptr<ClaimChange> m_claim_change;
  std::optional<Submitted> m_submitted;
  job_types::Resource m_resource;  // of the submitted job
  std::string m_uid;
  std::string m_created;  // as written by the API server
  std::string m_made_by;
  std::map<std::string, bool> m_launchers;            // uids of Jobs with the launcher's name: whether they belong to this MPIJob
  std::map<std::string, std::vector<Json>> m_unsure;  // events of Jobs for which that is being determined
  std::unique_ptr<PodIndex> m_pods_by_label;
  std::map<std::string, follow::MemberIndex> m_pods;  // uid → member, of existing pods
  std::vector<std::unique_ptr<kube::Watch>> m_watches;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<kube::LogKin>> m_log_kin;  // by pod name and container
  std::map<std::pair<follow::MemberIndex, std::string>, std::unique_ptr<kube::LogStream>> m_logs;
  bool m_logs_held = false;
  kube::PendingCall m_call;
  std::vector<kube::PendingCall> m_asked;  // about launchers
  Timer m_timer, m_adoption;
  std::optional<result::PodReport> m_report;                   // of the primary, if it has succeeded
  Deadline m_removal_ends;                                     // while the server responds
  bool m_removal_at_once = false, m_unless_succeeded = false;  // RemoveJob
  bool m_awaits_pods = false;                                  // of a cancelled job
  bool m_refusal_told = false;
  bool m_data_goes = false;
  std::unique_ptr<Removal> m_removal;
  std::function<void(std::string)> m_cleanup_tell;
  bool m_cleanup_told = false;
  std::unique_ptr<JobSearch> m_search;
  std::unique_ptr<Lease> m_lease;
  std::string m_lease_problem;       // of the last attempt to set a deadline
  Timer m_keep_timer, m_lift_timer;  // the end of the keeping, or of everything; the next attempt to remove the deadline
  bool m_created_once = false;       // at most one create was sent …
  bool m_create_seen = false;        // … and this is what it has created
  bool m_deleted = false;            // the server has accepted a DELETE of the verdict
  bool m_looked_at_last = false;     // after that, for the job of such a create
  Deadline m_settled;                // by then a create whose response is lost has taken effect or never will
  std::optional<Time> m_started, m_ends_since, m_dies_at;
  std::string m_version;  // resourceVersion of the job as it was last seen
  int m_look = 0;         // identifies the last look_again()
  // A GET of the job by its name, in addition to its watch: whether it is gone, whether it has ended.
  kube::PendingCall m_question;
  Timer m_question_timer;
  Timer m_end_timer, m_look_timer;
  Freshness m_known;
  struct Absence {
    int lists = 0;       // consecutive ones without it
    int new_enough = 0;  // of them, those that were recent enough
  };
  std::map<std::string, Absence> m_missing;  // pods, by uid
  int m_absences = 0;                        // consecutive responses that there is no such job
  kube::PendingCall m_pods_call;
  Timer m_pods_timer;
  int m_questions = 0;      // that brought no response
  int m_vain_looks = 0;     // consecutive
  int m_vain_lists = 0;     // the same for its pods
  int m_old_lists = 0;      // of them, older than the job
  int m_end_looks = 0;      // since something of it has ended
  bool m_pod_over = false;  // one of them
  bool m_over = false;      // its status is final
  bool m_was_over = false;  // … when it was found
  bool m_gone = false;
  bool m_removal_wanted = false;  // also before it is known whether a job exists
  bool m_keep_wanted = false;
  bool m_kept = false;  // it was left to another attempt before it was found
  bool m_only_end = false, m_make_none = false;
  std::string m_follower_before;  // of the job as it was found
  bool m_taken_over = false;      // another attempt follows it …
  bool m_later = false;           // … which has started after this one
  std::optional<result::VerdictClass> m_told;
  bool m_leased = false;  // it has a deadline of an earlier attempt, as last seen
  bool m_lifting = false;
  bool m_begun = false;           // it has run at some time: suspending a job may remove its start time
  bool m_waits = false;           // it is suspended and has not started
  std::optional<Duration> m_own;  // own_deadline() of the job as last seen
  Deadline m_lift_rests;          // until then none is removed
  kube::PendingCall m_keep_call;  // a pause between two attempts to keep it
};

}  // namespace trainstep::cluster
