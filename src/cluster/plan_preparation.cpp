// SPDX-License-Identifier: Apache-2.0
#include "cluster/plan_preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/data.h"
#include "cluster/job_data.h"
#include "cluster/secret_credentials.h"
#include "objectstore/provider.h"

namespace trainstep::cluster {
namespace {

constexpr Duration earlier_timeout{300'000};

}  // namespace

PlanPreparation::PlanPreparation(Context context, Sink sink) : m_context(std::move(context)), m_sink(std::move(sink)) {}

void PlanPreparation::begin() {
  m_configured = m_context.configuration_secret.empty();
  m_kubeflow_store.reset();
  m_unavailable.reset();
  m_context.wants_stores ? read_store_configuration() : configure();
}

bool PlanPreparation::stop() {
  m_stopped = true;
  if (!m_claim_reader) return false;
  m_context.loop.post(m_lifetime.bind([this] { m_claim_reader->leave(); }));
  return true;
}

void PlanPreparation::cancel_store_search() { m_kubeflow_store.reset(); }

void PlanPreparation::read_store_configuration() {
  m_reading = "the ConfigMap kfp-launcher";
  const auto log = m_lifetime.bind([this](const std::string& line) { m_context.log(line); });
  find_stores(m_context.home, m_context.name_space, log, m_lifetime.bind([this](Result<std::string> stores) {
    if (m_left) return;
    if (stores) {
      m_context.place.set_stores(*stores);
      m_context.facts.stores = std::move(*stores);
    } else {
      m_unavailable = std::move(stores.error());
    }
    configure();
  }));
}

void PlanPreparation::configure() {
  if (m_context.configuration_secret.empty()) return make_plan();
  m_reading = "cluster_configuration_secret";
  m_call = m_context.home.get(m_context.place.configuration_secret(), {}, secret_retry, [this](const kube::Answer& answer) {
    if (m_left) return;
    m_configured = answer.has_value();
    auto connected =
        answer ? m_context.place.connect(*answer, m_stopped) : about_secret(answer.error(), m_context.name_space, m_context.configuration_secret);
    if (!connected) return m_sink.unavailable(in_context("cluster_configuration_secret", std::move(connected.error())));
    m_context.place.is_remote() && may_be_first() ? reach() : find_keys();
  });
}

// A job of an earlier attempt may be there: then the server's silence decides nothing.
bool PlanPreparation::may_be_first() const { return !m_stopped && !m_context.is_observer && m_context.facts.attempts_before == 0; }

void PlanPreparation::reach() {
  m_reading = m_context.place.where();
  m_first_contact = std::make_unique<FirstContact>(m_context.place.client(), m_context.configuration_secret, [this](std::optional<Error> why) {
    if (m_left) return;
    if (!why || m_stopped) return find_keys();
    if (const auto plan = m_context.make_plan(); plan && !plan->fresh_run)
      why->message += "; if this is not the first attempt, its job may still exist there";
    m_sink.failed(in_context("cluster_configuration_secret", std::move(*why)));
  });
}

void PlanPreparation::find_keys() {
  if (const auto at = m_context.place.missing_keys()) return find_remote_credentials(*at);
  make_plan();
}

// Another cluster does not have the Secret of this one: the job takes its credentials along.
void PlanPreparation::find_remote_credentials(const objectstore::CredentialsRef& at) {
  m_reading = "the Secret " + at.secret;
  m_call = m_context.home.get({"v1", "secrets", m_context.name_space, at.secret, ""}, {}, secret_retry, [this, at](const kube::Answer& answer) {
    if (m_left) return;
    auto keys = credentials_from(answer, m_context.name_space, at);
    if (!keys) return m_sink.unavailable(keys.error());
    m_context.place.set_keys(std::move(*keys));
    make_plan();
  });
}

void PlanPreparation::make_plan() {
  auto plan = m_context.make_plan();
  if (!plan) return m_sink.failed(plan.error());
  m_configured = true;
  if (m_unavailable) return m_sink.unavailable(*m_unavailable);
  if (lacks_store(*plan)) return find_kubeflow_store();
  if (!m_context.is_observer)
    if (auto routed = m_context.place.route(*plan); !routed) {
      if (m_stopped || (m_kubeflow_store && !m_context.place.facts().folder)) return m_sink.unavailable(routed.error());
      return m_sink.failed(routed.error());
    }
  check_claims(std::move(*plan));
}

// In a pod, from which such a server can be reached; the pods of another cluster cannot reach it.
bool PlanPreparation::lacks_store(const plan::Plan& plan) const {
  const auto& place = m_context.place;
  if (m_kubeflow_store || place.is_remote() || m_stopped || m_context.is_observer || !m_context.in_pod || place.facts().folder) return false;
  if (plan.as_train_model_job) return true;
  const auto facts = data_facts(plan, place.facts());
  return facts && plan::lacks_folder(plan, *facts);
}

// Settings of the Secret take precedence.
void PlanPreparation::find_kubeflow_store() {
  m_reading = "the object store of Kubeflow Pipelines";
  const auto done = [this](Result<std::optional<plan::JobFolder>> folder) {
    if (m_left) return;
    if (!folder) return m_sink.unavailable(folder.error());
    const bool found = folder->has_value();
    m_context.place.set_folder(std::move(*folder));
    found && m_kubeflow_store->was_searched() ? prefer_earlier_store() : make_plan();
  };
  KubeflowStore::Context context{m_context.home, m_context.transport, m_context.name_space, m_context.log, {}};
  if (m_context.place.completes_stores()) context.complete = [this](const plan::JobFolder& found) { return m_context.place.complete(found); };
  m_kubeflow_store = std::make_unique<KubeflowStore>(std::move(context), done);
}

// Its endpoint is the one that has answered first. The job of an earlier attempt may have found another one.
void PlanPreparation::prefer_earlier_store() {
  const auto plan = m_context.make_plan();
  if (!plan || plan->fresh_run) return make_plan();
  const auto looked = [this](const JobSearch::Answer& found) {
    if (m_left) return;
    const auto earlier = found && *found ? route_of((*found)->object).folder : std::nullopt;
    auto folder = m_context.place.facts().folder;
    const auto is_own = [&](std::string_view own) { return earlier->store.endpoint == fmt::format("http://{}", own); };
    if (earlier && folder && earlier->uri == folder->uri && earlier->store.endpoint != folder->store.endpoint &&
        std::ranges::any_of(objectstore::kfp_endpoints, is_own)) {
      folder->store.endpoint = earlier->store.endpoint;
      m_context.place.set_folder(folder);
      m_context.log(fmt::format("the job of an earlier attempt uses {}", folder->store.endpoint));
    }
    make_plan();
  };
  m_store_search = std::make_unique<JobSearch>(m_context.home, *plan, m_context.place.name_space(), std::nullopt, looked,
                                               kube::Retry{earlier_timeout, !m_context.in_pod});
}

// If only one node can have a claim, the pods go there. A job that is only to be ended is found by its name.
void PlanPreparation::check_claims(plan::Plan plan) {
  auto claims = mounted_claims(plan);
  if (m_stopped || m_context.is_observer || claims.empty()) return m_sink.planned(std::move(plan));
  m_reading = "claim " + claims.back().name;
  const auto shared = std::make_shared<plan::Plan>(std::move(plan));
  const auto done = [this, shared](const Result<std::map<std::string, ClaimAccess>>& access) {
    if (m_left) return;
    if (m_stopped) return m_sink.planned(std::move(*shared));  // which only ends what exists
    if (!access) return m_sink.unavailable(access.error());
    auto nodes = nodes_for(*shared, m_context.place.facts(), *access);
    if (!nodes) return m_sink.failed(nodes.error());
    if (const auto line = describe(*nodes); !line.empty() && line != describe(shared->nodes)) m_context.log(line);
    shared->nodes = std::move(*nodes);
    m_sink.planned(std::move(*shared));
  };
  const auto& place = m_context.place;
  m_claim_reader = std::make_unique<ClaimModesReader>(
      ClaimModesReader::Context{place.client(), place.name_space(), place.access_mode(), m_context.log}, std::move(claims), done);
}

}  // namespace trainstep::cluster
