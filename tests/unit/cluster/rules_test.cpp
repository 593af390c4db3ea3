// A plan as the state machine wants it.
#include "cluster/rules.h"

#include "support/catch.h"
#include "unit/job_types/example.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;
using job_types::test::example;

namespace {

struct Seen {
  std::string name, container;
  bool primary, awaited, serves;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> members(const plan::Plan& plan) {
  std::vector<Seen> seen;
  for (const auto& member : rules_of(plan).members) seen.push_back({member.name, member.container, member.primary, member.awaited, member.serves});
  return seen;
}

}  // namespace

TEST_CASE("the members are the kind's replicas, with the containers that their programs run in") {
  CHECK(members(example("Job", 1)) == std::vector<Seen>{{"main", "train", true, true, false}});
  CHECK(members(example("PyTorch", 2)) ==
        std::vector<Seen>{{"master-0", "pytorch", true, true, false}, {"worker-0", "pytorch", false, false, false}});
  CHECK(members(example("MPI", 1)) == std::vector<Seen>{{"launcher", "mpi", true, true, false}, {"worker-0", "mpi", false, false, false}});
  CHECK(members(example("TF", 1)) == std::vector<Seen>{{"chief-0", "tensorflow", true, true, false},
                                                       {"worker-0", "tensorflow", false, false, true},
                                                       {"ps-0", "tensorflow", false, false, true}});
}

TEST_CASE("a job's metrics are read as its options define them") {
  auto plan = example("Job", 1);
  plan.options.metrics = {{"loss", "loss is ([0-9.]+)"}};
  CHECK(rules_of(plan).metrics == plan.options.metrics);
}

TEST_CASE("all pods of an indexed Job are awaited, and the first is the primary") {
  auto plan = example("Job", 2);
  plan.distribution.indexed = true;
  CHECK(members(plan) == std::vector<Seen>{{"worker-0", "train", true, true, false}, {"worker-1", "train", false, true, false}});
}

TEST_CASE("a patch may put containers before ours, or rename it: the program's is found") {
  auto plan = example("Job", 1);
  plan.options.patch = Json::parse(R"([{"op": "add", "path": "/spec/template/spec/containers/0", "value": {"name": "agent", "image": "x"}}])");
  CHECK(members(plan).front().container == "train");
  plan.options.patch = Json::parse(R"([{"op": "replace", "path": "/spec/template/spec/containers/0/name", "value": "mine"}])");
  CHECK(members(plan).front().container == "mine");
}

TEST_CASE("for an existing job of any kind, the program's container is taken from its templates") {
  struct Row {
    const char *kind, *spec, *name;
  };
  for (const auto& row :
       {Row{"Job", R"({"template": {"spec": {"containers": [{"name": "aaa-proxy"}, {"name": "train"}]}}})", "train"},
        Row{"Job", R"({"template": {"spec": {"containers": [{"name": "mine"}, {"name": "other"}]}}})", "mine"},
        Row{"PyTorch", R"({"pytorchReplicaSpecs": {"Master": {"template": {"spec": {"containers": [{"name": "aaa"}, {"name": "pytorch"}]}}}}})",
            "pytorch"},
        Row{"TF", R"({"tfReplicaSpecs": {"Chief": {"template": {"spec": {"containers": [{"name": "aaa"}, {"name": "tensorflow"}]}}}}})",
            "tensorflow"},
        Row{"MPI", R"({"mpiReplicaSpecs": {"Launcher": {"template": {"spec": {"containers": [{"name": "aaa"}, {"name": "mpi"}]}}}}})", "mpi"}}) {
    CAPTURE(row.kind);
    plan::Plan plan;  // as plan_of() reads it from a job: without a program
    plan.job_type = row.kind;
    CHECK(rules_of(plan, {{"spec", Json::parse(row.spec)}}).members.front().container == row.name);
  }
  plan::Plan plan;
  plan.job_type = "Job";
  for (const auto* odd : {"null", "{}", R"({"spec": 3})", R"({"spec": {"template": {"spec": {"containers": "x"}}}})"})
    CHECK(rules_of(plan, Json::parse(odd)).members.front().container.empty());
}

TEST_CASE("logs: the primary's unless others are wanted") {
  auto plan = example("Job", 1);
  CHECK(rules_of(plan).logs == std::vector<std::string>{"primary"});
  plan.options.logs = {"all"};
  CHECK(rules_of(plan).logs == std::vector<std::string>{"all"});
}

TEST_CASE("the shorter of deadline and running limit applies") {
  auto plan = example("PyTorch", 1);
  CHECK_FALSE(rules_of(plan).limits.running);
  plan.options.run_policy.active_deadline = 1h;
  CHECK(rules_of(plan).limits.running == 1h);
  plan.options.limits.running = 2h;
  CHECK(rules_of(plan).limits.running == 1h);
  plan.options.limits.running = 5min;
  CHECK(rules_of(plan).limits.running == 5min);
}

TEST_CASE("restarts are counted here if a v1 operator may be the controller and restarts are allowed") {
  struct Row {
    std::string kind, policy;
    bool ours;
  };
  for (const auto& row : {Row{"PyTorch", "Never", false}, Row{"PyTorch", "OnFailure", true}, Row{"TF", "ExitCode", true},
                          Row{"MPI", "OnFailure", true}, Row{"Job", "OnFailure", false}}) {
    CAPTURE(row.kind, row.policy);
    auto plan = example(row.kind, row.kind == "Job" ? 1 : 2);
    plan.options.run_policy.restart_policy = row.policy;
    CHECK(job_rules_of(plan).restarts_are_ours == row.ours);
  }
}

TEST_CASE("a job runs when all replicas have a place, an elastic one with its least") {
  auto plan = example("PyTorch", 4);
  CHECK(job_rules_of(plan).needed == 0);
  plan.distribution.elastic = plan::Elastic{};
  plan.distribution.elastic->min = 2;
  CHECK(job_rules_of(plan).needed == 2);
}

TEST_CASE("messages name the job by its resource") {
  CHECK(job_rules_of(example("PyTorch", 1)).job == "pytorchjobs/digits-0123456789");
  CHECK(job_rules_of(example("Job", 1)).job == "jobs/digits-0123456789");
}
