// What is special about each kind's manifest; whole manifests stand in tests/golden.
// SPDX-License-Identifier: Apache-2.0
#include "job_types/render.h"

#include <fmt/format.h>

#include <algorithm>

#include "unit/job_types/example.h"

using namespace trainstep;
using namespace trainstep::job_types;
using namespace trainstep::job_types::test;

namespace {

std::string words(const Json& command) {
  std::string text;
  for (const auto& word : command) text += word.get<std::string>() + " ";
  return text;
}

std::string launcher_words(const plan::Plan& plan, std::string_view version = {}) {
  return words(at(rendered(plan, version), "/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0/command"));
}

}  // namespace

TEST_CASE("every kind has exactly one primary replica, and at least one awaited") {
  for (const auto& kind : all())
    for (const bool variant : {false, true}) {
      auto plan = example(std::string(kind.traits.name), variant || kind.traits.name != "Job" ? 3 : 1);
      if (variant) {
        plan.distribution.indexed = true;
        plan.distribution.elastic = {1, 4, {}};
        plan.distribution.parameter_servers = 0;
      }
      CAPTURE(kind.traits.name, variant);
      int primaries = 0, awaited = 0;
      for (const auto& replica : kind.replicas(plan)) {
        primaries += replica.primary ? 1 : 0;
        awaited += replica.awaited;
        CHECK(replica.awaited <= replica.count);
      }
      CHECK(primaries == 1);
      CHECK(awaited >= 1);
    }
}

TEST_CASE("number_of_workers is what the table of replicas says") {
  const auto counts = [](const plan::Plan& plan) {
    std::string text;
    for (const auto& replica : find(plan.job_type).replicas(plan)) text += replica.type + std::to_string(replica.count) + " ";
    return text;
  };
  CHECK(counts(example("Job", 1)) == "Main1 ");
  CHECK(counts(example("PyTorch", 1)) == "Master1 ");
  CHECK(counts(example("PyTorch", 3)) == "Master1 Worker2 ");
  CHECK(counts(example("MPI", 3)) == "Launcher1 Worker3 ");
  CHECK(counts(example("TF", 3)) == "Chief1 Worker3 PS3 ");
  auto servers = example("TF", 3);
  servers.distribution.parameter_servers = 1;
  CHECK(counts(servers) == "Chief1 Worker3 PS1 ");
  servers.distribution.parameter_servers = 0;
  CHECK(counts(servers) == "Worker3 ");
}

TEST_CASE("replicas have their usual names") {
  const auto name = [](const std::string& job_type, int workers, const std::string& type, int index) {
    const auto all_replicas = find(job_type).replicas(example(job_type, workers));
    const auto of_type = std::ranges::find(all_replicas, type, &Replicas::type);
    REQUIRE(of_type != all_replicas.end());
    return replica_name(*of_type, index);
  };
  CHECK(name("MPI", 2, "Launcher", 0) == "launcher");
  CHECK(name("MPI", 2, "Worker", 1) == "worker-1");
  CHECK(name("Job", 1, "Main", 0) == "main");
  CHECK(name("PyTorch", 2, "Master", 0) == "master-0");
  CHECK(name("TF", 2, "PS", 1) == "ps-1");
}

TEST_CASE("pods are found by the labels that each operator writes") {
  const std::string v1 = "training.kubeflow.org/operator-name=";
  const auto selector = [](const std::string& kind, std::size_t resource, const std::string& type, int index) {
    return find(kind).pods("j", find(kind).resources.at(resource), type, index);
  };
  CHECK(selector("PyTorch", 0, "", -1) == v1 + "pytorchjob-controller,training.kubeflow.org/job-name=j");
  CHECK(selector("PyTorch", 0, "Worker", 1) ==
        v1 +
            "pytorchjob-controller,training.kubeflow.org/job-name=j,training.kubeflow.org/replica-type=worker,training.kubeflow.org/replica-index=1");
  CHECK(selector("TF", 0, "PS", -1) == v1 + "tfjob-controller,training.kubeflow.org/job-name=j,training.kubeflow.org/replica-type=ps");
  CHECK(selector("MPI", 0, "Launcher", 0) == v1 + "mpi-operator,training.kubeflow.org/job-name=j,training.kubeflow.org/job-role=launcher");
  CHECK(selector("MPI", 0, "Worker", 0) ==
        v1 + "mpi-operator,training.kubeflow.org/job-name=j,training.kubeflow.org/job-role=worker,training.kubeflow.org/replica-index=0");
  CHECK(selector("MPI", 1, "Launcher", 0) == v1 + "mpijob-controller,training.kubeflow.org/job-name=j,training.kubeflow.org/replica-type=launcher");
  CHECK(selector("Job", 0, "Main", 0) == "batch.kubernetes.io/job-name=j");
  CHECK(selector("Job", 0, "Worker", 2) == "batch.kubernetes.io/job-name=j,batch.kubernetes.io/job-completion-index=2");
}

TEST_CASE("mpirun gets its numbers as words of their own and the hostfile by name") {
  auto plan = example("MPI", 3);
  plan.processes_per_worker = plan.slots_per_worker = 2;
  plan.environment = {{"A", "1", ""}, {"POD", {{"field", "metadata.name"}}, ""}, {"KEY", {{"secret", "s"}, {"key", "k"}}, ""}};
  plan.distribution.mpirun_arguments = {"--mca", "btl", "^openib"};
  CHECK(launcher_words(plan) ==
        "mpirun -np 6 --allow-run-as-root --hostfile /etc/mpi/hostfile --bind-to none --map-by slot -x PATH -x LD_LIBRARY_PATH -x A -x KEY --mca btl "
        "^openib python3 train.py ");
  plan.distribution.mpi_implementation = "Intel";
  CHECK(launcher_words(plan) == "mpirun -np 6 -f /etc/mpi/hostfile -genvall --mca btl ^openib python3 train.py ");
}

TEST_CASE("mpirun binds no rank to a core and places neighbours together, unless its arguments map the ranks") {
  auto plan = example("MPI", 3);
  const auto has = [&](const std::string& words) { return launcher_words(plan).find(words) != std::string::npos; };
  CHECK(has(" --bind-to none --map-by slot "));
  plan.distribution.mpirun_arguments = {"--bind-to", "core"};
  CHECK_FALSE(has("--bind-to none"));
  CHECK(has("--map-by slot"));
  for (const auto* own : {"--map-by", "-npernode", "-N", "rmaps_base_mapping_policy"}) {
    plan.distribution.mpirun_arguments = {own, "2"};
    CHECK(has("--bind-to none"));
    CHECK_FALSE(has("--map-by slot"));
  }
}

TEST_CASE("fewer processes than slots are spread evenly over the workers") {
  auto plan = example("MPI", 3);
  plan.slots_per_worker = 4;
  CHECK(launcher_words(plan).find("--map-by ppr:1:node ") != std::string::npos);
  plan.distribution.mpi_implementation = "MPICH";
  CHECK(launcher_words(plan).find("-ppn 1 ") != std::string::npos);
}

TEST_CASE("a program that starts its own ranks is left as it is") {
  auto mpi = example("MPI", 3);
  mpi.program.command = {word("horovodrun"), word("-np"), word("3")};
  CHECK(launcher_words(mpi) == "horovodrun -np 3 ");
  auto torch = example("PyTorch", 2);
  torch.processes_per_worker = 4;
  torch.program.command = {word("torchrun"), word("train.py")};
  CHECK(words(at(rendered(torch), "/spec/pytorchReplicaSpecs/Master/template/spec/containers/0/command")) == "torchrun train.py ");
}

TEST_CASE("torchrun starts the processes of a pod, and those of an elastic job") {
  auto plan = example("PyTorch", 2);
  const auto command = [&](const std::string& type) {
    return words(at(rendered(plan), "/spec/pytorchReplicaSpecs/" + type + "/template/spec/containers/0/command"));
  };
  CHECK(command("Master") == "python3 train.py ");
  plan.processes_per_worker = 2;
  CHECK(command("Master") == "torchrun --no_python python3 train.py ");
  CHECK(at(rendered(plan), "/spec/nprocPerNode") == "2");
  plan.processes_per_worker = 1;
  plan.distribution.elastic = {1, 3, 5};
  CHECK(command("Worker") == "torchrun --no_python python3 train.py ");
  CHECK(to_text(at(rendered(plan), "/spec/elasticPolicy")) == R"({"minReplicas":1,"maxReplicas":3,"maxRestarts":5,"rdzvBackend":"c10d"})");
  CHECK(at(rendered(plan), "/spec/pytorchReplicaSpecs/Master").is_null());
}

TEST_CASE("an MPI launcher never has a GPU and its variables are the workers' and its own") {
  auto plan = example("MPI", 2);
  plan.worker.gpus = plan.launcher.gpus = {4, "gpus"};
  plan.options.replicas["Worker"].environment = {{"A", "1"}};
  plan.options.replicas["Launcher"].environment = {{"B", "2"}};
  for (const auto* version : {"kubeflow.org/v2beta1", "kubeflow.org/v1"}) {
    const auto json = rendered(plan, version);
    const auto& launcher = at(json, "/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0");
    CHECK(to_text(launcher).find("nvidia.com/gpu") == std::string::npos);
    CHECK(to_text(launcher["env"]) == R"([{"name":"A","value":"1"},{"name":"B","value":"2"}])");
    const auto& worker = at(json, "/spec/mpiReplicaSpecs/Worker/template/spec/containers/0");
    CHECK(to_text(worker["env"]) == R"([{"name":"A","value":"1"}])");
    CHECK(worker["resources"]["limits"]["nvidia.com/gpu"] == "4");
    CHECK_FALSE(worker.contains("command"));
  }
  CHECK(launcher_words(plan).find("-x A ") != std::string::npos);
}

TEST_CASE("an MPI launcher waits for its workers") {
  auto plan = example("MPI", 2);
  const auto json = rendered(plan);
  CHECK(at(json, "/spec/launcherCreationPolicy") == "WaitForWorkersReady");
  CHECK(at(json, "/spec/mpiReplicaSpecs/Worker/template/spec/containers/0/readinessProbe/exec/command/0") == "sh");
  CHECK(launcher_words(plan).starts_with("mpirun "));
  SECTION("for a suspended job the operator does not wait") {
    plan.options.queue = "team";
    CHECK(launcher_words(plan).find("until ssh ") != std::string::npos);
  }
  SECTION("nor does the operator of v1") {
    const auto command = launcher_words(plan, "kubeflow.org/v1");
    CHECK(command.find("until /etc/mpi/kubexec.sh ") != std::string::npos);
    CHECK(command.find("mpirun -np 2 --allow-run-as-root --hostfile /etc/mpi/hostfile --bind-to none --map-by slot python3 train.py ") !=
          std::string::npos);
  }
  SECTION("whose hostfile Intel MPI cannot read") {
    plan.distribution.mpi_implementation = "Intel";
    const auto command = launcher_words(plan, "kubeflow.org/v1");
    CHECK(command.find("sed 's/ slots=/:/' /etc/mpi/hostfile >/tmp/hostfile\n") != std::string::npos);
    CHECK(command.find("mpirun -np 2 -f /tmp/hostfile ") != std::string::npos);
  }
}

TEST_CASE("retries of a Job are new pods") {
  auto plan = example("Job", 1);
  CHECK(at(rendered(plan), "/spec/backoffLimit") == 0);
  CHECK(at(rendered(plan), "/spec/podFailurePolicy").is_null());
  plan.options.run_policy.restart_policy = "OnFailure";
  plan.options.run_policy.backoff_limit = 3;
  auto json = rendered(plan);
  CHECK(at(json, "/spec/template/spec/restartPolicy") == "Never");
  CHECK(at(json, "/spec/backoffLimit") == 3);
  CHECK(at(json, "/spec/podReplacementPolicy") == "Failed");
  CHECK(to_text(at(json, "/spec/podFailurePolicy/rules")) ==
        R"([{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget","status":"True"}]}])");
  plan.options.run_policy.restart_policy = "ExitCode";
  json = rendered(plan);
  CHECK(at(json, "/spec/podFailurePolicy/rules/1/action") == "FailJob");
  CHECK(at(json, "/spec/podFailurePolicy/rules/1/onExitCodes/values").size() == 127);
}

TEST_CASE("the v1 operator gets a backoff limit only when something restarts") {
  auto plan = example("TF", 2);
  CHECK(to_text(at(rendered(plan), "/spec/runPolicy")) == R"({"cleanPodPolicy":"Running"})");
  plan.options.run_policy = {"OnFailure", 2, Duration(90'500), Duration(60'000), "None", true, Duration(30'000)};
  plan.options.gang = {{"minAvailable", 5}};
  CHECK(to_text(at(rendered(plan), "/spec/runPolicy")) ==
        R"({"cleanPodPolicy":"None","activeDeadlineSeconds":91,"ttlSecondsAfterFinished":60,"suspend":true,"schedulingPolicy":{"minAvailable":5},)"
        R"("backoffLimit":2})");
  CHECK(at(rendered(plan), "/spec/tfReplicaSpecs/PS/restartPolicy") == "OnFailure");
}

TEST_CASE("what a kind cannot do is refused with the key and the remedy") {
  const auto with = [](const std::string& kind, int workers, const std::function<void(plan::Plan&)>& change) {
    auto plan = example(kind, workers);
    change(plan);
    return plan;
  };
  struct Case {
    plan::Plan plan;
    std::string version;
    const char* key;
    const char* remedy;
  };
  const auto policy = [](const char* name) { return [name](plan::Plan& plan) { plan.options.run_policy.restart_policy = name; }; };
  const Case cases[] = {
      {with("MPI", 2, [](plan::Plan& plan) { plan.options.replicas["Lancher"] = {}; }), "",
       "job_options.replicas.Lancher: ", "did you mean Launcher?"},
      {with("MPI", 2, [](plan::Plan& plan) { plan.options.replicas["Router"] = {}; }), "", "job_options.replicas.Router: ", "Launcher, Worker"},
      {with("Job", 1, policy("Always")), "", "job_options.run_policy.restart_policy: ", "OnFailure"},
      {with("PyTorch", 2, policy("Always")), "", "job_options.run_policy.restart_policy: ", "OnFailure"},
      {with("MPI", 2, policy("ExitCode")), "", "job_options.run_policy.restart_policy: ", "OnFailure"},
      {with("MPI", 2, policy("ExitCode")), "kubeflow.org/v1", "job_options.run_policy.restart_policy: ", "OnFailure"},
      {with("MPI", 2, [](plan::Plan& plan) { plan.options.queue = "q"; }), "kubeflow.org/v1", "job_options.queue: ", "v2beta1"},
      {with("MPI", 2, [](plan::Plan& plan) { plan.distribution.mpi_implementation = "MPICH"; }), "kubeflow.org/v1",
       "distribution_specification.mpi_implementation: ", "v2beta1"},
      {with("Job", 2,
            [](plan::Plan& plan) {
              plan.distribution.indexed = true;
              plan.options.gang = Json::object();
            }),
       "", "job_options.gang: ", "queue"},
      {example("TF", 2), "kubeflow.org/v2", "TF: ", "kubeflow.org/v1"},
  };
  for (const auto& row : cases) {
    const auto message = refusal(row.plan, row.version);
    CAPTURE(message);
    CHECK(message.starts_with(row.key));
    CHECK(message.find(row.remedy) != std::string::npos);
  }
}

TEST_CASE("with parameter servers only the chief ends by itself") {
  for (const auto& replica : find("TF").replicas(example("TF", 2))) CHECK(replica.serves == (replica.type != "Chief"));
}

TEST_CASE("a queue's label is set only on the job") {
  auto plan = example("PyTorch", 2);
  plan.options.queue = "team";
  const auto json = rendered(plan);
  CHECK(at(json, "/metadata/labels/kueue.x-k8s.io~1queue-name") == "team");
  CHECK(to_text(at(json, "/spec")).find("queue-name") == std::string::npos);
}

TEST_CASE("the patch comes last and may not change what the job is found by") {
  auto plan = example("Job", 1);
  plan.name_space = "lab";
  plan.options.patch = {{"spec", {{"backoffLimit", 9}}}};
  CHECK(at(rendered(plan), "/spec/backoffLimit") == 9);
  for (const auto* patch : {R"({"kind": "Pod"})", R"({"metadata": {"name": "other"}})", R"({"metadata": {"namespace": null}})",
                            R"({"apiVersion": "v1"})", R"([{"op": "remove", "path": "/metadata"}])"}) {
    CAPTURE(patch);
    plan.options.patch = Json::parse(patch);
    CHECK(refusal(plan).starts_with("job_options.patch: "));
  }
}

TEST_CASE("the explained manifest says for every value where it comes from") {
  const auto manifest = render(example("PyTorch", 2));
  REQUIRE(manifest);
  const auto text = to_yaml_explained(*manifest);
  CHECK(text.find("replicas: 1  # default: there is one Master\n") != std::string::npos);
  CHECK(text.find("- name: pytorch  # required by PyTorchJob\n") != std::string::npos);
  std::size_t unexplained = 0;
  for (std::size_t line = 0; line < text.size(); line = text.find('\n', line) + 1) {
    const auto end = text.find('\n', line);
    const auto content = text.substr(line, end - line);
    if (!content.ends_with(':') && content.find("  # ") == std::string::npos) {
      ++unexplained;
      UNSCOPED_INFO(content);
    }
  }
  CHECK(unexplained == 0);
}

TEST_CASE("options may be set only for the replica types that the job has") {
  struct Case {
    const char* job_type;
    int workers;
    const char* shape;  // of the distribution
    std::vector<std::string> types;
  };
  const Case cases[] = {{"Job", 1, "", {"Main"}},
                        {"Job", 3, "indexed", {"Worker"}},
                        {"PyTorch", 1, "", {"Master"}},
                        {"PyTorch", 3, "", {"Master", "Worker"}},
                        {"PyTorch", 3, "elastic", {"Worker"}},
                        {"MPI", 1, "", {"Launcher", "Worker"}},
                        {"TF", 2, "", {"Chief", "Worker", "PS"}},
                        {"TF", 2, "no servers", {"Worker"}}};
  for (const auto& [job_type, workers, shape, types] : cases) {
    auto plan = example(job_type, workers);
    const std::string_view of(shape);
    plan.distribution.indexed = of == "indexed";
    if (of == "elastic") plan.distribution.elastic.emplace();
    if (of == "no servers") plan.distribution.parameter_servers = 0;
    for (const std::string type : {"Main", "Worker", "Master", "Launcher", "Chief", "PS"}) {
      CAPTURE(job_type, shape, type);
      plan.options.replicas.clear();
      plan.options.replicas[type].labels = {{"a", "b"}};
      const auto checked = check_options(plan);
      const bool has = std::ranges::find(types, type) != types.end();
      REQUIRE(checked.has_value() == has);
      if (has) continue;
      CHECK(checked.error().kind == ErrorKind::input);
      CHECK(checked.error().message ==
            fmt::format("job_options.replicas.{}: no such replica type; this {} has {}; options at the top level apply to all replicas", type,
                        job_type, fmt::join(types, ", ")));
    }
  }
}

TEST_CASE("logs may be asked of replicas only, those that the job has, or of another kind") {
  auto plan = example("PyTorch", 3);
  for (const auto* good : {"all", "primary", "none", "worker-0", "worker-1", "master-0", "worker-1.1", "launcher", "ps-3"}) {
    plan.options.logs = {good};
    INFO(good);
    CHECK(check_options(plan).has_value());
  }
  for (const auto* bad : {"", "wroker-0", "worker-", "worker-x", "everything", "Worker-0"}) {
    plan.options.logs = {"all", bad};
    INFO(bad);
    const auto checked = check_options(plan);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().message ==
          fmt::format("job_options.logs: \"{}\" is not a replica; write all, primary, none or names such as worker-0", bad));
  }
  for (const auto* absent : {"worker-2", "worker-9", "worker-01", "worker", "worker-2.0", "master-1"}) {
    plan.options.logs = {"worker-0", absent};
    INFO(absent);
    const auto checked = check_options(plan);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().kind == ErrorKind::input);
    CHECK(checked.error().message == fmt::format("job_options.logs: unknown replica {}; expected one of master-0, worker-0 to worker-1", absent));
  }
}

TEST_CASE("by a patch nothing is changed by which jobs and pods are found, or to whom they belong") {
  struct Row {
    const char *kind, *patch, *place;
  };
  for (const auto& row : {
           Row{"Job", R"({"metadata": {"labels": {"trainstep.dev/run": "other"}}})", "metadata/labels/trainstep.dev~1run"},
           Row{"Job", R"({"metadata": {"labels": null}})", "metadata/labels/trainstep.dev~1run"},
           Row{"Job", R"({"metadata": null})", "metadata/name"},
           Row{"Job", R"({"metadata": {"labels": {"app.kubernetes.io/managed-by": "helm"}}})", "metadata/labels/app.kubernetes.io~1managed-by"},
           Row{"Job", R"({"metadata": {"annotations": {"trainstep.dev/outcome": "user"}}})", "metadata/annotations/trainstep.dev~1outcome"},
           Row{"Job", R"({"metadata": {"annotations": {"trainstep.dev/spec-hash": null}}})", "metadata/annotations/trainstep.dev~1spec-hash"},
           Row{"Job", R"([{"op": "replace", "path": "/metadata/labels/trainstep.dev~1run", "value": "x"}])", "metadata/labels/trainstep.dev~1run"},
           Row{"Job", R"([{"op": "remove", "path": "/metadata/labels"}])", "metadata/labels/trainstep.dev~1run"},
           Row{"Job", R"([{"op": "move", "from": "/metadata/labels/trainstep.dev~1run", "path": "/metadata/labels/x"}])",
               "metadata/labels/trainstep.dev~1run"},
           Row{"Job", R"([{"op": "replace", "path": "", "value": {"apiVersion": "batch/v1", "kind": "Job"}}])", "metadata/name"},
           Row{"Job", R"({"metadata": {"ownerReferences": [{"kind": "ConfigMap", "name": "c", "uid": "u"}]}})", "metadata/ownerReferences"},
           Row{"Job", R"({"metadata": {"finalizers": ["example.org/keep"]}})", "metadata/finalizers"},
           Row{"Job", R"({"metadata": {"generateName": "x-"}})", "metadata/generateName"},
           Row{"Job", R"({"metadata": {"uid": "x"}})", "metadata/uid"},
           Row{"Job", R"({"spec": {"manualSelector": true, "selector": {"matchLabels": {"a": "b"}}}})", "spec/selector"},
           Row{"Job", R"({"spec": {"template": {"metadata": {"labels": {"batch.kubernetes.io/job-name": "x"}}}}})",
               "spec/template/metadata/labels/batch.kubernetes.io~1job-name"},
           Row{"Job", R"({"spec": {"template": {"metadata": {"labels": {"job-name": "x"}}}}})", "spec/template/metadata/labels/job-name"},
           Row{"Job", R"({"spec": {"template": {"metadata": {"finalizers": ["a/b"]}}}})", "spec/template/metadata/finalizers"},
           Row{"PyTorch", R"({"spec": {"pytorchReplicaSpecs": {"Worker": {"template": {"metadata": {"labels": {"trainstep.dev/run": "x"}}}}}}})",
               "spec/pytorchReplicaSpecs/Worker/template/metadata/labels/trainstep.dev~1run"},
           Row{"MPI",
               R"([{"op": "add", "path": "/spec/mpiReplicaSpecs/Worker/template/metadata/labels/training.kubeflow.org~1job-role", "value": "x"}])",
               "spec/mpiReplicaSpecs/Worker/template/metadata/labels/training.kubeflow.org~1job-role"},
           Row{"TF", R"({"spec": {"tfReplicaSpecs": {"Evaluator": {"template": {"metadata": {"labels": {"trainstep.dev/run": "x"}}}}}}})",
               "spec/tfReplicaSpecs/Evaluator/template/metadata/labels/trainstep.dev~1run"},
       }) {
    CAPTURE(row.patch);
    auto plan = example(row.kind, row.kind == std::string("Job") ? 1 : 2);
    plan.options.patch = Json::parse(row.patch);
    CHECK(refusal(plan) == fmt::format("job_options.patch: cannot change {}; it identifies the job", row.place));
  }
}

TEST_CASE("a patch may change other labels, or write again what is there") {
  auto plan = example("Job", 1);
  for (const auto* patch : {R"({"metadata": {"labels": {"team": "vision", "trainstep.dev/run": "run-1"}}})",
                            R"([{"op": "test", "path": "/metadata/labels/trainstep.dev~1run", "value": "run-1"}])",
                            R"({"spec": {"template": {"metadata": {"annotations": {"prometheus.io/scrape": "true"}}}}})"}) {
    plan.options.patch = Json::parse(patch);
    CHECK(refusal(plan).empty());
  }
}

TEST_CASE("MPI's keys are mounted in the home of the pods' user, and sshd is started as that user can") {
  auto plan = example("MPI", 2);
  const auto path = [&] { return at(rendered(plan), "/spec/sshAuthMountPath"); };
  const auto sshd = [&] { return at(rendered(plan), "/spec/mpiReplicaSpecs/Worker/template/spec/containers/0/command"); };
  CHECK(path() == "/root/.ssh");
  CHECK(sshd().is_null());  // the operator's own
  SECTION("another user") {
    const auto user = Json{{"runAsUser", 1000}};
    SECTION("containers") { plan.options.all.security_context = user; }
    SECTION("pods") { plan.options.all.pod_security_context = user; }
    SECTION("workers only") { plan.options.replicas["Worker"].security_context = user; }
    SECTION("launcher only") { plan.options.replicas["Launcher"].pod_security_context = user; }
    SECTION("any user but root") { plan.options.all.pod_security_context = {{"runAsNonRoot", true}}; }
    CHECK(path() == "/home/mpiuser/.ssh");
    CHECK(words(sshd()).find("exec /usr/sbin/sshd -De -f /home/mpiuser/.sshd_config; fi\nexec /usr/sbin/sshd -De") != std::string::npos);
  }
  SECTION("root by name") {
    plan.options.all.pod_security_context = {{"runAsUser", 1000}};
    plan.options.all.security_context = {{"runAsUser", 0}};
    CHECK(path() == "/root/.ssh");
  }
  SECTION("as specified") {
    plan.distribution.ssh_auth_mount_path = "/opt/mpi/.ssh";
    CHECK(path() == "/opt/mpi/.ssh");
    CHECK(sshd().is_null());
    plan.options.all.security_context = {{"runAsUser", 7}};
    CHECK(words(sshd()).find("-f /opt/mpi/.sshd_config") != std::string::npos);
  }
}

// On a machine where others listen: it is run by a shell, as the kubelet does.
TEST_CASE("a worker is ready when a process of its own container listens") {
  auto plan = example("MPI", 2);
  const auto probe = at(rendered(plan), "/spec/mpiReplicaSpecs/Worker/template/spec/containers/0/readinessProbe/exec/command");
  REQUIRE(probe.size() == 3);
  const auto script = probe.at(2).get<std::string>();
  CHECK(script.find("/proc/[0-9]*/fd") != std::string::npos);  // whose the socket is, not only that there is one: the node's sshd listens, too
  CHECK(script.find("$(") == std::string::npos);               // Kubernetes would expand it
  CHECK(script.find("$$") == std::string::npos);
}
