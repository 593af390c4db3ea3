// SPDX-License-Identifier: Apache-2.0
#include "http/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/time.h"

namespace trainstep::http {
namespace {

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The TLS alerts with which a server rejects the client's certificate, in OpenSSL's wording.
bool refuses_us(std::string_view detail) {
  constexpr std::array<std::string_view, 8> alerts = {"alert bad certificate",     "alert unsupported certificate", "alert certificate revoked",
                                                      "alert certificate expired", "alert certificate unknown",     "alert unknown ca",
                                                      "alert access denied",       "alert certificate required"};
  return std::any_of(alerts.begin(), alerts.end(), [detail](auto alert) { return holds(detail, alert); });
}

std::string why_untrusted(const Request& request, const std::string& detail) {
  const bool own_authority = request.endpoint && !request.endpoint->ca_pem.empty();
  if (holds(detail, "subject name")) return "it is not valid for this name. Use a name listed in it, or set the expected name (tls-server-name)";
  if (holds(detail, "expired") || holds(detail, "not yet valid")) return "renew it, or correct this machine's clock";
  if (own_authority) return "the certificate authority configured for this server did not sign it. Configure the server's own";
  return "it is signed by an unknown certificate authority. Configure the server's own (certificate-authority-data, remote-ca), or name its file in "
         "SSL_CERT_FILE";
}

Error with(ErrorKind kind, const Request& request, std::string_view what, std::string_view detail = {}) {
  return {kind, fmt::format("{}: {}{}{}", place_of(request.url), what, detail.empty() ? "" : ": ", detail)};
}

Error refused_by_server(const Request& request, std::string_view detail) {
  const bool shown = request.endpoint && !request.endpoint->certificate_pem.empty();
  return with(ErrorKind::denied, request,
              shown ? "the server rejected the client certificate; renew it" : "the server requires a client certificate, and none is configured",
              detail);
}

}  // namespace

std::string place_of(const Url& url) {
  Url place{.scheme = url.scheme, .host = url.host, .port = url.port != 0 ? url.port : url.scheme == "https" ? 443 : 80, .path = {}, .query = {}};
  return place.origin().substr(url.scheme.size() + 3);
}

Error failure(Fault fault, const Request& request, std::string detail) {
  constexpr std::string_view noise = "SSL certificate problem: ";
  if (detail.starts_with(noise)) detail.erase(0, noise.size());
  if ((fault == Fault::cut || fault == Fault::tls || fault == Fault::other) && refuses_us(detail)) return refused_by_server(request, detail);
  switch (fault) {
    case Fault::name:
      return with(ErrorKind::unavailable, request, detail);
    case Fault::proxy:
      return with(ErrorKind::unavailable, request, "cannot connect through the proxy", detail);
    case Fault::connection:
      return with(ErrorKind::unavailable, request, "cannot connect", detail);
    case Fault::connect_limit:
      return with(ErrorKind::unavailable, request, fmt::format("no connection within {}", describe(request.connect_limit)));
    case Fault::silence:
      return with(ErrorKind::unavailable, request, fmt::format("no data received for {}", describe(request.silence.value_or(Duration{}))));
    case Fault::limit:
      return with(ErrorKind::timeout, request, fmt::format("no complete answer within {}", describe(request.limit.value_or(Duration{}))));
    case Fault::cut:
      return with(ErrorKind::unavailable, request, "the connection was closed before the answer was complete", detail);
    case Fault::too_large:
      return with(ErrorKind::unavailable, request, fmt::format("the answer exceeds {} bytes", request.body_limit));
    case Fault::untrusted:
      return with(ErrorKind::denied, request, fmt::format("the server's certificate was rejected ({}): {}", detail, why_untrusted(request, detail)));
    case Fault::own_certificate:
      return with(ErrorKind::denied, request, "cannot use the client certificate or its key; both must be PEM, the key without a password", detail);
    case Fault::authorities:
      return with(ErrorKind::denied, request, "cannot read the trusted certificate authorities; they must be PEM", detail);
    case Fault::tls:
      return with(ErrorKind::unavailable, request, "cannot establish a TLS connection", detail);
    case Fault::unwanted:
      return with(ErrorKind::internal, request, "the rest of the answer was not needed");
    case Fault::defect:
      return with(ErrorKind::internal, request, "cannot make the request", detail);
    case Fault::other:
      break;
  }
  return with(ErrorKind::unavailable, request, "the request failed", detail);
}

}  // namespace trainstep::http
