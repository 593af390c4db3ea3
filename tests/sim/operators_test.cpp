// SPDX-License-Identifier: Apache-2.0
#include "sim/operators.h"

#include "job_types/job_type.h"
#include "sim/cluster.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::sim;
using State = job_types::Judgement::State;

namespace {

// A cluster whose pods have the fates that a test decides.
struct Lab {
  SimLoop loop;
  std::function<void(const PodIdentity&, PodScript&)> script = [](const PodIdentity&, PodScript&) {};
  Cluster cluster;
  VersionPtr job;
  std::string kind;

  explicit Lab(const Installed& installed = {}, std::uint64_t seed = 7)
      : cluster(loop, Random(seed), installed, [this](const PodIdentity& who) {
          PodScript result;
          result.lines = {{Duration{100}, "hello\n"}};
          // Servers and MPI workers run until they are stopped.
          if (who.replica.starts_with("ps-") || (who.replica.starts_with("worker") && kind == "MPIJob")) result.runs_for.reset();
          script(who, result);
          return result;
        }) {}

  static Json replicas(int count, const std::string& policy) {
    return {{"replicas", count},
            {"restartPolicy", policy},
            {"template", {{"metadata", {{"labels", {{"own", "label"}}}}}, {"spec", {{"containers", {{{"name", "main"}, {"image", "train:1"}}}}}}}}};
  }
  void create(const std::string& group_version, const std::string& plural, Json spec) {
    const auto* resource = cluster.store.resource(group_version, plural);
    kind = resource->kind;
    job = cluster.store.create(
        *resource,
        {{"apiVersion", group_version}, {"kind", kind}, {"metadata", {{"name", "train"}, {"namespace", "lab"}}}, {"spec", std::move(spec)}});
  }
  void pytorch(const std::string& policy, Json run_policy = {{"cleanPodPolicy", "Running"}}) {
    create("kubeflow.org/v1", "pytorchjobs",
           {{"runPolicy", std::move(run_policy)}, {"pytorchReplicaSpecs", {{"Master", replicas(1, policy)}, {"Worker", replicas(2, policy)}}}});
  }
  void batch(const Json& more) {
    Json spec = {{"template", replicas(1, "Never").at("template")}};
    spec["template"]["spec"]["restartPolicy"] = "Never";
    spec.update(more);
    create("batch/v1", "jobs", spec);
  }
  job_types::Judgement judged(const char* kind_name, Duration after = Duration{60'000}) {
    loop.run_for(after);
    const auto now = cluster.store.by_uid(job->uid());
    return now == nullptr ? job_types::Judgement{} : job_types::find(kind_name).judge(now->object);
  }
  Json status() { return cluster.store.by_uid(job->uid())->object.at("status"); }
};

}  // namespace

TEST_CASE("sim operators: a program that ends well ends each kind's job well, and the real judge sees it so") {
  {
    Lab lab;
    lab.pytorch("Never");
    CHECK(lab.judged("PyTorch").state == State::succeeded);
    CHECK(lab.status().at("replicaStatuses").at("Master").at("succeeded") == 1);
    CHECK(lab.status().contains("completionTime"));
  }
  {
    Lab lab;
    lab.batch({{"completionMode", "Indexed"}, {"completions", 3}, {"parallelism", 3}, {"backoffLimit", 0}});
    CHECK(lab.judged("Job").state == State::succeeded);
    CHECK(lab.status().at("succeeded") == 3);
    CHECK(lab.cluster.training_pods().size() == 3);
  }
  {
    Lab lab;
    lab.create(
        "kubeflow.org/v1", "tfjobs",
        {{"runPolicy", {{"cleanPodPolicy", "Running"}}},
         {"tfReplicaSpecs", {{"Chief", Lab::replicas(1, "Never")}, {"Worker", Lab::replicas(1, "Never")}, {"PS", Lab::replicas(1, "Never")}}}});
    CHECK(lab.judged("TF").state == State::succeeded);
    lab.loop.run_for(Duration{10'000});
    CHECK(lab.cluster.training_pods().size() == 2);  // the server was stopped
  }
  for (const bool v2 : {true, false}) {
    Lab lab({.mpi_v2beta1 = v2});
    lab.create(v2 ? "kubeflow.org/v2beta1" : "kubeflow.org/v1", "mpijobs",
               {{"runPolicy", {{"cleanPodPolicy", "Running"}}},
                {"mpiReplicaSpecs", {{"Launcher", Lab::replicas(1, "Never")}, {"Worker", Lab::replicas(2, "Never")}}}});
    CHECK(lab.judged("MPI").state == State::succeeded);
    lab.loop.run_for(Duration{10'000});
    CHECK(lab.cluster.training_pods().size() == 1);
    CHECK((lab.cluster.find("batch/v1", "jobs", "train-launcher") != nullptr) == v2);
  }
}

TEST_CASE("sim operators: a program that fails fails the job, with its code in the pod's status") {
  Lab lab;
  lab.script = [](const PodIdentity& who, PodScript& script) {
    if (who.replica == "worker-1") script.exit_code = 3;
    if (who.replica == "master-0") script.runs_for = Duration{100'000};
  };
  lab.pytorch("Never");
  const auto judged = lab.judged("PyTorch");
  CHECK(judged.state == State::failed);
  CHECK(judged.reason == "PyTorchJobFailed");
  CHECK(exit_code_of(*lab.cluster.find("v1", "pods", "train-worker-1")) == 3);
  CHECK(lab.cluster.find("v1", "pods", "train-master-0") == nullptr);  // cleanPodPolicy
}

TEST_CASE("sim operators: a Job replaces a failed pod until its limit; an eviction may be exempt") {
  Lab lab;
  lab.script = [](const PodIdentity& who, PodScript& script) { script.exit_code = who.attempt < 2 ? 1 : 0; };
  lab.batch({{"backoffLimit", 2}});
  CHECK(lab.judged("Job", Duration{5'000}).state == State::restarting);
  CHECK(lab.judged("Job").state == State::succeeded);
  CHECK(lab.cluster.training_pods().size() == 3);

  Lab limited;
  limited.script = [](const PodIdentity&, PodScript& script) { script.exit_code = 1; };
  limited.batch({{"backoffLimit", 1}});
  CHECK(limited.judged("Job").reason == "BackoffLimitExceeded");

  Lab evicted;
  evicted.script = [](const PodIdentity& who, PodScript& script) { script.end = who.attempt == 0 ? PodScript::End::evicted : PodScript::End::exits; };
  evicted.batch(
      {{"backoffLimit", 0},
       {"podFailurePolicy", {{"rules", {{{"action", "Ignore"}, {"onPodConditions", {{{"type", "DisruptionTarget"}, {"status", "True"}}}}}}}}}});
  CHECK(evicted.judged("Job").state == State::succeeded);
}

TEST_CASE("sim operators: restarts in place keep the pod, a limit counts those that run") {
  Lab lab;
  lab.script = [](const PodIdentity& who, PodScript& script) { script.exit_code = who.replica == "master-0" && who.attempt < 1 ? 1 : 0; };
  lab.pytorch("OnFailure");
  CHECK(lab.judged("PyTorch").state == State::succeeded);
  CHECK(restarts_of(*lab.cluster.find("v1", "pods", "train-master-0")) == 1);

  Lab limited;
  limited.script = [](const PodIdentity& who, PodScript& script) { script.exit_code = who.replica == "master-0" ? 1 : 0; };
  limited.pytorch("OnFailure", {{"backoffLimit", 2}});
  const auto judged = limited.judged("PyTorch", Duration{300'000});
  CHECK(judged.state == State::failed);
  CHECK(judged.message.find("backoff limit") != std::string::npos);
}

TEST_CASE("sim operators: ExitCode replaces the pod from 128 on, and is final below") {
  for (const int code : {137, 1}) {
    Lab lab;
    lab.script = [code](const PodIdentity& who, PodScript& script) {
      script.exit_code = who.replica == "worker-0" && who.attempt == 0 ? code : 0;
      if (who.replica == "master-0") script.runs_for = Duration{20'000};
    };
    lab.pytorch("ExitCode");
    CHECK(lab.judged("PyTorch").state == (code == 1 ? State::failed : State::succeeded));
    CHECK(lab.status().contains("completionTime") == (code != 1));
  }
}

TEST_CASE("sim operators: a suspended job has no pods, and begins when it is resumed") {
  Lab lab;
  lab.pytorch("Never", {{"suspend", true}});
  CHECK(lab.judged("PyTorch").state == State::suspended);
  CHECK(lab.cluster.training_pods().empty());
  lab.cluster.store.update(lab.job->uid(), [](Json& changed) { changed["spec"]["runPolicy"]["suspend"] = false; });
  CHECK(lab.judged("PyTorch").state == State::succeeded);

  Lab batch;
  batch.script = [](const PodIdentity&, PodScript& script) { script.runs_for = Duration{30'000}; };
  batch.batch({{"backoffLimit", 0}});
  CHECK(batch.judged("Job", Duration{10'000}).state == State::running);
  batch.cluster.store.update(batch.job->uid(), [](Json& changed) { changed["spec"]["suspend"] = true; });
  CHECK(batch.judged("Job", Duration{10'000}).state == State::suspended);
  CHECK(batch.cluster.training_pods().empty());
  batch.cluster.store.update(batch.job->uid(), [](Json& changed) { changed["spec"]["suspend"] = false; });
  CHECK(batch.judged("Job").state == State::succeeded);
}

TEST_CASE("sim operators: a pod that cannot start waits and reports why") {
  Lab lab;
  lab.script = [](const PodIdentity&, PodScript& script) { script.start = PodScript::Start::image_pull; };
  lab.pytorch("Never");
  CHECK(lab.judged("PyTorch").state == State::pending);
  const auto pod = lab.cluster.find("v1", "pods", "train-master-0")->object;
  CHECK(text_at(pod.at("status").at("containerStatuses").at(0), {"state", "waiting", "reason"}) == "ImagePullBackOff");

  Lab refused;
  refused.cluster.refuse_pods([](const Json&) { return "exceeded quota: gpus"; });
  refused.pytorch("Never");
  refused.loop.run_for(Duration{10'000});
  const auto events = refused.cluster.store.list(*refused.cluster.store.resource("v1", "events"), "lab");
  REQUIRE_FALSE(events.empty());
  CHECK(text_at(events.front()->object, {"reason"}) == "FailedCreatePod");

  Lab absent({.operators_run = false});
  absent.pytorch("Never");
  CHECK(absent.judged("PyTorch").state == State::unknown);
}

TEST_CASE("sim operators: foreground deletion of a running job ends with nothing left") {
  for (const bool batch : {true, false}) {
    Lab lab;
    lab.script = [](const PodIdentity&, PodScript& script) { script.runs_for.reset(); };
    if (batch)
      lab.batch({{"backoffLimit", 0}});
    else
      lab.pytorch("Never");
    lab.loop.run_for(Duration{20'000});
    CHECK(lab.cluster.training_pods().size() == (batch ? 1 : 3));
    lab.cluster.collector.remove(lab.cluster.store.by_uid(lab.job->uid()), Propagation::foreground);
    lab.loop.run_for(Duration{40'000});
    CHECK(lab.cluster.training_pods().empty());
    CHECK(lab.cluster.store.by_uid(lab.job->uid()) == nullptr);
  }
}

TEST_CASE("sim operators: a lost node loses its pod's log and, after minutes, the pod") {
  Lab lab;
  lab.script = [](const PodIdentity& who, PodScript& script) {
    if (who.attempt == 0) script.end = PodScript::End::node_lost;
  };
  lab.batch({{"backoffLimit", 1}});
  CHECK(lab.judged("Job", Duration{100'000}).state != State::succeeded);
  CHECK(lab.cluster.kubelet.written().front().lost);
  CHECK(lab.judged("Job", Duration{900'000}).state == State::succeeded);
}

TEST_CASE("sim operators: an operator that was down catches up") {
  Lab lab;
  lab.cluster.stop_controllers(lab.loop.now() + Duration{100'000});
  lab.pytorch("Never");
  CHECK(lab.judged("PyTorch").state == State::unknown);
  CHECK(lab.judged("PyTorch", Duration{120'000}).state == State::succeeded);
}

TEST_CASE("sim operators: a finished job is deleted when its TTL expires") {
  Lab lab;
  lab.pytorch("Never", {{"ttlSecondsAfterFinished", 100}});
  CHECK(lab.judged("PyTorch").state == State::succeeded);
  lab.loop.run_for(Duration{100'000});
  CHECK(lab.cluster.store.by_uid(lab.job->uid()) == nullptr);
  CHECK(lab.cluster.training_pods().empty());
}
