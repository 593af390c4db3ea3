#include "plan/plan.h"

#include "plan/names.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;

namespace {

const std::vector<std::string> kinds{"Job", "PyTorch", "MPI", "TF"};

Request request() {
  Request r;
  r.train_specification = R"({"image": "python:3.11", "command": ["python3", "train.py"]})";
  r.run_id = "run-1";
  return r;
}

Request distributed(const char* distribution) {
  auto r = request();
  r.distribution_specification = Json::parse(distribution);
  return r;
}

}  // namespace

TEST_CASE("sizes come from the distribution, then from the step, then from the specification") {
  auto r = distributed(R"({"distribution_type": "TF", "worker_cpus": "8", "chief_memory": "2Gi"})");
  r.cpus = "4";
  r.memory = "16Gi";
  r.gpus = "1";
  const auto plan = make_plan(r, kinds);
  REQUIRE(plan);
  CHECK(plan->worker.cpus->value.text == "8");
  CHECK(plan->worker.cpus->source == "distribution_specification.worker_cpus");
  CHECK(plan->worker.memory->value.text == "16Gi");
  CHECK(plan->worker.memory->source == "memory");
  CHECK(plan->worker.gpus.value == 1);
  CHECK(plan->chief.memory->value.text == "2Gi");
  CHECK(plan->chief.cpus->value.text == "8");
  CHECK(plan->parameter_server.memory->value.text == "16Gi");
  CHECK(plan->parameter_server.gpus.value == 0);
}

TEST_CASE("MPI and PyTorch start a process for each GPU of a worker") {
  auto r = distributed(R"({"distribution_type": "MPI", "number_of_workers": 2})");
  r.gpus = "4";
  CHECK(make_plan(r, kinds)->processes_per_worker == 4);
  CHECK(make_plan(r, kinds)->slots_per_worker == 4);
  r.distribution_specification["distribution_type"] = "TF";
  CHECK(make_plan(r, kinds)->processes_per_worker == 1);
}

TEST_CASE("more processes than slots are refused") {
  const auto plan = make_plan(distributed(R"({"distribution_type": "MPI", "processes_per_worker": 4, "slots_per_worker": 2})"), kinds);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message.find("slots_per_worker") != std::string::npos);
}

TEST_CASE("the run id follows from the identity of the step, else it is random") {
  auto r = request();
  r.run_id.clear();
  CHECK(make_plan(r, kinds)->run_id != make_plan(r, kinds)->run_id);
  r.identity = "workflow uid and node";
  CHECK(make_plan(r, kinds)->run_id == make_plan(r, kinds)->run_id);
  CHECK(make_plan(r, kinds)->job_name == job_name("my-model", make_plan(r, kinds)->run_id));
}

TEST_CASE("the spec hash changes with what is trained, not with where its outputs go") {
  auto r = request();
  const auto before = make_plan(r, kinds)->spec_hash;
  r.outputs.push_back({.name = "model_dir", .path = "/somewhere", .uri = "", .type = ""});
  CHECK(make_plan(r, kinds)->spec_hash == before);
  r.cpus = "2";
  CHECK(make_plan(r, kinds)->spec_hash != before);
}

TEST_CASE("of several variables with one name the last source counts") {
  auto r = request();
  r.train_specification = R"({"image": "i", "command": ["c"], "env": {"A": "program", "B": "program"}})";
  r.environment = {{"A", "step"}};
  r.tensorboard_s3_address = "s3://logs/x";
  r.job_options = Json::parse(R"({"environment": {"B": "option", "C": {"secret": "s", "key": "k"}}})");
  const auto plan = make_plan(r, kinds);
  REQUIRE(plan);
  std::vector<std::string> seen;
  for (const auto& variable : plan->environment) seen.push_back(variable.name + "=" + to_text(variable.value) + " " + variable.source);
  CHECK(seen == std::vector<std::string>{R"(A="step" environment of the step)", R"(TENSORBOARD_S3_ADDRESS="s3://logs/x" tensorboard_s3_address)",
                                         R"(B="option" job_options.environment)", R"(C={"secret":"s","key":"k"} job_options.environment)"});
}

TEST_CASE("base_image replaces the image of the specification") {
  auto r = request();
  CHECK(make_plan(r, kinds)->image.value == "python:3.11");
  r.base_image = "mine:1";
  CHECK(make_plan(r, kinds)->image.value == "mine:1");
  CHECK(make_plan(r, kinds)->image.source == "base_image");
}

TEST_CASE("what a request cannot mean is refused with its place") {
  struct Row {
    const char* said;
    std::function<void(Request&)> spoil;
  };
  for (const auto& row : std::vector<Row>{
           {"model_name: \"My Model\"", [](auto& r) { r.model_name = "My Model"; }},
           {"run_id", [](auto& r) { r.run_id = "a/b"; }},
           {"train_mount: \"train\" is not an absolute path", [](auto& r) { r.train_mount = "train"; }},
           {"namespace: \"My Team\"", [](auto& r) { r.name_space = "My Team"; }},
           {"pvc_name: \"data_\"", [](auto& r) { r.pvc_name = "data_"; }},
           {"job_options.environment: the value of A holds a NUL", [](auto& r) { r.job_options = {{"environment", {{"A", std::string(1, '\0')}}}}; }},
           {"memory: \"1GB\"", [](auto& r) { r.memory = "1GB"; }},
           {"gpus: \"1.5\"", [](auto& r) { r.gpus = "1.5"; }},
           {"pvc_size: \"big\"", [](auto& r) { r.pvc_size = "big"; }},
           {"epochs", [](auto& r) { r.train_parameters = {{"epochs", 1}}; }},
           {"train_specification", [](auto& r) { r.train_specification = "a: [1"; }},
       }) {
    auto r = request();
    row.spoil(r);
    const auto plan = make_plan(r, kinds);
    REQUIRE_FALSE(plan);
    INFO(plan.error().message);
    CHECK(plan.error().message.find(row.said) != std::string::npos);
    CHECK(plan.error().kind == ErrorKind::input);
  }
}

TEST_CASE("programs that start their own ranks are recognised") {
  struct Row {
    const char* specification;
    bool own;
  };
  for (const auto& row : std::vector<Row>{
           {R"({"image": "i", "command": ["torchrun", "train.py"]})", true},
           {R"({"image": "i", "command": ["/opt/conda/bin/mpirun", "-np", "2", "python", "x.py"]})", true},
           {R"({"image": "i", "command": ["python3", "-m", "torch.distributed.run", "x.py"]})", true},
           {R"({"image": "i", "command": ["sh", "-c", "pip install x && torchrun train.py"]})", true},
           {R"({"image": "i", "command": ["bash", "-ec", "exec mpirun ./a.out"]})", true},
           {R"({"image": "i", "command": ["python3", "train.py", "--launcher", "torchrun"]})", false},
           {R"({"image": "i", "command": ["sh", "-c", "echo no torchrunner here"]})", false},
           {R"({"image": "i", "command": ["python3", "train.py"]})", false},
       }) {
    INFO(row.specification);
    auto r = request();
    r.train_specification = row.specification;
    CHECK(starts_own_ranks(make_plan(r, kinds)->program) == row.own);
  }
}
