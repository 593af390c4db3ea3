// Which replica a pod is, by the labels that the operators write (docs/design/operators.md, Labels).
#include "cluster/pod_index.h"

#include "support/catch.h"
#include "unit/job_types/example.h"

using namespace trainstep;
using namespace trainstep::cluster;
using job_types::test::example;

namespace {

const std::string job = "digits-0123456789";

Json pod(const Json& labels, const Json& owners = Json::array({{{"kind", "X"}, {"uid", "uid"}}})) {
  return {{"metadata", {{"labels", labels}, {"ownerReferences", owners}}}};
}

PodIndex index_of(const plan::Plan& plan, std::size_t resource = 0) {
  const auto& kind = job_types::find(plan.job_type);
  return {kind, kind.resources.at(resource), job, kind.replicas(plan)};
}

Json v1_labels(const std::string& operator_name, const std::string& type, const std::string& index) {
  Json labels = {{"training.kubeflow.org/operator-name", operator_name},
                 {"training.kubeflow.org/job-name", job},
                 {"training.kubeflow.org/replica-type", type},
                 {"trainstep.dev/run", "run-1"}};
  if (!index.empty()) labels["training.kubeflow.org/replica-index"] = index;
  return labels;
}

}  // namespace

TEST_CASE("pods of the v1 operator: members in the order of the kind's replicas") {
  const auto index = index_of(example("PyTorch", 3));
  CHECK(index.member_of(pod(v1_labels("pytorchjob-controller", "master", "0")), "uid") == 0U);
  CHECK(index.member_of(pod(v1_labels("pytorchjob-controller", "worker", "0")), "uid") == 1U);
  CHECK(index.member_of(pod(v1_labels("pytorchjob-controller", "worker", "1")), "uid") == 2U);
  CHECK_FALSE(index.member_of(pod(v1_labels("pytorchjob-controller", "worker", "2")), "uid"));
  CHECK_FALSE(index.member_of(pod(v1_labels("tfjob-controller", "worker", "0")), "uid"));  // a TFJob of the same name
}

TEST_CASE("chief, workers and parameter servers") {
  auto plan = example("TF", 2);
  const auto index = index_of(plan);
  const std::pair<const char*, const char*> order[] = {{"chief", "0"}, {"worker", "0"}, {"worker", "1"}, {"ps", "0"}, {"ps", "1"}};
  for (std::size_t i = 0; i < std::size(order); ++i)
    CHECK(index.member_of(pod(v1_labels("tfjob-controller", order[i].first, order[i].second)), "uid") == i);
}

TEST_CASE("an MPI launcher has no number, in neither version, and several pods when it is tried again") {
  const auto v2 = index_of(example("MPI", 2), 0);
  const auto labels = [](const std::string& role, const std::string& index) {
    Json result = {{"training.kubeflow.org/operator-name", "mpi-operator"},
                   {"training.kubeflow.org/job-name", job},
                   {"training.kubeflow.org/job-role", role},
                   {"batch.kubernetes.io/job-name", job + "-launcher"}};
    if (!index.empty()) result["training.kubeflow.org/replica-index"] = index;
    return result;
  };
  CHECK(v2.member_of(pod(labels("launcher", "")), "uid") == 0U);
  CHECK(v2.member_of(pod(labels("worker", "0")), "uid") == 1U);
  CHECK(v2.member_of(pod(labels("worker", "1")), "uid") == 2U);
  CHECK_FALSE(v2.member_of(pod(labels("worker", "")), "uid"));
  const auto v1 = index_of(example("MPI", 2), 1);
  CHECK(v1.member_of(pod(v1_labels("mpijob-controller", "launcher", "")), "uid") == 0U);
  CHECK(v1.member_of(pod(v1_labels("mpijob-controller", "worker", "1")), "uid") == 2U);
}

TEST_CASE("a Job has one pod, an indexed one those with a number") {
  const auto one = index_of(example("Job", 1));
  CHECK(one.member_of(pod({{"batch.kubernetes.io/job-name", job}}), "uid") == 0U);
  auto plan = example("Job", 3);
  plan.distribution.indexed = true;
  const auto many = index_of(plan);
  CHECK(many.member_of(pod({{"batch.kubernetes.io/job-name", job}, {"batch.kubernetes.io/job-completion-index", "2"}}), "uid") == 2U);
  CHECK_FALSE(many.member_of(pod({{"batch.kubernetes.io/job-name", job}}), "uid"));
}

TEST_CASE("a pod with our labels that is not owned by the job, or by an MPIJob's launcher Job, is ignored") {
  const auto index = index_of(example("PyTorch", 1));
  const auto labels = v1_labels("pytorchjob-controller", "master", "0");
  const auto owned = [&](const std::string& kind, const std::string& uid) { return pod(labels, Json::array({{{"kind", kind}, {"uid", uid}}})); };
  CHECK(index.member_of(owned("PyTorchJob", "ours"), "ours") == 0U);
  CHECK_FALSE(index.member_of(owned("PyTorchJob", "before"), "ours"));
  CHECK_FALSE(index.member_of(owned("Job", "launcher"), "ours"));
  CHECK_FALSE(index.member_of(pod(labels, Json::array()), "ours"));
  CHECK_FALSE(index.member_of(pod(labels, nullptr), "ours"));
  const auto mpi = index_of(example("MPI", 1), 0);
  const auto launcher = [&](const std::string& owner) {
    return pod({{"training.kubeflow.org/operator-name", "mpi-operator"},
                {"training.kubeflow.org/job-name", job},
                {"training.kubeflow.org/job-role", "launcher"}},
               Json::array({{{"kind", "Job"}, {"name", owner}, {"uid", "its-own"}}}));
  };
  CHECK(mpi.member_of(launcher(job + "-launcher"), "ours") == 0U);
  CHECK_FALSE(mpi.member_of(launcher("other"), "ours"));
}

TEST_CASE("any object, however malformed, gives a result") {
  const auto index = index_of(example("PyTorch", 1));
  for (const auto* text :
       {"null", "[]", "3", "{}", R"({"metadata": 1})", R"({"metadata": {"labels": []}})", R"({"metadata": {"labels": {}, "ownerReferences": 1}})",
        R"({"metadata": {"labels": {"training.kubeflow.org/job-name": 1}, "ownerReferences": [1, {"kind": 3}]}})"}) {
    CAPTURE(text);
    CHECK_FALSE(index.member_of(Json::parse(text), "uid"));
  }
}

TEST_CASE("a pod older than the job belongs to an earlier one, whatever its owner") {
  const auto index = index_of(example("MPI", 1), 0);
  auto launcher = pod({{"training.kubeflow.org/operator-name", "mpi-operator"},
                       {"training.kubeflow.org/job-name", job},
                       {"training.kubeflow.org/job-role", "launcher"}},
                      Json::array({{{"kind", "Job"}, {"name", job + "-launcher"}, {"uid", "its-own"}}}));
  launcher["metadata"]["creationTimestamp"] = "2026-11-21T08:00:00Z";
  CHECK(index.member_of(launcher, "uid", "2026-11-21T08:00:00Z") == 0U);
  CHECK(index.member_of(launcher, "uid", "") == 0U);
  CHECK_FALSE(index.member_of(launcher, "uid", "2026-11-21T08:00:01Z"));
}
