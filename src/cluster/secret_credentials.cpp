// SPDX-License-Identifier: Apache-2.0
#include "cluster/secret_credentials.h"

#include <fmt/format.h>

#include <utility>

#include "base/printable.h"
#include "cluster/data.h"
#include "cluster/objects.h"
#include "data/digest.h"

namespace trainstep::cluster {
namespace {

constexpr Duration keys_timeout{60'000};

Result<std::string> decoded(const Json& secret, const std::string& key) {
  const auto* data = at(&secret, "data");
  const auto text = decode_base64(cluster::text(data, key));
  const auto value = objectstore::credential(text ? std::string_view(*text) : std::string_view());
  if (!value.empty() && !has_control(value)) return std::string(value);
  const auto name = cluster::text(metadata_of(secret), "name");
  if (at(data, key) == nullptr) return input_error(fmt::format("Secret {}: no key {}", name, key));
  if (!value.empty()) return input_error(fmt::format("Secret {}: the value of {} contains a control character", name, key));
  return input_error(fmt::format("Secret {}: the value of {} is {}", name, key, text ? "empty" : "not valid base64"));
}

}  // namespace

Error about_secret(const kube::ApiError& problem, const std::string& name_space, const std::string& name) {
  auto error = problem.error;
  if (kube::tells_absent(problem, name))
    error.message += fmt::format(" in namespace {}; create the Secret there", name_space);
  else if (problem.status == 403)
    error.message += fmt::format("; the step needs this permission in namespace {}: \"trainstep check\" prints a Role", name_space);
  return error;
}

Result<objectstore::Credentials> credentials_from(const kube::Answer& answer, const std::string& name_space, const objectstore::CredentialsRef& at) {
  constexpr auto what = "credentials of the object store";
  if (!answer) {
    auto error = about_secret(answer.error(), name_space, at.secret);
    if (kube::tells_absent(answer.error(), at.secret) && at.access_key_key != "minio-accesskey")
      error.message += fmt::format(", or name another one in the ConfigMap {}", launcher_config);
    return in_context(what, std::move(error));
  }
  auto keys = decode_credentials(*answer, at);
  if (!keys) return in_context(what, Error{ErrorKind::input, fmt::format("{}; correct it in namespace {}", keys.error().message, name_space)});
  return keys;
}

Result<objectstore::Credentials> decode_credentials(const Json& secret, const objectstore::CredentialsRef& at) {
  objectstore::Credentials keys;
  ASSIGN(keys.access_key, decoded(secret, at.access_key_key));
  ASSIGN(keys.secret_key, decoded(secret, at.secret_key_key));
  return keys;
}

SecretCredentials::SecretCredentials(kube::Client& home, std::string name_space, objectstore::CredentialsRef at, objectstore::Credentials first,
                                     Log log)
    : m_home(home), m_name_space(std::move(name_space)), m_at(std::move(at)), m_credentials(std::move(first)), m_log(std::move(log)) {}

// If several requests with the same credentials are refused, the Secret is read again once.
void SecretCredentials::refused(const objectstore::Credentials& keys) {
  if (keys == m_credentials) m_refused = true;
}

void SecretCredentials::ask(Done done) {
  if (!m_refused) return done(m_credentials);
  m_waiting.push_back(std::move(done));
  if (m_waiting.size() > 1) return;
  m_call = m_home.get({"v1", "secrets", m_name_space, m_at.secret, ""}, {}, {keys_timeout, false}, [this](const kube::Answer& answer) {
    const auto keys = take(answer);
    for (const auto& waiting : std::exchange(m_waiting, {})) waiting(keys);  // last: a callback may destroy this object
  });
}

Result<objectstore::Credentials> SecretCredentials::take(const kube::Answer& answer) {
  if (!answer && answer.error().error.kind == ErrorKind::unavailable)
    return in_context("credentials of the object store", Error(answer.error().error));
  m_refused = false;
  const auto found = answer ? decode_credentials(*answer, m_at) : Result<objectstore::Credentials>(answer.error().error);
  const bool renewed = found && !(*found == m_credentials);
  m_renewal = fmt::format("Secret {} was read again: {}", m_at.secret,
                          !found    ? found.error().message
                          : renewed ? "its new credentials are rejected as well"
                                    : "its credentials are unchanged");
  if (renewed) {
    m_credentials = *found;
    m_log(fmt::format("the object store no longer accepts the credentials of Secret {}; using its new ones", m_at.secret));
  }
  return m_credentials;
}

}  // namespace trainstep::cluster
