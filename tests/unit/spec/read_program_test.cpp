// SPDX-License-Identifier: Apache-2.0
#include "spec/read_program.h"

#include "spec/values.h"
#include "unit/spec/support.h"

using namespace trainstep;
using namespace trainstep::spec;
using Catch::Matchers::Contains;

TEST_CASE("image and command are enough; what the placeholders name is the interface") {
  const auto program = read(R"({"image": "i", "command": ["python3", "t.py"], "env": {"A": "b"},
    "args": ["--lr={{$.inputs.parameters['lr']}}", {"inputValue": "epochs"}, {"if": {"cond": {"isPresent": "tag"}, "then": ["--tag", {"inputValue": "tag"}]}},
             {"inputPath": "data"}, "{{$.outputs.artifacts['model'].path}}"]})");
  CHECK(program.dialect == Dialect::plain);
  CHECK(program.image == "i");
  CHECK(show_all(program.inputs) == "lr:any epochs:any tag:any? data:artifact");
  CHECK(show_all(program.outputs) == "model:artifact");
  CHECK(program.environment == std::vector<std::pair<std::string, std::string>>{{"A", "b"}});
}

TEST_CASE("a variable's value may be the path of an input or output") {
  const auto program =
      read(R"({"image": "i", "command": ["train"], "env": {"A": "b", "DATA": {"inputPath": "data"}, "OUT": {"outputPath": "model"}}})");
  CHECK(show_all(program.inputs) == "data:artifact");
  CHECK(show_all(program.outputs) == "model:artifact");
  CHECK(program.environment == std::vector<std::pair<std::string, std::string>>{{"A", "b"}});
  REQUIRE(program.path_environment.size() == 2);
  CHECK(program.path_environment[1].first == "OUT");
  CHECK(program.path_environment[1].second.text == "model");
}

TEST_CASE("image and command may declare their inputs and outputs, in YAML too") {
  const auto program = read(
      "{image: '', command: [run, {inputValue: n}, {outputPath: score}, {outputPath: m}], inputs: [{name: n, type: Integer, default: 3}, other], "
      "outputs: [{name: score, type: Float}, m], env: [{name: A, value: b}]}");
  CHECK(show_all(program.inputs) == "n:integer=3? other:any");
  CHECK(show_all(program.outputs) == "score:number m:artifact");
  CHECK(program.environment.size() == 1);
}

TEST_CASE("anything but a training program is rejected by name") {
  struct Row {
    std::string text;
    const char* message;
  };
  for (const auto& row : std::vector<Row>{
           {"", "train_specification: is empty; expected a KFP v1 component"},
           {" \n", "train_specification: is empty"},
           {"component.yaml", "'component.yaml' is a file name, not its content; write @component.yaml on the command line"},
           {"./specs/train.json", "is a file name"},
           {"/tmp/train", "is a file name"},
           {"train.py", "is a Python file, not a specification"},
           {"<function train at 0x7f0c1>", "got the repr of a Python object"},
           {"<kfp.dsl.python_component.PythonComponent object at 0x7f>", "got the repr of a Python object"},
           {"{{inputs.parameters.spec}}", "is a placeholder that was not filled in"},
           {"hello", "'hello' is not a training program; expected"},
           {"3", "is not a training program"},
           {"- a\n- b", "train_specification: got a list"},
           {"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\n", "got a Kubernetes manifest (kind 'Workflow')"},
           {"{\"command\": [\"x\"]}", "train_specification.image: is missing"},
           {"implmentation: {}", "unknown key 'implmentation'; did you mean \"implementation\"?"},
           {"{\"a\": 1, \"b\": 2}", "unknown format (keys: 'a', 'b'); expected"},
           {"{}", "unknown format (keys: none)"},
           {"{\"image\": \"i\", \"args\": [\"x\"]}", "train_specification.command: is missing; the image's entry point is not known here"},
           {"{\"image\": \"i\", \"command\": [\"x\"], \"arg\": []}", "unknown key \"arg\"; did you mean \"args\"?"},
           {"{\"image\": \"i\", \"command\": [\"x\"], \"env\": 3}", "train_specification.env: expected an object"},
           {"{\"image\": \"i\", \"command\": [\"x\"], \"env\": [{}]}", "train_specification.env[0].name: is missing"},
           {"{\"image\": \"i\" \"command\": 3}", "train_specification: line 1"},
           {"{\"image\": \"i\", \"image\": \"j\"}", "train_specification: line 1"},
           {"image: [", "train_specification: line 1"},
           {"image: i\ncommand: [x]\n---\nimage: j\n", "train_specification: expected one component, got 2 documents"},
           {"a: 1\n---\nb: 1\n---\nc: 1\n", "train_specification: expected one component, got 3 documents"},
           {"name: \xff", "train_specification: line 1"},
       })
    CHECK_THAT(error_of(row.text), Contains(row.message));
}

TEST_CASE("values fit a type when nothing is lost") {
  struct Row {
    Type type;
    const char* value;
    const char* fitted;  // "" when refused
  };
  for (const auto& row : std::vector<Row>{
           {Type::integer, "3", "3"},
           {Type::integer, "2.0", "2"},
           {Type::integer, "\" 3 \"", "3"},
           {Type::integer, "\"2.0\"", "2"},
           {Type::integer, "9223372036854775807", "9223372036854775807"},
           {Type::integer, "\"9223372036854775807\"", "9223372036854775807"},
           {Type::integer, "2.5", ""},
           {Type::integer, "\"abc\"", ""},
           {Type::integer, "\"\"", ""},
           {Type::integer, "true", ""},
           {Type::integer, "1e300", ""},
           {Type::number, "3", "3"},
           {Type::number, "0.1", "0.1"},
           {Type::number, "\"1e-5\"", "1e-05"},
           {Type::number, "\"3\"", "3"},
           {Type::number, "\"nan\"", "\"NaN\""},
           {Type::number, "\" -Infinity \"", "\"-Infinity\""},
           {Type::number, "\"inf\"", "\"Infinity\""},
           {Type::number, "\"nan(0)\"", ""},
           {Type::integer, "\"nan\"", ""},
           {Type::integer, "\"inf\"", ""},
           {Type::number, "\"1e999\"", ""},
           {Type::number, "\"0.1x\"", ""},
           {Type::boolean, "true", "true"},
           {Type::boolean, "\"True\"", "true"},
           {Type::boolean, "\"off\"", "false"},
           {Type::boolean, "\"maybe\"", ""},
           {Type::boolean, "1", ""},
           {Type::string, "\"x\"", "\"x\""},
           {Type::string, "3", "\"3\""},
           {Type::string, "3.10", ""},
           {Type::string, "true", ""},
           {Type::string, "[]", ""},
           {Type::list, "[1]", "[1]"},
           {Type::list, "\"[1, 2]\"", "[1,2]"},
           {Type::list, "\"{}\"", ""},
           {Type::list, "\"['a']\"", ""},
           {Type::list, "3", ""},
           {Type::object, "{\"a\":1}", "{\"a\":1}"},
           {Type::object, "\"{}\"", "{}"},
           {Type::object, "[]", ""},
           {Type::any, "[2.0]", "[2.0]"},
       }) {
    INFO(describe(row.type) << " " << row.value);
    const auto fitted = fit(Json::parse(row.value), row.type);
    CHECK((fitted ? to_text(*fitted) : "") == row.fitted);
  }
  CHECK(fit("abc", Type::integer).error().message == "expected an integer, got \"abc\"");
}

TEST_CASE("type names of v1 are understood in any spelling") {
  struct Row {
    const char* name;
    Type type;
  };
  for (const auto& row : std::vector<Row>{{"String", Type::string},
                                          {"TEXT", Type::string},
                                          {"Int", Type::integer},
                                          {"Double", Type::number},
                                          {"Bool", Type::boolean},
                                          {"typing.List[typing.Dict[str, int]]", Type::list},
                                          {"Dict[str, int]", Type::object},
                                          {"JsonObject", Type::object},
                                          {"typing.Optional[typing.List[int]]", Type::list},
                                          {"Optional[", Type::any},
                                          {"GCSPath", Type::any},
                                          {"", Type::any}}) {
    INFO(row.name);
    CHECK(type_of_name(row.name) == row.type);
  }
}
