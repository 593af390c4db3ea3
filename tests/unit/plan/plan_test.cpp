#include "plan/plan.h"

#include "job_types/job_type.h"
#include "plan/names.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;

namespace {

const auto types = job_types::traits();

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
  const auto plan = make_plan(r, types);
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
  CHECK(make_plan(r, types)->processes_per_worker == 4);
  CHECK(make_plan(r, types)->slots_per_worker == 4);
  r.distribution_specification["distribution_type"] = "TF";
  CHECK(make_plan(r, types)->processes_per_worker == 1);
}

TEST_CASE("more processes than slots are refused") {
  const auto plan = make_plan(distributed(R"({"distribution_type": "MPI", "processes_per_worker": 4, "slots_per_worker": 2})"), types);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message.find("slots_per_worker") != std::string::npos);
}

TEST_CASE("the run id follows from the identity of the step, else it is random") {
  auto r = request();
  r.run_id.clear();
  CHECK(make_plan(r, types)->run_id != make_plan(r, types)->run_id);
  r.identity = "workflow uid and node";
  CHECK(make_plan(r, types)->run_id == make_plan(r, types)->run_id);
  CHECK(make_plan(r, types)->job_name == job_name("my-model", make_plan(r, types)->run_id));
}

TEST_CASE("the spec hash changes with what is trained, not with where its outputs go") {
  auto r = request();
  const auto before = make_plan(r, types)->spec_hash;
  r.outputs.push_back({.name = "model_dir", .path = "/somewhere", .uri = "", .type = ""});
  CHECK(make_plan(r, types)->spec_hash == before);
  r.cpus = "2";
  CHECK(make_plan(r, types)->spec_hash != before);
}

TEST_CASE("of several variables with one name the last source is used") {
  auto r = request();
  r.train_specification = R"({"image": "i", "command": ["c"], "env": {"A": "program", "B": "program"}})";
  r.environment = {{"A", "step"}};
  r.tensorboard_s3_address = "s3://logs/x";
  r.job_options = Json::parse(R"({"environment": {"B": "option", "C": {"secret": "s", "key": "k"}}})");
  const auto plan = make_plan(r, types);
  REQUIRE(plan);
  std::vector<std::string> seen;
  for (const auto& variable : plan->environment) seen.push_back(variable.name + "=" + to_text(variable.value) + " " + variable.source);
  CHECK(seen == std::vector<std::string>{R"(A="step" environment of the step)", R"(TENSORBOARD_S3_ADDRESS="s3://logs/x" tensorboard_s3_address)",
                                         R"(B="option" job_options.environment)", R"(C={"secret":"s","key":"k"} job_options.environment)"});
}

TEST_CASE("a variable that is passed on does not replace a path of the program") {
  auto r = request();
  r.train_specification = R"({"image": "i", "command": ["c"], "env": {"MODEL": {"outputPath": "model_dir"}}})";
  r.environment = {{"MODEL", "/of/another/run"}};
  const auto plan = make_plan(r, types);
  REQUIRE(plan);
  REQUIRE(plan->environment.size() == 1);
  CHECK(plan->environment.front().path);
}

TEST_CASE("base_image replaces the image of the specification") {
  auto r = request();
  CHECK(make_plan(r, types)->image.value == "python:3.11");
  r.base_image = "mine:1";
  CHECK(make_plan(r, types)->image.value == "mine:1");
  CHECK(make_plan(r, types)->image.source == "base_image");
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
           {"train_mount: \"/a:b\" contains a colon", [](auto& r) { r.train_mount = "/a:b"; }},
           {"train_mount: / would hide all files of the image", [](auto& r) { r.train_mount = "/."; }},
           {"train_mount: /trainstep is reserved for trainstep", [](auto& r) { r.train_mount = "/trainstep/"; }},
           {"train_mount: /dev/shm is used for shared memory", [](auto& r) { r.train_mount = "/dev/shm"; }},
           {"ssh_auth_mount_path: \"/a:b\" contains a colon",
            [](auto& r) { r.distribution_specification = {{"distribution_type", "MPI"}, {"ssh_auth_mount_path", "/a:b"}}; }},
           {"base_image: \"a b\" is not a valid image name", [](auto& r) { r.base_image = "a b"; }},
           {"base_image: \"ä\" is not a valid image name", [](auto& r) { r.base_image = "ä"; }},
           {"namespace: \"My Team\"", [](auto& r) { r.name_space = "My Team"; }},
           {"namespace: \"my.team\" is not a valid name of a namespace", [](auto& r) { r.name_space = "my.team"; }},
           {"pvc_name: \"data_\"", [](auto& r) { r.pvc_name = "data_"; }},
           {"job_options.environment: the value of A contains a NUL",
            [](auto& r) { r.job_options = {{"environment", {{"A", std::string(1, '\0')}}}}; }},
           {"memory: \"1GB\"", [](auto& r) { r.memory = "1GB"; }},
           {"gpus: \"1.5\"", [](auto& r) { r.gpus = "1.5"; }},
           {"pvc_size: \"big\"", [](auto& r) { r.pvc_size = "big"; }},
           {"pvc_size: must be greater than 0", [](auto& r) { r.pvc_size = "0"; }},
           {"pvc_size: must be greater than 0", [](auto& r) { r.pvc_size = "0Gi"; }},
           {"epochs", [](auto& r) { r.train_parameters = {{"epochs", 1}}; }},
           {"train_specification", [](auto& r) { r.train_specification = "a: [1"; }},
       }) {
    auto r = request();
    row.spoil(r);
    const auto plan = make_plan(r, types);
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
    CHECK(starts_own_ranks(make_plan(r, types)->program) == row.own);
  }
}

TEST_CASE("conflicting volumes of one pod are rejected with their location") {
  struct Row {
    const char* volumes;
    const char* said;  // empty: they can
  };
  for (const auto& row : std::vector<Row>{
           {R"([{"name": "train", "mount_path": "/x", "claim": "c"}])", "volumes[0].name: \"train\" is reserved for a volume of trainstep"},
           {R"([{"name": "shm", "mount_path": "/x", "empty_dir": {}}])", "volumes[0].name: \"shm\" is reserved for a volume of trainstep"},
           {R"([{"name": "trainstep-keys-0", "mount_path": "/x", "empty_dir": {}}])", "is reserved for a volume of trainstep"},
           {R"([{"name": "a", "mount_path": "/x", "claim": "c"}, {"name": "a", "mount_path": "/y", "claim": "d"}])",
            "volumes[1].name: \"a\" is already the name of another volume"},
           {R"([{"mount_path": "/x/", "claim": "c"}, {"mount_path": "/x", "claim": "d"}])",
            "volumes[1].mount_path: /x is already used by job_options.volumes[0]"},
           {R"([{"mount_path": "/trainstep/bin", "claim": "c"}])", "volumes[0].mount_path: /trainstep/bin is reserved for trainstep"},
           {R"([{"name": "A_b", "mount_path": "/x", "claim": "c"}])", "volumes[0].name"},
           {R"([{"name": "a.b", "mount_path": "/x", "claim": "c"}])", "volumes[0].name: \"a.b\" is not a valid volume name"},
           {R"([{"name": "train", "mount_path": "/train/", "claim": "c"}, {"name": "train", "mount_path": "/y", "claim": "c"}])", ""},
           {R"([{"name": "shm", "mount_path": "/dev/shm", "empty_dir": {"medium": "Memory"}}])", ""},
           {R"([{"name": "a", "mount_path": "/x", "claim": "c", "read_only": true}, {"name": "a", "mount_path": "/y", "claim": "c"}])", ""},
       }) {
    INFO(row.volumes);
    auto r = request();
    r.job_options["volumes"] = Json::parse(row.volumes);
    const auto plan = make_plan(r, types);
    CHECK(plan.has_value() == std::string(row.said).empty());
    if (!plan) CHECK(plan.error().message.find(row.said) != std::string::npos);
  }
  auto r = request();
  r.job_options =
      Json::parse(R"({"volumes": [{"mount_path": "/x", "claim": "c"}], "replicas": {"Main": {"volumes": [{"mount_path": "/x", "claim": "d"}]}}})");
  const auto plan = make_plan(r, types);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message.find("job_options.replicas.Main: job_options.volumes[1].mount_path") == 0);
}

TEST_CASE("what no program can be given on its command line or in a variable is refused by the input that brings it") {
  const std::string component =
      R"({"image": "a", "command": ["python3", {"inputValue": "text"}, {"inputValue": "small"}], "inputs": [{"name": "text"}, {"name": "small"}]})";
  const auto said = [](const Request& r) {
    const auto plan = make_plan(r, types);
    return plan ? std::string() : plan.error().message;
  };
  auto r = request();
  r.train_specification = component;
  r.train_parameters = {{"text", std::string(131071, 'x')}, {"small", "y"}};
  CHECK(said(r).empty());
  r.train_parameters["text"] = std::string(131072, 'x');
  CHECK(said(r).find("train_parameters.text: results in an argument of 131072 bytes") == 0);
  r = request();
  r.train_specification = to_text(Json{{"image", "a"}, {"command", {"python3", "-c", std::string(200'000, 'x')}}});
  CHECK(said(r).find("train_specification: an argument of the program's command line has 200000 bytes") == 0);
  r = distributed(R"({"distribution_type": "MPI", "number_of_workers": 2})");
  r.distribution_specification["mpirun_arguments"] = {std::string(131'071, 'x')};
  CHECK(said(r).empty());
  r.distribution_specification["mpirun_arguments"] = {std::string(131'072, 'x')};
  CHECK(said(r).find("distribution_specification.mpirun_arguments: an argument has 131072 bytes") == 0);
  r = request();
  r.job_options = {{"environment", {{"A", std::string(131069, 'x')}}}};
  CHECK(said(r).empty());
  r.job_options = {{"environment", {{"A", std::string(131070, 'x')}}}};
  CHECK(said(r).find("job_options.environment: A has 131072 bytes") == 0);
  r.job_options = {{"replicas", {{"Worker", {{"environment", {{"B", std::string(131070, 'x')}}}}}}}};
  CHECK(said(r).find("job_options.replicas.Worker.environment: B has") == 0);
  r.job_options = {{"environment", Json::object()}};
  for (int i = 0; i < 16; ++i) r.job_options["environment"]["A" + std::to_string(i)] = std::string(130'000, 'x');
  CHECK(said(r).find("command line and environment have") != std::string::npos);
}

TEST_CASE("names of variables and images that cannot be are refused wherever they come from") {
  struct Row {
    const char* specification;
    const char* said;
  };
  for (const auto& row : std::vector<Row>{
           {R"({"image": "a", "command": ["x"], "env": {"A=B": "1"}})",
            "train_specification: \"A=B\" is not a valid variable name; use letters, digits, underscores, dashes and dots, not starting with a "
            "digit"},
           {R"({"image": "a", "command": ["x"], "env": [{"name": "A\nB", "value": "1"}]})",
            "train_specification: \"A\\nB\" is not a valid variable name; use letters, digits, underscores, dashes and dots, not starting with a "
            "digit"},
           {R"({"image": "a b", "command": ["x"]})", "train_specification.image: \"a b\" is not a valid image name"},
           {R"({"image": "a\n", "command": ["x"]})", "train_specification.image: \"a\\n\" is not a valid image name"},
       }) {
    INFO(row.specification);
    auto r = request();
    r.train_specification = row.specification;
    const auto plan = make_plan(r, types);
    REQUIRE_FALSE(plan);
    CHECK(plan.error().message == row.said);
  }
  auto r = request();
  r.environment = {{"A B", "1"}};
  CHECK(make_plan(r, types).error().message.find("environment of the step: \"A B\" is not a valid variable name") == 0);
}

TEST_CASE("an empty string counts as not given, except for strings") {
  auto r = request();
  r.train_specification =
      R"({"image": "a", "command": ["x", {"inputValue": "n"}, {"inputValue": "s"}], "inputs": [{"name": "n", "type": "Integer", "default": "3"}, {"name": "s", "type": "String", "default": "d"}]})";
  r.train_parameters = {{"n", ""}, {"s", ""}};
  const auto plan = make_plan(r, types);
  REQUIRE(plan);
  CHECK(plan->binding.inputs.at(0).value == Json(3));
  CHECK(plan->binding.inputs.at(1).value == Json(""));
  auto d = distributed(R"({"distribution_type": "PyTorch", "number_of_workers": "", "worker_cpus": "", "launcher_cpus": "", "elastic": ""})");
  CHECK(make_plan(d, types)->distribution.workers == 1);
  d.distribution_specification = Json::parse(R"({"distribution_type": "MPI", "mpirun_arguments": ["-x", ""]})");
  CHECK(make_plan(d, types).error().message == "distribution_specification.mpirun_arguments[1]: is empty; omit it");
}

TEST_CASE("a default that is infinite or no number reaches the program as its SDK's own launcher would write it") {
  const auto words = [](const Request& r) {
    const auto plan = make_plan(r, types);
    if (!plan) FAIL(plan.error().message);
    return command_line(plan->program, plan->binding, pod_placement(*plan, true)).value();
  };
  auto r = request();
  r.train_specification =
      "name: f\ninputs:\n- {name: best, type: Float, default: inf, optional: true}\n- {name: worst, type: Float, default: '-inf'}\n- {name: none, "
      "type: Float, "
      "default: nan}\n- {name: all, type: JsonArray, default: '[1, Infinity]'}\nimplementation:\n  container:\n    image: a\n    command: [x, "
      "{inputValue: best}, "
      "{inputValue: worst}, {inputValue: none}, {inputValue: all}]\n";
  CHECK(words(r) == std::vector<std::string>{"x", "inf", "-inf", "nan", "[1, Infinity]"});
  r.train_parameters = {{"best", "-Infinity"}, {"all", Json::array({2})}};
  CHECK(words(r) == std::vector<std::string>{"x", "-inf", "-inf", "nan", "[2]"});
  r.train_parameters = Json::object();
  r.train_specification = R"(
components:
  comp-f:
    executorLabel: exec-f
    inputDefinitions:
      parameters:
        best: {defaultValue: .inf, isOptional: true, parameterType: NUMBER_DOUBLE}
        all: {defaultValue: [1, .inf, .nan], isOptional: true, parameterType: LIST}
deploymentSpec:
  executors:
    exec-f:
      container: {image: a, command: [x, "{{$.inputs.parameters['best']}}", "{{$}}"]}
pipelineInfo: {name: f}
root:
  dag:
    tasks:
      f:
        componentRef: {name: comp-f}
        taskInfo: {name: f}
schemaVersion: 2.1.0
sdkVersion: kfp-2.14.0
)";
  const auto v2 = words(r);
  REQUIRE(v2.size() == 3);
  CHECK(v2[1] == "inf");
  // As Python's json reads it, wherever it stands.
  CHECK_THAT(v2[2], Catch::Matchers::Contains(R"("parameterValues":{"best":Infinity,"all":[1,Infinity,NaN]})"));
}
