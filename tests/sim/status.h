// What the API server answers: bodies as the real one writes them (k8s.io/apimachinery/pkg/api/errors).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "sim/store.h"

namespace trainstep::sim {

struct Reply {
  int code = 200;
  std::string body;
  std::string type = "application/json";
  std::vector<http::Header> headers = {};  // beside Content-Type
};

Json status_object(int code, std::string_view reason, const std::string& message, Json details = nullptr);
Reply failure(int code, std::string_view reason, const std::string& message, Json details = nullptr);

Reply not_found(const Resource& resource, std::string_view name);
Reply already_exists(const Resource& resource, std::string_view name);
Reply conflict(const Resource& resource, std::string_view name, const std::string& why);
Reply forbidden(const Resource& resource, std::string_view name, const std::string& why);
Reply invalid(const std::string& kind, const std::string& group, std::string_view name, const std::string& field, const std::string& why);
Reply no_such_resource();  // within a group that is served
Reply no_such_path();      // a group that is not served
Reply unauthorized();
Reply too_many_requests(int retry_after_seconds);
Reply unavailable();
Reply webhook_denied(std::string_view webhook, const std::string& why);
Reply webhook_unreachable(std::string_view webhook);
Json expired_object(std::uint64_t asked, std::uint64_t oldest);

}  // namespace trainstep::sim
