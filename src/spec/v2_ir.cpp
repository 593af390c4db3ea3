// SPDX-License-Identifier: Apache-2.0
#include "spec/v2_ir.h"

#include <fmt/format.h>

#include <utility>

#include "spec/placeholders.h"
#include "spec/platform.h"
#include "spec/uses.h"
#include "spec/v2_choice.h"
#include "spec/v2_interface.h"
#include "spec/v2_resources.h"

namespace trainstep::spec {
namespace {

Result<std::vector<Argument>> read_texts(const Json& container, const char* key, const std::string& where) {
  std::vector<Argument> result;
  const auto* list = find(container, key);
  if (list == nullptr) return result;
  const auto place = fmt::format("{}.{}", where, key);
  if (!list->is_array()) return input_error(place + ": expected a list of strings");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto& item = (*list)[i];
    const auto item_place = fmt::format("{}[{}]", place, i);
    if (!item.is_string()) return input_error(fmt::format("{}: expected a string, got {}", item_place, type_name(item)));
    ASSIGN(auto argument, read_v2_text(item.get_ref<const std::string&>(), item_place));
    result.push_back(std::move(argument));
  }
  return result;
}

Result<void> read_environment(const Json& container, const std::string& where, Program& program) {
  const auto* list = find(container, "env");
  if (list == nullptr) return {};
  if (!list->is_array()) return input_error(where + ".env: expected a list of {name, value}");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto place = fmt::format("{}.env[{}]", where, i);
    const auto *name = find((*list)[i], "name"), *value = find((*list)[i], "value");
    if (name == nullptr || !name->is_string() || name->get_ref<const std::string&>().empty()) return input_error(place + ".name: is missing");
    if (value != nullptr && !value->is_string()) return input_error(place + ".value: expected a string");
    auto text = value == nullptr ? std::string() : value->get<std::string>();
    if (has_v2_key(text))
      return input_error(place + ".value: comes from the pipeline and is not known here; set the variable in job_options.environment");
    program.environment.emplace_back(name->get<std::string>(), std::move(text));
  }
  return {};
}

Result<void> read_container(const Choice& choice, Program& program) {
  const auto where = "train_specification.deploymentSpec.executors." + choice.executor + ".container";
  const auto& container = *choice.container;
  if (const auto* image = find(container, "image"); image != nullptr && image->is_string()) program.image = image->get<std::string>();
  if (has_v2_key(program.image)) return input_error(where + ".image: comes from the pipeline and is not known here; set base_image");
  ASSIGN(program.command, read_texts(container, "command", where));
  ASSIGN(program.args, read_texts(container, "args", where));
  if (program.command.empty()) return input_error(where + ".command: is missing; the image's entry point is not known here; write it out");
  TRY(read_environment(container, where, program));
  ASSIGN(program.resources, read_v2_resources(container, where));
  return {};
}

// platforms.kubernetes.deploymentSpec.executors.LABEL; other platforms are ignored.
Result<void> read_platform_document(const Json& platform, const Choice& choice, Program& program) {
  const Json* at = &platform;
  std::string where = "train_specification";
  for (const std::string& key :
       {std::string("platforms"), std::string("kubernetes"), std::string("deploymentSpec"), std::string("executors"), choice.executor}) {
    at = find(at, {key});
    where += "." + key;
  }
  if (at == nullptr) return {};
  ASSIGN(program.platform, read_platform(*at, where));
  return {};
}

}  // namespace

Result<Program> read_v2_ir(const Json& job, const Json& platform, const std::string& component) {
  const auto* wrapped = find(job, "pipelineSpec");
  const auto& ir = wrapped != nullptr ? *wrapped : job;
  const auto* runtime = wrapped != nullptr ? find(job, "runtimeConfig") : nullptr;
  ASSIGN(const auto choice, choose_task(ir, component));
  Program program;
  program.dialect = Dialect::v2;
  program.name = choice.component.starts_with("comp-") ? choice.component.substr(5) : choice.component;
  TRY(read_container(choice, program));
  TRY(read_v2_interface(choice, ir["root"], find(runtime, {"parameterValues"}), program));
  TRY(check_uses(program, find_uses(program), "train_specification.deploymentSpec.executors." + choice.executor));
  TRY(read_platform_document(platform, choice, program));
  return program;
}

}  // namespace trainstep::spec
