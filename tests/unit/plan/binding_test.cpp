// SPDX-License-Identifier: Apache-2.0
#include "plan/binding.h"

#include "spec/read_program.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;
using Catch::Matchers::Contains;

namespace {

const char* const v1 = R"(
inputs:
- {name: train_dataset_dir}
- {name: validation, optional: true}
- {name: epochs, type: Integer, default: '100'}
- {name: name, type: String}
- {name: flag, type: Bool, optional: true}
- {name: sizes, type: JsonArray, optional: true}
outputs:
- {name: model_dir, type: Model}
- {name: accuracy, type: Float}
- {name: best}
implementation:
  container:
    image: i
    command: [run, {inputPath: train_dataset_dir}, {inputPath: validation}, {inputValue: epochs}, {inputValue: name}, {outputPath: model_dir}, {outputPath: accuracy}, {outputPath: best}]
)";

Request request(const char* parameters) {
  Request result;
  result.train_parameters = Json::parse(parameters);
  StepPath path;
  for (const auto* name : {"train_dataset_dir", "validation_dataset_dir"}) {
    path.name = name;
    path.path = std::string("/step/") + name;
    result.inputs.push_back(path);
  }
  for (const auto* name : {"model_dir", "metrics"}) {
    path.name = name;
    path.path = std::string("/step/") + name;
    result.outputs.push_back(path);
  }
  return result;
}

spec::Program program(const std::string& text) {
  auto read = spec::read_program(text, "");
  INFO((read ? "" : read.error().message));
  REQUIRE(read);
  return std::move(*read);
}

// "epochs=3* data@/step/x -> model@/step/y": * given, @ a path.
std::string show(const Binding& binding) {
  std::string text;
  for (const auto& input : binding.inputs) {
    text += input.name;
    if (input.value) text += "=" + to_text(*input.value);
    if (input.path) text += "@" + input.path->path;
    text += input.given ? "* " : " ";
  }
  text += "->";
  for (const auto& output : binding.outputs) text += " " + output.name + (output.path ? "@" + output.path->path : "");
  return text;
}

}  // namespace

TEST_CASE("parameters are bound: paths by name, values by type, defaults where nothing is given") {
  struct Row {
    const char* parameters;
    const char* bound;
  };
  for (
      const auto& row : std::vector<Row>{
          {R"({"name": "x"})", "train_dataset_dir@/step/train_dataset_dir epochs=100 name=\"x\"* -> model_dir@/step/model_dir accuracy best"},
          {R"({"train_dataset_dir": "train_dataset_dir", "validation": "validation_dataset_dir", "model_dir": "model_dir", "epochs": "5", "name": "x"})",
           "train_dataset_dir@/step/train_dataset_dir* validation@/step/validation_dataset_dir* epochs=5* name=\"x\"* -> model_dir@/step/model_dir "
           "accuracy best"},
          {R"({"train_dataset_dir": "validation_dataset_dir", "epochs": 2.0, "name": 7, "flag": "true", "sizes": "[1, 2]", "accuracy": "metrics"})",
           "train_dataset_dir@/step/validation_dataset_dir* epochs=2* name=\"7\"* flag=true* sizes=[1,2]* -> model_dir@/step/model_dir "
           "accuracy@/step/metrics best"},
          {R"({"name": "x", "epochs": null, "flag": null, "model_dir": null})",
           "train_dataset_dir@/step/train_dataset_dir epochs=100 name=\"x\"* -> model_dir@/step/model_dir accuracy best"},
          // Given to another output, model_dir is no longer free for the output of its own name.
          {R"({"name": "x", "best": "model_dir"})",
           "train_dataset_dir@/step/train_dataset_dir epochs=100 name=\"x\"* -> model_dir accuracy best@/step/model_dir"},
      }) {
    INFO(row.parameters);
    const auto bound = bind(program(v1), request(row.parameters));
    REQUIRE(bound);
    CHECK(show(*bound) == row.bound);
  }
}

TEST_CASE("a value takes no path of the step for a model, whatever its name, but one for metrics") {
  const auto returning = program(
      "outputs: [{name: model_dir, type: String}, {name: metrics, type: JsonObject}]\n"
      "implementation: {container: {image: i, command: [run], args: [----output-paths, {outputPath: model_dir}, {outputPath: metrics}]}}");
  const auto bound = bind(returning, request("{}"));
  REQUIRE(bound);
  CHECK(show(*bound) == "-> model_dir metrics@/step/metrics");
  CHECK_THAT(bind(returning, request(R"({"model_dir": "model_dir"})")).error().message,
             Contains("train_parameters.model_dir: model_dir takes a file or folder; model_dir is a value that the program returns (String)"));
}

TEST_CASE("an input path may be an address in an object store") {
  const auto bound = bind(program(v1), request(R"({"name": "x", "train_dataset_dir": "s3://bucket/digits"})"));
  REQUIRE(bound);
  REQUIRE(bound->inputs.front().path);
  CHECK(bound->inputs.front().path->uri == "s3://bucket/digits");
  CHECK(bound->inputs.front().path->path.empty());
  CHECK_FALSE(bind(program(v1), request(R"({"name": "x", "model_dir": "s3://bucket/model"})")));
}

TEST_CASE("parameters that do not fit are refused with the remedy") {
  struct Row {
    const char* parameters;
    const char* message;
  };
  for (const auto& row : std::vector<Row>{
           {"3", "train_parameters: expected an object that maps the program's parameters to values, got a number"},
           {R"({"name": "x", "epoch": 3})",
            "train_parameters: the program has no parameter 'epoch' (did you mean 'epochs'?); its parameters are inputs train_dataset_dir (path, "
            "required), validation (path, optional), epochs (Integer, optional), name (String, required)"},
           {R"({"name": "x", "qqqqqqqqqqq": 3})", "the program has no parameter 'qqqqqqqqqqq'; its parameters are inputs"},
           {"{}", "train_parameters.name: is missing; the program requires it: inputs train_dataset_dir"},
           {R"({"name": "x", "epochs": "many"})", "train_parameters.epochs: expected an integer, got \"many\""},
           {R"({"name": "x", "epochs": 2.5})", "train_parameters.epochs: expected an integer, got 2.5"},
           {R"({"name": "x", "train_dataset_dir": "/data"})",
            "train_parameters.train_dataset_dir: expected the name of one of the step's input paths or an address (s3://…), got '/data'; this step "
            "has: train_dataset_dir, validation_dataset_dir"},
           {R"({"name": "x", "train_dataset_dir": 3})", "got a number; this step has"},
           {R"({"name": "x", "train_dataset_dir": "model_dir"})", "expected the name of one of the step's input paths"},
           {R"({"name": "x", "model_dir": "train_dataset_dir"})",
            "train_parameters.model_dir: expected the name of one of the step's output paths, got 'train_dataset_dir'; this step has: model_dir, "
            "metrics"},
           {R"({"name": "x", "model_dir": "metrics", "accuracy": "metrics"})",
            "train_parameters.accuracy: output \"model_dir\" already goes to metrics"},
           {R"({"name": "x", "accuracy": "model_dir"})",
            "train_parameters.accuracy: model_dir takes a file or folder; accuracy is a value that the program returns (Float), which goes to "
            "results"},
       }) {
    INFO(row.parameters);
    const auto bound = bind(program(v1), request(row.parameters));
    REQUIRE_FALSE(bound);
    CHECK(bound.error().kind == ErrorKind::input);
    CHECK_THAT(bound.error().message, Contains(row.message));
  }
}

TEST_CASE("a required path that the step does not have is missing") {
  Request empty;
  empty.train_parameters = {{"name", "x"}};
  const auto bound = bind(program(v1), empty);
  REQUIRE_FALSE(bound);
  CHECK(bound.error().message ==
        "train_parameters.train_dataset_dir: is missing; name one of the step's input paths (this step has: none) (set train_dataset_dir or "
        "validation_dataset_dir)");
}

TEST_CASE("v2: whole numbers are integers at any depth, except where a double is declared; only allowed values are taken") {
  auto some = program(R"({"image": "i", "command": ["x", {"inputValue": "a"}]})");
  some.dialect = spec::Dialect::v2;
  auto& input = some.inputs[0];
  Request given;
  given.train_parameters = Json::parse(R"({"a": {"x": [1.0, 2.5], "y": 3.0}})");
  input.type = spec::Type::object;
  CHECK(to_text(*bind(some, given)->inputs[0].value) == R"({"x":[1,2.5],"y":3})");
  given.train_parameters = Json::parse(R"({"a": 2.0})");
  input.type = spec::Type::number;
  CHECK(to_text(*bind(some, given)->inputs[0].value) == "2.0");
  input.type = spec::Type::integer;
  input.allowed = {1, 2};
  CHECK(to_text(*bind(some, given)->inputs[0].value) == "2");
  given.train_parameters = Json::parse(R"({"a": 3})");
  const auto refused = bind(some, given);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "train_parameters.a: 3 is not allowed; expected one of [1,2]");
}
