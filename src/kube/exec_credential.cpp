// SPDX-License-Identifier: Apache-2.0
#include "kube/exec_credential.h"

#include <fmt/format.h>

#include "kube/token_source.h"

namespace trainstep::kube {
namespace {

constexpr std::string_view group = "client.authentication.k8s.io/";

// "" if absent. Values are not shown: they may be secret.
Result<std::string> text_member(const Json& object, std::string_view key, const std::string& where) {
  const auto* value = find(object, key);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return input_error(fmt::format("{}.{}: expected a string, got {}", where, key, type_name(*value)));
  return value->get<std::string>();
}

Result<std::vector<Json>> list_of(const Json& object, std::string_view key, const std::string& where) {
  const auto* value = find(object, key);
  if (value == nullptr) return std::vector<Json>();
  if (!value->is_array()) return input_error(fmt::format("{}.{}: expected a list, got {}", where, key, type_name(*value)));
  return std::vector<Json>(value->begin(), value->end());
}

Result<void> check_version(const std::string& version, const std::string& where) {
  if (version == std::string(group) + "v1" || version == std::string(group) + "v1beta1") return {};
  return input_error(fmt::format("{}.apiVersion: unsupported version '{}'; expected {}v1 or {}v1beta1: update the plug-in and the kubeconfig", where,
                                 version, group, group));
}

Result<void> read_arguments(const Json& exec, const std::string& where, ExecPlugin& plugin) {
  ASSIGN(const auto arguments, list_of(exec, "args", where));
  for (const auto& argument : arguments) {
    if (!argument.is_string()) return input_error(fmt::format("{}.args: expected strings, got {}", where, type_name(argument)));
    plugin.arguments.push_back(argument.get<std::string>());
  }
  ASSIGN(const auto variables, list_of(exec, "env", where));
  for (const auto& variable : variables) {
    ASSIGN(auto name, text_member(variable, "name", where + ".env"));
    ASSIGN(auto value, text_member(variable, "value", where + ".env"));
    if (name.empty() || name.find('=') != std::string::npos) return input_error(fmt::format("{}.env has a variable without a valid name", where));
    plugin.environment.emplace_back(std::move(name), std::move(value));
  }
  return {};
}

}  // namespace

Result<ExecPlugin> read_exec_plugin(const Json& exec, const std::string& where, const std::string& folder, const Json& cluster) {
  if (!exec.is_object()) return input_error(fmt::format("{}: expected an object, got {}", where, type_name(exec)));
  ExecPlugin plugin;
  ASSIGN(plugin.api_version, text_member(exec, "apiVersion", where));
  TRY(check_version(plugin.api_version, where));
  ASSIGN(plugin.command, text_member(exec, "command", where));
  if (plugin.command.empty()) return input_error(fmt::format("{}.command is missing", where));
  if (plugin.command.find('/') != std::string::npos && plugin.command.front() != '/') plugin.command = folder + '/' + plugin.command;
  ASSIGN(plugin.install_hint, text_member(exec, "installHint", where));
  ASSIGN(const auto mode, text_member(exec, "interactiveMode", where));
  if (mode == "Always")
    return input_error(
        fmt::format("{}.interactiveMode is Always: the plug-in '{}' requires a terminal, which is not available here. Use a context with a token, a "
                    "client certificate or another plug-in",
                    where, plugin.command));
  TRY(read_arguments(exec, where, plugin));
  Json info = {{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", {{"interactive", false}}}};
  const auto* wanted = find(exec, "provideClusterInfo");
  if (wanted != nullptr && wanted->is_boolean() && wanted->get<bool>()) info["spec"]["cluster"] = cluster;
  plugin.info = to_text(info);
  return plugin;
}

Result<ExecCredential> read_exec_credential(const std::string& printed, const ExecPlugin& plugin) {
  const auto where = fmt::format("the output of the exec plug-in '{}'", plugin.command);
  const auto answer = parse_json(printed, where);
  if (!answer || !answer->is_object()) return input_error(where + " is not a JSON object");  // the reason could quote a part of it
  ASSIGN(const auto version, text_member(*answer, "apiVersion", where));
  if (version != plugin.api_version)
    return input_error(fmt::format("{} has the apiVersion '{}', but '{}' was requested", where, version, plugin.api_version));
  const auto* status = find(*answer, "status");
  if (status == nullptr || !status->is_object()) return input_error(where + " has no status");
  ExecCredential credential;
  ASSIGN(credential.token, text_member(*status, "token", where));
  ASSIGN(credential.certificate_pem, text_member(*status, "clientCertificateData", where));
  ASSIGN(credential.key_pem, text_member(*status, "clientKeyData", where));
  if (credential.certificate_pem.empty() != credential.key_pem.empty())
    return input_error(where + " has only one of clientCertificateData and clientKeyData; both are required");
  if (credential.token.empty() && credential.certificate_pem.empty()) return input_error(where + " has neither a token nor a client certificate");
  if (!credential.token.empty()) {
    ASSIGN(credential.token, checked_token(credential.token, "the token in " + where));
  }
  ASSIGN(const auto expires, text_member(*status, "expirationTimestamp", where));
  if (expires.empty()) return credential;
  credential.expires = from_rfc3339(expires);
  if (!credential.expires) return input_error(where + " has an expirationTimestamp that is not a valid time such as 2026-11-21T08:15:30Z");
  return credential;
}

}  // namespace trainstep::kube
