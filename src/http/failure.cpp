// SPDX-License-Identifier: Apache-2.0
#include "http/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/time.h"

namespace trainstep::http {
namespace {

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The TLS alerts by which a server says that it does not like who we are, as OpenSSL words them.
bool refuses_us(std::string_view detail) {
  constexpr std::array<std::string_view, 8> alerts = {"alert bad certificate",     "alert unsupported certificate", "alert certificate revoked",
                                                      "alert certificate expired", "alert certificate unknown",     "alert unknown ca",
                                                      "alert access denied",       "alert certificate required"};
  return std::any_of(alerts.begin(), alerts.end(), [detail](auto alert) { return holds(detail, alert); });
}

std::string why_untrusted(const Request& request, const std::string& detail) {
  const bool own_authority = request.endpoint && !request.endpoint->ca_pem.empty();
  if (holds(detail, "subject name")) return "it is not made out to this name. Use a name that it holds, or say which one to expect (tls-server-name)";
  if (holds(detail, "expired") || holds(detail, "not yet valid")) return "renew it, or set this machine's clock right";
  if (own_authority) return "the certificate authority given for this server is not the one that has signed it. Give the server's own";
  return "no certificate authority that this machine knows has signed it. Give the server's own (certificate-authority-data, remote-ca), or name a "
         "file that holds it in SSL_CERT_FILE";
}

Error with(ErrorKind kind, const Request& request, std::string_view what, std::string_view detail = {}) {
  return {kind, fmt::format("{}: {}{}{}", place_of(request.url), what, detail.empty() ? "" : ": ", detail)};
}

Error refused_by_server(const Request& request, std::string_view detail) {
  const bool shown = request.endpoint && !request.endpoint->certificate_pem.empty();
  return with(ErrorKind::denied, request,
              shown ? "the server refuses our client certificate; renew it" : "the server wants a client certificate, and none is configured",
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
      return with(ErrorKind::unavailable, request, "no way through the proxy", detail);
    case Fault::connection:
      return with(ErrorKind::unavailable, request, "cannot connect", detail);
    case Fault::connect_limit:
      return with(ErrorKind::unavailable, request, fmt::format("no connection within {}", describe(request.connect_limit)));
    case Fault::silence:
      return with(ErrorKind::unavailable, request, fmt::format("nothing has come for {}", describe(request.silence.value_or(Duration{}))));
    case Fault::limit:
      return with(ErrorKind::timeout, request, fmt::format("no whole answer within {}", describe(request.limit.value_or(Duration{}))));
    case Fault::cut:
      return with(ErrorKind::unavailable, request, "the connection has ended before the answer did", detail);
    case Fault::too_large:
      return with(ErrorKind::unavailable, request, fmt::format("the answer has more than {} bytes", request.body_limit));
    case Fault::untrusted:
      return with(ErrorKind::denied, request, fmt::format("the server's certificate is refused ({}): {}", detail, why_untrusted(request, detail)));
    case Fault::own_certificate:
      return with(ErrorKind::denied, request, "our client certificate or its key cannot be used; both must be PEM, the key without a password",
                  detail);
    case Fault::authorities:
      return with(ErrorKind::denied, request, "the certificate authorities to trust cannot be read; they must be PEM", detail);
    case Fault::tls:
      return with(ErrorKind::unavailable, request, "no TLS connection", detail);
    case Fault::unwanted:
      return with(ErrorKind::internal, request, "the rest of the answer was not wanted");
    case Fault::defect:
      return with(ErrorKind::internal, request, "the request cannot be made", detail);
    case Fault::other:
      break;
  }
  return with(ErrorKind::unavailable, request, "the exchange failed", detail);
}

}  // namespace trainstep::http
