// SPDX-License-Identifier: Apache-2.0
#include "plan/command.h"

#include <fstream>
#include <iterator>

#include "spec/read_program.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;
using Catch::Matchers::Contains;
using Words = std::vector<std::string>;

namespace {

std::string file(const std::string& name) {
  std::ifstream stream("tests/unit/spec/data/" + name, std::ios::binary);
  REQUIRE(stream);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Case {
  spec::Program program;
  Binding binding;
  Placement placement;
};

// Binds `parameters`; every input artifact that is given lies at /in/NAME, every output at /out/NAME.
Case make(const std::string& text, const Json& parameters, const Words& paths = {}) {
  auto program = spec::read_program(text, "");
  INFO((program ? "" : program.error().message));
  REQUIRE(program);
  Request request;
  request.train_parameters = parameters;
  for (const auto& name : paths) {
    StepPath path;
    path.name = name;
    path.type = name == "typed" ? "system.Special" : "";
    path.metadata = Json{{"rows", 3}, {"_kfp_workspace", true}};
    request.inputs.push_back(path);
  }
  auto binding = bind(*program, request);
  INFO((binding ? "" : binding.error().message));
  REQUIRE(binding);
  Placement placement;
  for (const auto& input : binding->inputs)
    if (input.path) placement.inputs[input.name] = "/in/" + input.name;
  for (const auto& output : binding->outputs) placement.outputs[output.name] = "/out/" + output.name;
  placement.executor_output_file = "/out/executor_output.json";
  return {std::move(*program), std::move(*binding), std::move(placement)};
}

Words line(const Case& made) {
  auto words = command_line(made.program, made.binding, made.placement);
  INFO((words ? "" : words.error().message));
  REQUIRE(words);
  return std::move(*words);
}

Words line(const std::string& text, const char* parameters, const Words& paths = {}) { return line(make(text, Json::parse(parameters), paths)); }

}  // namespace

TEST_CASE("the command line of a v1 component is the one that the SDK 1.8 makes itself") {
  const auto expected = Json::parse(file("v1_every_style.json"));
  auto parameters = expected["given"];
  for (const auto* path : {"data", "notes", "blob"}) parameters.erase(path);
  const auto words = line(make(file("v1_every_style.yaml"), parameters, {"data", "notes", "blob"}));
  const auto args = expected["args"].get<Words>();
  REQUIRE(words.size() > args.size());
  CHECK(Words(words.end() - static_cast<std::ptrdiff_t>(args.size()), words.end()) == args);
  CHECK(words[0] == "sh");
  CHECK(words[1] == "-c");
}

TEST_CASE("the notebooks' component gets its declared flags") {
  const auto words = line(file("v1_train_model.yaml"),
                          R"({"train_dataset_dir": "train_dataset_dir", "validation_dataset_dir": "validation_dataset_dir", "epochs": "5"})",
                          {"train_dataset_dir", "validation_dataset_dir"});
  CHECK(Words(words.begin() + 4, words.end()) == Words{"--train-dataset-dir", "/in/train_dataset_dir", "--validation-dataset-dir",
                                                       "/in/validation_dataset_dir", "--epochs", "5", "--batch-size", "32", "--model-dir",
                                                       "/out/model_dir"});
}

TEST_CASE("v1 placeholders are filled in as the SDK fills them in") {
  struct Row {
    const char* args;
    const char* parameters;
    Words words;
  };
  const std::string head =
      "inputs: [{name: a, type: Bool, optional: true}, {name: d, optional: true}]\nimplementation: {container: {image: i, command: [run], args: ";
  for (const auto& row : std::vector<Row>{
           {"[--a, {inputValue: a}, x]", "{}", {"run", "--a", "x"}},
           {"[--a, {inputValue: a}, x]", "{\"a\": true}", {"run", "--a", "True", "x"}},
           {"[{concat: [--a=, {inputValue: a}]}]", "{}", {"run", "--a="}},
           {"[{if: {cond: {isPresent: a}, then: [x, y], else: z}}]", "{}", {"run", "z"}},
           {"[{if: {cond: {isPresent: a}, then: [x, y], else: z}}]", "{\"a\": false}", {"run", "x", "y"}},
           {"[{if: {cond: {inputValue: a}, then: x, else: z}}]", "{\"a\": true}", {"run", "x"}},
           {"[{if: {cond: {inputValue: a}, then: x, else: z}}]", "{\"a\": false}", {"run", "z"}},
           {"[{if: {cond: {inputValue: a}, then: x, else: z}}]", "{}", {"run", "z"}},
           {"[{if: {cond: true, then: x}}, {if: {cond: 'off', then: x}}]", "{}", {"run", "x"}},
           {"[{inputPath: d}, {inputUri: d}, end]", "{}", {"run", "end"}},
           {"['', '$HOME', '{{$}}']", "{}", {"run", "", "$HOME", "{{$}}"}},
       }) {
    INFO(row.args << row.parameters);
    CHECK(line(head + row.args + "}}", row.parameters) == row.words);
  }
}

TEST_CASE("a v2 container component gets values and paths as KFP's launcher writes them") {
  const auto made = make(file("v2_container.yaml"), Json{{"name", "n"}, {"data", "data"}}, {"data"});
  const auto words = line(made);
  CHECK(Words(words.begin(), words.end() - 1) ==
        Words{"python3",  "train.py",  "--data",  "/in/data",   "--data-uri",  "/in/data",   "--name=run-n", "--epochs",   "3",
              "--lr",     "0.00001",   "--model", "/out/model", "--model-uri", "/out/model", "--score",      "/out/score", "--out=/out/model/n",
              "--no-tag", "--x=none!", "--flag",  "true",       "--sizes",     "[1,2]",      "--all"});
  CHECK(Json::parse(words.back()) == executor_input(made.program, made.binding, made.placement));
  const auto tagged = line(make(file("v2_container.yaml"), Json{{"name", "n"}, {"tag", "t"}}, {"data"}));
  CHECK(std::find(tagged.begin(), tagged.end(), "--x=t!") != tagged.end());
  CHECK(std::find(tagged.begin(), tagged.end(), "--tag") != tagged.end());
}

TEST_CASE("the executor input holds what a lightweight Python component reads") {
  const auto made = make(file("v2_train.yaml"), Json{{"epochs", "5"}, {"train_dataset", "typed"}}, {"typed"});
  CHECK(nlohmann::json(executor_input(made.program, made.binding, made.placement)) == nlohmann::json::parse(R"({
    "inputs": {
      "parameterValues": {"epochs": 5, "lr": 1e-05},
      "artifacts": {"train_dataset": {"artifacts": [{"name": "train_dataset", "type": {"schemaTitle": "system.Special", "schemaVersion": "0.0.1"},
                                                     "uri": "/in/train_dataset", "metadata": {"rows": 3}}]}}},
    "outputs": {
      "parameters": {"Output": {"outputFile": "/out/Output"}},
      "artifacts": {
        "model": {"artifacts": [{"name": "model", "type": {"schemaTitle": "system.Model", "schemaVersion": "0.0.1"}, "uri": "/out/model", "metadata": {}}]},
        "metrics": {"artifacts": [{"name": "metrics", "type": {"schemaTitle": "system.Metrics", "schemaVersion": "0.0.1"}, "uri": "/out/metrics",
                                   "metadata": {}}]}},
      "outputFile": "/out/executor_output.json"}})"));
}

TEST_CASE("an executor input without inputs or outputs has only the output file") {
  const auto made = make(R"({"image": "i", "command": ["run", "{{$}}", "{{$.outputs.output_file}}"]})", Json::object());
  CHECK(line(made) == Words{"run", R"({"outputs":{"outputFile":"/out/executor_output.json"}})", "/out/executor_output.json"});
}

TEST_CASE("a command line that cannot be made is refused") {
  struct Row {
    const char* text;
    const char* message;
  };
  for (const auto& row : std::vector<Row>{
           {R"({"image": "i", "command": ["run", {"if": {"cond": {"isPresent": "a"}, "then": ["x"]}}, {"inputValue": "a"}]})",
            "train_parameters.a: is missing; the program's command line uses it even when it is not given"},
           {R"({"image": "i", "command": ["run", "a\u0000b"]})", "'a' in the program's command contains a NUL character"},
           {R"({"image": "i", "command": ["", "x"]})", "the first word of the program's command is empty"},
           {"inputs: [{name: a, optional: true}]\nimplementation: {container: {command: [{inputValue: a}]}}",
            "the first word of the program's command is empty"},
           {"inputs: [{name: a, default: maybe}]\nimplementation: {container: {command: [x, {if: {cond: {inputValue: a}, then: y}}]}}",
            "the condition of an `if`: expected true or false, got \"maybe\""},
       }) {
    INFO(row.text);
    const auto made = make(row.text, Json::object());
    const auto words = command_line(made.program, made.binding, made.placement);
    REQUIRE_FALSE(words);
    CHECK(words.error().kind == ErrorKind::input);
    CHECK_THAT(words.error().message, Contains(row.message));
  }
  const auto made = make(R"({"image": "i", "command": ["run", {"inputValue": "a"}]})", Json{{"a", 1}});
  CHECK_THAT(command_line(made.program, Binding{}, made.placement).error().message, Contains("train_parameters.a: is missing"));
}

TEST_CASE("a NUL character is reported with the input that contains it") {
  const auto given = make(R"({"image": "i", "command": ["run", {"inputValue": "a"}]})", Json{{"a", std::string("x\0y", 3)}});
  CHECK(command_line(given.program, given.binding, given.placement).error().message ==
        "train_parameters.a: contains a NUL character (\\u0000), which a command line cannot hold");
}
