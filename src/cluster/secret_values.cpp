// SPDX-License-Identifier: Apache-2.0
#include "cluster/secret_values.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/redact.h"
#include "base/text.h"
#include "data/digest.h"
#include "data/secrets.h"
#include "data/yaml.h"

namespace trainstep::cluster {
namespace {

bool is_public(std::string_view key) {
  constexpr auto last_words = std::to_array<std::string_view>(
      {"bucket", "context", "endpoint", "folder", "host", "mode", "name", "namespace", "port", "region", "scheme", "server", "url", "verify"});
  const auto last = key.substr(key.find_last_of("-_.") + 1);  // npos + 1 is 0
  return !sounds_secret(key) && std::ranges::find(last_words, lower(last)) != last_words.end();
}

void collect(std::string_view value, std::vector<std::string>& secrets) {
  for (auto& secret : secrets_in("secret", value)) secrets.push_back(std::move(secret));
}

// "client-key-data" and the others are base64 of PEM.
void collect_encoded(const Json& part, std::vector<std::string>& secrets) {
  for (const auto& [key, member] : part.items()) {
    if (member.is_structured()) collect_encoded(member, secrets);
    if (!member.is_string() || !std::string_view(key).ends_with("-data")) continue;
    const auto& value = member.get_ref<const std::string&>();
    secrets.push_back(value);
    if (const auto decoded = decode_base64(value)) collect(*decoded, secrets);
  }
}

void collect_kubeconfig(const std::string& text, std::vector<std::string>& secrets) {
  secrets.push_back(text);
  const auto config = parse_yaml(text, "kubeconfig");
  if (!config || !config->is_object()) return collect(text, secrets);
  collect_secrets("", *config, secrets);
  collect_secrets_of_containers(*config, secrets);
  collect_encoded(*config, secrets);
}

}  // namespace

std::vector<std::string> secrets_of(const Json& secret) {
  std::vector<std::string> secrets;
  const auto* data = secret.is_object() ? find(secret, "data") : nullptr;
  if (data == nullptr || !data->is_object()) return secrets;
  for (const auto& [key, value] : data->items()) {
    if (!value.is_string() || is_public(key)) continue;
    const auto decoded = decode_base64(value.get_ref<const std::string&>());
    if (!decoded) continue;
    const auto text = std::string(trim(*decoded));
    key == "kubeconfig" ? collect_kubeconfig(text, secrets) : collect(text, secrets);
    secrets.push_back(value.get<std::string>());
  }
  add_base64(secrets);
  return secrets;
}

}  // namespace trainstep::cluster
