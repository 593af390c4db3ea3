// SPDX-License-Identifier: Apache-2.0
#include "spec/uses.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"

namespace trainstep::spec {
namespace {

using Kind = Argument::Kind;

class Finder {
 public:
  void walk(const std::vector<Argument>& arguments) {
    for (const auto& argument : arguments) visit(argument);
  }
  Uses take() { return std::move(m_uses); }

 private:
  void visit(const Argument& argument) {
    switch (argument.kind) {
      case Kind::text:
        m_returned = m_returned || argument.text == "----output-paths";
        break;
      case Kind::input_value:
        input(argument.text, m_uses.values);
        break;
      case Kind::input_path:
      case Kind::input_uri:
        input(argument.text, m_uses.paths);
        break;
      case Kind::if_present:
        input(argument.text, m_uses.asked);
        break;
      case Kind::output_path:
      case Kind::output_uri:
        output(argument.text);
        break;
      case Kind::executor_input:
        m_uses.executor_input = true;
        break;
      case Kind::executor_output_file:
      case Kind::concat:
      case Kind::if_true:
        break;
    }
    walk(argument.condition);
    walk(argument.parts);
    walk(argument.otherwise);
  }
  void input(const std::string& name, std::set<std::string>& use) {
    use.insert(name);
    if (m_seen_inputs.insert(name).second) m_uses.inputs.push_back(name);
  }
  void output(const std::string& name) {
    if (m_returned) m_uses.returned.insert(name);
    if (m_seen_outputs.insert(name).second) m_uses.outputs.push_back(name);
  }

  Uses m_uses;
  std::set<std::string> m_seen_inputs, m_seen_outputs;
  bool m_returned = false;
};

template <typename T>
Result<void> check_declared(const std::vector<std::string>& used, const std::vector<T>& declared, std::string_view what, const std::string& where) {
  std::vector<std::string> names;
  names.reserve(declared.size());
  for (const auto& item : declared) names.push_back(item.name);
  const std::set<std::string> known(names.begin(), names.end());
  for (const auto& name : used) {
    if (known.contains(name)) continue;
    const auto near = nearest(name, names);
    return input_error(fmt::format("{}: command or args refer to {} \"{}\", which is not declared{}", where, what, name,
                                   near            ? fmt::format("; did you mean \"{}\"?", *near)
                                   : names.empty() ? std::string()
                                                   : "; expected one of " + join(names, ", ")));
  }
  return {};
}

}  // namespace

Uses find_uses(const Program& program) {
  Finder finder;
  for (const auto& [name, path] : program.path_environment) finder.walk({path});
  finder.walk(program.command);
  finder.walk(program.args);
  return finder.take();
}

Result<void> check_uses(const Program& program, const Uses& uses, const std::string& where) {
  TRY(check_declared(uses.inputs, program.inputs, "an input", where));
  TRY(check_declared(uses.outputs, program.outputs, "an output", where));
  for (const auto& input : program.inputs) {
    const bool path = uses.paths.contains(input.name), value = uses.values.contains(input.name);
    if (value && (path || input.type == Type::artifact))
      return input_error(fmt::format("{}: input \"{}\" is an artifact (a path), but its value is also used; use only its path", where, input.name));
    if (path && input.type != Type::artifact)
      return input_error(fmt::format("{}: input \"{}\" is a value ({}), not a path; declare it as an artifact", where, input.name, input.declared));
  }
  if (uses.executor_input) return {};
  const std::set<std::string> written(uses.outputs.begin(), uses.outputs.end());
  for (const auto& output : program.outputs)
    if (!written.contains(output.name))
      return input_error(fmt::format("{}: no argument passes the program the path of output \"{}\"; add its path to args", where, output.name));
  return {};
}

}  // namespace trainstep::spec
