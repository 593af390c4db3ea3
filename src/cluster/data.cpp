// SPDX-License-Identifier: Apache-2.0
#include "cluster/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cluster/objects.h"
#include "data/place.h"
#include "objectstore/provider.h"
#include "spec/returned.h"

namespace trainstep::cluster {
namespace {

constexpr Duration data_timeout{60'000};

Result<plan::StoreAccess> access_to(const plan::StepPath& path, const std::string& providers) {
  ASSIGN(const auto address, objectstore::Address::parse(path.uri));
  const auto session = text(&path.metadata, "store_session_info");
  ASSIGN(const auto provider,
         session.empty() ? objectstore::provider_of_launcher(providers, address) : objectstore::provider_of_session(session, address));
  return plan::StoreAccess{provider.store.endpoint.text(), provider.store.region,        provider.store.path_style,
                           provider.keys.secret,           provider.keys.access_key_key, provider.keys.secret_key_key};
}

Result<void> add(plan::DataFacts& data, const std::optional<plan::StepPath>& path, const Facts& facts) {
  if (!path || !objectstore::is_address(path->uri)) return {};
  if (const auto known = facts.known_stores.find(path->uri); known != facts.known_stores.end()) {
    data.stores[path->uri] = known->second;
    return {};
  }
  ASSIGN(data.stores[path->uri], in_context(path->name, access_to(*path, facts.stores)));
  return {};
}

// An output may be a link to something that does not exist yet.
std::string real_path(const std::string& path) {
  constexpr int max_links = 40;
  std::error_code unknown, none;
  auto real = std::filesystem::weakly_canonical(path, unknown);
  for (int links = 0; links < max_links && std::filesystem::is_symlink(real, none); ++links)
    real = std::filesystem::weakly_canonical(real.parent_path() / std::filesystem::read_symlink(real, none), unknown);
  return unknown || path.empty() ? path : real.string();
}

// The pods see a claim at another path than the step: a link on the way has another meaning there.
void add_real_path(plan::DataFacts& data, const std::optional<plan::StepPath>& path) {
  if (!path) return;
  if (auto real = real_path(path->path); real != path->path) data.real_paths.emplace(path->path, std::move(real));
}

// It becomes part of a pod's manifest, which is UTF-8.
Result<void> check_portable(const std::string& name, const std::string& path) { return check_path_text(name, path, "a path that pods use"); }

}  // namespace

Result<plan::DataFacts> data_facts(const plan::Plan& plan, const Facts& facts) {
  plan::DataFacts data{
      .mounts = facts.mounts, .real_paths = {}, .stores = {}, .agent_image = facts.image, .folder = facts.folder, .unowned = !facts.workflow};
  for (auto& mount : data.mounts) mount.mount_path = real_path(mount.mount_path);
  for (const auto& input : plan.binding.inputs) {
    TRY(add(data, input.path, facts));
    add_real_path(data, input.path);
  }
  for (const auto& output : plan.binding.outputs) {
    TRY(add(data, output.path, facts));
    add_real_path(data, output.path);
  }
  return data;
}

Result<void> route_data(plan::Plan& plan, const Facts& facts) {
  ASSIGN(const auto data, data_facts(plan, facts));
  TRY(plan::route_data(plan, data));
  for (const auto& input : plan.binding.inputs)
    if (input.path) TRY(check_portable(input.path->name, plan.data.placement.inputs[input.name]));
  for (const auto& output : plan.data.task.outputs) TRY(check_portable(output.name, plan::place_on_claim(output).string()));
  return {};
}

Result<std::vector<run::OutputFound>> outputs_of(const plan::Plan& plan, const result::PodReport& report) {
  std::vector<run::OutputFound> outputs;
  for (const auto& bound : plan.binding.outputs) {
    const auto* output = spec::find_output(plan.program, bound.name);
    const auto told = std::ranges::find(report.outputs, bound.name, &result::ReportedOutput::name);
    if (output == nullptr || told == report.outputs.end()) continue;
    auto& found = outputs.emplace_back();
    found.name = bound.name;
    found.artifact = told->artifact;
    found.metrics = spec::holds_metrics(*output);
    found.floating = output->type == spec::Type::number;
    found.present = told->present || !told->metadata.empty();
    found.earlier = !told->present;
    found.no_file = told->no_file;
    found.metadata = told->metadata;
    found.curves = told->curves;
    if (const auto& path = bound.path; path) {
      found.step_path = path->name;
      found.path = path->uri.empty() ? path->path : path->uri;
    }
    if (!told->uri.empty()) found.path = told->uri;
    if (const auto& value = told->value; value) {
      ASSIGN(found.value, in_context("output " + bound.name, spec::typed_value(*output, *value)));
    }
  }
  return outputs;
}

bool has_addresses(const plan::Request& request) {
  const auto has = [](const auto& paths) {
    return std::ranges::any_of(paths, [](const plan::StepPath& path) { return objectstore::is_address(path.uri); });
  };
  const auto& parameters = request.train_parameters;
  const bool among_parameters = parameters.is_object() && std::ranges::any_of(parameters, [](const Json& value) {
                                  return value.is_string() && objectstore::is_address(value.get_ref<const std::string&>());
                                });
  return has(request.inputs) || has(request.outputs) || among_parameters;
}

void find_launcher_config(kube::Client& client, const std::string& name_space, const Log& log, std::function<void(Result<LauncherConfig>)> done) {
  const auto read = [log, name_space, done = std::move(done)](kube::Answer answer) {
    if (answer) return done(LauncherConfig{text(at(&*answer, "data"), "providers"), text(at(&*answer, "data"), "defaultPipelineRoot")});
    auto& problem = answer.error();
    if (problem.status != 403 && !kube::tells_absent(problem, launcher_config)) return done(std::move(problem.error));
    log(fmt::format("Kubeflow Pipelines' defaults for object stores apply in namespace {}: {}", name_space, problem.error.message));
    done(LauncherConfig{});
  };
  const kube::Retry retry{.at_most = data_timeout, .doubts_refusals = true};
  auto call = client.get({"v1", "configmaps", name_space, std::string(launcher_config), ""}, {}, retry, read);
  call.detach();
}

void find_stores(kube::Client& client, const std::string& name_space, const Log& log, std::function<void(Result<std::string>)> done) {
  find_launcher_config(client, name_space, log, [done = std::move(done)](Result<LauncherConfig> config) {
    if (!config) return done(std::move(config.error()));
    done(std::move(config->providers));
  });
}

std::map<std::string, std::string> on_claims(const plan::Plan& plan) {
  std::map<std::string, std::string> paths;
  for (const auto& bound : plan.binding.outputs) {
    const auto output = std::ranges::find(plan.data.task.outputs, bound.name, &plan::TaskOutput::name);
    const bool downloaded = std::ranges::find(plan.data.downloads, bound.name, &plan::StagedPath::name) != plan.data.downloads.end();
    if (bound.path && output != plan.data.task.outputs.end() && !output->folder_is.empty() && !downloaded) paths[bound.name] = bound.path->path;
  }
  return paths;
}

std::string delivered_to(const plan::Plan& plan) {
  const auto& prefix = plan.data.prefix.uri;
  std::vector<std::string> places;
  for (const auto& output : plan.data.task.outputs)
    if (output.to.in_store() && !output.to.uri.starts_with(prefix + '/')) places.push_back(output.to.uri);
  for (const auto& [name, path] : on_claims(plan)) places.push_back(path);
  if (places.empty() || !plan.data.downloads.empty()) places.push_back(prefix);
  return fmt::format("{}", fmt::join(places, ", "));
}

}  // namespace trainstep::cluster
