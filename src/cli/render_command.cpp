// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"
#include "cli/app.h"
#include "cli/print.h"
#include "cli/step_command.h"
#include "job_types/job_type.h"
#include "job_types/render.h"
#include "process/child.h"
#include "step/default_image.h"
#include "step/secrets.h"
#include "step/targets.h"
#include "step/unused_inputs.h"

namespace trainstep::cli {
namespace {

Result<std::string> rendered(const StepCommand& command) {
  ASSIGN(auto inputs, read_inputs(command));
  ASSIGN(const auto plan, plan::make_plan(inputs.request, job_types::traits()));
  conceal_all(inputs, plan);
  ASSIGN(const auto manifest, job_types::render(plan, command.api_version));
  for (const auto& notice : notices_of(inputs, plan)) complain(notice);
  return command.explain ? job_types::to_yaml_explained(manifest) : job_types::to_yaml(manifest);
}

}  // namespace

Result<step::Inputs> read_inputs(const StepCommand& command) {
  step::Context context;
  for (auto& [name, value] : process::own_environment()) context.environment.emplace(name, value);
  context.other_flags = command.flag_names;
  context.command = command.program;
  context.read_file = [](const std::string& path, std::size_t limit) { return read_file(path, limit); };
  auto inputs = step::read_inputs(command.flags, context);
  if (inputs) inputs->python_json = command.python_json;
  conceal(inputs ? inputs->secrets : step::secrets_of(context.environment, {}));
  return inputs;
}

void conceal_all(step::Inputs& inputs, const plan::Plan& plan) {
  inputs.secrets = step::secrets_of(inputs, &plan);
  conceal(inputs.secrets);
}

void conceal_also(step::Inputs& inputs, const std::vector<std::string>& secrets) {
  inputs.secrets.insert(inputs.secrets.end(), secrets.begin(), secrets.end());
  conceal(inputs.secrets);
}

std::vector<std::string> notices_of(const step::Inputs& inputs, const plan::Plan& plan) {
  auto notices = inputs.not_passed_on;
  for (auto& notice : step::secrets_in_clear(plan)) notices.push_back(std::move(notice));
  if (auto notice = step::default_image(plan)) notices.push_back(std::move(*notice));
  if (auto notice = step::unbound_model(inputs, plan)) notices.push_back(std::move(*notice));
  for (auto& notice : step::unused_inputs(inputs.request, plan)) notices.push_back(std::move(notice));
  return notices;
}

int run_render(const StepCommand& command) {
  const auto text = rendered(command);
  if (!text) return report(text.error());
  return print(*text);
}

}  // namespace trainstep::cli
