// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "unit/spec/support.h"

using namespace trainstep;
using namespace trainstep::spec;
using Catch::Matchers::Contains;

namespace {

// A component's IR in JSON, to be changed and read.
Json ir() {
  return Json::parse(R"({
    "components": {"comp-x": {"executorLabel": "exec-x",
      "inputDefinitions": {"parameters": {"a": {"parameterType": "STRING"}}},
      "outputDefinitions": {"artifacts": {"m": {"artifactType": {"schemaTitle": "system.Model"}}}}}},
    "deploymentSpec": {"executors": {"exec-x": {"container": {"image": "i", "command": ["run"], "args": ["--executor_input", "{{$}}"]}}}},
    "root": {"dag": {"tasks": {"x": {"componentRef": {"name": "comp-x"}, "inputs": {"parameters": {"a": {"componentInputParameter": "a"}}}}}},
             "inputDefinitions": {"parameters": {"a": {"parameterType": "STRING"}}}}})");
}

Json& container(Json& json) { return json["deploymentSpec"]["executors"]["exec-x"]["container"]; }
Json& parameter(Json& json) { return json["components"]["comp-x"]["inputDefinitions"]["parameters"]["a"]; }
Json& fed(Json& json) { return json["root"]["dag"]["tasks"]["x"]["inputs"]["parameters"]["a"]; }

}  // namespace

TEST_CASE("a lightweight Python component is read with its types, defaults and artifacts") {
  for (const auto* file : {"v2_train.yaml", "v2_train.json"}) {
    INFO(file);
    const auto program = read(data(file));
    CHECK(program.dialect == Dialect::v2);
    CHECK(program.name == "train");
    CHECK(program.image == "python:3.11");
    CHECK(show_all(program.inputs) == "epochs:integer=3? lr:number=1e-05? train_dataset:artifact");
    CHECK(show_all(program.outputs) == "Output:number metrics:artifact model:artifact");
    CHECK(find_output(program, "model")->declared == "system.Model");
    CHECK(show(program.args) == "'--executor_input' executor_input '--function_to_execute' 'train'");
    CHECK(program.command.size() == 7);
    CHECK(program.platform.is_null());
  }
}

TEST_CASE("every parameter style of the SDK 2 is read; whole numbers are integers again") {
  const auto program = read(data("v2_every_style.yaml"));
  CHECK(show_all(program.inputs) ==
        "count:integer deep:boolean=false? flag:boolean greeting:string=\"3\"? items:list maybe:string? numbers:list=[64,32]? "
        "options:object={\"x\":[1,\"y\"]}? rate:number ratio:number=2.0? steps:integer=3? table:object task_config:object={}? text:string "
        "words:object={\"a\":0.5,\"b\":2}? blob:artifact data:artifact extra:artifact?");
  CHECK(show_all(program.outputs) ==
        "accuracy:number info:object labels:list name:string notes:string passed:boolean rounds:integer metrics:artifact model:artifact "
        "weights:artifact");
}

TEST_CASE("a container component's placeholders become a tree") {
  const auto program = read(data("v2_container.yaml"));
  CHECK(show(program.command) == "'python3' 'train.py'");
  CHECK(show(program.args) ==
        "'--data' path(data) '--data-uri' uri(data) concat('--name=run-' value(name)) '--epochs' value(epochs) '--lr' value(lr) '--model' out(model) "
        "'--model-uri' out_uri(model) '--score' out(score) concat('--out=' out_uri(model) '/' value(name)) "
        "present(tag ? '--tag' value(tag) : '--no-tag') concat('--x=' present(tag ? value(tag) : 'none') '!') '--flag' value(flag) '--sizes' "
        "value(sizes) '--all' executor_input");
}

TEST_CASE("a pipeline of one step: names of the component, defaults of the step and of the pipeline, resources, variables") {
  const auto program = read(data("v2_one_step.yaml"));
  CHECK(program.name == "fit");
  CHECK(show_all(program.inputs) == "epochs:integer=7? lr:number=0.25? name:string=\"x\"? data:artifact?");
  CHECK(program.resources.cpus == "8");
  CHECK(program.resources.memory == "32Gi");
  CHECK(program.resources.gpus == "2");
  CHECK(program.resources.gpu_resource == "nvidia.com/gpu");
  CHECK(program.environment == std::vector<std::pair<std::string, std::string>>{{"A", "b"}});
  CHECK(program.platform.is_object());
}

TEST_CASE("one step of several is chosen by task, component or executor") {
  for (const auto* name : {"fit", "comp-fit", "exec-fit"}) CHECK(read(data("v2_two_steps.yaml"), name).name == "fit");
  CHECK(show_all(read(data("v2_two_steps.yaml"), "prepare").inputs) == "rows:integer=10?");
  // Its value comes from the other step: only train_parameters can set it.
  CHECK(show_all(read(data("v2_two_steps.yaml"), "fit").inputs).starts_with("epochs:integer "));
  CHECK(show_all(read(data("v2_importer.yaml"), "fit").inputs) == "epochs:integer=1? lr:number=0.5? name:string=\"x\"? data:artifact");
  CHECK(read(data("v2_two_steps_same.yaml"), "fit-2").name == "fit-2");
}

TEST_CASE("without a choice, several steps are listed; importers and nested pipelines are excluded") {
  CHECK_THAT(error_of(data("v2_two_steps.yaml")), Contains("several steps; name the one that trains in job_options.component: fit, prepare"));
  CHECK_THAT(error_of(data("v2_two_steps.yaml"), "trian"), Contains("has no step \"trian\"; it has fit, prepare"));
  CHECK_THAT(error_of(data("v2_nested.yaml")), Contains("got a nested pipeline (loop, condition or group), not a program; compile the component"));
  CHECK_THAT(error_of(data("v2_importer.yaml"), "importer"), Contains("comp-importer: got a component without a container (an importer?)"));
}

TEST_CASE("a task and its pipeline decide default and need of an input") {
  struct Row {
    const char* own;
    const char* fed;
    const char* outer;
    const char* shown;
  };
  for (const auto& row : std::vector<Row>{
           {R"({"parameterType": "NUMBER_INTEGER", "defaultValue": 3.0, "isOptional": true})", "null", "{}", "a:integer=3?"},
           {R"({"parameterType": "NUMBER_INTEGER"})", R"({"runtimeValue": {"constant": 4.0}})", "{}", "a:integer=4?"},
           {R"({"parameterType": "NUMBER_INTEGER", "defaultValue": 3.0})", R"({"runtimeValue": {"constant": 4.0}})", "{}", "a:integer=4?"},
           {R"({"parameterType": "STRING"})", R"({"componentInputParameter": "a"})", R"({"defaultValue": "x", "isOptional": true})",
            "a:string=\"x\"?"},
           {R"({"parameterType": "STRING", "defaultValue": "own", "isOptional": true})", R"({"componentInputParameter": "a"})", "{}", "a:string"},
           {R"({"parameterType": "STRING", "isOptional": true})", R"({"componentInputParameter": "a"})", R"({"isOptional": true})", "a:string?"},
           {R"({"parameterType": "STRING", "defaultValue": "own", "isOptional": true})", R"({"componentInputParameter": "a"})",
            R"({"isOptional": true})", "a:string=\"own\"?"},
           {R"({"parameterType": "STRING", "isOptional": true})", R"({"taskOutputParameter": {"producerTask": "y"}})", "{}", "a:string"},
           {R"({"parameterType": "STRING"})", R"({"runtimeValue": {"constant": "{{$.pipeline_job_name}}"}})", "{}", "a:string"},
           {R"({"parameterType": "STRUCT"})", R"({"runtimeValue": {"constant": {"x": ["{{$.inputs.parameters['pipelinechannel--w']}}"]}}})", "{}",
            "a:object"},
           {R"({"parameterType": "STRUCT", "defaultValue": "{\"b\": 1}"})", "null", "{}", "a:object={\"b\":1}?"},
           {R"({"parameterType": "TASK_CONFIG"})", "null", "{}", "a:object={}?"},
           {R"({"type": "INT"})", "null", "{}", "a:integer"},
       }) {
    INFO(row.own << row.fed << row.outer);
    auto json = ir();
    parameter(json) = Json::parse(row.own);
    fed(json) = Json::parse(row.fed);
    json["root"]["inputDefinitions"]["parameters"]["a"] = Json::parse(row.outer);
    CHECK(show_all(read(json.dump()).inputs) == row.shown);
  }
}

TEST_CASE("an IR inside a job has the job's values as defaults") {
  Json job{{"pipelineSpec", ir()}, {"runtimeConfig", {{"parameterValues", {{"a", "given"}}}}}};
  CHECK(show_all(read(job.dump()).inputs) == "a:string=\"given\"?");
}

TEST_CASE("allowed values are kept") {
  auto json = ir();
  parameter(json)["literals"] = {"x", "y"};
  CHECK(read(json.dump()).inputs[0].allowed == std::vector<Json>{"x", "y"});
}

TEST_CASE("resources are quantities, whether the SDK wrote texts or numbers") {
  struct Row {
    const char* resources;
    const char* cpus;
    const char* memory;
    const char* gpus;
  };
  for (const auto& row : std::vector<Row>{
           {R"({"cpuLimit": 8.0, "memoryLimit": 34.359738368})", "8", "34359738368", ""},
           {R"({"cpuLimit": 0.5, "memoryLimit": 2})", "0.5", "2000000000", ""},
           {R"({"cpuLimit": 8.0, "resourceCpuLimit": "8000m", "memoryLimit": 1, "resourceMemoryLimit": "1Gi"})", "8000m", "1Gi", ""},
           {R"({"resourceCpuRequest": "2", "resourceMemoryRequest": "4Gi"})", "2", "4Gi", ""},
           {R"({"cpuLimit": 0, "cpuRequest": 1, "accelerator": {"type": "amd.com/gpu", "count": "2"}})", "1", "", "2"},
           {R"({"accelerator": {"resourceType": "nvidia.com/gpu", "resourceCount": "4", "count": "1", "type": "old"}})", "", "", "4"},
           {R"({"accelerator": {"count": "0"}})", "", "", ""},
       }) {
    INFO(row.resources);
    auto json = ir();
    container(json)["resources"] = Json::parse(row.resources);
    const auto resources = read(json.dump()).resources;
    CHECK(resources.cpus == row.cpus);
    CHECK(resources.memory == row.memory);
    CHECK(resources.gpus == row.gpus);
  }
}

TEST_CASE("mistakes in an IR are refused with their place") {
  struct Row {
    void (*spoil)(Json& json);
    const char* message;
  };
  for (const auto& row : std::vector<Row>{
           {[](Json& j) { j["root"]["dag"] = nullptr; }, "train_specification.root.dag.tasks: is missing or empty"},
           {[](Json& j) { j.erase("root"); }, "train_specification.root.dag.tasks: is missing or empty"},
           {[](Json& j) { j["components"] = Json::object(); }, "component \"comp-x\" is not in components"},
           {[](Json& j) { container(j)["command"] = "x"; }, "exec-x.container.command: expected a list of strings"},
           {[](Json& j) { container(j)["args"] = {"x", 3}; }, "exec-x.container.args[1]: expected a string, got a number"},
           {[](Json& j) { container(j) = Json{{"image", "i"}}; }, "container.command: is missing; the image's entry point"},
           {[](Json& j) { container(j)["command"] = Json::array(); }, "container.command: is missing; the image's entry point"},
           {[](Json& j) { container(j).erase("command"); }, "container.command: is missing; the image's entry point"},
           {[](Json& j) { container(j)["image"] = "{{$.inputs.parameters['i']}}"; }, "container.image: comes from the pipeline"},
           {[](Json& j) { container(j)["env"] = {{{"value", "x"}}}; }, "container.env[0].name: is missing"},
           {[](Json& j) { container(j)["env"] = {{{"name", "A"}, {"value", "{{$.inputs.parameters['a']}}"}}}; },
            "env[0].value: comes from the pipeline"},
           {[](Json& j) { container(j)["resources"]["resourceCpuLimit"] = "{{$.inputs.parameters['c']}}"; },
            "resourceCpuLimit: comes from the pipeline"},
           {[](Json& j) { container(j)["resources"]["cpuLimit"] = -1; }, "resources.cpuLimit: expected a quantity, got -1"},
           {[](Json& j) { container(j)["resources"]["accelerator"] = {{"count", "1"}, {"type", "NVIDIA_TESLA_K80"}}; },
            "is not a Kubernetes resource"},
           {[](Json& j) { parameter(j)["parameterType"] = "TASK_FINAL_STATUS"; },
            "parameters.a: TASK_FINAL_STATUS is available only in a pipeline's exit handler, not in"},
           {[](Json& j) { parameter(j)["parameterType"] = "NUMBER"; }, "parameters.a.parameterType: unknown value \"NUMBER\""},
           {[](Json& j) { fed(j) = Json::parse(R"({"runtimeValue": {"constant": {}}})"); }, "parameters.a.defaultValue: expected a string, got {}"},
           {[](Json& j) { container(j)["args"] = {"{{$.inputs.parameters['b']}}"}; }, "refer to an input \"b\", which is not declared"},
           {[](Json& j) { container(j)["args"] = {"{{$.inputs.artifacts['a'].path}}"}; }, "input \"a\" is a value (STRING), not a path"},
           {[](Json& j) { container(j)["args"] = {"x"}; }, "no argument passes the program the path of output \"m\""},
       }) {
    auto json = ir();
    row.spoil(json);
    CHECK_THAT(error_of(json.dump()), Contains(row.message));
  }
}
