// From a plan to exactly one job: discovery, dry run, create – or adopt what an earlier attempt made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "cluster/facts.h"
#include "cluster/ownership.h"
#include "kinds/kind.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

struct Submitted {
  kinds::Resource resource;  // which of the kind's candidates is served here
  Json object;               // as the API server has it
  bool adopted = false;      // an earlier attempt of this step made it
};

class Submission {
 public:
  struct Sink {
    std::function<void(const std::string& line)> tell;  // the story: what is done, what stands in the way
    std::function<void(Result<Submitted>)> done;        // once, from the loop. Errors: input (refused, or the name is a stranger's), unavailable
  };
  enum class Depth { create, dry_run };  // dry_run: nothing is made, nothing deleted; `object` is what would be made, or what is there (adopted)
  // References must outlive it. `name_space`: where the job is to be.
  Submission(kube::Client& client, const plan::Plan& plan, const Facts& facts, std::string name_space, std::string attempt, Sink sink,
             Depth depth = Depth::create);
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;
  ~Submission();  // no callback comes any more; what is under way on the wire may still take effect
  // A create has gone out, or a job was found: there may be one.
  [[nodiscard]] bool may_exist() const { return m_may_exist; }
  [[nodiscard]] const kinds::Resource& resource() const { return m_resource; }

 private:
  void discover(std::size_t candidate);
  void check();
  void create();
  void look_at_existing();
  void decide_on(Json object);
  void replace(const std::string& uid);
  void await_gone(const std::string& uid);
  void fail(Error error);
  [[nodiscard]] kube::Retry patient() const;
  [[nodiscard]] kube::Path collection() const;
  [[nodiscard]] kube::Path object_path() const;
  [[nodiscard]] std::string shown_name() const;

  kube::Client& m_client;
  const plan::Plan& m_plan;
  const Facts& m_facts;
  const kinds::Kind& m_kind;
  std::string m_name_space;
  std::string m_attempt;
  Sink m_sink;
  kinds::Resource m_resource;
  Json m_manifest;
  kube::Client::CallId m_call = 0;
  Loop::TimerId m_timer = 0;
  Deadline m_gone_by;  // set when an earlier job's end begins to be awaited
  Depth m_depth;
  bool m_may_exist = false;
  bool m_told_going = false;
};

}  // namespace trainstep::cluster
