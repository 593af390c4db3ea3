// SPDX-License-Identifier: Apache-2.0
#include "spec/plain.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "data/fields.h"
#include "spec/v1_arguments.h"
#include "spec/v1_interface.h"

namespace trainstep::spec {
namespace {

bool is_path(const Json& value) { return value.is_object() && value.size() == 1 && (value.contains("inputPath") || value.contains("outputPath")); }

Result<void> read_environment(const Json& environment, Program& program) {
  if (environment.is_array()) {
    for (std::size_t i = 0; i < environment.size(); ++i) {
      const auto where = fmt::format("{}.env[{}]", specification, i);
      Fields fields(environment[i], where);
      auto name = fields.text("name").value_or("");
      auto value = fields.variable("value").value_or("");
      TRY(fields.done());
      if (name.empty()) return input_error(where + ".name: is missing");
      program.environment.emplace_back(std::move(name), std::move(value));
    }
    return {};
  }
  Fields fields(environment, specification + ".env");
  if (environment.is_object()) {
    for (const auto& [name, value] : environment.items()) {
      if (is_path(value)) {
        fields.any(name);
        ASSIGN(auto path, read_v1_arguments(Json::array({value}), fmt::format("{}.env.{}", specification, name), Texts::literal));
        program.path_environment.emplace_back(name, std::move(path.front()));
      } else if (auto text = fields.variable(name)) {
        program.environment.emplace_back(name, std::move(*text));
      }
    }
  }
  return fields.done();
}

}  // namespace

Result<Program> read_plain(const Json& document) {
  Program program;
  program.dialect = Dialect::plain;
  Fields fields(document, specification);
  program.name = fields.text("name").value_or("");
  program.image = fields.text("image").value_or("");
  const auto command = fields.any("command"), args = fields.any("args"), environment = fields.any("env");
  const auto inputs = fields.any("inputs"), outputs = fields.any("outputs");
  TRY(fields.done());
  ASSIGN(program.command, read_v1_arguments(command.value_or(nullptr), specification + ".command", Texts::v2_keys));
  ASSIGN(program.args, read_v1_arguments(args.value_or(nullptr), specification + ".args", Texts::v2_keys));
  if (program.command.empty())
    return input_error(specification +
                       ".command: is missing; the image's entry point is not known here; write it out, like [\"python3\", \"train.py\"]");
  TRY(read_environment(environment.value_or(nullptr), program));
  TRY(read_v1_interface(program, inputs.value_or(nullptr), outputs.value_or(nullptr), true, specification));
  return program;
}

}  // namespace trainstep::spec
