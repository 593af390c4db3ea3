// SPDX-License-Identifier: Apache-2.0
#include "step/inputs.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "step/node_selector.h"
#include "support.h"

namespace trainstep::step {
namespace {

using Catch::Matchers::Contains;

const Flag program{"train-specification", "image: python"};

std::string message(const Flags& flags, const Context& context = empty_context()) { return refused(flags, context).message; }

TEST_CASE("A call with only a specification gets the interface's defaults") {
  const auto inputs = read({program});
  CHECK(inputs.request.train_specification == "image: python");
  CHECK(inputs.request.model_name == "my-model");
  CHECK(inputs.request.train_mount == "/train");
  CHECK(inputs.request.pvc_size == "10Gi");
  CHECK(inputs.request.cpus.empty());
  CHECK(inputs.request.train_parameters == Json::object());
  CHECK(inputs.request.inputs.empty());
  CHECK(inputs.request.outputs.empty());
  CHECK_FALSE(inputs.from_executor_input);
}

TEST_CASE("The help states the defaults that apply") {
  const auto request = read({program}).request;
  const std::map<std::string_view, std::string> defaults{
      {"train_mount", request.train_mount}, {"model_name", request.model_name}, {"pvc_size", request.pvc_size}};
  for (const auto& field : input_fields()) {
    const auto stated = field.help.ends_with(')') ? field.help.substr(field.help.rfind('(')) : std::string_view();
    const auto found = defaults.find(field.name);
    CAPTURE(field.name, field.help);
    CHECK(stated == (found == defaults.end() ? "" : "(" + found->second + ")"));
  }
}

TEST_CASE("Flags are spelled with dashes or underscores") {
  CHECK(read({program, {"model_name", "digits"}}).request.model_name == "digits");
  CHECK(read({program, {"model-name", "digits"}}).request.model_name == "digits");
}

TEST_CASE("Data and model may be addresses in an object store") {
  const auto request = read({program, {"train-dataset-dir", "s3://bucket/digits"}, {"model-dir", "s3://bucket/run/model"}}).request;
  REQUIRE((request.inputs.size() == 1 && request.outputs.size() == 1));
  CHECK(request.inputs[0].uri == "s3://bucket/digits");
  CHECK(request.inputs[0].path.empty());
  CHECK(request.outputs[0].uri == "s3://bucket/run/model");
  CHECK(request.outputs[0].path.empty());
}

TEST_CASE("An empty string counts as not given") {
  const auto inputs = read({program, {"model-name", ""}, {"gpus", " "}, {"train-parameters", ""}, {"train-dataset-dir", ""}, {"metrics", ""}});
  CHECK(inputs.request.model_name == "my-model");
  CHECK(inputs.request.gpus.empty());
  CHECK(inputs.request.train_parameters == Json::object());
  CHECK(inputs.request.inputs.empty());
  CHECK(inputs.targets.empty());
}

TEST_CASE("A string may name a file, be escaped or be base64-encoded") {
  const Context around{.environment = {}, .read_file = files({{"/spec.yaml", "image: a\n"}, {"/tmp/argo_arg_3.txt", "base64:aW1hZ2U6IGI="}})};
  CHECK(read({{"train-specification", "@/spec.yaml"}}, around).request.train_specification == "image: a\n");
  CHECK(read({{"train-specification", "@/tmp/argo_arg_3.txt"}}, around).request.train_specification == "image: b");
  CHECK(read({{"train-specification", "base64:aW1hZ2U6IGI="}}, around).request.train_specification == "image: b");
  CHECK(read({program, {"tensorboard-s3-address", "@@spec"}}, around).request.tensorboard_s3_address == "@spec");
  CHECK_THAT(message({{"train-specification", "@/none"}}, around), Contains("train_specification: cannot read /none") && Contains("write @@"));
  CHECK_THAT(message({{"train-specification", "base64:####"}}, around), Contains("train_specification"));
}

TEST_CASE("Strings of more than 16 MB are rejected") {
  const std::string long_text((std::size_t{16} << 20U) + 1, 'x');
  CHECK_THAT(message({{"train-specification", long_text}}), Contains("train_specification: has 16777217 bytes"));
  const Context around{.environment = {}, .read_file = files({{"/long", long_text}})};
  CHECK_THAT(message({{"train-specification", "@/long"}}, around), Contains("/long is larger than 16777216 bytes"));
}

TEST_CASE("Objects are passed as JSON") {
  const auto inputs = read({program, {"distribution-specification", R"({"distribution_type": "MPI", "number_of_workers": "2"})"}});
  CHECK(inputs.request.distribution_specification == Json{{"distribution_type", "MPI"}, {"number_of_workers", "2"}});
}

TEST_CASE("Values that are not objects are rejected with a hint") {
  CHECK_THAT(message({program, {"train-parameters", "[1]"}}), Contains("train_parameters: expected an object, got a list"));
  CHECK_THAT(message({program, {"train-parameters", "{\"a\" 1}"}}), Contains("train_parameters: line 1, column"));
  for (const auto* python : {"{'epochs': 3}", "{\"a\": True}", "{\"a\": None}"})
    CHECK_THAT(message({program, {"train-parameters", python}}), Contains("json.dumps"));
  CHECK_THAT(message({program, {"train-parameters", "{\"a\" 1}"}}), !Contains("json.dumps"));
}

TEST_CASE("An object that is null or empty counts as not given") {
  for (const auto* name : {"train-parameters", "distribution-specification", "job-options"})
    for (const auto* text : {"null", " null\n", "", "{}"}) {
      INFO(name << " " << text);
      CHECK(read({program, {name, text}}).request.train_parameters.empty());
    }
}

TEST_CASE("A missing specification is an error that says what is expected") {
  CHECK_THAT(message({}), Contains("train_specification: is missing"));
  CHECK(refused({}).kind == ErrorKind::input);
}

TEST_CASE("Unknown and repeated flags are usage errors") {
  CHECK_THAT(message({program, {"train-parameter", "{}"}}), Contains("unknown flag --train-parameter; did you mean --train-parameters?"));
  CHECK(refused({program, {"train-parameter", "{}"}}).kind == ErrorKind::usage);
  CHECK_THAT(message({program, {"train-spec", "{}"}}), Contains("did you mean --train-specification?"));
  CHECK_THAT(message({program, {"quite-other", "{}"}}), Contains("run --help"));
  CHECK_THAT(message({program, {"gpus", "1"}, {"gpus", "2"}}), Contains("--gpus is specified twice"));
  CHECK_THAT(message({program, {"", "stray"}}), Contains("unexpected argument \"stray\""));
}

TEST_CASE("Placeholders that old backends leave for an absent input are ignored") {
  const std::string left = R"({"IfPresent":{"InputName":"gpus","Then":["--gpus","1"]}})";
  CHECK(read({program, {"", left}, {"gpus", left}}).request.gpus.empty());
}

TEST_CASE("Single-line strings may not contain control characters") {
  CHECK_THAT(message({program, {"base-image", "a\nb"}}), Contains("base_image: contains a line break"));
}

TEST_CASE("Paths given on the command line are the step's paths") {
  const auto inputs = read({program,
                            {"train-dataset-dir", "/data/train"},
                            {"validation-dataset-dir", "s3://bucket/validation"},
                            {"model-dir", "/out/model"},
                            {"metrics", "/out/metrics.json"},
                            {"job-name-file", "/out/name"}});
  REQUIRE(inputs.request.inputs.size() == 2);
  CHECK(inputs.request.inputs[0].name == "train_dataset_dir");
  CHECK(inputs.request.inputs[0].path == "/data/train");
  CHECK(inputs.request.inputs[1].path.empty());
  CHECK(inputs.request.inputs[1].uri == "s3://bucket/validation");
  REQUIRE(inputs.request.outputs.size() == 2);
  CHECK(inputs.request.outputs[0].name == "model_dir");
  CHECK(inputs.request.outputs[1].name == "metrics");
  REQUIRE(inputs.targets.size() == 3);
  CHECK(inputs.targets[2].name == "job_name");
  CHECK(inputs.targets[2].kind == OutputTarget::Kind::file);
}

TEST_CASE("An output's path ends without a slash, however it is given: the program may write a file there") {
  for (const auto* given : {"m", "m/", "m//", "m/.", "m/./"}) {
    const auto inputs = read({program, {"model-dir", given}, {"report", given}});
    CHECK(inputs.request.outputs.at(0).path == "m");
    CHECK(inputs.targets.at(1).path == "m");
  }
  CHECK(read({program, {"model-dir", "x/../m/"}}).targets.at(0).path == "x/../m");
  CHECK(read({program, {"model-dir", "/"}}).targets.at(0).path == "/");
  CHECK(read({program, {"model-dir", "s3://bucket/m/"}}).targets.at(0).uri == "s3://bucket/m/");
}

TEST_CASE("The flags apply if the executor input is the literal placeholder or empty") {
  for (const auto* literal : {"{{$}}", "", " {{$}} "}) CHECK(read({{"executor-input", literal}, program, {"gpus", "2"}}).request.gpus == "2");
  CHECK_THAT(message({{"executor-input", "nonsense"}, program}), Contains("neither a JSON object nor"));
}

TEST_CASE("An executor input overrides all other flags") {
  const auto inputs = read({{"executor-input", executor_input(R"({"train_specification": "image: inner", "gpus": 2.0})")},
                            {"train-specification", "image: {{broken"},
                            {"", R"({"IfPresent":{}})"},
                            {"nonsense", "x"}});
  CHECK(inputs.from_executor_input);
  CHECK(inputs.request.train_specification == "image: inner");
  CHECK(inputs.request.gpus == "2");
}

TEST_CASE("Values of an executor input keep their meaning in every form") {
  const auto request = read({{"executor-input", executor_input(R"({
      "train_specification": {"image": "a", "command": ["x"]},
      "train_parameters": {"epochs": 3, "rate": 0.5},
      "distribution_specification": "{\"number_of_workers\": \"3\"}",
      "cpus": 0.5, "memory": "2Gi", "gpus": null, "model_name": "",
      "pipelinechannel--workers": 3})")}})
                           .request;
  CHECK(request.train_specification == R"({"image":"a","command":["x"]})");
  CHECK(request.train_parameters == Json{{"epochs", 3}, {"rate", 0.5}});
  CHECK(request.distribution_specification == Json{{"number_of_workers", "3"}});
  CHECK(request.cpus == "0.5");
  CHECK(request.memory == "2Gi");
  CHECK(request.gpus.empty());
  CHECK(request.model_name == "my-model");
}

TEST_CASE("A reference to a pipeline parameter that an old launcher did not replace is resolved") {
  const auto request = read({{"executor-input", executor_input(R"({
      "train_specification": "{\"image\": \"a:{{$.inputs.parameters['pipelinechannel--tag']}}\", \"command\": [\"{{$.inputs.parameters['epochs']}}\"]}",
      "train_parameters": {"epochs": "{{$.inputs.parameters['pipelinechannel--epochs']}}", "names": ["{{$.inputs.parameters['pipelinechannel--tag']}}-x"]},
      "distribution_specification": {"number_of_workers": "{{$.inputs.parameters['pipelinechannel--workers']}}"},
      "pipelinechannel--workers": 3, "pipelinechannel--tag": "v1", "pipelinechannel--epochs": 0.5})")}})
                           .request;
  CHECK(request.train_specification == R"({"image": "a:v1", "command": ["{{$.inputs.parameters['epochs']}}"]})");
  CHECK(request.train_parameters == Json{{"epochs", 0.5}, {"names", {"v1-x"}}});
  CHECK(request.distribution_specification == Json{{"number_of_workers", 3}});
}

TEST_CASE("A reference keeps the type of the parameter, and null is null") {
  const auto request = read({{"executor-input", executor_input(R"({
      "train_specification": "image: a",
      "train_parameters": {"a": "{{$.inputs.parameters['pipelinechannel--list']}}", "b": "{{$.inputs.parameters['pipelinechannel--none']}}",
                           "c": ["{{$.inputs.parameters['pipelinechannel--flag']}}"], "d": "null",
                           "e": "{{$.inputs.parameters['pipelinechannel--flag']}} {{$.inputs.parameters['pipelinechannel--text']}}"},
      "pipelinechannel--list": [1, "x"], "pipelinechannel--none": null, "pipelinechannel--flag": true,
      "pipelinechannel--text": "{{$.inputs.parameters['pipelinechannel--none']}}"})")}})
                           .request;
  CHECK(request.train_parameters == Json{{"a", {1, "x"}},
                                         {"b", nullptr},
                                         {"c", Json::array({true})},
                                         {"d", nullptr},
                                         {"e", "true {{$.inputs.parameters['pipelinechannel--none']}}"}});
  const auto text = read({{"executor-input", executor_input(R"({"train_specification": "image: a", "train_parameters": {"d": "null"}})")}});
  CHECK(text.request.train_parameters == Json{{"d", "null"}});
}

TEST_CASE("Placeholders that were not replaced with a value are rejected with their location") {
  struct Row {
    std::string values, part;
  };
  const auto row = GENERATE(
      Row{R"("job_options": {"environment": {"A": "{{$.inputs.parameters['pipelinechannel--x']}}"}})",
          "job_options.environment.A: {{$.inputs.parameters['pipelinechannel--x']}} was not replaced"},
      Row{R"("train_parameters": {"a": [1, "x{{$.inputs.parameters['pipelinechannel--x']}}"]})", "train_parameters.a[1]: {{$.inputs.parameters["},
      Row{R"("model_name": "{{channel:task=load;name=x;type=String;}}")", "model_name: {{channel:task=load;name=x;type=String;}} was not"},
      Row{R"("memory": "{{inputs.parameters.memory}}")", "memory: {{inputs.parameters.memory}} was not"},
      Row{R"("pvc_name": "data-{{workflow.name}}")", "pvc_name: {{workflow.name}} was not"},
      Row{R"("cpus": "{{tasks.a.outputs.result}}")", "cpus: {{tasks.a.outputs.result}} was not"},
      Row{R"("base_image": "{{$.inputs.parameters['image']}}")", "base_image: {{$.inputs.parameters['image']}} was not"},
      Row{R"("base_image": "a:{{$.inputs.parameters['pipelinechannel--none']}}", "pipelinechannel--none": null)",
          "base_image: the pipeline parameter none is null"});
  CHECK_THAT(message({{"executor-input", R"({"inputs": {"parameterValues": {"train_specification": "image: a", )" + row.values + "}}}"}}),
             Contains(row.part));
}

TEST_CASE("A specification that is an unreplaced placeholder is rejected; one with placeholders of its own is not") {
  CHECK_THAT(message({{"executor-input", R"({"inputs": {"parameterValues": {"train_specification": " {{channel:task=a;name=b}}"}}})"}}),
             Contains("train_specification: {{channel:task=a;name=b}} was not replaced"));
  CHECK_THAT(message({{"train-specification", "{{inputs.parameters.spec}}"}}), Contains("train_specification: {{inputs.parameters.spec}} was not"));
  const std::string own = "image: a\ncommand: [\"{{$}}\", \"{{$.inputs.parameters['x']}}\"]";
  CHECK(read({{"train-specification", own}}).request.train_specification == own);
}

TEST_CASE("A value typed by a user may contain braces; one from a component's or template's command line may not") {
  const std::string prompt = R"({"prompt": "{{inputs.text}} {{ name }}"})";
  CHECK(read({program, {"train-parameters", prompt}}).request.train_parameters["prompt"] == "{{inputs.text}} {{ name }}");
  for (const auto* flag : {"executor-input", "files-in"})
    CHECK_THAT(message({program, {flag, flag[0] == 'e' ? "{{$}}" : "/inputs"}, {"train-parameters", prompt}}), Contains("{{inputs.text}} was not"));
  CHECK_THAT(message({program, {"model-name", "{{pipelineparam:op=;name=x}}"}}), Contains("model_name: {{pipelineparam:op=;name=x}} was not"));
}

TEST_CASE("A template passes on a string that only looks like a loop's placeholder") {
  const auto parameters = [](const std::string& text) {
    return Flags{program, {"files-in", "/inputs"}, {"train-parameters", R"({"prompt": ")" + text + "\"}"}};
  };
  CHECK(read(parameters("{{items}} {{name}} {{ item }} $(HOME)")).request.train_parameters["prompt"] == "{{items}} {{name}} {{ item }} $(HOME)");
  CHECK_THAT(message(parameters("{{item}}")), Contains("train_parameters: {{item}} was not"));
  CHECK_THAT(message(parameters("{{item.lr}}")), Contains("train_parameters: {{item.lr}} was not"));
}

TEST_CASE("A value from a pipeline never names a file") {
  const Context around{.environment = {},
                       .read_file = files({{"/var/run/secrets/token", "SECRET"},
                                           {"/inputs/../var/run/secrets/token", "SECRET"},
                                           {"/inputs/job_options", R"({"cleanup": "never"})"}})};
  const auto never = [&](const Flags& flags) {
    const auto inputs = read_inputs(flags, around);
    if (inputs) CHECK(inputs->request.tensorboard_s3_address == "@/var/run/secrets/token");
    if (!inputs) CHECK_THAT(inputs.error().message, !Contains("SECRET"));
    return inputs.has_value();
  };
  CHECK(never({{"executor-input", executor_input(R"({"train_specification": "image: a", "tensorboard_s3_address": "@/var/run/secrets/token"})")}}));
  CHECK_FALSE(never({{"executor-input", executor_input(R"({"train_specification": "image: a", "train_parameters": "@/var/run/secrets/token"})")}}));
  CHECK(never({{"executor-input", "{{$}}"}, program, {"tensorboard-s3-address", "@/var/run/secrets/token"}}));
  CHECK(never({{"files-in", "/inputs"}, program, {"tensorboard-s3-address", "@/var/run/secrets/token"}}));
  CHECK_FALSE(never({{"files-in", "/inputs"}, program, {"train-parameters", "@/inputs/../var/run/secrets/token"}}));
  CHECK_FALSE(never({{"files-in", "/inputs"}, program, {"train-parameters", "@/inputs"}}));
  CHECK_THAT(message({{"files-in", "/inputs"}, {"train-specification", "@/etc/train.yaml"}}),
             Contains("train_specification: \"@/etc/train.yaml\" is not read as a file; with --files-in, only files below /inputs are"));
  CHECK_THAT(message({{"executor-input", "{{$}}"}, program, {"job-options", "@options.json"}}),
             Contains("job_options: \"@options.json\" is not read as a file, because it is a value of a pipeline; pass the content"));
  // A template's own files, and where Argo puts a long argument.
  CHECK(read({{"files_in", "/inputs/"}, program, {"job-options", "@/inputs/job_options"}}, around).request.job_options == Json{{"cleanup", "never"}});
  CHECK_THAT(message({{"files-in", "inputs"}, program}), Contains("files-in: \"inputs\" is not an absolute path"));
  const Context argo{.environment = {}, .read_file = files({{"/tmp/argo_arg_3.txt", "image: b"}, {"/tmp/argo_arg_3.txt.txt", "x"}})};
  CHECK(read({{"executor-input", "{{$}}"}, {"train-specification", "@/tmp/argo_arg_3.txt"}}, argo).request.train_specification == "image: b");
  CHECK(read({{"executor-input", "{{$}}"}, program, {"tensorboard-s3-address", "@/tmp/argo_arg_3.txt.txt"}}, argo).request.tensorboard_s3_address ==
        "@/tmp/argo_arg_3.txt.txt");
}

TEST_CASE("Artifacts of an executor input are the step's paths") {
  const auto inputs = read({{"executor-input", executor_input(R"({"train_specification": "image: a"})")}});
  REQUIRE(inputs.request.inputs.size() == 1);
  const auto& data = inputs.request.inputs[0];
  CHECK(data.path == "/minio/mlpipeline/data/train");
  CHECK(data.uri == "minio://mlpipeline/data/train");
  CHECK(data.type == "system.Dataset");
  CHECK(data.metadata == Json{{"rows", 7}});
  // report, results and job_name are the step's own; executor-logs is the launcher's.
  REQUIRE(inputs.request.outputs.size() == 2);
  CHECK(inputs.request.outputs[0].path == "/minio/mlpipeline/v2/artifacts/digits/run-1/train/0e2c/model_dir");
  CHECK(inputs.request.outputs[1].name == "metrics");
  CHECK(inputs.targets.size() == 5);
  CHECK(inputs.executor_output_file == "/minio/mlpipeline/v2/artifacts/digits/run-1/train/0e2c/output_metadata.json");
}

TEST_CASE("An input artifact is where the launcher put it") {
  struct Row {
    std::string artifact, path;
  };
  const auto row = GENERATE(Row{R"({"uri": "gs://b/k"})", "/gcs/b/k"}, Row{R"({"uri": "s3://b/k"})", "/s3/b/k"},
                            Row{R"({"uri": "oci://r/m:1"})", "/oci/r_m:1/models"},
                            Row{R"({"uri": "minio://b/k", "customPath": "/elsewhere"})", "/elsewhere"}, Row{R"({"uri": "https://host/k"})", ""},
                            Row{R"({"uri": "minio://b/k", "metadata": {"_kfp_workspace": true}})", "/kfp-workspace/.artifacts/minio/b/k"},
                            Row{R"({"uri": "minio://b/k", "metadata": {"_kfp_workspace": 1}})", "/kfp-workspace/.artifacts/minio/b/k"});
  const auto inputs = read({{"executor-input", R"({"inputs": {"parameterValues": {"train_specification": "image: a"},
                              "artifacts": {"train_dataset_dir": {"artifacts": [)" +
                                                   row.artifact + "]}}}}"}});
  REQUIRE(inputs.request.inputs.size() == 1);
  CHECK(inputs.request.inputs[0].path == row.path);
}

TEST_CASE("A specification may be passed as an artifact") {
  const Context around{.environment = {}, .read_file = files({{"/minio/b/spec", "image: c"}})};
  const auto inputs =
      read({{"executor-input", R"({"inputs": {"artifacts": {"train_specification": {"artifacts": [{"uri": "minio://b/spec"}]}}}})"}}, around);
  CHECK(inputs.request.train_specification == "image: c");
  CHECK(inputs.request.inputs.empty());
}

TEST_CASE("A malformed executor input is rejected with a message that names the error") {
  struct Row {
    std::string json, part;
  };
  const auto row = GENERATE(
      Row{R"({"inputs": {"parameterValues": {"train_parameter": {}}}})", "did you mean \"train_parameters\"?"},
      Row{R"({"inputs": []})", "inputs: expected an object, got a list"},
      Row{R"({"inputs": {"parameterValues": 3}})", "parameterValues: expected an object, got a number"},
      Row{R"({"inputs": {"artifacts": {"train_dataset_dir": {"artifacts": [{}, {}]}}}})", "expected one artifact, got 2"},
      Row{R"({"inputs": {"artifacts": {"train_dataset_dir": {"artifacts": 3}}}})", "does not have the form"},
      Row{R"({"outputs": {"parameters": {"job_name": {}}}})", "job_name has no outputFile"}, Row{R"({"inputs": {)", "executor-input: line 1, column"},
      Row{R"({"inputs": {"parameterValues": {"train_specification": "a", "gpus": [1]}}})", "gpus: expected a string, got a list"},
      Row{R"({"inputs": {"parameterValues": {"train_specification": "a", "train_parameters": 3}}})", "train_parameters: expected an object"});
  CHECK_THAT(message({{"executor-input", row.json}}), Contains(row.part));
}

TEST_CASE("The step's identity is the same for every attempt") {
  const auto identity_of = [](const std::string& attempt) {
    return read({{"executor-input", executor_input(R"({"train_specification": "image: a"})", attempt)}}).request.identity;
  };
  CHECK(identity_of("0") == "mlpipeline/v2/artifacts/digits/run-1/train/0e2c");
  CHECK(identity_of("0") == identity_of("1"));
  CHECK(read({program}).request.identity.empty());
}

TEST_CASE("Node selectors are read in every form people write") {
  const Json expected{{"nvidia.com/gpu.product", "Tesla-V100-SXM2-32GB"}, {"zone", "a"}};
  const auto* text = GENERATE(
      "nvidia.com/gpu.product: \"Tesla-V100-SXM2-32GB\"\nzone: a\n", "nvidia.com/gpu.product:Tesla-V100-SXM2-32GB, zone: 'a'",
      "nvidia.com/gpu.product=Tesla-V100-SXM2-32GB,zone=a", R"({"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB", "zone": "a"})",
      "{nvidia.com/gpu.product: Tesla-V100-SXM2-32GB, zone: a}", "# GPUs\n---\nnvidia.com/gpu.product: Tesla-V100-SXM2-32GB # fast\n\nzone: a");
  const auto selector = parse_node_selector(text);
  REQUIRE(selector.has_value());
  CHECK(*selector == expected);
}

TEST_CASE("A label's value stays as it was written") {
  CHECK(*parse_node_selector("version: 1.10\nready: true\nempty: \"\"") == Json{{"version", "1.10"}, {"ready", "true"}, {"empty", ""}});
  CHECK(*check_node_selector(Json{{"a", true}, {"b", 2.0}}) == Json{{"a", "true"}, {"b", "2"}});
}

TEST_CASE("A label that is null is not given, unless null is quoted") {
  const auto* text = GENERATE(R"({"zone": null, "a": "b", "c": "null"})", "zone: ~\na: b\nc: 'null'");
  CHECK(*parse_node_selector(text) == Json{{"a", "b"}, {"c", "null"}});
}

TEST_CASE("An invalid node selector is rejected with its line") {
  struct Row {
    std::string text, part;
  };
  const auto row =
      GENERATE(Row{"zone", "line 1: \"zone\" has no value"}, Row{"a: b\nx y: z", "line 2: \"x y\" is not a node label"},
               Row{"a: b c", "\"b c\" is not a valid value"}, Row{"a: \"b", "unterminated quote"}, Row{"a: \"b\" c", "after the value of"},
               Row{"a: b\na: c", "line 2: the label a is specified twice"}, Row{"[a]", "has no value"});
  const auto selector = parse_node_selector(row.text);
  REQUIRE_FALSE(selector.has_value());
  CHECK_THAT(selector.error().message, Contains(row.part));
}

TEST_CASE("An overlong node selector is rejected quickly, with a short message") {
  std::string labels = "{";
  for (int i = 0; i < 200'000; ++i) labels += fmt::format("\"k{}\": 1,\n", i);
  const auto many = parse_node_selector(labels + "\"k\": 1}");
  REQUIRE_FALSE(many.has_value());
  CHECK_THAT(many.error().message, Contains("more than 1000 labels"));
  const auto one = parse_node_selector(std::string(1'000'000, 'x'));
  REQUIRE_FALSE(one.has_value());
  CHECK(one.error().message.size() < 300);
}

TEST_CASE("Proxies, pip's index and MLflow's address are passed on, keys are not") {
  const Context around{.environment = {{"HTTPS_PROXY", "http://p"},
                                       {"no_proxy", ""},
                                       {"PIP_INDEX_URL", "https://i"},
                                       {"MLFLOW_TRACKING_URI", "http://m"},
                                       {"MLFLOW_TRACKING_TOKEN", "secret"},
                                       {"WANDB_MODE", "offline"},
                                       {"HOSTNAME", "pod"}},
                       .read_file = files({})};
  CHECK(read({program}, around).request.environment ==
        Json{{"HTTPS_PROXY", "http://p"}, {"MLFLOW_TRACKING_URI", "http://m"}, {"PIP_INDEX_URL", "https://i"}});
  const auto more = read({program, {"job-options", R"({"pass_environment": ["WANDB_*", "MLFLOW_TRACKING_TOKEN"]})"}}, around).request.environment;
  CHECK(more["WANDB_MODE"] == "offline");
  CHECK(more["MLFLOW_TRACKING_TOKEN"] == "secret");
}

TEST_CASE("Variables with secrets or file names are passed on only if named explicitly, and this is reported") {
  struct Row {
    std::string name, value, said;
  };
  const auto row = GENERATE(
      Row{"HTTPS_PROXY", "http://me:hunter22@proxy:3128", "it is a secret"},
      Row{"PIP_INDEX_URL", "https://TOKEN@pypi.example.com/simple", "it is a secret"},
      Row{"PIP_EXTRA_INDEX_URL", "https://a/simple https://u:p@b/simple", "it is a secret"},
      Row{"MLFLOW_TRACKING_URI", "https://me:hunter22@mlflow", "it is a secret"}, Row{"MLFLOW_TRACKING_PASSWORD", "hunter22", "it is a secret"},
      Row{"MLFLOW_TRACKING_URI", "https://mlflow/?token=hunter22", "it is a secret"},
      Row{"REQUESTS_CA_BUNDLE", "/home/me/corp.pem", "it names a file on this machine"},
      Row{"SSL_CERT_FILE", "./ca.pem", "it names a file on this machine"}, Row{"PIP_CERT", "~/ca.pem", "it names a file on this machine"},
      Row{"PIP_INDEX_URL", "file:///srv/pip", "it names a file on this machine"},
      Row{"MLFLOW_TRACKING_URI", "sqlite:///mlflow.db", "it names a file on this machine"},
      Row{"MLFLOW_TRACKING_URI", "/home/me/mlruns", "it names a file on this machine"},
      Row{"MLFLOW_TRACKING_SERVER_CERT_PATH", "/etc/ca.pem", "it names a file on this machine"});
  const Context around{.environment = {{row.name, row.value}, {"HOSTNAME", "pod"}}, .read_file = files({})};
  const auto by_default = read({program}, around);
  CHECK(by_default.request.environment == Json::object());
  REQUIRE(by_default.not_passed_on.size() == 1);
  CHECK_THAT(by_default.not_passed_on.front(), Contains(row.name) && Contains(row.said) && !Contains("hunter22") && !Contains("TOKEN@"));
  const auto asked = read({program, {"job-options", to_text(Json{{"pass_environment", {row.name}}})}}, around);
  CHECK(asked.request.environment == Json{{row.name, row.value}});
  CHECK(asked.not_passed_on.empty());
}

TEST_CASE("A pattern passes on no variable that a pod cannot have") {
  Context around = empty_context();
  around.environment = {{"BASH_FUNC_x%%", "() { :; }"}, {"BASH_X", "1"}};
  CHECK(read({program, {"job-options", R"({"pass_environment": ["BASH*"]})"}}, around).request.environment == Json{{"BASH_X", "1"}});
}

TEST_CASE("A pattern passes on no variable of another step or distributed run") {
  Context around = empty_context();
  around.environment = {{"RANK", "3"}, {"TRAINSTEP_MODEL_DIR", "/of/another/run"}, {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"RANKING", "1"}};
  CHECK(read({program, {"job-options", R"({"pass_environment": ["*"]})"}}, around).request.environment == Json{{"RANKING", "1"}});
  CHECK(read({program, {"job-options", R"({"pass_environment": ["RANK"]})"}}, around).request.environment == Json{{"RANK", "3"}});
}

TEST_CASE("Variables that name files of this machine are reported in one line") {
  const Context around{.environment = {{"SSL_CERT_FILE", "/etc/ca.pem"}, {"PIP_CERT", "/etc/ca.pem"}, {"CURL_CA_BUNDLE", "/etc/ca.pem"}},
                       .read_file = files({})};
  const std::vector<std::string> expected{
      "CURL_CA_BUNDLE, PIP_CERT, SSL_CERT_FILE are not passed on: they name files on this machine; if the pods also have them, set job_options "
      R"({"pass_environment": ["CURL_CA_BUNDLE", "PIP_CERT", "SSL_CERT_FILE"]})"};
  CHECK(read({program}, around).not_passed_on == expected);
}

TEST_CASE("A pattern passes on no secrets, and an experiment's name is not a file") {
  const Context around{.environment = {{"WANDB_API_KEY", "hunter22"}, {"WANDB_DIR", "/wandb"}, {"MLFLOW_EXPERIMENT_NAME", "/Shared/digits"}},
                       .read_file = files({})};
  const auto inputs = read({program, {"job-options", R"({"pass_environment": ["WANDB_*", ""]})"}}, around);
  CHECK(inputs.request.environment == Json{{"MLFLOW_EXPERIMENT_NAME", "/Shared/digits"}, {"WANDB_DIR", "/wandb"}});
  REQUIRE(inputs.not_passed_on.size() == 1);
  CHECK_THAT(inputs.not_passed_on.front(), Contains("WANDB_API_KEY is not passed on: it is a secret"));
}

TEST_CASE("The secrets to redact come from the context, the parameters and the variables") {
  const Context around{.environment = {{"HF_TOKEN", "hf-1234"}, {"PATH", "/bin"}, {"PROXY", "http://me:hunter22@p"}}, .read_file = files({})};
  const auto inputs = read({program,
                            {"train-parameters", R"({"api_key": "key-1", "epochs": 3, "nested": {"password": ["pass-1"]}, "url": "https://tok@h"})"},
                            {"job-options", R"({"environment": {"WANDB_API_KEY": "wandb-1", "A": {"secret": "s", "key": "k"}},
                                                "replicas": {"Worker": {"environment": {"DB_PASSWORD": "db-1"}}}})"}},
                           around);
  CHECK(std::set<std::string>(inputs.secrets.begin(), inputs.secrets.end()) ==
        std::set<std::string>{"hf-1234", "me:hunter22", "hunter22", "wandb-1", "db-1", "key-1", "pass-1", "tok",
                              // in base64
                              "aGYtMTIzNA==", "bWU6aHVudGVyMjI=", "aHVudGVyMjI=", "d2FuZGItMQ==", "cGFzcy0x"});
}

TEST_CASE("The step's own context fills in what was not given") {
  const Context around{.environment = {{"TENSORBOARD_S3_ADDRESS", "s3://logs"}},
                       .read_file = files({{"/var/run/secrets/kubernetes.io/serviceaccount/namespace", "team-a\n"}})};
  const auto request = read({program}, around).request;
  CHECK(request.tensorboard_s3_address == "s3://logs");
  CHECK(request.name_space == "team-a");
  const auto given = read({program, {"namespace", "b"}, {"tensorboard-s3-address", "s3://x"}, {"run-id", "r1"}}, around).request;
  CHECK(given.tensorboard_s3_address == "s3://x");
  CHECK(given.name_space == "b");
  CHECK(given.run_id == "r1");
}

}  // namespace
}  // namespace trainstep::step
