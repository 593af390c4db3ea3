// create, patch, delete.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "sim/api_server.h"

namespace trainstep::sim {
namespace {

bool is_dry(const http::Request& request) { return asked(request, "dryRun") == "All"; }

// DNS-1123 subdomain.
bool good_name(std::string_view name) {
  return !name.empty() && name.size() <= 253 && name.front() != '-' && name.back() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; });
}

Json body_of(const http::Request& request) { return request.body.empty() ? Json::object() : Json::parse(request.body, nullptr, false); }

Reply unreadable() { return failure(400, "BadRequest", "the object provided is unrecognized (must be of type Object): couldn't get version/kind"); }

// What a client can never change.
void keep_identity(Json& changed, const Json& before) {
  for (const auto* key : {"name", "namespace", "uid", "creationTimestamp", "resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds"})
    if (const auto* value = dig(before, {"metadata", key}))
      changed["metadata"][key] = *value;
    else
      changed["metadata"].erase(key);
}

Json review(const Json& asked_for, const std::set<std::string>& denied) {
  auto result = asked_for;
  auto of = std::string(text_at(asked_for, {"spec", "resourceAttributes", "resource"}));
  if (const auto sub = text_at(asked_for, {"spec", "resourceAttributes", "subresource"}); !sub.empty()) of += "/" + std::string(sub);
  const auto what = fmt::format("{} {}", text_at(asked_for, {"spec", "resourceAttributes", "verb"}), of);
  result["status"] = {{"allowed", !denied.contains(what)}};
  return result;
}

}  // namespace

Reply ApiServer::create(Call request, const Target& to) {
  auto object = body_of(request);
  if (!object.is_object()) return unreadable();
  if (to.resource->plural == "selfsubjectaccessreviews") return {201, review(object, m_denied).dump() + "\n"};
  if (text_at(object, {"kind"}) != to.resource->kind || text_at(object, {"apiVersion"}) != to.resource->group_version)
    return failure(400, "BadRequest",
                   fmt::format("the API version in the data ({}) does not match the expected API version ({})", text_at(object, {"apiVersion"}),
                               to.resource->group_version));
  const auto its_space = text_at(object, {"metadata", "namespace"});
  if (!its_space.empty() && its_space != to.name_space)
    return failure(400, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request");
  if (to.resource->namespaced) object["metadata"]["namespace"] = to.name_space;
  if (text_at(object, {"metadata", "name"}).empty() && dig(object, {"metadata", "generateName"}) != nullptr)
    object["metadata"]["name"] = std::string(text_at(object, {"metadata", "generateName"})) + std::to_string(m_store.number());
  const auto name = std::string(text_at(object, {"metadata", "name"}));
  if (!good_name(name))
    return invalid(to.resource->kind, to.resource->group(), name, "metadata.name",
                   "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'");
  if (to.resource->namespaced && to.name_space != m_options.name_space)
    return failure(404, "NotFound", fmt::format("namespaces \"{}\" not found", to.name_space), {{"name", to.name_space}, {"kind", "namespaces"}});
  const bool dry = is_dry(request);
  if (auto no = admitted(*to.resource, object, dry)) return *no;
  if (m_store.find(*to.resource, to.name_space, name) != nullptr) return already_exists(*to.resource, name);
  for (const auto* key : {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "generateName"}) object["metadata"].erase(key);
  object.erase("status");
  if (dry) {
    object["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000";
    object["metadata"]["creationTimestamp"] = to_rfc3339(m_store.loop().now());
    return {201, object.dump() + "\n"};
  }
  return {201, m_store.create(*to.resource, std::move(object))->text() + "\n"};
}

Reply ApiServer::patch(Call request, const Target& to) {
  const auto type = header_of(request, "Content-Type");
  auto patch = body_of(request);
  if (!patch.is_object()) return unreadable();
  const auto object = m_store.find(*to.resource, to.name_space, to.name);
  if (type.starts_with("application/apply-patch+yaml")) {
    if (asked(request, "fieldManager").empty()) return failure(400, "BadRequest", "fieldManager is required for apply patch");
    if (object == nullptr) return apply(to, std::move(patch), is_dry(request));
  } else if (!type.starts_with("application/merge-patch+json")) {
    return failure(415, "UnsupportedMediaType",
                   "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "
                   "application/merge-patch+json, application/apply-patch+yaml");
  }
  if (object == nullptr) return not_found(*to.resource, to.name);
  if (const auto uid = text_at(patch, {"metadata", "uid"}); !uid.empty() && uid != object->uid())
    return invalid(to.resource->kind, to.resource->group(), to.name, "metadata.uid", fmt::format("Invalid value: \"{}\": field is immutable", uid));
  if (const auto version = text_at(patch, {"metadata", "resourceVersion"}); !version.empty() && version != std::to_string(object->number))
    return conflict(*to.resource, to.name, "the object has been modified; please apply your changes to the latest version and try again");
  if (is_dry(request)) return {200, object->text() + "\n"};
  return change(to, object, patch);
}

Reply ApiServer::apply(const Target& to, Json object, bool dry_run) {
  object["metadata"]["namespace"] = to.name_space;
  object["metadata"]["name"] = to.name;
  if (auto no = admitted(*to.resource, object, dry_run)) return *no;
  if (dry_run) return {201, object.dump() + "\n"};
  return {201, m_store.create(*to.resource, std::move(object))->text() + "\n"};
}

// Status and the rest are changed by different paths, as the status subresource wants it.
Reply ApiServer::change(const Target& to, const VersionPtr& object, const Json& patch) {
  const auto after = m_store.update(object->uid(), [&](Json& changed) {
    const auto before = changed;
    changed.merge_patch(patch);
    keep_identity(changed, before);
    if (to.subresource == "status") {
      auto status = changed.contains("status") ? changed["status"] : Json();
      changed = before;
      if (!status.is_null()) changed["status"] = std::move(status);
    } else if (before.contains("status")) {
      changed["status"] = before["status"];
    } else {
      changed.erase("status");
    }
  });
  return {200, after->text() + "\n"};
}

Reply ApiServer::remove(Call request, const Target& to) {
  const auto options = body_of(request);
  const auto object = m_store.find(*to.resource, to.name_space, to.name);
  if (object == nullptr) return not_found(*to.resource, to.name);
  if (const auto uid = text_at(options, {"preconditions", "uid"}); !uid.empty() && uid != object->uid())
    return conflict(*to.resource, to.name, fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, object->uid()));
  if (const auto version = text_at(options, {"preconditions", "resourceVersion"}); !version.empty() && version != std::to_string(object->number))
    return conflict(
        *to.resource, to.name,
        fmt::format("Precondition failed: ResourceVersion in precondition: {}, ResourceVersion in object meta: {}", version, object->number));
  // Where there is a body, the query's options do not count.
  const bool dry = request.body.empty() ? is_dry(request) : options.value("dryRun", Json::array()) == Json::array({"All"});
  if (dry) return {200, object->text() + "\n"};
  const auto policy = request.body.empty() ? asked(request, "propagationPolicy") : text_at(options, {"propagationPolicy"});
  // batch/v1 Jobs leave their pods behind when nothing is said; everything else takes its dependents along, later.
  auto propagation = to.resource->plural == "jobs" ? Propagation::orphan : Propagation::background;
  if (policy == "Foreground") propagation = Propagation::foreground;
  if (policy == "Background") propagation = Propagation::background;
  if (policy == "Orphan") propagation = Propagation::orphan;
  std::optional<std::int64_t> grace;
  if (const auto* seconds = dig(options, {"gracePeriodSeconds"})) grace = seconds->get<std::int64_t>();
  const auto uid = std::string(object->uid());
  if (const auto left = m_collector.remove(object, propagation, grace)) return {200, left->text() + "\n"};
  Json details = {{"name", to.name}, {"kind", to.resource->plural}, {"uid", uid}};
  if (!to.resource->group().empty()) details["group"] = to.resource->group();
  return {200,
          Json({{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"status", "Success"}, {"details", details}}).dump() + "\n"};
}

}  // namespace trainstep::sim
