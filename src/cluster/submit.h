// From a plan to exactly one job: discovery, a look, dry run, create – or adopt what an earlier attempt made. The name is looked up before anything
// is sent that a quota or a webhook could refuse because of the very job that is there, and again after every answer that may hide that a job was
// made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "cluster/attempt_order.h"
#include "cluster/claim_owners.h"
#include "cluster/facts.h"
#include "cluster/lease.h"
#include "cluster/ownership.h"
#include "cluster/removal.h"
#include "job_types/job_type.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

struct Submitted {
  job_types::Resource resource;  // which of the kind's candidates is served here
  Json object;                   // as the API server has it
  bool adopted = false;          // an earlier attempt of this step made it
  std::optional<Error> kept{};   // … and has left it with a deadline (lease.h), which could not be taken away
  bool followed = false;         // … or a later one: it is that one's (Existing::later_attempt), nothing was done to it
};

class Submission {
 public:
  struct Sink {
    std::function<void(const std::string& line)> tell;  // the story: what is done, what stands in the way
    std::function<void(Result<Submitted>)> done;        // once, from the loop. Errors: input (refused, or the name is a stranger's), unavailable
  };
  enum class Depth { create, dry_run };  // dry_run: nothing is made, nothing deleted; `object` is what would be made, or what is there (adopted)
  // References must outlive it. `name_space`: where the job is to be. `order`: null where nothing is made.
  Submission(kube::Client& client, const plan::Plan& plan, const Facts& facts, std::string name_space, std::string attempt, Sink sink,
             AttemptOrder* order, Depth depth = Depth::create);
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;
  ~Submission();  // no callback comes any more; what is under way on the wire may still take effect
  // From now on no create is sent: the step is to end. What there is already is told as before.
  void hold() { m_held = true; }
  // A create is under way: its answer will say which object it has made.
  [[nodiscard]] bool creating() const { return m_creating; }
  // So long from now on a create whose answer was lost, or that is under way, may still take effect; zero: none may.
  [[nodiscard]] Duration unsettled() const;
  // One create at most has been sent: once the job that it has made was seen, none comes.
  [[nodiscard]] bool created_once() const { return m_creates <= 1; }
  // It has failed because our own pod is gone: the job is the next attempt's to make.
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
  void take_up(Json object);
  void mark(Json object);
  bool may_have_changed(const kube::ApiError& problem);
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
  std::unique_ptr<Lease> m_lease;
  std::unique_ptr<Removal> m_removal;
  std::unique_ptr<ClaimChange> m_claim_change;
  kube::Client::CallId m_call = 0;
  Loop::TimerId m_timer = 0;
  Deadline m_gone_by;              // set when an earlier job's end begins to be awaited
  Deadline m_create_ends;          // set by the first create
  Deadline m_settled;              // set by a create whose answer was lost: when it can take effect no more
  Deadline m_quota_ends;           // set when a quota refuses what takes the place of a job that was deleted
  Deadline m_unsure;               // passed when another attempt may have come in our place
  std::optional<Error> m_refusal;  // of the dry run or the create; the job may be there all the same
  AttemptOrder* m_order;
  std::shared_ptr<bool> m_alive = std::make_shared<bool>(true);
  Depth m_depth;
  int m_changes = 0;  // of a job that was to be taken up
  int m_taken = 0;    // answers that the name is
  int m_creates = 0;  // without a job to show for it
  int m_unauthorized = 0;
  int m_odd_answers = 0, m_odd_creates = 0;
  int m_not_served = 0;  // answers that the resource is not
  bool m_checked = false;
  bool m_replaced = false;
  bool m_creating = false;
  bool m_held = false;
  bool m_told_going = false;
  bool m_told_refusal = false;  // of its DELETE
  bool m_taking_up = false;     // it was tried before
};

}  // namespace trainstep::cluster
