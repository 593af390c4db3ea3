// SPDX-License-Identifier: Apache-2.0
#include "sim/api_server.h"

#include <fmt/format.h>

#include <array>

namespace trainstep::sim {
namespace {

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> result;
  while (!path.empty()) {
    const auto slash = path.find('/');
    if (slash != 0) result.push_back(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return result;
}

bool same_header(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return (x | 32) == (y | 32); });
}

std::string_view verb_of(const http::Request& request, const Target& target) {
  if (request.method == "GET") return !target.name.empty() ? "get" : asked(request, "watch").empty() ? "list" : "watch";
  if (request.method == "POST") return "create";
  if (request.method == "PATCH") return "patch";
  return request.method == "DELETE" ? "delete" : "update";
}

}  // namespace

std::string_view asked(const http::Request& request, std::string_view name) {
  for (const auto& [key, value] : request.url.query)
    if (key == name) return value;
  return {};
}

std::string_view header_of(const http::Request& request, std::string_view name) {
  for (const auto& header : request.headers)
    if (same_header(header.name, name)) return header.value;
  return {};
}

ApiServer::ApiServer(Store& store, PodLogs& logs, Collector& collector, Options options)
    : m_store(store), m_logs(logs), m_collector(collector), m_options(std::move(options)) {
  m_store.listen([this](const Happening& happening) { heard(happening); });
}

void ApiServer::reply(const WirePtr& wire, const Reply& reply) {
  auto headers = reply.headers;
  headers.push_back({"Content-Type", reply.type});
  headers.push_back({"Content-Length", std::to_string(reply.body.size())});
  wire->open(reply.code, std::move(headers));
  wire->send(reply.body);
  wire->close();
}

// "/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME/SUB" and the core group's "/api/v1/…". A target without a resource: not served.
std::optional<Target> ApiServer::target(Call request) const {
  const auto parts = split_path(request.url.path);
  const std::size_t head = !parts.empty() && parts[0] == "api" ? 2 : 3;
  if (parts.size() < head + 1) return std::nullopt;
  const auto group_version = head == 2 ? std::string(parts[1]) : fmt::format("{}/{}", parts[1], parts[2]);
  auto at = head;
  Target result;
  if (parts[at] == "namespaces" && parts.size() > at + 2) {
    result.name_space = parts[at + 1];
    at += 2;
  }
  const auto other = m_options.also_served.find(fmt::format("{} {}", group_version, parts[at]));
  result.resource = m_store.resource(other == m_options.also_served.end() ? group_version : other->second, parts[at]);
  if (parts.size() > at + 1) result.name = parts[at + 1];
  if (parts.size() > at + 2) result.subresource = parts[at + 2];
  return result;
}

std::optional<Reply> ApiServer::refused(Call request) const {
  const auto authorization = header_of(request, "Authorization");
  if (m_tokens.empty()) return std::nullopt;
  const bool bearer = authorization.starts_with("Bearer ");
  if (bearer && m_tokens.contains(std::string(authorization.substr(7)))) return std::nullopt;
  return unauthorized();
}

bool ApiServer::may(Call request, const std::string& what) const {
  if (m_denied.contains(what)) return false;
  const auto authorization = header_of(request, "Authorization");
  const auto own = m_denied_to.find(std::string(authorization.substr(std::min<std::size_t>(authorization.size(), 7))));
  return own == m_denied_to.end() || !own->second.contains(what);
}

Reply ApiServer::discovery(std::string_view group_version) const {
  Json resources = Json::array();
  for (const auto& resource : m_store.resources()) {
    if (resource.group_version != group_version) continue;
    resources.push_back({{"name", resource.plural},
                         {"singularName", ""},
                         {"namespaced", resource.namespaced},
                         {"kind", resource.kind},
                         {"verbs", {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}}});
    if (resource.plural == "pods")
      resources.push_back({{"name", "pods/log"}, {"singularName", ""}, {"namespaced", true}, {"kind", "Pod"}, {"verbs", {"get"}}});
  }
  if (resources.empty()) return no_such_path();
  return {200, Json({{"kind", "APIResourceList"}, {"apiVersion", "v1"}, {"groupVersion", group_version}, {"resources", resources}}).dump() + "\n"};
}

void ApiServer::handle(Call request, const WirePtr& wire) {
  if (const auto no = refused(request)) return reply(wire, *no);
  const auto to = target(request);
  if (!to) {
    const auto parts = split_path(request.url.path);
    if (parts.size() == 1 && parts[0] == "version")
      return reply(wire, {200, R"({"major":"1","minor":"36","gitVersion":"v1.36.3","platform":"linux/amd64"})"});
    if (parts.size() == 2 && parts[0] == "api") return reply(wire, discovery(parts[1]));
    return reply(wire, parts.size() == 3 && parts[0] == "apis" ? discovery(fmt::format("{}/{}", parts[1], parts[2])) : no_such_path());
  }
  if (to->resource == nullptr) {
    const auto parts = split_path(request.url.path);
    const auto group_version = parts[0] == "api" ? std::string(parts[1]) : fmt::format("{}/{}", parts[1], parts[2]);
    return reply(wire, discovery(group_version).code == 404 ? no_such_path() : no_such_resource());
  }
  const auto verb = verb_of(request, *to);
  const auto of = to->subresource == "log" ? to->resource->plural + "/log" : to->resource->plural;
  if (!may(request, fmt::format("{} {}", verb, of)) || m_denied.contains(fmt::format("{} {}/{}", verb, of, to->name)))
    return reply(wire, forbidden(*to->resource, to->name,
                                 fmt::format("User \"{}\" cannot {} resource \"{}\" in API group \"{}\" in the namespace \"{}\"", m_options.user,
                                             verb, of, to->resource->group(), to->name_space)));
  const bool metadata_only = header_of(request, "Accept").find("as=PartialObjectMetadata") != std::string_view::npos;
  if (verb == "watch") return watch(request, *to, metadata_only, wire);
  if (to->subresource == "log" && verb == "get") return log(request, *to, wire);
  reply(wire, answer(request, *to, metadata_only));
}

Reply ApiServer::answer(Call request, const Target& to, bool metadata_only) {
  if (request.method == "GET") return to.name.empty() ? list(request, to, metadata_only) : get(to, metadata_only);
  if (request.method == "POST" && to.name.empty()) return create(request, to);
  if (request.method == "PATCH" && !to.name.empty()) return patch(request, to);
  if (request.method == "DELETE" && !to.name.empty()) return remove(request, to);
  return failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", Json::object());
}

std::optional<Reply> ApiServer::admitted(const Resource& resource, Json& object, bool dry_run) {
  for (const auto& admission : m_admissions)
    if (auto no = admission(resource, object, dry_run)) return no;
  return std::nullopt;
}

}  // namespace trainstep::sim
