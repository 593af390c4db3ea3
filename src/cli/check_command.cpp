// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <optional>

#include "cli/app.h"
#include "cli/connection.h"
#include "cli/run_command.h"
#include "cluster/checkup.h"
#include "cluster/data.h"
#include "data/yaml.h"

namespace trainstep::cli {
namespace {

constexpr int refused = 2;

void show(const cluster::Finding& finding) {
  using enum cluster::Finding::Grade;
  const auto* grade = finding.grade == good ? "ok" : finding.grade == doubtful ? "doubt" : "FAILS";
  std::fputs(fmt::format("{:<6} {}\n", grade, finding.text).c_str(), stdout);
}

Result<cluster::Facts> facts_of(Connection& connection) {
  Result<cluster::Facts> facts = cluster::Facts{};
  facts->name_space = connection.name_space;
  if (connection.pod.empty()) return facts;
  cluster::find_facts(connection.client, connection.name_space, connection.pod, [&](Result<cluster::Facts> result) {
    facts = std::move(result);
    connection.loop.stop();
  });
  connection.loop.run();
  return facts;
}

Result<std::string> stores_of(Connection& connection) {
  Result<std::string> stores = internal_error("no answer");
  cluster::find_stores(connection.client, connection.name_space, [&](Result<std::string> result) {
    stores = std::move(result);
    connection.loop.stop();
  });
  connection.loop.run();
  return stores;
}

Result<cluster::Diagnosis> diagnose(Connection& connection, const plan::Plan& plan, const cluster::Facts& facts) {
  Result<cluster::Diagnosis> diagnosis = internal_error("no answer");
  const cluster::Checkup checkup(connection.client, plan, facts, connection.name_space, {show, [&](Result<cluster::Diagnosis> result) {
                                                                                           diagnosis = std::move(result);
                                                                                           connection.loop.stop();
                                                                                         }});
  connection.loop.run();
  return diagnosis;
}

Result<int> check(const StepCommand& command) {
  ASSIGN(const auto inputs, read_inputs(command));
  if (!inputs.request.cluster_configuration_secret.empty())
    return input_error("cluster_configuration_secret: check asks one cluster; name the one that the Secret leads to by --context, and leave it away");
  ASSIGN(auto place, find_cluster(command.context, inputs.request.name_space));
  Connection connection(std::move(place));
  ASSIGN(auto facts, facts_of(connection));
  if (cluster::has_addresses(inputs.request)) {
    ASSIGN(facts.stores, stores_of(connection));
  }
  for (const auto& notice : facts.notices) show({cluster::Finding::Grade::doubtful, notice});
  ASSIGN(auto plan, plan_in_cluster(inputs.request, facts, connection.name_space));
  TRY(cluster::route_data(plan, facts));
  ASSIGN(const auto diagnosis, diagnose(connection, plan, facts));
  if (!diagnosis.missing.empty())
    std::fputs(fmt::format("\n# What is missing; bind it to the step's service account:\n{}",
                           to_yaml(cluster::role(diagnosis.missing, connection.name_space)))
                   .c_str(),
               stdout);
  return diagnosis.bad ? refused : 0;
}

}  // namespace

int run_check(const StepCommand& command) {
  const auto code = check(command);
  return code ? *code : report(code.error());
}

}  // namespace trainstep::cli
