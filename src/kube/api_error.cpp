// SPDX-License-Identifier: Apache-2.0
#include "kube/api_error.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "http/retry.h"

namespace trainstep::kube {
namespace {

constexpr std::size_t max_message_length = 4096;

// `pods "train-1" is forbidden: …` → `forbidden: …`: our own message, `what`, has named the object already, unless its namespace is meant.
std::string without_object(std::string message, const Json& details, const std::string& what) {
  const auto cut = [&message](const std::string& prefix) {
    const auto found = message.starts_with(prefix);
    if (found) message.erase(0, prefix.size());
    return found;
  };
  const auto group = text_of(details, "group");
  const auto kind = text_of(details, "kind");
  const auto name = text_of(details, "name");
  const auto full = group.empty() ? kind : kind + "." + group;
  const bool is_other = kind == "namespaces" && what.find("namespaces/") == std::string::npos;
  if (kind.empty() || is_other || !(cut(full + " \"" + name + "\" ") || cut(kind + " \"" + name + "\" ") || cut(full + " is "))) return message;
  cut("is ");
  return message;
}

// 403 comes from the authorizer, whose message names the user, or from admission (quota, policies, webhooks), which objects to the object itself.
bool by_admission(const std::string& message) {
  const auto holds = [&message](std::string_view part) { return message.find(part) != std::string::npos; };
  return !holds("User \"") && (holds(" is forbidden: ") || holds(" denied the request"));
}

// Admission without a decision, which has created nothing: concurrent writes to a quota's count, by API servers or the quota controller, after which
// the server has given up retrying; or the quota, or the server, is too new (apiserver/pkg/admission/plugin/resourcequota/controller.go,
// apiserver/pkg/admission/initializer: WaitForReady).
bool has_no_judgement(int status, const std::string& message) {
  const auto holds = [&message](std::string_view part) { return message.find(part) != std::string::npos; };
  return (status == 409 && holds("Operation cannot be fulfilled on resourcequotas \"")) ||
         (status == 403 && (holds("status unknown for quota: ") || holds("not yet ready to handle request")));
}

ErrorKind kind_of(int status, const std::string& message) {
  if (has_no_judgement(status, message)) return ErrorKind::unavailable;
  if (status == 403) return by_admission(message) ? ErrorKind::input : ErrorKind::denied;
  if (status == 401) return ErrorKind::denied;
  if (status == 404) return ErrorKind::not_found;
  if (status == 409 || status == 410) return ErrorKind::conflict;
  if (status == 408 || status == 429 || status >= 500) return ErrorKind::unavailable;
  return ErrorKind::input;
}

// The remedy for a response that does not contain one.
std::string_view remedy(int status) {
  if (status == 413)
    return "; the request is too large, usually because of the program's source in train_specification, or train_parameters; move large data into "
           "the image, a file or an artifact";
  if (status / 100 == 3)
    return "; redirects are not followed, as they would send the credentials elsewhere: use the address of the API server itself (in the "
           "kubeconfig), not of a proxy or login page";
  return {};
}

}  // namespace

bool retryable(const ApiError& error) {
  if (error.status == 0) return error.error.kind == ErrorKind::unavailable || error.error.kind == ErrorKind::timeout;
  if (has_no_judgement(error.status, error.error.message)) return true;
  return error.status == 408 || error.status == 429 || (error.status >= 500 && error.status != 501 && error.status != 505);
}

bool lacks_token(const ApiError& error) { return error.status == 0 && error.error.kind == ErrorKind::cancelled; }

bool says_nothing(const ApiError& error) {
  return !error.is_status && error.status >= 300 && error.status < 500 && error.status != 401 && error.status != 413 && !retryable(error);
}

bool tells_absent(const ApiError& error, std::string_view name) {
  if (error.status != 404 || error.reason != "NotFound") return false;
  const auto named = text_of(error.details, "name");
  return named.empty() ? error.error.message.find(fmt::format("\"{}\" not found", name)) != std::string::npos : named == name;
}

bool tells_not_served(const ApiError& error) {
  return error.status == 404 && (error.reason == "NotFound" || error.error.message.ends_with("404 page not found"));
}

bool is_transient(const ApiError& error, std::string_view name) {
  return error.status == 409 || (error.status == 403 && error.error.kind == ErrorKind::denied) || (error.status == 404 && !tells_absent(error, name));
}

bool is_odd(const ApiError& error, std::string_view name) {
  return says_nothing(error) || (error.status == 403 && error.error.kind == ErrorKind::denied) || (error.status == 404 && !tells_absent(error, name));
}

ApiError not_the_servers(std::string message) {
  return {{ErrorKind::unavailable, std::move(message)}, 502, std::string(not_the_servers_reason), {}, {}};
}

ApiError api_error(const std::string& what, int status, const std::string& body, std::optional<Duration> retry_after) {
  ApiError result;
  result.status = status;
  result.retry_after = retry_after;
  const auto read = parse_json(body, "the answer");
  if (!read || text_of(*read, "kind") != "Status") {
    const auto text = excerpt(body);
    result.error = {kind_of(status, body), fmt::format("{}: HTTP {}{}{}{}", what, status, text.empty() ? "" : ": ", text, remedy(status))};
    return result;
  }
  result.is_status = true;
  result.reason = text_of(*read, "reason");
  if (const auto* details = find(*read, "details"); details != nullptr && details->is_object()) result.details = *details;
  if (!retry_after && result.details.is_object()) {
    if (const auto* seconds = find(result.details, "retryAfterSeconds"); seconds != nullptr && seconds->is_number_unsigned())
      result.retry_after =
          std::min<Duration>(std::chrono::seconds(std::min<std::uint64_t>(seconds->get<std::uint64_t>(), 3600)), http::max_retry_after);
  }
  const auto message = text_of(*read, "message");
  auto shown = without_object(message, result.details, what);
  if (shown.empty()) shown = result.reason.empty() ? fmt::format("HTTP {}", status) : fmt::format("HTTP {} {}", status, result.reason);
  if (shown.size() > max_message_length) shown = shown.substr(0, max_message_length) + "…";
  result.error = {kind_of(status, message), fmt::format("{}: {}{}", what, shown, remedy(status))};
  return result;
}

}  // namespace trainstep::kube
