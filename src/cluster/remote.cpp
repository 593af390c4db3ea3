// SPDX-License-Identifier: Apache-2.0
#include "cluster/remote.h"

#include <fmt/format.h>

#include "base/text.h"
#include "data/digest.h"
#include "kube/token_source.h"
#include "objectstore/address.h"

namespace trainstep::cluster {
namespace {

class Values {
 public:
  explicit Values(const Json& secret) {
    const auto* metadata = trainstep::find(secret, "metadata");
    m_name = metadata != nullptr && metadata->is_object() ? metadata->value("name", "") : "";
    const auto* data = trainstep::find(secret, "data");
    if (data != nullptr && data->is_object()) m_data = *data;
  }
  // Empty: the key is absent.
  [[nodiscard]] Result<std::string> get(std::string_view key) const {
    const auto* value = trainstep::find(m_data, key);
    if (value == nullptr) return std::string();
    if (!value->is_string()) return input_error(what(key) + ": no text");
    auto text = decode_base64(value->get_ref<const std::string&>());
    if (!text) return input_error(what(key) + ": no base64");
    return std::string(trim(*text));
  }
  [[nodiscard]] std::string what(std::string_view key) const { return fmt::format("Secret {}, {}", m_name, key); }
  [[nodiscard]] bool has(std::string_view key) const { return trainstep::find(m_data, key) != nullptr; }
  [[nodiscard]] const std::string& name() const { return m_name; }

 private:
  std::string m_name;
  Json m_data = Json::object();
};

Result<kube::Credentials> by_host(const Values& values, const std::string& host) {
  ASSIGN(const auto token, values.get("remote-token"));
  ASSIGN(const auto ca, values.get("remote-ca"));
  ASSIGN(const auto insecure, values.get("insecure-skip-tls-verify"));
  kube::Credentials credentials;
  ASSIGN(credentials.server,
         in_context(values.what("remote-host"), http::Url::parse(host.find("://") == std::string::npos ? "https://" + host : host)));
  ASSIGN(auto checked, kube::checked_token(token, values.what("remote-token")));
  credentials.token = kube::fixed_token(std::move(checked));
  auto endpoint = std::make_shared<http::Endpoint>();
  endpoint->ca_pem = ca;
  endpoint->verify = lower(insecure) != "true";
  credentials.endpoint = std::move(endpoint);
  credentials.name_space = "default";
  credentials.description = credentials.server.origin();
  return credentials;
}

}  // namespace

Result<kube::Credentials> remote_credentials(const Json& secret) {
  const Values values(secret);
  ASSIGN(const auto kubeconfig, values.get("kubeconfig"));
  ASSIGN(const auto context, values.get("remote-context"));
  ASSIGN(const auto host, values.get("remote-host"));
  ASSIGN(const auto name_space, values.get("remote-namespace"));
  if (kubeconfig.empty() && host.empty()) return input_error(values.what("remote-host") + ": neither this key nor kubeconfig is there");
  auto credentials = kubeconfig.empty() ? by_host(values, host) : kube::from_kubeconfig_text(kubeconfig, values.what("kubeconfig"), context);
  if (credentials && !name_space.empty()) credentials->name_space = name_space;
  return credentials;
}

bool names_a_cluster(const Json& secret) {
  const Values values(secret);
  return values.has("kubeconfig") || values.has("remote-host");
}

Result<std::optional<JobStore>> job_store(const Json& secret) {
  const Values values(secret);
  ASSIGN(auto url, values.get("minio-url"));
  if (url.empty()) return std::optional<JobStore>();
  ASSIGN(const auto bucket, values.get("minio-bucket"));
  ASSIGN(const auto folder, values.get("minio-job-folder"));
  JobStore store;
  ASSIGN(store.keys.access_key, values.get("minio-accesskey"));
  ASSIGN(store.keys.secret_key, values.get("minio-secretkey"));
  for (const auto& [key, value] :
       {std::pair("minio-bucket", &bucket), {"minio-accesskey", &store.keys.access_key}, {"minio-secretkey", &store.keys.secret_key}})
    if (value->empty()) return input_error(values.what(key) + ": it is missing, but minio-url is there");
  ASSIGN(const auto endpoint, in_context(values.what("minio-url"), http::Url::parse(url.find("://") == std::string::npos ? "http://" + url : url)));
  ASSIGN(const auto address, in_context(values.what("minio-bucket"), objectstore::Address::parse("s3://" + bucket + "/" + folder)));
  ASSIGN(const auto region, values.get("minio-region"));
  store.folder = {address.text(),
                  {endpoint.text(), region.empty() ? "us-east-1" : region, true, values.name(), "minio-accesskey", "minio-secretkey"}};
  return std::optional(std::move(store));
}

Result<std::string> access_mode(const Json& secret) { return Values(secret).get("access-mode"); }

}  // namespace trainstep::cluster
