// From a plan to exactly one job: discovery, a look, a dry run, create – or adopt what an earlier attempt created. The name is looked up before
// anything is sent that a quota or a webhook could refuse because of the very job that exists, and again after every response that may hide that a
// job was created.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/lifetime.h"
#include "cluster/attempt_order.h"
#include "cluster/claim_owners.h"
#include "cluster/facts.h"
#include "cluster/keep_deadline.h"
#include "cluster/ownership.h"
#include "cluster/removal.h"
#include "job_types/job_type.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

struct Submitted {
  job_types::Resource resource;  // which of the candidates of the job type is served here
  Json object;                   // as returned by the API server
  bool adopted = false;          // an earlier attempt of this step created it
  std::optional<Error> kept{};   // … and has left it with a deadline (keep_deadline.h), which could not be removed
  bool followed = false;         // … or a later one: it belongs to that one (Existing::later_attempt), nothing was changed
};

class Submission {
 public:
  struct Sink {
    std::function<void(const std::string& line)> log;  // for the log: what is done, what stands in the way
    // called once, from the loop. Errors: input (refused, or the name belongs to another run), unavailable
    std::function<void(Result<Submitted>)> done;
  };
  enum class Depth { create, dry_run };  // dry_run: nothing is created or deleted; `object` is what would be created, or what exists (adopted)
  // References must outlive it. `name_space`: of the job. `order`: null if nothing is created.
  Submission(kube::Client& client, const plan::Plan& plan, const Facts& facts, std::string name_space, std::string attempt, Sink sink,
             AttemptOrder* order, Depth depth = Depth::create);
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;
  ~Submission();  // no more callbacks; requests that have been sent may still take effect
  // From now on no create is sent, because the step is to end. An existing job is reported as before.
  void hold() { m_held = true; }
  // From now on no job is created, because of `why`: that is the result if none exists, or if one would have to be created again. One that
  // job_options.reattach: never forbids to follow is deleted nevertheless.
  void only_follow(Error why) { m_no_create = std::move(why); }
  // A create is pending: its response will say which object it has created.
  [[nodiscard]] bool creating() const { return m_creating; }
  // How long from now on a create that is pending, or whose response was lost, may still take effect; zero: none may.
  [[nodiscard]] Duration unsettled() const;
  // At most one create has been sent: once the job that it created was seen, no other follows.
  [[nodiscard]] bool created_once() const { return m_creates <= 1; }
  // It has failed because our own pod is gone: the job is for the next attempt to create.
  [[nodiscard]] bool is_replaced() const { return m_replaced; }
  // Known once discovery has found it.
  [[nodiscard]] const std::optional<job_types::Resource>& served() const { return m_served; }
  [[nodiscard]] const job_types::Resource& resource() const { return m_resource; }

 private:
  void discover(std::size_t candidate);
  bool again(std::function<void()> question, std::optional<Duration> floor);
  void not_served();
  void look();
  void absent();
  void check();
  void taken();
  void create();
  void make();
  void create_failed(kube::ApiError problem);
  bool waits_for_quota(const kube::ApiError& problem);
  void refused(Error error);
  void found(Json object);
  void decide_on(Json object);
  [[nodiscard]] std::optional<Time> began() const { return m_order == nullptr ? std::nullopt : m_order->began(); }
  void adopt_existing(Json object);
  void mark(Json object);
  bool may_have_changed(const kube::ApiError& problem);
  void recreate(const std::string& uid, std::string_view why);
  void replace(const std::string& uid);
  void remove(const std::string& uid);
  void keep_claim(const std::string& uid, std::function<void()> then);
  void end_pods_of(const std::string& uid);
  void await_gone();
  void fail(Error error);
  [[nodiscard]] kube::Retry patient() const;
  [[nodiscard]] kube::Path collection() const;
  [[nodiscard]] kube::Path object_path() const;
  [[nodiscard]] std::string shown_name() const;

  kube::Client& m_client;
  const plan::Plan& m_plan;
  const Facts& m_facts;
  const job_types::JobType& m_job_type;
  std::string m_name_space;
  std::string m_attempt;
  Sink m_sink;
  job_types::Resource m_resource;
  std::optional<job_types::Resource> m_served;
  Json m_manifest;
  std::unique_ptr<KeepDeadline> m_keep_deadline;
  std::unique_ptr<Removal> m_removal;
  std::unique_ptr<ClaimChange> m_claim_change;
  kube::PendingCall m_call;
  Timer m_timer;
  Deadline m_gone_by;      // set when the end of an earlier job is waited for
  Deadline m_create_ends;  // set by the first create
  Deadline m_settled;      // set by a create whose response was lost: when it can no longer take effect
  Deadline m_quota_ends;   // set when a quota refuses what replaces a deleted job
  Deadline m_unsure;       // passed when another attempt may have replaced us
  std::optional<Error> m_no_create;
  std::optional<Error> m_refusal;  // of the dry run or the create; the job may exist nevertheless
  AttemptOrder* m_order;
  Lifetime m_lifetime;
  Depth m_depth;
  int m_changes = 0;  // of a job that was to be adopted
  int m_taken = 0;    // responses that the name is taken
  int m_creates = 0;  // without a job of that name
  int m_unauthorized = 0;
  int m_odd_answers = 0, m_odd_creates = 0;
  int m_not_served = 0;  // responses that the resource is not served
  bool m_checked = false;
  bool m_replaced = false;
  bool m_creating = false;
  bool m_held = false;
  bool m_told_going = false;
  bool m_told_refusal = false;  // of its DELETE
  bool m_taking_up = false;     // it was tried before
};

}  // namespace trainstep::cluster
