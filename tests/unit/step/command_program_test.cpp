// SPDX-License-Identifier: Apache-2.0
#include "step/command_program.h"

#include <string>
#include <vector>

#include "plan/command.h"
#include "plan/plan.h"
#include "spec/read_program.h"
#include "support.h"

namespace trainstep::step {
namespace {

using Catch::Matchers::Contains;
using Words = std::vector<std::string>;

plan::Request with_paths(const Words& inputs, const Words& outputs) {
  plan::Request request;
  for (const auto& name : inputs) request.inputs.push_back({.name = name, .path = "/in/" + name, .uri = {}, .type = {}});
  for (const auto& name : outputs) request.outputs.push_back({.name = name, .path = "/out/" + name, .uri = {}, .type = {}});
  return request;
}

spec::Program program_of(const Words& words, const plan::Request& request = {}) {
  const auto text = specification_of(words, request);
  if (!text) FAIL(text.error().message);
  auto program = spec::read_program(*text, "");
  if (!program) FAIL(program.error().message);
  return *program;
}

// What the program's argument becomes, with the model at MODEL and the training data at DATA.
std::string argument(const std::string& word) {
  const auto program = program_of({"run", word}, with_paths({"train_dataset_dir"}, {"model_dir"}));
  plan::Binding binding;
  binding.inputs.push_back({.name = "train_dataset_dir", .value = {}, .path = plan::StepPath{}});
  const auto words = plan::command_line(program, binding, {{{"train_dataset_dir", "DATA"}}, {{"model_dir", "MODEL"}}, ""});
  if (!words) FAIL(words.error().message);
  REQUIRE(words->size() == 2);
  return words->back();
}

std::string variables(const spec::Program& program) {
  std::string text;
  for (const auto& [name, path] : program.path_environment) text += name + "=" + path.text + " ";
  return text;
}

TEST_CASE("a path's name in braces is replaced, and everything else in a command stays as it is") {
  const std::pair<const char*, const char*> rows[] = {
      {"{model_dir}", "MODEL"},
      {"--out={model_dir}/best.pt", "--out=MODEL/best.pt"},
      {"{train_dataset_dir}:{model_dir}", "DATA:MODEL"},
      {R"({"out": "{model_dir}"})", R"({"out": "MODEL"})"},
      {R"({"out":{model_dir}})", R"({"out":MODEL})"},
      {"", ""},
      {"{", "{"},
      {"{}", "{}"},
      {"{ metrics }", "{ metrics }"},
      {"{ model dir }", "{ model dir }"},
      {"{-}", "{-}"},
      {"{ }", "{ }"},
      {"{- {model_dir} -}", "{- MODEL -}"},
      {"{{ model_dir }}", "{ model_dir }"},
      {"{{model-dir}}", "{model-dir}"},
      {"{{ metrics }}", "{{ metrics }}"},
      {"{model_dir", "{model_dir"},
      {R"({"lr": 0.1, "a": {"b": []}})", R"({"lr": 0.1, "a": {"b": []}})"},
      {"print({1:2}, f'{x}')", "print({1:2}, f'{x}')"},
      {"{epochs}", "{epochs}"},
      {"echo ${model_dir} ${model_dri} $model_dir $", "echo ${model_dir} ${model_dri} $model_dir $"},
      {"${{model_dir}}", "${{model_dir}}"},
      {"awk '{print $1}'", "awk '{print $1}'"},
      {"{{model_dir}}", "{model_dir}"},
      {"{{{model_dir}}}", "{{model_dir}}"},
      {"{{model_dri}}", "{model_dri}"},
      {"{{epochs}}", "{{epochs}}"},
      {"{{$.inputs.parameters['x']}}", "{{$.inputs.parameters['x']}}"},
      {"{{$}} {model_dir}", "{{$}} MODEL"},
      {R"({"IfPresent": {"InputName": "x", "Then": "y"}})", R"({"IfPresent": {"InputName": "x", "Then": "y"}})"},
      {R"( {"Concat": ["a", "b"]} )", R"( {"Concat": ["a", "b"]} )"},
      {"@train.yaml", "@train.yaml"},
      {"base64:AAAA", "base64:AAAA"},
      {"größer → {model_dir}", "größer → MODEL"},
  };
  for (const auto& [word, expected] : rows) {
    CAPTURE(word);
    CHECK(argument(word) == expected);
  }
}

TEST_CASE("a name that resembles a path's is an error that says how to write the text itself") {
  for (const auto& [word, near] : {std::pair("--out={model_dri}", "{model_dir}"),
                                   {"{metric}", "{metrics}"},
                                   {"{MODEL_DIR}", "{model_dir}"},
                                   {"{model-dir}", "{model_dir}"},
                                   {"{Model-Dir}", "{model_dir}"},
                                   {"{train-dataset-dir}", "{train_dataset_dir}"},
                                   {"{ model_dir }", "{model_dir}"},
                                   {"{ Train-Dataset-Dir}", "{train_dataset_dir}"}}) {
    const auto text = specification_of({"python3", word}, {});
    REQUIRE_FALSE(text.has_value());
    CHECK(text.error().kind == ErrorKind::usage);
    CHECK_THAT(text.error().message, Contains("command after --: unknown path {") && Contains(std::string("did you mean ") + near + "?"));
  }
  CHECK_THAT(specification_of({"{metric}"}, {}).error().message, Contains("For the text {metric} write {{metric}}"));
}

TEST_CASE("the paths that the step has, and those in the command, are variables, inputs and outputs of the program") {
  CHECK(variables(program_of({"true"})).empty());
  const auto given = program_of({"true"}, with_paths({"validation_dataset_dir"}, {"model_dir", "metrics", "mlpipeline_ui_metadata"}));
  CHECK(variables(given) == "TRAINSTEP_VALIDATION_DATASET_DIR=validation_dataset_dir TRAINSTEP_MODEL_DIR=model_dir TRAINSTEP_METRICS=metrics ");
  CHECK(given.inputs.size() == 1);
  CHECK(given.outputs.size() == 2);
  const auto named = program_of({"cp", "{train_dataset_dir}", "{model_dir}"});
  CHECK(variables(named) == "TRAINSTEP_TRAIN_DATASET_DIR=train_dataset_dir TRAINSTEP_MODEL_DIR=model_dir ");
  CHECK(named.image.empty());
}

TEST_CASE("a program that launches its own ranks is recognised after -- too") {
  CHECK(plan::starts_own_ranks(program_of({"torchrun", "train.py", "{model_dir}"})));
  CHECK(plan::starts_own_ranks(program_of({"sh", "-c", "torchrun train.py"})));
  CHECK_FALSE(plan::starts_own_ranks(program_of({"python3", "train.py"})));
}

TEST_CASE("what cannot be combined with a command is refused") {
  plan::Request specified, bound;
  specified.train_specification = "image: x";
  bound.train_parameters = {{"epochs", 3}};
  CHECK_THAT(specification_of({"true"}, specified).error().message, Contains("train_specification cannot be combined with a command after --"));
  CHECK_THAT(specification_of({"true"}, bound).error().message, Contains("train_parameters cannot be combined") && Contains("into the command"));
  CHECK_THAT(specification_of({}, {}).error().message, Contains("expected a command after --"));
  CHECK_THAT(specification_of({"true", "\xff"}, {}).error().message, Contains("word 2 is not valid UTF-8"));
}

TEST_CASE("a step reads the command after -- instead of a specification") {
  auto context = empty_context();
  context.command = Words{"python3", "train.py", "{model_dir}"};
  const auto inputs = read({{"model-dir", "model"}}, context);
  CHECK(inputs.request.is_command);
  CHECK_THAT(inputs.request.train_specification, Contains(R"("command":["python3","train.py",{"outputPath":"model_dir"}])"));
  CHECK_FALSE(read({{"train-specification", "image: x"}}).request.is_command);
  CHECK_THAT(refused({{"executor-input", executor_input("{}")}}, context).message, Contains("executor-input cannot be combined with a command"));
}

}  // namespace
}  // namespace trainstep::step
