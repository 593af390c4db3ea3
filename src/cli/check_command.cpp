// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>

#include "base/printable.h"
#include "cli/app.h"
#include "cli/connection.h"
#include "cli/print.h"
#include "cli/run_command.h"
#include "cluster/claim_nodes.h"
#include "cluster/data.h"
#include "cluster/kubeflow_store.h"
#include "cluster/preflight.h"
#include "cluster/remote.h"
#include "cluster/secret_values.h"
#include "data/yaml.h"
#include "process/child.h"

namespace trainstep::cli {
namespace {

constexpr int refused = 2;

void print_finding(const cluster::Finding& finding) {
  using enum cluster::Finding::Severity;
  const auto* severity = finding.severity == ok ? "ok" : finding.severity == warning ? "doubt" : "FAILS";
  static_cast<void>(print(fmt::format("{:<6} {}\n", severity, printable(concealed(finding.text)))));
}

void doubt(const std::string& text) { print_finding({cluster::Finding::Severity::warning, text}); }

// Starts something and runs the loop until the result is there.
template <typename T>
Result<T> await(Connection& connection, const std::function<void(std::function<void(Result<T>)>)>& begin) {
  Result<T> result = internal_error("no answer");
  begin([&](Result<T> answer) {
    result = std::move(answer);
    connection.loop.stop();
  });
  connection.loop.run();
  return result;
}

Result<cluster::Facts> facts_of(Connection& connection) {
  if (!connection.pod.name.empty()) {
    ASSIGN(auto found, await<cluster::Facts>(connection, [&](auto done) {
             cluster::find_facts(connection.client, connection.name_space, connection.pod, std::move(done));
           }));
    return found.name_space == connection.name_space ? std::move(found) : cluster::facts_for_job_elsewhere(std::move(found));
  }
  cluster::Facts facts;
  facts.name_space = connection.name_space;
  return facts;
}

// The Secret; null: it cannot be read.
Result<Json> configuration_of(Connection& connection, const std::string& name) {
  constexpr Duration timeout{30'000};
  kube::PendingCall call;
  return await<Json>(connection, [&](const auto& done) {
    const kube::Retry retry{.at_most = timeout, .doubts_refusals = true};
    call = connection.client.get({"v1", "secrets", connection.name_space, name, ""}, {}, retry, [done](kube::Answer answer) {
      if (answer) return done(std::move(*answer));
      if (answer.error().status == 403) return done(Json());
      done(in_context("cluster_configuration_secret", std::move(answer.error().error)));
    });
  });
}

// Where the data of a job without another way would go. `secret`: completes the settings of the store; null: none.
Result<std::optional<plan::JobFolder>> kubeflow_store_for(const plan::Plan& plan, const cluster::Facts& facts, const Json& secret,
                                                          Connection& connection) {
  const auto known = cluster::data_facts(plan, facts);
  if (!known || !(plan.as_train_model_job || plan::lacks_folder(plan, *known))) return std::optional<plan::JobFolder>();
  std::optional<cluster::KubeflowStore> store;
  return await<std::optional<plan::JobFolder>>(connection, [&](auto done) {
    cluster::KubeflowStore::Context context{connection.client, connection.transport, connection.name_space, doubt};
    if (plan.as_train_model_job && !secret.is_null())
      context.complete = [&secret](const plan::JobFolder& found) -> Result<plan::JobFolder> {
        ASSIGN(const auto completed, in_context("cluster_configuration_secret", cluster::job_store(secret, found)));
        return completed ? completed->folder : found;
      };
    store.emplace(std::move(context), std::move(done));
  });
}

// As a run does before it creates the job.
Result<void> place_pods(plan::Plan& plan, const cluster::Facts& facts, const std::string& made_mode, Connection& connection) {
  using Access = std::map<std::string, cluster::ClaimAccess>;
  std::optional<cluster::ClaimModesReader> look;
  ASSIGN(const auto access, await<Access>(connection, [&](auto done) {
           look.emplace(cluster::ClaimModesReader::Context{connection.client, connection.name_space, made_mode, doubt}, cluster::mounted_claims(plan),
                        std::move(done));
         }));
  ASSIGN(auto nodes, cluster::nodes_for(plan, facts, access));
  if (const auto line = cluster::describe(nodes); !line.empty() && line != cluster::describe(plan.nodes))
    print_finding({nodes.apart.empty() ? cluster::Finding::Severity::ok : cluster::Finding::Severity::warning, line});
  plan.nodes = std::move(nodes);
  return {};
}

void show_role(const std::vector<cluster::Permission>& missing, const std::string& name_space) {
  if (missing.empty()) return;
  static_cast<void>(
      print(fmt::format("\n# Missing permissions; bind this Role to the step's service account:\n{}", to_yaml(cluster::role(missing, name_space)))));
}

int without_configuration(const Connection& connection, const std::string& name) {
  const cluster::Permission right{"", "secrets", "get", true, name};
  print_finding({cluster::Finding::Severity::error,
                 fmt::format("no permission to {} in namespace {}: nothing else can be checked without the cluster_configuration_secret",
                             describe(right), connection.name_space)});
  show_role({right}, connection.name_space);
  return refused;
}

Result<int> check(const StepCommand& command) {
  ASSIGN(auto inputs, read_inputs(command));
  ASSIGN(auto place, find_cluster(command.context, inputs.request.name_space));
  Connection connection(std::move(place), Access::write);  // dry runs and access reviews
  connection.client.on_secret([&inputs](const Json& read) { conceal_also(inputs, cluster::secrets_of(read)); });
  ASSIGN(auto facts, facts_of(connection));
  std::string access_mode;
  Json secret;
  cluster::DataContext data{cluster::has_addresses(inputs.request), inputs.request.cluster_configuration_secret};
  for (auto& [name, value] : process::own_environment()) data.environment.emplace(name, value);
  if (data.has_addresses) {
    ASSIGN(facts.stores, await<std::string>(
                             connection, [&](auto done) { cluster::find_stores(connection.client, connection.name_space, doubt, std::move(done)); }));
  }
  if (!data.configuration_secret.empty()) {
    ASSIGN(secret, configuration_of(connection, data.configuration_secret));
    if (secret.is_null()) return without_configuration(connection, data.configuration_secret);
    ASSIGN(auto configuration, in_context("cluster_configuration_secret", cluster::read_configuration(secret, inputs.request.as_train_model_job)));
    if (configuration.other_cluster)
      return input_error(
          "cluster_configuration_secret: check examines a single cluster; select the one that the Secret names with --context, and omit this input");
    if (configuration.store) facts.folder = configuration.store->folder;
    access_mode = std::move(configuration.access_mode);
  }
  for (const auto& notice : facts.notices) print_finding({cluster::Finding::Severity::warning, notice});
  ASSIGN(auto plan, plan_in_cluster(inputs.request, facts, connection.name_space));
  conceal_all(inputs, plan);
  if (!facts.folder && !connection.pod.name.empty()) {
    ASSIGN(facts.folder, kubeflow_store_for(plan, facts, secret, connection));
  }
  TRY(cluster::route_data(plan, facts));
  TRY(place_pods(plan, facts, access_mode, connection));
  for (const auto& notice : notices_of(inputs, plan)) print_finding({cluster::Finding::Severity::warning, notice});
  std::optional<cluster::Preflight> preflight;
  ASSIGN(const auto diagnosis, await<cluster::Diagnosis>(connection, [&](auto done) {
           preflight.emplace(connection.client, connection.transport, plan, facts, data, connection.name_space,
                             cluster::Preflight::Sink{print_finding, std::move(done)});
         }));
  show_role(diagnosis.missing, connection.name_space);
  return diagnosis.failed ? refused : 0;
}

}  // namespace

int run_check(const StepCommand& command) { return exit_code_of(check(command)); }

}  // namespace trainstep::cli
