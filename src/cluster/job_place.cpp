// SPDX-License-Identifier: Apache-2.0
#include "cluster/job_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/claim_links.h"
#include "cluster/data.h"
#include "cluster/secret_token.h"

namespace trainstep::cluster {

JobPlace::JobPlace(Context context) : m_context(std::move(context)), m_name_space(m_context.name_space), m_home_where(m_context.where) {}

kube::Path JobPlace::configuration_secret() const { return {"v1", "secrets", m_context.name_space, m_context.configuration_secret, ""}; }

void JobPlace::take_facts(const Facts& of_step) { m_facts = of_step.name_space == m_name_space ? of_step : facts_for_job_elsewhere(of_step); }

Result<void> JobPlace::connect(const Json& secret, bool in_haste) {
  m_elsewhere = names_a_cluster(secret);
  auto read = read_configuration(secret, m_context.as_train_model_job);
  if (read) {
    m_job_store = std::move(read->store);
    m_access_mode = std::move(read->access_mode);
    if (m_job_store) m_facts.folder = m_job_store->folder;
  }
  if (m_elsewhere) TRY(connect_elsewhere(secret, in_haste));
  if (!read) return std::move(read.error());
  m_configuration = secret;
  return {};
}

void JobPlace::renew_token() {
  if (!m_remote || m_renewal) return;
  m_renewal = std::make_unique<TokenRenewal>(TokenRenewal::Context{*m_remote, *m_token, m_context.configuration_secret, m_context.log});
}

// Nothing of our own cluster is known there.
Result<void> JobPlace::connect_elsewhere(const Json& secret, bool in_haste) {
  ASSIGN(auto credentials, remote_credentials(secret));
  auto token = std::make_unique<SecretToken>(m_context.home, configuration_secret(), credentials, m_context.log);
  m_token = token.get();
  credentials.token = std::move(token);
  credentials.remedy = "put a valid token into the Secret";
  m_facts = facts_for_job_elsewhere(std::move(m_facts));
  m_facts.written.reset();  // by another clock
  m_name_space = credentials.name_space;
  m_context.where = credentials.description;
  m_remote = std::make_unique<kube::Client>(m_context.loop, m_context.transport, std::make_shared<kube::Credentials>(std::move(credentials)),
                                            m_context.seed);
  if (in_haste) m_remote->hurry();
  return {};
}

std::optional<objectstore::CredentialsRef> JobPlace::missing_keys() const {
  if (!m_remote || !m_job_store || m_job_store->keys) return std::nullopt;
  const auto& store = m_job_store->folder.store;
  return objectstore::CredentialsRef{store.secret, store.access_key_key, store.secret_key_key};
}

void JobPlace::set_keys(objectstore::Credentials keys) {
  if (m_job_store) m_job_store->keys = std::move(keys);
}

bool JobPlace::completes_stores() const { return !m_configuration.is_null() && m_context.as_train_model_job; }

Result<plan::JobFolder> JobPlace::complete(const plan::JobFolder& found) {
  ASSIGN(m_job_store, in_context("cluster_configuration_secret", job_store(m_configuration, found)));
  return m_job_store ? m_job_store->folder : found;
}

void JobPlace::hurry() {
  if (m_remote) m_remote->hurry();
}

Result<void> JobPlace::route(plan::Plan& plan) {
  refer_to_copy(plan);
  TRY(route_data(plan, m_facts));
  for (const auto& line : links_astray(plan)) m_context.log(line);
  warn_of_blanks(plan);
  plan.data.task.attempt = m_context.attempt;
  return {};
}

// Another cluster does not have the Secret: the job takes the keys along.
void JobPlace::refer_to_copy(const plan::Plan& plan) {
  if (!m_remote || !m_job_store || !m_facts.folder) return;
  const bool of_program = plan::gets_store_variables(plan);
  m_whole_keys = of_program || m_job_store->whole_keys;
  auto& access = m_facts.folder->store;
  access.secret = plan.job_name + "-keys";
  access.access_key_key = KeysCopy::access_key;
  access.secret_key_key = m_whole_keys ? KeysCopy::secret_key : "";
  access.signing_keys_key = m_whole_keys ? "" : KeysCopy::signing_keys;
  if (m_whole_keys)
    m_context.log(fmt::format("{}: the secret key of the bucket goes with the job to {}",
                              m_job_store->whole_keys ? "minio-pod-keys" : "tensorboard_s3_address", m_context.where));
}

// The agent reads them, or the program itself.
bool JobPlace::gives_keys(const plan::Plan& plan) const {
  return m_remote && m_job_store && m_job_store->keys && (!plan.data.secrets.empty() || plan::gets_store_variables(plan));
}

std::optional<KeysRenewal::Source> JobPlace::keys_of_job(const plan::Plan& plan, const std::string& region, Duration clock) const {
  if (!gives_keys(plan)) return std::nullopt;
  const auto& from = m_job_store->folder.store;
  KeysCopy copy{plan.job_name + "-keys", m_whole_keys, {from.region}, days_ahead(plan.data.task.lease.length), clock};
  if (!region.empty() && region != from.region) copy.regions.push_back(region);
  return KeysRenewal::Source{
      m_context.home, m_context.name_space, {from.secret, from.access_key_key, from.secret_key_key}, *m_job_store->keys, std::move(copy)};
}

// Kubernetes gives the value to the program as it is; only the agent can mend it, and the copy for another cluster is mended.
void JobPlace::warn_of_blanks(const plan::Plan& plan) const {
  const auto is_of_secret = [&](const plan::EnvironmentVariable& variable) {
    const auto* secret = find(variable.value, "secret");
    return secret != nullptr && *secret == m_context.configuration_secret;
  };
  if (plan.data.has_agent() || m_remote || std::ranges::none_of(plan.environment, is_of_secret)) return;
  for (const auto& key : blank_ended_keys(m_configuration))
    m_context.log(
        fmt::format("Secret {}, {}: a blank or line break surrounds the value, and the program gets it like this; write it without (printf %s)",
                    m_context.configuration_secret, key));
}

std::vector<OwnedObject> JobPlace::owned_objects(const plan::Plan& plan, const std::optional<KeysRenewal::Source>& keys) const {
  std::vector<OwnedObject> objects;
  if (!plan.pvc_name.empty() && (m_context.configuration_secret.empty() || !m_configuration.is_null()))
    objects.push_back(claim(plan.pvc_name, plan.pvc_size, m_access_mode));
  if (keys) objects.push_back(secret(keys->copy.name, keys->copy.contents(keys->keys, m_context.loop.now())));
  return objects;
}

void JobPlace::add_keys(StepData::Context& context, const plan::Plan& plan) const {
  if (m_remote) {
    context.copy = plan.job_name + "-keys";
    context.credentials_ref = {m_context.configuration_secret, "minio-accesskey", "minio-secretkey"};
  }
  if (m_job_store) {
    const auto& found = m_job_store->folder.store;
    context.credentials_ref = {found.secret, found.access_key_key, found.secret_key_key};
    if (m_job_store->keys && m_facts.folder) context.keys[m_facts.folder->store.secret] = *m_job_store->keys;
  }
}

void JobPlace::add_keys(DataContext& context, const plan::Plan& plan) const {
  if (!gives_keys(plan)) return;
  context.keys_copy = plan.job_name + "-keys";
  context.keys_secret = m_job_store->folder.store.secret;
}

}  // namespace trainstep::cluster
