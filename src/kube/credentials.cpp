// SPDX-License-Identifier: Apache-2.0
#include "kube/credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "data/digest.h"
#include "http/process_environment.h"
#include "kube/exec_plugin.h"
#include "kube/kubeconfig.h"
#include "kube/token_source.h"

namespace trainstep::kube {
namespace {

constexpr std::size_t file_limit = std::size_t{4} << 20U;

Result<std::filesystem::path> path_of(const KubeEntry& entry, std::string_view key, const std::string& text) {
  if (entry.folder.empty()) return input_error(fmt::format("{}: {} names a file; inline the data instead ({}-data)", entry.where, key, key));
  return entry.folder / text;  // an absolute path is unchanged
}

// PEM from `key`-data or the file `key`; "" if neither is given.
Result<std::string> pem_in(const KubeEntry& entry, const std::string& key) {
  const auto data_key = key + "-data";
  ASSIGN(const auto data, text_in(entry, data_key));
  ASSIGN(const auto file, text_in(entry, key));
  if (data.empty() && file.empty()) return std::string();
  std::string pem;
  if (!data.empty()) {
    auto decoded = decode_base64(data);
    if (!decoded) return input_error(fmt::format("{}: {} is not base64", entry.where, data_key));  // the reason would quote a part of it
    pem = std::move(*decoded);
  } else {
    ASSIGN(const auto path, path_of(entry, key, file));
    auto content = read_file(path, file_limit);
    if (!content) return input_error(fmt::format("{}: {}: {}", entry.where, key, content.error().message));
    pem = std::move(*content);
  }
  if (pem.find("-----BEGIN ") == std::string::npos)
    return input_error(fmt::format("{}: {} is not valid PEM: no line -----BEGIN …-----", entry.where, data.empty() ? key : data_key));
  return pem;
}

Result<bool> flag_in(const KubeEntry& entry, std::string_view key) {
  const auto* value = find(entry.value, key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) return input_error(fmt::format("{}: {}: expected true or false, got {}", entry.where, key, type_name(*value)));
  return value->get<bool>();
}

Result<void> refuse(const KubeEntry& user, std::string_view key, std::string_view remedy) {
  const auto* value = find(user.value, key);
  if (value == nullptr || (value->is_string() && value->get_ref<const std::string&>().empty()) || (value->is_structured() && value->empty()))
    return {};
  return input_error(fmt::format("{}: {} is not supported: {}", user.where, key, remedy));
}

Result<void> check_supported(const KubeEntry& user) {
  constexpr std::string_view password = "passwords are not supported since Kubernetes 1.19; use a token, a client certificate or an exec plug-in";
  constexpr std::string_view other = "use a context whose user has these permissions itself";
  TRY(refuse(user, "username", password));
  TRY(refuse(user, "password", password));
  TRY(refuse(user, "auth-provider", "it was removed in Kubernetes 1.26; use the exec plug-in of the same provider"));
  for (const auto* key : {"as", "as-uid", "as-groups", "as-user-extra"}) TRY(refuse(user, key, other));
  return {};
}

// The cluster information that an exec plug-in may request.
Json cluster_info(const KubeEntry& cluster, const http::Endpoint& endpoint) {
  Json info = Json::object();
  for (const auto* key : {"server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url"})
    if (const auto* value = find(cluster.value, key)) info[key] = *value;
  if (!endpoint.ca_pem.empty()) info["certificate-authority-data"] = encode_base64(endpoint.ca_pem);
  const auto* extensions = find(cluster.value, "extensions");
  if (extensions == nullptr || !extensions->is_array()) return info;
  for (const auto& extension : *extensions) {
    const auto* name = find(extension, "name");
    const auto* value = find(extension, "extension");
    if (name != nullptr && *name == Json("client.authentication.k8s.io/exec") && value != nullptr) info["config"] = *value;
  }
  return info;
}

Result<http::Endpoint> endpoint_of(const KubeEntry& cluster, const KubeEntry& user) {
  http::Endpoint endpoint;
  ASSIGN(endpoint.ca_pem, pem_in(cluster, "certificate-authority"));
  ASSIGN(endpoint.server_name, text_in(cluster, "tls-server-name"));
  ASSIGN(endpoint.proxy, text_in(cluster, "proxy-url"));
  constexpr std::array<std::string_view, 3> schemes{"http://", "https://", "socks5://"};
  if (!endpoint.proxy.empty() && std::ranges::none_of(schemes, [&](auto scheme) { return lower(endpoint.proxy).starts_with(scheme); }))
    return input_error(fmt::format("{}: proxy-url must begin with http://, https:// or socks5://", cluster.where));
  ASSIGN(const auto careless, flag_in(cluster, "insecure-skip-tls-verify"));
  if (careless && !endpoint.ca_pem.empty())
    return input_error(cluster.where +
                       ": insecure-skip-tls-verify and certificate-authority are mutually exclusive: remove one, preferably the former");
  endpoint.verify = !careless;
  ASSIGN(endpoint.certificate_pem, pem_in(user, "client-certificate"));
  ASSIGN(endpoint.key_pem, pem_in(user, "client-key"));
  if (endpoint.certificate_pem.empty() != endpoint.key_pem.empty())
    return input_error(fmt::format("{}: client-certificate and client-key are both required", user.where));
  return endpoint;
}

// In kubectl's order: a token file, a token, a plug-in; a client certificate in addition to any of them.
Result<std::unique_ptr<TokenSource>> token_of(const KubeEntry& cluster, const KubeEntry& user,
                                              const std::shared_ptr<const http::Endpoint>& endpoint) {
  ASSIGN(const auto file, text_in(user, "tokenFile"));
  if (!file.empty()) {
    if (user.folder.empty()) return input_error(user.where + ": tokenFile names a file; inline the token instead (token)");
    return file_token(user.folder / file);
  }
  ASSIGN(auto token, text_in(user, "token"));
  if (!token.empty()) {
    ASSIGN(token, checked_token(token, user.where + ": token"));
    return fixed_token(std::move(token));
  }
  const auto* exec = find(user.value, "exec");
  if (exec == nullptr) return fixed_token("");
  if (user.folder.empty()) return input_error(user.where + ": exec names a program; only tokens and client certificates are supported here");
  ASSIGN(auto plugin, read_exec_plugin(*exec, user.where + ": exec", user.folder.string(), cluster_info(cluster, *endpoint)));
  return exec_token(std::move(plugin), endpoint);
}

Result<Credentials> credentials_of(const Kubeconfig& config, const std::string& name) {
  ASSIGN(const auto context, choose_context(config, name));
  Credentials credentials;
  ASSIGN(const auto server, text_in(context.cluster, "server"));
  if (server.empty()) return input_error(context.cluster.where + ": server is missing");
  ASSIGN(credentials.server, in_context(context.cluster.where + ": server", http::Url::parse(server)));
  TRY(check_supported(context.user));
  ASSIGN(auto endpoint, endpoint_of(context.cluster, context.user));
  credentials.endpoint = std::make_shared<const http::Endpoint>(std::move(endpoint));
  ASSIGN(credentials.token, token_of(context.cluster, context.user, credentials.endpoint));
  credentials.name_space = context.name_space.empty() ? "default" : context.name_space;
  credentials.description = fmt::format("context {} of {}", context.name, config.files);
  return credentials;
}

// "" if it does not exist.
Result<std::string> optional_file(const std::filesystem::path& path) {
  auto content = read_file(path, file_limit);
  if (!content && content.error().kind == ErrorKind::not_found) return std::string();
  if (!content) return input_error("the service account of this pod: " + content.error().message);
  return content;
}

// A token or certificate in a kubeconfig: a new login writes new ones there, and the server rejects the old ones.
class RenewedToken : public TokenSource {
 public:
  RenewedToken(std::unique_ptr<TokenSource> first, std::string server, std::function<Result<Credentials>()> read)
      : m_token(std::move(first)), m_server(std::move(server)), m_read(std::move(read)) {}

  Result<std::string> token(Time now) override {
    if (std::exchange(m_refused, false))
      if (auto again = m_read(); again && again->server.origin() == m_server) {  // never send the token to another server
        m_token = std::move(again->token);
        m_endpoint = std::move(again->endpoint);
      }
    return m_token->token(now);
  }
  void refused() override {
    m_refused = true;
    m_token->refused();
  }
  [[nodiscard]] std::shared_ptr<const http::Endpoint> endpoint() const override { return m_endpoint; }

 private:
  std::unique_ptr<TokenSource> m_token;
  std::string m_server;
  std::function<Result<Credentials>()> m_read;
  std::shared_ptr<const http::Endpoint> m_endpoint;
  bool m_refused = false;
};

// By name, because another context may be the current one by now.
Result<Credentials> read_again(const std::string& path, const std::string& context) {
  ASSIGN(const auto config, find_kubeconfig(path));
  ASSIGN(const auto chosen, choose_context(config, context));
  if (find(chosen.user.value, "exec") != nullptr) return input_error(chosen.user.where + " now has an exec plug-in");  // a plug-in could block here
  return credentials_of(config, context);
}

}  // namespace

Result<std::optional<Credentials>> in_cluster(const std::filesystem::path& folder) {
  const auto host = http::process_environment()("KUBERNETES_SERVICE_HOST").value_or("");
  const auto port = http::process_environment()("KUBERNETES_SERVICE_PORT").value_or("");
  if (host.empty() || port.empty()) return std::optional<Credentials>();
  Credentials credentials;
  const bool brackets = host.find(':') != std::string::npos;
  ASSIGN(credentials.server, in_context("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT",
                                        http::Url::parse(fmt::format(fmt::runtime(brackets ? "https://[{}]:{}" : "https://{}:{}"), host, port))));
  http::Endpoint endpoint;
  ASSIGN(endpoint.ca_pem, optional_file(folder / "ca.crt"));
  credentials.endpoint = std::make_shared<const http::Endpoint>(std::move(endpoint));
  credentials.token = service_account_token(folder);
  std::error_code problem;
  if (!std::filesystem::exists(folder / "token", problem))
    return input_error(
        fmt::format("this pod has no service account token ({} does not exist): enable it (automountServiceAccountToken), or name another cluster "
                    "with a kubeconfig",
                    (folder / "token").string()));
  ASSIGN(const auto name_space, optional_file(folder / "namespace"));
  credentials.name_space = trim(name_space).empty() ? "default" : std::string(trim(name_space));
  credentials.description = "in-cluster";
  return std::optional(std::move(credentials));
}

Result<Credentials> from_kubeconfig(const std::string& path, const std::string& context) {
  ASSIGN(const auto config, find_kubeconfig(path));
  ASSIGN(auto credentials, credentials_of(config, context));
  ASSIGN(const auto chosen, choose_context(config, context));
  if (find(chosen.user.value, "exec") == nullptr)
    credentials.token = std::make_unique<RenewedToken>(std::move(credentials.token), credentials.server.origin(),
                                                       [path, name = chosen.name] { return read_again(path, name); });
  return credentials;
}

Result<Credentials> from_kubeconfig_text(const std::string& text, const std::string& what, const std::string& context) {
  ASSIGN(const auto config, parse_kubeconfig(text, what, {}));
  return credentials_of(config, context);
}

}  // namespace trainstep::kube
