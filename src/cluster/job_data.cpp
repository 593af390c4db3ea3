// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/objects.h"
#include "cluster/ownership.h"
#include "job_types/agent.h"
#include "plan/task.h"

namespace trainstep::cluster {
namespace {

// It is the same for all replicas.
std::optional<plan::Task> task_in(const Json& part) {
  if (part.is_object() && text(&part, "name") == plan::task_variable) {
    const auto json = parse_json(text(&part, "value"), "task");
    auto task = json ? plan::read_task(*json) : Result<plan::Task>(json.error());
    return task ? std::optional(std::move(*task)) : std::nullopt;
  }
  if (part.is_structured())
    for (const auto& inner : part)
      if (auto task = task_in(inner)) return task;
  return std::nullopt;
}

// The volume of that name.
const Json* volume_in(const Json& part, const std::string& name) {
  if (part.is_object() && part.contains("secret") && text(&part, "name") == name) return &part;
  if (part.is_structured())
    for (const auto& inner : part)
      if (const auto* volume = volume_in(inner, name)) return volume;
  return nullptr;
}

// A store of the task, and the Secret with its credentials, as the pods mount it (job_types/agent.cpp).
plan::StoreAccess access_in(const Json& job, const plan::Task& task, std::size_t index) {
  const auto& store = task.stores[index];
  plan::StoreAccess access{store.endpoint, store.region, store.path_style, {}, {}, {}};
  const auto* volume = store.access_key_file.empty() ? nullptr : volume_in(job, job_types::keys_volume(index));
  const auto* secret = volume == nullptr ? nullptr : at(volume, "secret");
  access.secret = text(secret, "secretName");
  if (const auto* items = at(secret, "items"); items != nullptr && items->is_array())
    for (const auto& item : *items) {
      const auto path = text(&item, "path");
      auto& key = path == "access_key" ? access.access_key_key : path == "signing_keys" ? access.signing_keys_key : access.secret_key_key;
      key = text(&item, "key");
    }
  return access;
}

// Then each pod has its own checkpoints, next to those of the first one.
bool is_indexed(const Json& job) { return text(at(&job, "spec"), "completionMode") == "Indexed"; }

}  // namespace

std::vector<std::string> data_left_of(const Json& job) {
  const auto* annotations = at(metadata_of(job), "annotations");
  const auto task = task_in(job);
  if (!task || !text(annotations, data_annotation).empty()) return {};
  std::vector<std::string> left;
  const auto add = [&](const std::string& uri) {
    const bool known = std::ranges::any_of(left, [&](const std::string& one) { return uri == one || uri.starts_with(one + '/'); });
    if (!uri.empty() && !known) left.push_back(uri);
  };
  add(task->record.uri.substr(0, task->record.uri.rfind('/')));
  const auto& checkpoints = task->checkpoints.to.uri;
  add(is_indexed(job) ? checkpoints.substr(0, checkpoints.rfind('/')) : checkpoints);
  if (text(annotations, outcome_annotation).empty())
    for (const auto& output : task->outputs) add(output.to.uri);
  return left;
}

bool has_data_elsewhere(const Json& job, const plan::Plan& plan) {
  const auto& data = plan.data;
  const auto task = data.prefix.in_store() ? task_in(job) : std::nullopt;
  if (!task) return false;
  const auto elsewhere = [&](const plan::TaskPlace& here, const plan::TaskPlace& there) {
    if (!here.uri.starts_with(data.prefix.uri + '/')) return false;
    return here.uri != there.uri || there.store >= task->stores.size() || task->stores[there.store].endpoint != data.task.stores[here.store].endpoint;
  };
  const auto input_elsewhere = [&](const plan::TaskInput& input) {
    const auto same = std::ranges::find(task->inputs, input.name, &plan::TaskInput::name);
    return elsewhere(input.from, same == task->inputs.end() ? plan::TaskPlace() : same->from);
  };
  const auto output_elsewhere = [&](const plan::TaskOutput& output) {
    const auto same = std::ranges::find(task->outputs, output.name, &plan::TaskOutput::name);
    return elsewhere(output.to, same == task->outputs.end() ? plan::TaskPlace() : same->to);
  };
  return elsewhere(data.task.record, task->record) || elsewhere(data.task.checkpoints.to, task->checkpoints.to) ||
         std::ranges::any_of(data.task.inputs, input_elsewhere) || std::ranges::any_of(data.task.outputs, output_elsewhere);
}

EarlierRoute route_of(const Json& job) {
  EarlierRoute route;
  const auto task = task_in(job);
  if (!task) return route;
  const auto end = fmt::format("/{}/finished.json", task->job);
  const auto& record = task->record.uri;
  // Next to an output, if nothing goes through a folder (plan/data.cpp).
  if (record.ends_with(end) && !record.ends_with("/.trainstep" + end))
    route.folder = {record.substr(0, record.size() - end.size()), access_in(job, *task, task->record.store)};
  for (const auto& input : task->inputs)
    if (input.from.in_store()) route.stores.emplace(input.from.uri, access_in(job, *task, input.from.store));
  for (const auto& output : task->outputs)
    if (output.to.in_store()) route.stores.emplace(output.to.uri, access_in(job, *task, output.to.store));
  return route;
}

}  // namespace trainstep::cluster
