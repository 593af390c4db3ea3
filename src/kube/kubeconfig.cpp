// SPDX-License-Identifier: Apache-2.0
#include "kube/kubeconfig.h"

#include <fmt/format.h>

#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "data/yaml.h"
#include "http/process_environment.h"

namespace trainstep::kube {
namespace {

using Entries = std::map<std::string, KubeEntry>;

std::string shown(const std::filesystem::path& path) {
  const auto home = http::process_environment()("HOME").value_or("");
  const auto text = path.string();
  return !home.empty() && text.starts_with(home + '/') ? '~' + text.substr(home.size()) : text;
}

// [{"name": "minikube", "cluster": {…}}, …]
Result<Entries> read_entries(const Json& config, const std::string& what, const std::string& list, const std::string& member,
                             const std::filesystem::path& folder) {
  Entries entries;
  const auto* items = find(config, list);
  if (items == nullptr) return entries;
  if (!items->is_array()) return input_error(fmt::format("{}: {}: expected a list, got {}", what, list, type_name(*items)));
  for (const auto& item : *items) {
    const auto* name = find(item, "name");
    if (name == nullptr || !name->is_string()) return input_error(fmt::format("{}: an item of {} has no name", what, list));
    const auto* value = find(item, member);
    KubeEntry entry{value == nullptr ? Json::object() : *value, fmt::format("{}: {} '{}'", what, member, name->get<std::string>()), folder};
    if (!entry.value.is_object()) return input_error(fmt::format("{}: expected an object, got {}", entry.where, type_name(entry.value)));
    entries.emplace(name->get<std::string>(), std::move(entry));  // the first of two entries with one name is used, as everywhere here
  }
  return entries;
}

std::string names_in(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries) names.push_back("'" + name + "'");
  return names.empty() ? "none" : join(names, ", ");
}

Result<KubeEntry> look_up(const Entries& entries, const std::string& name, const std::string& where) {
  const auto found = entries.find(name);
  if (found == entries.end()) return input_error(fmt::format("{}: does not exist; expected one of {}", where, names_in(entries)));
  return found->second;
}

Result<Kubeconfig> read_one(const std::filesystem::path& path) {
  auto text = read_file(path, ReadLimits{}.bytes);
  if (!text) return Error{text.error().kind == ErrorKind::not_found ? ErrorKind::not_found : ErrorKind::input, "kubeconfig: " + text.error().message};
  if (trim(*text).empty()) {  // kubectl accepts empty files
    Kubeconfig empty;
    empty.files = shown(path);
    return empty;
  }
  std::error_code ignored;
  return parse_kubeconfig(*text, shown(path), std::filesystem::absolute(path, ignored).parent_path());
}

}  // namespace

void Kubeconfig::merge(Kubeconfig other) {
  clusters.merge(other.clusters);
  users.merge(other.users);
  contexts.merge(other.contexts);
  if (current.empty()) current = std::move(other.current);
  files += (files.empty() ? "" : ", ") + other.files;
}

Result<Kubeconfig> parse_kubeconfig(const std::string& text, const std::string& what, const std::filesystem::path& folder) {
  ASSIGN(const auto config, parse_yaml(text, what));
  if (!config.is_object()) return input_error(fmt::format("{}: expected an object, got {}", what, type_name(config)));
  Kubeconfig result;
  result.files = what;
  ASSIGN(result.clusters, read_entries(config, what, "clusters", "cluster", folder));
  ASSIGN(result.users, read_entries(config, what, "users", "user", folder));
  ASSIGN(result.contexts, read_entries(config, what, "contexts", "context", folder));
  ASSIGN(result.current, text_in({config, what, folder}, "current-context"));
  return result;
}

Result<Kubeconfig> find_kubeconfig(const std::string& path) {
  if (!path.empty()) {
    auto config = read_one(path);
    if (!config) return input_error(std::move(config.error().message));
    return config;
  }
  const auto list = http::process_environment()("KUBECONFIG").value_or("");
  const auto usual = http::process_environment()("HOME").value_or("") + "/.kube/config";
  Kubeconfig all;
  for (const auto file : split(list.empty() ? std::string_view(usual) : std::string_view(list), ':')) {
    if (file.empty()) continue;
    auto config = read_one(std::string(file));
    if (!config && config.error().kind == ErrorKind::not_found) continue;
    if (!config) return std::move(config.error());
    all.merge(std::move(*config));
  }
  if (!all.files.empty()) return all;
  return input_error(fmt::format("no kubeconfig: {} not exist; set KUBECONFIG, or run this in a pod",
                                 list.empty() ? shown(usual) + " does" : "the files of KUBECONFIG (" + list + ") do"));
}

Result<KubeContext> choose_context(const Kubeconfig& config, const std::string& name) {
  KubeContext context;
  context.name = name.empty() ? config.current : name;
  if (context.name.empty())
    return input_error(fmt::format("{}: current-context is not set; expected one of {}", config.files, names_in(config.contexts)));
  ASSIGN(const auto entry, look_up(config.contexts, context.name, fmt::format("{}: context '{}'", config.files, context.name)));
  ASSIGN(context.name_space, text_in(entry, "namespace"));
  ASSIGN(const auto cluster, text_in(entry, "cluster"));
  if (cluster.empty()) return input_error(entry.where + " does not name a cluster");
  ASSIGN(context.cluster, look_up(config.clusters, cluster, fmt::format("{} names the cluster '{}'", entry.where, cluster)));
  ASSIGN(const auto user, text_in(entry, "user"));
  if (user.empty()) {
    context.user = {Json::object(), entry.where, entry.folder};
  } else {
    ASSIGN(context.user, look_up(config.users, user, fmt::format("{} names the user '{}'", entry.where, user)));
  }
  return context;
}

Result<std::string> text_in(const KubeEntry& entry, std::string_view key) {
  const auto* value = find(entry.value, key);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return input_error(fmt::format("{}: {}: expected a quoted string, got {}", entry.where, key, type_name(*value)));
  return value->get<std::string>();
}

}  // namespace trainstep::kube
