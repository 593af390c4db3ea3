// SPDX-License-Identifier: Apache-2.0
#include "spec/v2_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace trainstep::spec {
namespace {

std::vector<Choice> list_tasks(const Json& ir) {
  std::vector<Choice> result;
  const auto* tasks = find(&ir, {"root", "dag", "tasks"});
  if (tasks == nullptr || !tasks->is_object()) return result;
  for (const auto& [name, task] : tasks->items()) {
    Choice choice;
    choice.task = name;
    choice.task_json = &task;
    choice.component = text_of(&task, {"componentRef", "name"});
    choice.component_json = find(&ir, {"components", choice.component});
    if (choice.component_json != nullptr) choice.executor = text_of(*choice.component_json, "executorLabel");
    if (!choice.executor.empty()) choice.container = find(&ir, {"deploymentSpec", "executors", choice.executor, "container"});
    if (choice.container != nullptr && !choice.container->is_object()) choice.container = nullptr;
    result.push_back(std::move(choice));
  }
  return result;
}

std::string listed(const std::vector<Choice>& tasks) {
  std::vector<std::string> names;
  for (const auto& task : tasks)
    if (task.container != nullptr) names.push_back(task.task);
  return join(names, ", ");
}

bool is_named(const Choice& choice, const std::string& name) {
  return choice.component == name || choice.component == "comp-" + name || choice.executor == name || choice.executor == "exec-" + name;
}

Result<Choice> find_task(const std::vector<Choice>& tasks, const std::string& name) {
  std::vector<Choice> found;
  for (const auto& task : tasks) {
    if (task.task == name) return task;
    if (is_named(task, name)) found.push_back(task);
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) return input_error(fmt::format("job_options.component: several tasks run \"{}\"; choose one of {}", name, listed(found)));
  return input_error(fmt::format("job_options.component: train_specification has no step \"{}\"; it has {}", name, listed(tasks)));
}

}  // namespace

Result<Choice> choose_task(const Json& ir, const std::string& name) {
  const auto tasks = list_tasks(ir);
  if (tasks.empty())
    return input_error("train_specification.root.dag.tasks: is missing or empty; pass what Compiler().compile(component, \"train.yaml\") writes");
  if (name.empty() && tasks.size() > 1)
    return input_error(
        fmt::format("train_specification: the pipeline has several steps; name the one that trains in job_options.component: {}", listed(tasks)));
  Choice choice;
  if (name.empty()) {
    choice = tasks.front();
  } else {
    ASSIGN(choice, find_task(tasks, name));
  }
  if (choice.component_json == nullptr || !choice.component_json->is_object())
    return input_error(
        fmt::format("train_specification.root.dag.tasks.{}.componentRef: component \"{}\" is not in components", choice.task, choice.component));
  if (choice.container != nullptr) return choice;
  const bool nested = find(*choice.component_json, "dag") != nullptr;
  return input_error(fmt::format(
      "train_specification.components.{}: got {}; compile the component that trains by itself: Compiler().compile(component, \"train.yaml\")",
      choice.component, nested ? "a nested pipeline (loop, condition or group), not a program" : "a component without a container (an importer?)"));
}

}  // namespace trainstep::spec
