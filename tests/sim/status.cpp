// SPDX-License-Identifier: Apache-2.0
#include "sim/status.h"

#include <fmt/format.h>

namespace trainstep::sim {
namespace {

Json details_of(const Resource& resource, std::string_view name) {
  Json details = {{"name", name}};
  if (!resource.group().empty()) details["group"] = resource.group();
  details["kind"] = resource.plural;
  return details;
}

}  // namespace

Json status_object(int code, std::string_view reason, const std::string& message, Json details) {
  Json status = {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"status", "Failure"}, {"message", message}};
  if (!reason.empty()) status["reason"] = reason;
  if (!details.is_null()) status["details"] = std::move(details);
  status["code"] = code;
  return status;
}

Reply failure(int code, std::string_view reason, const std::string& message, Json details) {
  return {code, status_object(code, reason, message, std::move(details)).dump() + "\n"};
}

Reply not_found(const Resource& resource, std::string_view name) {
  return failure(404, "NotFound", fmt::format("{} \"{}\" not found", resource.qualified(), name), details_of(resource, name));
}

Reply already_exists(const Resource& resource, std::string_view name) {
  return failure(409, "AlreadyExists", fmt::format("{} \"{}\" already exists", resource.qualified(), name), details_of(resource, name));
}

Reply conflict(const Resource& resource, std::string_view name, const std::string& why) {
  return failure(409, "Conflict", fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", resource.qualified(), name, why),
                 details_of(resource, name));
}

Reply forbidden(const Resource& resource, std::string_view name, const std::string& why) {
  const auto what = name.empty() ? fmt::format("{} is forbidden: {}", resource.qualified(), why)
                                 : fmt::format("{} \"{}\" is forbidden: {}", resource.qualified(), name, why);
  return failure(403, "Forbidden", what, details_of(resource, name));
}

Reply invalid(const std::string& kind, const std::string& group, std::string_view name, const std::string& field, const std::string& why) {
  const auto of = group.empty() ? kind : kind + "." + group;
  const Json cause = {{"reason", "FieldValueInvalid"}, {"message", why}, {"field", field}};
  return failure(422, "Invalid", fmt::format("{} \"{}\" is invalid: {}: {}", of, name, field, why),
                 {{"name", name}, {"group", group}, {"kind", kind}, {"causes", Json::array({cause})}});
}

Reply no_such_resource() { return failure(404, "NotFound", "the server could not find the requested resource", Json::object()); }
Reply no_such_path() { return {404, "404 page not found\n", "text/plain; charset=utf-8"}; }
Reply unauthorized() { return failure(401, "Unauthorized", "Unauthorized"); }

Reply too_many_requests(int retry_after_seconds) {
  return {429,
          "Too many requests, please try again later.\n",
          "text/plain; charset=utf-8",
          {{"Retry-After", std::to_string(retry_after_seconds)}, {"X-Content-Type-Options", "nosniff"}}};
}

Reply unavailable() { return failure(503, "ServiceUnavailable", "the server is currently unable to handle the request", {{"retryAfterSeconds", 1}}); }

Reply webhook_denied(std::string_view webhook, const std::string& why) {
  return failure(403, "Forbidden", fmt::format("admission webhook \"{}\" denied the request: {}", webhook, why));
}

Reply webhook_unreachable(std::string_view webhook) {
  const auto why = fmt::format(
      "failed calling webhook \"{}\": failed to call webhook: Post \"https://training-operator.kubeflow.svc:443/validate?timeout=10s\": dial tcp "
      "10.96.0.17:443: connect: connection refused",
      webhook);
  return failure(500, "InternalError", "Internal error occurred: " + why, {{"causes", Json::array({Json{{"message", why}}})}});
}

Json expired_object(std::uint64_t asked, std::uint64_t oldest) {
  return status_object(410, "Expired", fmt::format("too old resource version: {} ({})", asked, oldest));
}

}  // namespace trainstep::sim
