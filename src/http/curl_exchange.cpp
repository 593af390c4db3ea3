// SPDX-License-Identifier: Apache-2.0
#include "http/curl_exchange.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "http/process_environment.h"

namespace trainstep::http {
namespace {

// Maps all codes of libcurl; those not listed here are worth a retry.
Fault fault_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return Fault::name;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
      return Fault::proxy;
    case CURLE_COULDNT_CONNECT:
    case CURLE_INTERFACE_FAILED:
      return Fault::connection;
    case CURLE_OPERATION_TIMEDOUT:  // no other time-out is set in libcurl
      return Fault::connect_limit;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_FAIL_REWIND:
    case CURLE_SSL_SHUTDOWN_FAILED:
      return Fault::cut;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      return Fault::untrusted;
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CLIENTCERT:
      return Fault::own_certificate;
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
      return Fault::authorities;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_USE_SSL_FAILED:
      return Fault::tls;
    case CURLE_FAILED_INIT:
    case CURLE_URL_MALFORMAT:
    case CURLE_NOT_BUILT_IN:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_WRITE_ERROR:
    case CURLE_READ_ERROR:
    case CURLE_ABORTED_BY_CALLBACK:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_UNKNOWN_OPTION:
    case CURLE_SETOPT_OPTION_SYNTAX:
    case CURLE_RECURSIVE_API_CALL:
    case CURLE_FUNCTION_NOT_FOUND:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
      return Fault::defect;
    default:
      return Fault::other;
  }
}

// Sets the options of one easy handle and keeps the first error.
class Options {
 public:
  explicit Options(CURL* easy) : m_easy(easy) {}
  template <typename T>
  void set(CURLoption option, T value) {
    if (m_problem == CURLE_OK) m_problem = curl_easy_setopt(m_easy, option, value);
  }
  // `text` must outlive the handle and stay in place: it is not copied.
  void set_blob(CURLoption option, const std::string& text) {
    if (text.empty()) return;
    curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
    set(option, &blob);
  }
  void append(CurlList& list, const std::string& line) {
    curl_slist* longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) m_problem = CURLE_OUT_OF_MEMORY;
    if (longer == nullptr || list) return;  // the head of the list is unchanged
    list.reset(longer);
  }
  [[nodiscard]] CURLcode problem() const { return m_problem; }

 private:
  CURL* m_easy;
  CURLcode m_problem = CURLE_OK;
};

// In libcurl's syntax, "Name;" is a header without a value, and "Name:" removes one of its own.
void set_headers(Options& options, Exchange& exchange, bool other_name) {
  bool agent = false;
  bool host = false;
  bool type = false;
  for (const auto& [name, value] : exchange.request.headers) {
    options.append(exchange.headers, value.empty() ? name + ';' : name + ": " + value);
    agent |= lower(name) == "user-agent";
    host |= lower(name) == "host";
    type |= lower(name) == "content-type";
  }
  if (!agent) options.append(exchange.headers, "User-Agent: trainstep/" TRAINSTEP_VERSION);
  if (!type) options.append(exchange.headers, "Content-Type:");
  if (!host && other_name) options.append(exchange.headers, "Host: " + place_of(exchange.request.url));
  options.append(exchange.headers, "Expect:");
  options.set(CURLOPT_HTTPHEADER, exchange.headers.get());
}

void set_method(Options& options, const Request& request) {
  const bool sends = !request.body.empty() || request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (request.method == "HEAD") {
    options.set(CURLOPT_NOBODY, 1L);
  } else if (sends) {
    options.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    options.set(CURLOPT_POSTFIELDS, request.body.c_str());
  } else {
    options.set(CURLOPT_HTTPGET, 1L);
  }
  if (request.method != "HEAD") options.set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  // When a reused connection closes without a response, libcurl repeats the request by itself. A POST may have created something: the lost response
  // must be reported.
  if (request.method == "POST") options.set(CURLOPT_FRESH_CONNECT, 1L);
}

// A server name that differs from the host goes into the URL, from which certificate check and SNI take it; the address to connect to is set
// separately.
void set_address(Options& options, Exchange& exchange, const Endpoint& endpoint, bool other_name) {
  const auto& url = exchange.request.url;
  const auto& route = exchange.route;
  options.set(CURLOPT_PROTOCOLS_STR, "http,https");
  options.set(CURLOPT_PROXY, route.proxy.c_str());
  options.set(CURLOPT_NOPROXY, "");
  options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  options.set(CURLOPT_PATH_AS_IS, 1L);
  auto shown = url;
  if (other_name) {
    shown.host = endpoint.server_name;
    options.append(exchange.connect_to, "::" + place_of(url));
    options.set(CURLOPT_CONNECT_TO, exchange.connect_to.get());
  }
  options.set(CURLOPT_URL, shown.text().c_str());
  if (exchange.addresses.empty()) return;
  options.append(exchange.resolved, route.host + ':' + std::to_string(route.port) + ":[" + join(exchange.addresses, "],[") + ']');
  options.set(CURLOPT_RESOLVE, exchange.resolved.get());
}

void set_tls(Options& options, const Endpoint& endpoint) {
  const auto bundle = system_certificates(process_environment());
  const char* system = bundle ? bundle->c_str() : nullptr;
  options.set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  options.set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // otherwise Debian's libcurl also trusts the system's certificates
  options.set(CURLOPT_CAINFO, endpoint.ca_pem.empty() ? system : nullptr);
  options.set_blob(CURLOPT_CAINFO_BLOB, endpoint.ca_pem);
  options.set(CURLOPT_PROXY_CAPATH, static_cast<const char*>(nullptr));
  options.set(CURLOPT_PROXY_CAINFO, system);
  options.set_blob(CURLOPT_SSLCERT_BLOB, endpoint.certificate_pem);
  options.set_blob(CURLOPT_SSLKEY_BLOB, endpoint.key_pem);
  options.set(CURLOPT_KEYPASSWD, "");  // otherwise OpenSSL prompts for the password of an encrypted key
  options.set(CURLOPT_SSL_VERIFYPEER, endpoint.verify ? 1L : 0L);
  options.set(CURLOPT_SSL_VERIFYHOST, endpoint.verify ? 2L : 0L);
}

void set_connection(Options& options, const Request& request) {
  options.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  options.set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::max<Duration::rep>(request.connect_limit.count(), 1)));
  options.set(CURLOPT_NOSIGNAL, 1L);
  options.set(CURLOPT_BUFFERSIZE, static_cast<long>(request.buffer));
  options.set(CURLOPT_MAXAGE_CONN, 600L);  // the kernel's keep-alive probes detect whether an older one is still alive
  options.set(CURLOPT_TCP_KEEPALIVE, 1L);
  options.set(CURLOPT_TCP_KEEPIDLE, 30L);
  options.set(CURLOPT_TCP_KEEPINTVL, 10L);
}

bool has_line_break(const Request& request) {
  for (const auto& [name, value] : request.headers)
    if ((name + value).find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) return true;
  return false;
}

void heard(Exchange& exchange) {
  exchange.heard = std::chrono::steady_clock::now();
  ++exchange.incoming.pieces;
}

std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* userdata) {
  auto& exchange = *static_cast<Exchange*>(userdata);
  try {
    heard(exchange);
    if (exchange.reader.header_line({bytes, size * count}) && exchange.handler.head)
      exchange.incoming.events.push_back({exchange.id, Event::What::head, {}});
    return size * count;
  } catch (...) {  // out of memory; an exception must not cross libcurl
    exchange.broken_off = Fault::defect;
    return 0;
  }
}

std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* userdata) {
  auto& exchange = *static_cast<Exchange*>(userdata);
  try {
    heard(exchange);
    if (exchange.held) return CURL_WRITEFUNC_PAUSE;  // delivered again when the exchange resumes
    const std::string_view piece(bytes, size * count);
    switch (exchange.reader.body(piece)) {
      case ResponseReader::Piece::taken:
        break;
      case ResponseReader::Piece::too_large:
        exchange.broken_off = Fault::too_large;
        return CURL_WRITEFUNC_ERROR;
      case ResponseReader::Piece::caller:
        if (exchange.handler.sink) {
          if (exchange.handler.sink(exchange.reader.head(), piece)) break;
          exchange.broken_off = Fault::unwanted;
          return CURL_WRITEFUNC_ERROR;
        }
        auto& events = exchange.incoming.events;
        const bool goes_on = !events.empty() && events.back().id == exchange.id && events.back().what == Event::What::data;
        if (!goes_on) events.push_back({exchange.id, Event::What::data, {}});
        events.back().bytes += piece;
    }
    return piece.size();
  } catch (...) {
    exchange.broken_off = Fault::defect;
    return CURL_WRITEFUNC_ERROR;
  }
}

}  // namespace

const Endpoint& endpoint_of(const Request& request) {
  static const Endpoint defaults;
  return request.endpoint ? *request.endpoint : defaults;
}

CURLcode open(Exchange& exchange) {
  const auto& request = exchange.request;
  const auto& endpoint = endpoint_of(request);
  const bool other_name = request.url.scheme == "https" && !endpoint.server_name.empty() && endpoint.server_name != request.url.host;
  if (has_line_break(request)) {
    std::strcpy(exchange.error_text.data(), "a header contains a line break");
    return CURLE_BAD_FUNCTION_ARGUMENT;
  }
  exchange.easy.reset(curl_easy_init());
  if (!exchange.easy) return CURLE_FAILED_INIT;
  Options options(exchange.easy.get());
  set_connection(options, request);
  set_address(options, exchange, endpoint, other_name);
  set_tls(options, endpoint);
  set_method(options, request);
  set_headers(options, exchange, other_name);
  options.set(CURLOPT_PRIVATE, static_cast<void*>(&exchange));
  options.set(CURLOPT_ERRORBUFFER, exchange.error_text.data());
  options.set(CURLOPT_HEADERFUNCTION, &on_header);
  options.set(CURLOPT_HEADERDATA, static_cast<void*>(&exchange));
  options.set(CURLOPT_WRITEFUNCTION, &on_body);
  options.set(CURLOPT_WRITEDATA, static_cast<void*>(&exchange));
  return options.problem();
}

Error error_of(const Exchange& exchange, CURLcode code) {
  if (exchange.broken_off) return failure(*exchange.broken_off, exchange.request, {});
  std::string detail = exchange.error_text.front() != '\0' ? exchange.error_text.data() : curl_easy_strerror(code);
  auto fault = fault_of(code);
  if (fault == Fault::connection && !exchange.route.proxy.empty()) fault = Fault::proxy;
  if (fault == Fault::cut && detail.starts_with("CONNECT tunnel")) fault = Fault::proxy;
  long number = 0;
  if (fault == Fault::connection && curl_easy_getinfo(exchange.easy.get(), CURLINFO_OS_ERRNO, &number) == CURLE_OK && number != 0)
    detail = std::strerror(static_cast<int>(number));
  return failure(fault, exchange.request, std::move(detail));
}

}  // namespace trainstep::http
