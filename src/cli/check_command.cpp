// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <variant>

#include "base/printable.h"
#include "cli/app.h"
#include "cli/connection.h"
#include "cli/print.h"
#include "cli/run_command.h"
#include "cluster/claim_nodes.h"
#include "cluster/data.h"
#include "cluster/first_contact.h"
#include "cluster/job_place.h"
#include "cluster/kubeflow_store.h"
#include "cluster/missing_roles.h"
#include "cluster/preflight.h"
#include "cluster/secret_credentials.h"
#include "cluster/secret_values.h"
#include "job_types/job_type.h"
#include "process/child.h"

namespace trainstep::cli {
namespace {

constexpr int refused = 2;

void print_finding(const cluster::Finding& finding) {
  using enum cluster::Finding::Severity;
  const auto* severity = finding.severity == ok ? "ok" : finding.severity == warning ? "warning" : "error";
  static_cast<void>(print(fmt::format("{:<8} {}\n", severity, printable(concealed(finding.text)))));
}

void warn(const std::string& text) { print_finding({cluster::Finding::Severity::warning, text}); }

// Starts something and runs the loop until the result is there.
template <typename T>
Result<T> await(Connection& connection, const std::function<void(std::function<void(Result<T>)>)>& begin) {
  Result<T> result = internal_error("no answer");
  bool known = false;
  begin([&](Result<T> answer) {
    result = std::move(answer);
    known = true;
    connection.loop.stop();
  });
  if (!known) connection.loop.run();
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

// Null: it cannot be read.
Result<Json> secret_of(Connection& connection, const std::string& name) {
  constexpr Duration timeout{30'000};
  kube::PendingCall call;
  return await<Json>(connection, [&](const auto& done) {
    const kube::Retry retry{.at_most = timeout, .doubts_refusals = true};
    call = connection.client.get({"v1", "secrets", connection.name_space, name, ""}, {}, retry, [&, done](kube::Answer answer) {
      if (answer) return done(std::move(*answer));
      if (answer.error().status == 403) return done(Json());
      done(cluster::about_secret(answer.error(), connection.name_space, name));
    });
  });
}

// Whether the other cluster that the Secret names can be used at all.
Result<void> contact(cluster::JobPlace& place, const std::string& secret, Connection& connection) {
  std::optional<cluster::FirstContact> first_contact;
  TRY(await<std::monostate>(connection, [&](auto done) {
    first_contact.emplace(place.client(), secret, [done](std::optional<Error> why) { why ? done(std::move(*why)) : done(std::monostate()); });
  }));
  print_finding({cluster::Finding::Severity::ok, fmt::format("{} answers", place.where())});
  return {};
}

// The job in another cluster takes its keys along. False: they may not be read.
Result<bool> find_keys(cluster::JobPlace& place, Connection& connection) {
  const auto at = place.missing_keys();
  if (!at) return true;
  ASSIGN(const auto secret, secret_of(connection, at->secret));
  if (secret.is_null()) return false;
  ASSIGN(auto keys, in_context("credentials of the object store", cluster::decode_credentials(secret, *at)));
  place.set_keys(std::move(keys));
  return true;
}

// Where the data of a job without another way would go.
Result<std::optional<plan::JobFolder>> kubeflow_store_for(const plan::Plan& plan, cluster::JobPlace& place, Connection& connection) {
  const auto known = cluster::data_facts(plan, place.facts());
  if (!known || !(plan.as_train_model_job || plan::lacks_folder(plan, *known))) return std::optional<plan::JobFolder>();
  std::optional<cluster::KubeflowStore> store;
  return await<std::optional<plan::JobFolder>>(connection, [&](auto done) {
    cluster::KubeflowStore::Context context{connection.client, connection.transport, connection.name_space, warn};
    if (place.completes_stores()) context.complete = [&place](const plan::JobFolder& found) { return place.complete(found); };
    store.emplace(std::move(context), std::move(done));
  });
}

// As a run does before it creates the job.
Result<void> place_pods(plan::Plan& plan, const cluster::JobPlace& place, Connection& connection) {
  using Access = std::map<std::string, cluster::ClaimAccess>;
  std::optional<cluster::ClaimModesReader> look;
  ASSIGN(const auto access, await<Access>(connection, [&](auto done) {
           look.emplace(cluster::ClaimModesReader::Context{place.client(), place.name_space(), place.access_mode(), warn},
                        cluster::mounted_claims(plan), std::move(done));
         }));
  ASSIGN(auto nodes, cluster::nodes_for(plan, place.facts(), access));
  if (const auto line = cluster::describe(nodes); !line.empty() && line != cluster::describe(plan.nodes))
    print_finding({nodes.apart.empty() ? cluster::Finding::Severity::ok : cluster::Finding::Severity::warning, line});
  plan.nodes = std::move(nodes);
  return {};
}

void show_roles(const cluster::MissingRoles& missing, const cluster::JobPlace& place) {
  if (missing.empty()) return;
  static_cast<void>(print("\n" + missing.yaml(place.step_side(), place.job_side())));
}

// Null: the API server does not say who asks.
Result<Json> own_subject(Connection& connection) {
  constexpr Duration timeout{5'000};
  kube::PendingCall call;
  return await<Json>(connection, [&](const auto& done) {
    call = connection.client.create({"authentication.k8s.io/v1", "selfsubjectreviews"}, cluster::subject_review(), false, {timeout},
                                    [done](const kube::Answer& answer) { done(answer ? cluster::subject_of(*answer) : Json()); });
  });
}

// Nothing else can be checked.
Result<int> without_secret(const cluster::JobPlace& place, const std::string& name, Connection& connection) {
  const cluster::Permission right{"", "secrets", "get", true, name, "", true};
  print_finding({cluster::Finding::Severity::error,
                 fmt::format("no permission to {} in namespace {}: nothing else can be checked without the cluster_configuration_secret",
                             describe(right), place.step_side().name_space)});
  cluster::MissingRoles missing;
  missing.add(right);
  ASSIGN(auto subject, own_subject(connection));
  missing.set_subject(true, std::move(subject));
  show_roles(missing, place);
  return refused;
}

// False: the Secret may not be read.
Result<bool> configure(cluster::JobPlace& place, const std::string& secret, Connection& connection) {
  ASSIGN(const auto object, secret_of(connection, secret));
  if (object.is_null()) return false;
  TRY(place.connect(object, false));
  if (place.is_remote()) TRY(contact(place, secret, connection));
  return find_keys(place, connection);
}

Result<plan::Plan> plan_of(step::Inputs& inputs, const cluster::Facts& facts, cluster::JobPlace& place, Connection& connection) {
  ASSIGN(auto plan, plan_in_cluster(inputs.request, facts, place.name_space()));
  conceal_all(inputs, plan);
  if (!place.facts().folder && !connection.pod.name.empty() && !place.is_remote()) {
    ASSIGN(auto folder, kubeflow_store_for(plan, place, connection));
    place.set_folder(std::move(folder));
  }
  TRY(place.route(plan));
  TRY(place_pods(plan, place, connection));
  return plan;
}

Result<cluster::Diagnosis> diagnose(const plan::Plan& plan, const cluster::Facts& facts, cluster::DataContext data, const cluster::JobPlace& place,
                                    Connection& connection) {
  place.add_keys(data, plan);
  std::optional<cluster::Preflight> preflight;
  return await<cluster::Diagnosis>(connection, [&](auto done) {
    preflight.emplace(cluster::Preflight::Context{connection.transport, plan, facts, place.facts(), std::move(data), place.step_side(),
                                                  place.job_side(), [&](cluster::StepData::Context& context) { place.add_keys(context, plan); }},
                      cluster::Preflight::Sink{print_finding, std::move(done)});
  });
}

// `secret`: of the cluster; empty: that of the step.
Result<int> check_cluster(step::Inputs& inputs, const std::string& secret, const cluster::Facts& facts, Connection& connection) {
  cluster::DataContext data{cluster::has_addresses(inputs.request), secret};
  for (auto& [name, value] : process::own_environment()) data.environment.emplace(name, value);
  cluster::JobPlace place({.loop = connection.loop,
                           .transport = connection.transport,
                           .home = connection.client,
                           .name_space = connection.name_space,
                           .where = connection.description,
                           .configuration_secret = data.configuration_secret,
                           .as_train_model_job = inputs.request.as_train_model_job,
                           .seed = random_seed(),
                           .attempt = "",
                           .log = warn});
  place.take_facts(facts);
  if (!data.configuration_secret.empty()) {
    ASSIGN(const bool readable, in_context("cluster_configuration_secret", configure(place, data.configuration_secret, connection)));
    if (!readable) return without_secret(place, place.missing_keys() ? place.missing_keys()->secret : data.configuration_secret, connection);
  }
  ASSIGN(const auto plan, plan_of(inputs, facts, place, connection));
  for (const auto& notice : notices_of(inputs, plan)) print_finding({cluster::Finding::Severity::warning, notice});
  ASSIGN(const auto diagnosis, diagnose(plan, facts, std::move(data), place, connection));
  show_roles(diagnosis.missing, place);
  return diagnosis.failed() ? refused : 0;
}

// A run goes to the first that can take its job: one is enough.
Result<int> check_clusters(step::Inputs& inputs, const std::vector<std::string>& secrets, const cluster::Facts& facts, Connection& connection) {
  int code = refused;
  for (const auto& secret : secrets) {
    static_cast<void>(print(fmt::format("{}cluster of Secret {}\n", secret == secrets.front() ? "" : "\n", secret)));
    const auto checked = check_cluster(inputs, secret, facts, connection);
    if (!checked) print_finding({cluster::Finding::Severity::error, checked.error().message});
    if (checked && *checked == 0) code = 0;
  }
  return code;
}

Result<int> check(const StepCommand& command) {
  ASSIGN(auto inputs, read_inputs(command));
  ASSIGN(const auto plan, plan::make_plan(inputs.request, job_types::traits()));
  conceal_all(inputs, plan);
  TRY(check_step(command, inputs, plan));
  ASSIGN(auto found, find_cluster(command.context, inputs.request.name_space));
  Connection connection(std::move(found), Access::write);  // dry runs and access reviews
  connection.client.on_secret([&inputs](const Json& read) { conceal_also(inputs, cluster::secrets_of(read)); });
  ASSIGN(auto facts, facts_of(connection));
  if (cluster::has_addresses(inputs.request)) {
    ASSIGN(facts.stores,
           await<std::string>(connection, [&](auto done) { cluster::find_stores(connection.client, connection.name_space, warn, std::move(done)); }));
  }
  for (const auto& notice : facts.notices) print_finding({cluster::Finding::Severity::warning, notice});
  const auto& secrets = inputs.request.cluster_configuration_secrets;
  if (secrets.size() > 1) return check_clusters(inputs, secrets, facts, connection);
  return check_cluster(inputs, secrets.empty() ? "" : secrets.front(), facts, connection);
}

}  // namespace

int run_check(const StepCommand& command) { return exit_code_of(check(command)); }

}  // namespace trainstep::cli
