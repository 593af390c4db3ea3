// SPDX-License-Identifier: Apache-2.0
#include "spec/v1_component.h"

#include <string>

#include "data/fields.h"
#include "spec/v1_arguments.h"
#include "spec/v1_interface.h"

namespace trainstep::spec {
namespace {

Result<void> read_container(const Json& container, Program& program) {
  const auto where = specification + ".implementation.container";
  Fields fields(container, where);
  program.image = fields.text("image").value_or("");
  const auto command = fields.any("command"), args = fields.any("args");
  const auto environment = fields.object("env").value_or(Json::object());
  const auto file_outputs = fields.object("fileOutputs");
  TRY(fields.done());
  if (file_outputs && !file_outputs->empty())
    return input_error(where + ".fileOutputs: fixed paths are not supported; pass each path as an argument: {outputPath: NAME}");
  ASSIGN(program.command, read_v1_arguments(command.value_or(nullptr), where + ".command", Texts::literal));
  ASSIGN(program.args, read_v1_arguments(args.value_or(nullptr), where + ".args", Texts::literal));
  if (program.command.empty()) return input_error(where + ".command: is missing; the image's entry point is not known here; write it out");
  Fields variables(environment, where + ".env");
  for (const auto& [name, value] : environment.items()) {
    if (auto text = variables.variable(name)) program.environment.emplace_back(name, std::move(*text));
  }
  return variables.done();
}

}  // namespace

Result<Program> read_v1_component(const Json& document) {
  Program program;
  program.dialect = Dialect::v1;
  Fields fields(document, specification);
  program.name = fields.text("name").value_or("");
  const auto inputs = fields.any("inputs"), outputs = fields.any("outputs");
  const auto implementation = fields.object("implementation").value_or(Json::object());
  for (const auto* ignored : {"description", "metadata", "version"}) fields.any(ignored);
  TRY(fields.done());

  Fields kinds(implementation, specification + ".implementation");
  const auto container = kinds.object("container");
  if (kinds.any("graph"))
    return input_error(specification + ".implementation.graph: a graph of components is not a program; pass the component that trains");
  TRY(kinds.done());
  if (!container) return input_error(specification + ".implementation.container: is missing");
  TRY(read_container(*container, program));
  TRY(read_v1_interface(program, inputs.value_or(nullptr), outputs.value_or(nullptr), false, specification));
  return program;
}

}  // namespace trainstep::spec
