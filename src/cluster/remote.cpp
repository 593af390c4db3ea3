// SPDX-License-Identifier: Apache-2.0
#include "cluster/remote.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/printable.h"
#include "base/text.h"
#include "data/digest.h"
#include "kube/token_source.h"
#include "objectstore/address.h"
#include "objectstore/credentials.h"
#include "objectstore/provider.h"
#include "plan/names.h"

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
    if (!value->is_string()) return input_error(what(key) + ": not a string");
    auto text = decode_base64(value->get_ref<const std::string&>());
    if (!text) return input_error(what(key) + ": not valid base64");
    return std::string(objectstore::credential(*text));
  }
  [[nodiscard]] bool ends_with_blanks(std::string_view key) const {
    const auto* value = trainstep::find(m_data, key);
    const auto text = value != nullptr && value->is_string() ? decode_base64(value->get_ref<const std::string&>()) : std::string();
    return text && objectstore::credential(*text) != *text;
  }
  [[nodiscard]] std::string what(std::string_view key) const { return fmt::format("Secret {}, {}", m_name, key); }
  // It exists and is not empty: a Secret made from a template may have keys without a value.
  [[nodiscard]] bool has(std::string_view key) const {
    const auto value = get(key);
    return !value || !value->empty();
  }
  [[nodiscard]] const std::string& name() const { return m_name; }
  [[nodiscard]] const Json& data() const { return m_data; }

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
  if (const auto word = lower(insecure); !word.empty() && word != "true" && word != "false")
    return input_error(values.what("insecure-skip-tls-verify") + ": expected true or false");
  endpoint->verify = lower(insecure) != "true";
  credentials.endpoint = std::move(endpoint);
  credentials.name_space = "default";
  credentials.description = credentials.server.origin();
  return credentials;
}

Error missing(const Values& values, std::string_view key, std::string_view there = "minio-url") {
  return input_error(fmt::format("{}: is missing, but {} is set", values.what(key), there));
}

Result<void> read_address(const Values& values, const std::string& url, plan::StoreAccess& store) {
  ASSIGN(const auto region, values.get("minio-region"));
  if (!url.empty()) {
    ASSIGN(const auto endpoint, in_context(values.what("minio-url"), http::Url::parse(url.find("://") == std::string::npos ? "http://" + url : url)));
    store.endpoint = endpoint.text();
    store.path_style = true;
    store.region = "us-east-1";
  }
  const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_'; };
  if (!std::ranges::all_of(region, allowed)) return input_error(values.what("minio-region") + ": not a valid name of a region");
  if (!region.empty()) store.region = region;
  return {};
}

Result<bool> wants_whole_keys(const Values& values) {
  ASSIGN(const auto word, values.get("minio-pod-keys"));
  if (word.empty() || word == "signing" || word == "secret") return word == "secret";
  return input_error(values.what("minio-pod-keys") + ": expected signing or secret");
}

// The bucket and folder of the uri, each if the Secret has it. `optional`: otherwise the existing value is kept.
Result<void> read_place(const Values& values, bool optional, std::string& uri) {
  ASSIGN(const auto bucket, values.get("minio-bucket"));
  ASSIGN(const auto folder, values.get("minio-job-folder"));
  if (bucket.empty() && !optional) return missing(values, "minio-bucket");
  if (bucket.empty() && folder.empty()) return {};
  auto address = objectstore::Address{.scheme = "s3", .bucket = bucket, .key = optional && folder.empty() ? "jobs" : folder};
  if (bucket.empty()) {
    ASSIGN(const auto usual, objectstore::Address::parse(uri));
    address.bucket = usual.bucket;
  }
  ASSIGN(address, in_context(values.what("minio-bucket"), objectstore::Address::parse(address.text())));
  uri = address.text();
  return {};
}

Result<void> read_keys(const Values& values, bool optional, JobStore& store) {
  objectstore::Credentials keys;
  ASSIGN(keys.access_key, values.get("minio-accesskey"));
  ASSIGN(keys.secret_key, values.get("minio-secretkey"));
  if (optional && keys.access_key.empty() && keys.secret_key.empty()) return {};
  if (keys.access_key.empty()) return missing(values, "minio-accesskey", keys.secret_key.empty() ? "minio-url" : "minio-secretkey");
  if (keys.secret_key.empty()) return missing(values, "minio-secretkey", "minio-accesskey");
  if (const bool first = has_control(keys.access_key); first || has_control(keys.secret_key))
    return input_error(values.what(first ? "minio-accesskey" : "minio-secretkey") + ": contains a control character");
  auto& access = store.folder.store;
  access.secret = values.name();
  access.access_key_key = "minio-accesskey";
  access.secret_key_key = "minio-secretkey";
  store.keys = std::move(keys);
  return {};
}

// A misspelt remote-host would mean that the training runs in the step's own cluster. The Python component ignored keys that it did not know: for its
// calls only those that resemble a known one are refused.
Result<void> check_keys(const Values& values, bool as_train_model_job) {
  const std::vector<std::string> known{"remote-host",      "remote-token",    "remote-namespace", "remote-ca",      "remote-context",
                                       "kubeconfig",       "access-mode",     "minio-url",        "minio-region",   "minio-bucket",
                                       "minio-job-folder", "minio-accesskey", "minio-secretkey",  "minio-pod-keys", "insecure-skip-tls-verify"};
  for (const auto& [key, value] : values.data().items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const auto meant = nearest(key, known);
    if (meant || !as_train_model_job)
      return input_error(
          fmt::format("Secret {}: unknown key {}{}", values.name(), printable(key), meant ? fmt::format("; did you mean {}?", *meant) : ""));
  }
  return {};
}

// Refuses what would have no effect. Those who complete the settings of the store may leave out its address.
Result<void> check_use(const Values& values, const Configuration& configuration, bool completes) {
  for (const auto* key : {"remote-namespace", "remote-token", "remote-context", "remote-ca", "minio-pod-keys"})
    if (!configuration.other_cluster && values.has(key))
      return input_error(fmt::format("{}: no cluster is configured; add remote-host or kubeconfig, or remove this key", values.what(key)));
  for (const auto* key : {"minio-bucket", "minio-job-folder", "minio-accesskey", "minio-secretkey", "minio-region"})
    if (!completes && !configuration.store && values.has(key)) return missing(values, "minio-url", key);
  return {};
}

}  // namespace

Result<kube::Credentials> remote_credentials(const Json& secret) {
  const Values values(secret);
  ASSIGN(const auto kubeconfig, values.get("kubeconfig"));
  ASSIGN(const auto context, values.get("remote-context"));
  ASSIGN(const auto host, values.get("remote-host"));
  ASSIGN(const auto name_space, values.get("remote-namespace"));
  // Without the value: in a Secret it may be another key's.
  if (!name_space.empty() && !plan::check_namespace("", name_space))
    return input_error(values.what("remote-namespace") + ": not a valid name of a namespace");
  if (kubeconfig.empty() && host.empty())
    return input_error(fmt::format("Secret {}: requires remote-host or kubeconfig (another cluster), or minio-url (an object store)", values.name()));
  auto credentials = kubeconfig.empty() ? by_host(values, host) : kube::from_kubeconfig_text(kubeconfig, values.what("kubeconfig"), context);
  if (credentials && !name_space.empty()) credentials->name_space = name_space;
  return credentials;
}

bool names_a_cluster(const Json& secret) {
  const Values values(secret);
  return values.has("kubeconfig") || values.has("remote-host");
}

plan::JobFolder usual_folder() {
  const auto& keys = objectstore::kfp_credentials;
  return {"s3://mlpipeline/jobs", {"", "us-east-1", true, keys.secret, keys.access_key_key, keys.secret_key_key}};
}

Result<std::optional<JobStore>> job_store(const Json& secret, const std::optional<plan::JobFolder>& otherwise) {
  const Values values(secret);
  ASSIGN(const auto url, values.get("minio-url"));
  if (url.empty() && (!otherwise || otherwise->store.endpoint.empty())) return std::optional<JobStore>();
  JobStore store;
  if (otherwise) store.folder = *otherwise;
  TRY(read_address(values, url, store.folder.store));
  TRY(read_place(values, otherwise.has_value(), store.folder.uri));
  TRY(read_keys(values, otherwise.has_value(), store));
  ASSIGN(store.whole_keys, wants_whole_keys(values));
  return std::optional(std::move(store));
}

std::vector<std::string> blank_ended_keys(const Json& secret) {
  std::vector<std::string> keys;
  for (const auto* key : {"minio-accesskey", "minio-secretkey"})
    if (Values(secret).ends_with_blanks(key)) keys.emplace_back(key);
  return keys;
}

Result<std::string> access_mode(const Json& secret) {
  const Values values(secret);
  ASSIGN(auto mode, values.get("access-mode"));
  constexpr std::array<std::string_view, 5> modes{"", "ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod"};
  if (std::ranges::find(modes, mode) == modes.end())
    return input_error(values.what("access-mode") + ": expected ReadWriteMany, ReadWriteOnce, ReadOnlyMany or ReadWriteOncePod");
  return mode;
}

Result<Configuration> read_configuration(const Json& secret, bool as_train_model_job) {
  TRY(check_keys(Values(secret), as_train_model_job));
  Configuration configuration;
  const bool completed = as_train_model_job && Values(secret).has("minio-url");
  ASSIGN(configuration.store, job_store(secret, completed ? std::optional(usual_folder()) : std::nullopt));
  ASSIGN(configuration.access_mode, access_mode(secret));
  configuration.other_cluster = names_a_cluster(secret);
  // Names what is missing.
  if (!configuration.other_cluster && !configuration.store && !as_train_model_job) return remote_credentials(secret).error();
  TRY(check_use(Values(secret), configuration, as_train_model_job));
  return configuration;
}

}  // namespace trainstep::cluster
