// SPDX-License-Identifier: Apache-2.0
#include "unit/spec/support.h"

using namespace trainstep;
using namespace trainstep::spec;
using Catch::Matchers::Contains;

namespace {

// A small component around one piece.
std::string with_args(const std::string& args) {
  return "name: x\ninputs:\n- {name: a, type: Integer}\n- {name: b, type: String, optional: true}\n- {name: data}\noutputs:\n- {name: model, type: "
         "Model}\n"
         "implementation:\n  container:\n    image: i\n    command: [run, {inputPath: data}, {outputPath: model}]\n    args: " +
         args + "\n";
}

std::string with_input(const std::string& input, const std::string& use = "inputValue") {
  return "inputs: [" + input + "]\nimplementation: {container: {image: i, command: [run, {" + use + ": a}]}}\n";
}

}  // namespace

TEST_CASE("the component of the published notebooks has two input paths, two numbers and a folder") {
  const auto program = read(data("v1_train_model.yaml"));
  CHECK(program.dialect == Dialect::v1);
  CHECK(program.name == "Train model");
  CHECK(program.image == "quay.io/example/train:1");
  CHECK(show_all(program.inputs) == "train_dataset_dir:artifact validation_dataset_dir:artifact epochs:integer=100? batch_size:integer=32?");
  CHECK(show_all(program.outputs) == "model_dir:artifact");
  CHECK(program.outputs[0].declared == "String");
  CHECK(show(program.args) ==
        "'--train-dataset-dir' path(train_dataset_dir) '--validation-dataset-dir' path(validation_dataset_dir) "
        "present(epochs ? '--epochs' value(epochs) : ) present(batch_size ? '--batch-size' value(batch_size) : ) '--model-dir' out(model_dir)");
  REQUIRE(program.command.size() == 4);
  CHECK(program.command[0].text == "sh");
  CHECK_THAT(program.command[3].text, Contains("def train_model("));
}

TEST_CASE("every parameter style of func_to_component_text is read with its type and default") {
  const auto program = read(data("v1_every_style.yaml"));
  CHECK(show_all(program.inputs) ==
        "text:string count:integer rate:number flag:boolean items:list table:object anything:any data:artifact notes:artifact blob:artifact "
        "numbers:list=[64,32]? words:object={\"a\":0.5}? maybe:string? extra:artifact? greeting:string=\"3\"? lr:number=1e-05? deep:boolean=false? "
        "steps:integer=3? options:object={\"x\":[1,\"y\"]}? sizes:list=[64]? untyped:any=\"7\"?");
  CHECK(find_input(program, "numbers")->declared == "typing.List[int]");
}

TEST_CASE("outputs after ----output-paths are returned values, other texts and files are artifacts") {
  const auto program = read(data("v1_every_style.yaml"));
  CHECK(show_all(program.outputs) ==
        "model:artifact log:artifact raw:artifact note:artifact accuracy:number labels:list info:object name:string passed:boolean rounds:integer");
  CHECK(show_all(read(data("v1_add.yaml")).outputs) == "Output:number");
}

TEST_CASE("a hand-written output of a primitive type other than String is a value") {
  const auto program = read(R"(
outputs: [{name: score, type: Float}, {name: steps, type: Integer}, {name: table, type: JsonObject}, {name: dir, type: String}, {name: raw}, {name: page, type: HTML}]
implementation:
  container:
    command: [run, {outputPath: score}, {outputPath: steps}, {outputPath: table}, {outputPath: dir}, {outputPath: raw}, {outputUri: page}])");
  CHECK(show_all(program.outputs) == "score:number steps:integer table:object dir:artifact raw:artifact page:artifact");
}

TEST_CASE("a value of which annotations say that it is optional is declared so, a file is not") {
  const auto program = read(R"(
outputs: [{name: best, type: Float, annotations: {optional: true}}, {name: metrics, type: Metrics, annotations: {optional: true}}, {name: n, type: Integer}]
implementation: {container: {command: [run, {outputPath: best}, {outputPath: metrics}, {outputPath: n}]}})");
  CHECK(show_all(program.outputs) == "best:number metrics:artifact n:integer");
  CHECK(program.outputs[0].declared == "Optional[Float]");
  CHECK(program.outputs[1].declared == "Metrics");
  CHECK(program.outputs[2].declared == "Integer");
}

TEST_CASE("the placeholders of v1 become a tree") {
  struct Row {
    const char* args;
    const char* tree;
  };
  for (const auto& row : std::vector<Row>{
           {"[--a, {inputValue: a}]", "'--a' value(a)"},
           {"[{concat: [--a=, {inputValue: a}, {concat: [x, y]}]}]", "concat('--a=' value(a) concat('x' 'y'))"},
           {"[{if: {cond: {isPresent: b}, then: [--b, {inputValue: b}], else: --none}}]", "present(b ? '--b' value(b) : '--none')"},
           {"[{if: {cond: true, then: {inputValue: a}}}]", "if('true' ? value(a) : )"},
           {"[{if: {cond: 'no', then: [], else: [x, y]}}]", "if('no' ?  : 'x' 'y')"},
           {"[{if: {cond: {inputValue: b}, then: [{if: {cond: {isPresent: b}, then: [x]}}]}}]", "if(value(b) ? present(b ? 'x' : ) : )"},
           {"[{ifPresent: {inputName: b, then: [x], else: [y]}}]", "present(b ? 'x' : 'y')"},
           {"[{inputUri: data}, {outputUri: model}, {executorInput: null}]", "uri(data) out_uri(model) executor_input"},
           {"['{{$}}', '{\"Concat\": [\"a\"]}']", "'{{$}}' '{\"Concat\": [\"a\"]}'"},
       }) {
    INFO(row.args);
    CHECK(show(read(with_args(row.args)).args) == row.tree);
  }
}

TEST_CASE("defaults are typed by the declared type") {
  struct Row {
    const char* input;
    const char* shown;
  };
  for (const auto& row : std::vector<Row>{
           {"{name: a, type: Integer, default: '3'}", "a:integer=3?"},
           {"{name: a, type: Integer, default: 3}", "a:integer=3?"},
           {"{name: a, type: Integer, default: ''}", "a:integer?"},
           {"{name: a, type: String, default: ''}", "a:string=\"\"?"},
           {"{name: a, type: String, default: \"3\"}", "a:string=\"3\"?"},
           {"{name: a, type: String, default: 3}", "a:string=\"3\"?"},
           {"{name: a, type: Bool, default: \"True\"}", "a:boolean=true?"},
           {"{name: a, type: boolean, default: 'no'}", "a:boolean=false?"},
           {"{name: a, type: Float, default: '1e-5'}", "a:number=1e-05?"},
           {"{name: a, type: 'typing.Dict[str, int]', default: '{\"b\": 1}'}", "a:object={\"b\":1}?"},
           {"{name: a, type: JsonArray, default: [1, 2]}", "a:list=[1,2]?"},
           {"{name: a, type: 'typing.Optional[int]', default: '3'}", "a:integer=3?"},
           {"{name: a, type: {JsonObject: {data_type: x}}, default: '{}'}", "a:object={}?"},
           {"{name: a, type: URI, default: 's3://x'}", "a:any=\"s3://x\"?"},
           {"{name: a, optional: true, description: d, annotations: {x: y}}", "a:any?"},
           {"{name: a}", "a:any"},
       }) {
    INFO(row.input);
    CHECK(show_all(read(with_input(row.input)).inputs) == row.shown);
  }
}

TEST_CASE("environment variables of a component are texts") {
  const auto program = read("implementation: {container: {command: [run], env: {A: b, N: 3}}}");
  CHECK(program.environment == std::vector<std::pair<std::string, std::string>>{{"A", "b"}, {"N", "3"}});
}

TEST_CASE("mistakes in a v1 component are refused with their place") {
  struct Row {
    std::string text;
    const char* message;
  };
  const std::string head = "train_specification.implementation.container.";
  for (const auto& row : std::vector<Row>{
           {with_args("[{inputvalue: a}]"), "args[0]: unknown placeholder \"inputvalue\"; did you mean \"inputValue\"?"},
           {with_args("[x, 3]"), "args[1]: expected a string or a placeholder, got a number; put it in quotes"},
           {with_args("[{inputValue: 3}]"), "args[0].inputValue: expected a name"},
           {with_args("[{inputValue: a, x: y}]"), "args[0]: expected a placeholder with one key"},
           {with_args("x"), "args: expected a list"},
           {with_args("[{concat: x}]"), "args[0].concat: expected a list"},
           {with_args("[{if: {then: [x]}}]"), "args[0].if.cond: is missing"},
           {with_args("[{if: {cond: {isPresent: [b]}}}]"), "args[0].if.cond: expected {isPresent: NAME}"},
           {with_args("[{if: {cond: {isPresent: b}, than: x}}]"), "args[0].if: unknown key \"than\"; did you mean \"then\"?"},
           {with_args("[{ifPresent: {then: x}}]"), "args[0].ifPresent.inputName: is missing"},
           {with_args("[{inputValue: c}]"), "command or args refer to an input \"c\", which is not declared"},
           {with_args("[{outputPath: modell}]"), "refer to an output \"modell\", which is not declared; did you mean \"model\"?"},
           {with_args("[{inputValue: data}]"), "input \"data\" is an artifact (a path), but its value is also used"},
           {with_input("{name: a, type: Integer, default: x}"), "train_specification.inputs[0].default: expected an integer, got \"x\""},
           {with_input("{name: a, type: List, default: \"['x']\"}"), "strings in it must be in double quotes"},
           {with_input("{name: a, type: String, default: 0.1}"), "quote it"},
           {with_input("{name: a, default: x}", "inputPath"), "a path cannot have a default"},
           {with_input("{name: a}, {name: a}"), "train_specification.inputs[1]: \"a\" is declared twice"},
           {with_input("{type: Integer}"), "train_specification.inputs[0].name: is missing"},
           {with_input("{name: a, defautl: 3}"), "train_specification.inputs[0]: unknown key \"defautl\"; did you mean \"default\"?"},
           {"inputs: {}\nimplementation: {container: {command: [x]}}", "train_specification.inputs: expected a list"},
           {"outputs: [{name: m}]\nimplementation: {container: {command: [x]}}", "no argument passes the program the path of output \"m\""},
           {"implementation: {container: {image: i, args: [x]}}", "container.command: is missing; the image's entry point is not known here"},
           {"implementation: {container: {image: i, command: []}}", "container.command: is missing"},
           {"implementation: {container: {command: [x], fileOutputs: {m: /tmp/m}}}", "container.fileOutputs: fixed paths are not supported"},
           {"implementation: {container: {command: [x], env: [a]}}", "container.env: expected an object"},
           {"implementation: {container: {comand: [x]}}", "container: unknown key \"comand\"; did you mean \"command\"?"},
           {"implementation: {graph: {tasks: {}}}", "implementation.graph: a graph of components is not a program"},
           {"implementation: {}", "implementation.container: is missing"},
           {"implementation: {container: {command: [x]}}\nouputs: []", "train_specification: unknown key \"ouputs\"; did you mean \"outputs\"?"},
       })
    CHECK_THAT(error_of(row.text), Contains(row.message));
}
