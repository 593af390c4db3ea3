// SPDX-License-Identifier: Apache-2.0
#include "plan/command.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "data/place.h"
#include "data/python_json.h"
#include "plan/value_text.h"
#include "spec/values.h"

namespace trainstep::plan {
namespace {

using spec::Argument;
using spec::Dialect;
using spec::Type;
using Kind = spec::Argument::Kind;
using Arguments = std::vector<std::string>;

class Line {
 public:
  Line(const spec::Program& program, const Binding& binding, const Placement& placement)
      : m_program(program), m_binding(binding), m_placement(placement) {
    for (const auto& input : binding.inputs) m_inputs.emplace(input.name, &input);
  }

  Result<void> add_all(const std::vector<Argument>& arguments, Arguments& words) {
    for (const auto& argument : arguments) TRY(add(argument, words));
    return {};
  }

 private:
  Result<void> add(const Argument& argument, Arguments& words) {
    switch (argument.kind) {
      case Kind::text:
        words.push_back(argument.text);
        return {};
      case Kind::input_value:
        return add_value(argument.text, words);
      case Kind::input_path:
      case Kind::input_uri:
        return add_input_path(argument.text, words);
      case Kind::output_path:
      case Kind::output_uri:
        return add_output_path(argument.text, words);
      case Kind::executor_input:
        words.push_back(to_python_text(executor_input(m_program, m_binding, m_placement)));
        return {};
      case Kind::executor_output_file:
        words.push_back(m_placement.executor_output_file);
        return {};
      case Kind::concat:
        return add_joined(argument.parts, words);
      case Kind::if_present:
        return add_all(m_inputs.contains(argument.text) ? argument.parts : argument.otherwise, words);
      case Kind::if_true:
        return add_if_true(argument, words);
    }
    return {};
  }

  Result<void> add_value(const std::string& name, Arguments& words) {
    const auto found = m_inputs.find(name);
    if (found == m_inputs.end()) return left_out(name);
    const auto& value = found->second->value;
    if (!value) return left_out(name);
    auto text = value_text(*value, m_program.dialect);
    if (found->second->given && text.find('\0') != std::string::npos)
      return input_error(fmt::format("train_parameters.{}: contains a NUL character (\\u0000), which a command line cannot hold", name));
    words.push_back(std::move(text));
    return {};
  }

  Result<void> add_input_path(const std::string& name, Arguments& words) {
    if (!m_inputs.contains(name)) return left_out(name);
    const auto found = m_placement.inputs.find(name);
    if (found == m_placement.inputs.end()) return internal_error(fmt::format("input \"{}\" has no location", name));
    words.push_back(found->second);
    return {};
  }

  Result<void> add_output_path(const std::string& name, Arguments& words) {
    const auto found = m_placement.outputs.find(name);
    if (found == m_placement.outputs.end()) return internal_error(fmt::format("output \"{}\" has no location", name));
    words.push_back(found->second);
    return {};
  }

  // The SDK 1.8 drops the argument of an optional input that is not given; KFP v2 has no value for it.
  [[nodiscard]] Result<void> left_out(const std::string& name) const {
    const auto* input = spec::find_input(m_program, name);
    const bool optional = input != nullptr && input->optional;
    if (optional && m_program.dialect == Dialect::v1) return {};
    return input_error(fmt::format("train_parameters.{}: is missing; the program's command line uses it{}", name,
                                   optional ? " even when it is not given (without IfPresent or isPresent)" : ""));
  }

  Result<void> add_joined(const std::vector<Argument>& parts, Arguments& words) {
    Arguments pieces;
    TRY(add_all(parts, pieces));
    auto& word = words.emplace_back();
    for (const auto& piece : pieces) word += piece;
    return {};
  }

  Result<void> add_if_true(const Argument& argument, Arguments& words) {
    Arguments condition;
    TRY(add_all(argument.condition, condition));
    std::string text;
    for (const auto& word : condition) text += word;
    if (text.empty()) return add_all(argument.otherwise, words);
    const auto truth = spec::fit(text, Type::boolean);
    if (!truth) return in_context("train_specification: the condition of an `if`", truth.error());
    return add_all(truth->get<bool>() ? argument.parts : argument.otherwise, words);
  }

  const spec::Program& m_program;
  const Binding& m_binding;
  const Placement& m_placement;
  std::map<std::string_view, const BoundInput*> m_inputs;
};

Json artifact(const std::string& name, const std::string& type, const std::string& path, Json metadata) {
  Json one{{"name", name}, {"type", {{"schemaTitle", type}, {"schemaVersion", "0.0.1"}}}, {"uri", path}, {"metadata", std::move(metadata)}};
  return Json{{"artifacts", Json::array({std::move(one)})}};
}

std::string schema_title(const std::string& declared) {
  if (declared.find('.') != std::string::npos) return declared;
  return declared.empty() ? "system.Artifact" : "system." + declared;
}

void add_inputs(const spec::Program& program, const Binding& binding, const Placement& placement, Json& result) {
  for (const auto& bound : binding.inputs) {
    if (bound.value) result["inputs"]["parameterValues"][bound.name] = *bound.value;
    if (!bound.path) continue;
    const auto* input = spec::find_input(program, bound.name);
    const auto place = placement.inputs.find(bound.name);
    const auto type = bound.path->type.empty() && input != nullptr ? schema_title(input->declared) : bound.path->type;
    auto metadata = bound.path->metadata.is_object() ? bound.path->metadata : Json::object();
    metadata.erase("_kfp_workspace");  // otherwise the program would use another path than ours
    result["inputs"]["artifacts"][bound.name] = artifact(bound.name, type, place == placement.inputs.end() ? "" : place->second, std::move(metadata));
  }
}

}  // namespace

Result<std::vector<std::string>> command_line(const spec::Program& program, const Binding& binding, const Placement& placement) {
  Line line(program, binding, placement);
  Arguments words;
  TRY(line.add_all(program.command, words));
  TRY(line.add_all(program.args, words));
  if (words.empty() || words.front().empty())
    return input_error("train_specification: the first word of the program's command is empty; it must name the program to run");
  for (const auto& word : words)
    if (word.find('\0') != std::string::npos)
      return input_error(
          fmt::format("train_specification: {} in the program's command contains a NUL character (\\u0000), which a command line cannot hold",
                      show_text(std::string_view(word).substr(0, word.find('\0')))));
  return words;
}

Json executor_input(const spec::Program& program, const Binding& binding, const Placement& placement) {
  Json result = Json::object();
  add_inputs(program, binding, placement, result);
  auto& outputs = result["outputs"];
  outputs = Json::object();
  for (const auto& output : program.outputs) {
    const auto place = placement.outputs.find(output.name);
    const auto path = place == placement.outputs.end() ? std::string() : place->second;
    if (output.type == Type::artifact) {
      outputs["artifacts"][output.name] = artifact(output.name, schema_title(output.declared), path, Json::object());
    } else {
      outputs["parameters"][output.name]["outputFile"] = path;
    }
  }
  outputs["outputFile"] = placement.executor_output_file;
  return result;
}

}  // namespace trainstep::plan
