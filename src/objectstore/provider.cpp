// SPDX-License-Identifier: Apache-2.0
#include "objectstore/provider.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"
#include "data/fields.h"
#include "data/yaml.h"

namespace trainstep::objectstore {
namespace {

// What any of KFP's sources may configure; names differ, meanings do not.
struct Settings {
  std::optional<std::string> endpoint, region;
  std::optional<bool> disable_ssl, path_style, from_environment;
  CredentialsRef keys;
  bool token = false;  // a service account's JSON, which only Google's own protocol accepts
};

std::string usual_endpoint(const std::string& scheme, const std::string& region) {
  if (scheme == "minio") return std::string(kfp_endpoints.front());
  if (scheme == "gs") return "storage.googleapis.com";
  return region == "us-east-1" ? "s3.amazonaws.com" : fmt::format("s3.{}.amazonaws.com", region);
}

std::string region_of(const Settings& settings, const Address& address, std::string_view usual) {
  if (settings.region && !settings.region->empty()) return *settings.region;
  if (address.scheme == "minio") return "minio";
  if (address.scheme == "gs") return "auto";
  return usual.empty() ? "us-east-1" : std::string(usual);
}

Result<Provider> resolve(const Settings& settings, const Address& address, std::string_view default_region) {
  if (settings.token)
    return input_error(
        fmt::format("{}: a Google service account is not supported; use HMAC keys for Cloud Storage (accessKeyKey, secretKeyKey)", address.text()));
  Provider provider;
  auto& store = provider.store;
  const bool own = address.scheme == "minio";
  store.region = region_of(settings, address, default_region);
  const bool given = settings.endpoint && !settings.endpoint->empty();
  auto endpoint = given ? *settings.endpoint : usual_endpoint(address.scheme, store.region);
  const bool plain = settings.disable_ssl.value_or(own && !given);
  if (endpoint.find("://") == std::string::npos) endpoint = (plain ? "http://" : "https://") + endpoint;
  ASSIGN(store.endpoint, in_context("endpoint", http::Url::parse(endpoint)));
  // AWS requires virtual-hosted buckets, where the name is covered by its wildcard certificate; other stores would need DNS names for that.
  const bool hostname = address.bucket.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  store.path_style = settings.path_style.value_or(!hostname || !store.endpoint.host.ends_with(".amazonaws.com"));
  if (!settings.from_environment.value_or(false)) provider.keys = settings.keys;
  return provider;
}

// Overrides only what is given in it.
Settings read_credentials(Fields& parent, Settings settings) {
  const auto object = parent.object("credentials");
  if (!object) return settings;
  Fields fields(*object, parent.path("credentials"));
  settings.from_environment = fields.boolean("fromEnv");
  if (const auto reference = fields.object("secretRef")) {
    Fields secret(*reference, fields.path("secretRef"));
    settings.keys = {secret.text("secretName").value_or(""), secret.text("accessKeyKey").value_or(""), secret.text("secretKeyKey").value_or("")};
    settings.token = secret.text("tokenKey").has_value();
    if (auto fits = secret.fits(); !fits) parent.fail(fits.error());
  }
  if (auto fits = fields.fits(); !fits) parent.fail(fits.error());
  return settings;
}

template <typename T>
void take(std::optional<T>& value, std::optional<T> found) {
  if (found) value = std::move(found);
}

Settings read_settings(Fields& fields, Settings settings) {
  take(settings.endpoint, fields.text("endpoint"));
  take(settings.region, fields.text("region"));
  take(settings.disable_ssl, fields.boolean("disableSSL"));
  take(settings.path_style, fields.boolean("forcePathStyle"));
  return read_credentials(fields, std::move(settings));
}

// Compares whole segments: "a" does not match "ab/c".
bool lies_below(std::string_view key, std::string_view prefix) {
  while (prefix.starts_with('/')) prefix.remove_prefix(1);
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  return prefix.empty() || key == prefix || (key.starts_with(prefix) && key[prefix.size()] == '/');
}

// Uses the first matching override; the default supplies what it omits.
Result<Settings> overridden(const Json& list, const std::string& where, const Address& address, Settings usual) {
  int index = 0;
  for (const auto& item : list) {
    Fields fields(item, fmt::format("{}[{}]", where, index++));
    const auto bucket = fields.text("bucketName").value_or("");
    const auto prefix = fields.text("keyPrefix").value_or("");
    auto settings = read_settings(fields, usual);
    TRY(fields.fits());
    if (bucket == address.bucket && lies_below(address.key, prefix)) return settings;
  }
  return usual;
}

Result<std::optional<Settings>> configured(std::string_view providers, const Address& address) {
  ASSIGN(const auto all, parse_yaml(providers, "kfp-launcher: providers"));
  const auto* own = all.is_object() ? find(all, address.scheme) : nullptr;
  if (own == nullptr || own->is_null()) return std::optional<Settings>();
  const auto where = "kfp-launcher: providers." + address.scheme;
  Fields fields(*own, where);
  const auto usual = fields.object("default");
  const auto overrides = fields.list("overrides").value_or(Json::array());
  TRY(fields.fits());
  if (!usual) return std::optional<Settings>();
  Fields of_default(*usual, where + ".default");
  auto settings = read_settings(of_default, {});
  TRY(of_default.fits());
  ASSIGN(settings, overridden(overrides, where + ".overrides", address, std::move(settings)));
  return std::optional(std::move(settings));
}

// Go CDK's parameters in a bucket's URL (gocloud.dev/aws, V2ConfigFromURLParams).
Settings of_query(const http::Query& query) {
  Settings settings;
  settings.from_environment = true;
  for (const auto& [name, value] : query) {
    if (name == "endpoint") settings.endpoint = value;
    if (name == "region") settings.region = value;
    if (name == "disableSSL" || name == "disable_https") settings.disable_ssl = truth(value);
    if (name == "s3ForcePathStyle" || name == "use_path_style") settings.path_style = truth(value);
  }
  return settings;
}

}  // namespace

Result<Provider> provider_of_session(std::string_view session_info, const Address& address, std::string_view default_region) {
  ASSIGN(const auto info, parse_json(session_info, "store_session_info"));
  Fields fields(info, "store_session_info");
  const auto params = fields.object("Params").value_or(Json::object());
  TRY(fields.fits());
  Fields of(params, "store_session_info.Params");
  Settings settings;
  settings.from_environment = of.boolean("fromEnv");
  settings.keys = {of.text("secretName").value_or(""), of.text("accessKeyKey").value_or(""), of.text("secretKeyKey").value_or("")};
  settings.token = of.has("tokenKey");
  settings.endpoint = of.text("endpoint");
  settings.region = of.text("region");
  settings.disable_ssl = of.boolean("disableSSL");
  settings.path_style = of.boolean("forcePathStyle");
  TRY(of.fits());
  return resolve(settings, address, default_region);
}

Result<Provider> provider_of_launcher(std::string_view providers, const Address& address, std::string_view default_region) {
  if (!address.query.empty()) return resolve(of_query(address.query), address, default_region);
  ASSIGN(const auto settings, configured(providers, address));
  if (settings) return resolve(*settings, address, default_region);
  Settings own;
  if (address.scheme == "minio") own.keys = kfp_credentials;
  return resolve(own, address, default_region);
}

}  // namespace trainstep::objectstore
