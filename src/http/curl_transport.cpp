// SPDX-License-Identifier: Apache-2.0
#include "http/curl_transport.h"

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>
#include <utility>

#include "base/text.h"
#include "http/failure.h"
#include "http/response_reader.h"
#include "http/surroundings.h"

namespace trainstep::http {
namespace {

using Clock = std::chrono::steady_clock;  // what is measured here must not mind that somebody sets the clock

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;
using List = std::unique_ptr<curl_slist, ListDeleter>;

struct Exchange {
  Exchange(Transport::Id id_, Request request_, Transport::Handler handler_)
      : id(id_), request(std::move(request_)), handler(std::move(handler_)), reader(static_cast<bool>(handler.data), request.body_limit) {}
  Transport::Id id;
  Request request;
  Transport::Handler handler;
  ResponseReader reader;
  std::optional<Fault> broken_off;         // why a callback has ended the transfer
  std::optional<Result<Response>> result;  // it is over; what has come is still to be delivered
  Easy easy;
  List headers;
  List connect_to;
  std::array<char, CURL_ERROR_SIZE> error_text{};
  Clock::time_point heard = Clock::now();
  curl_off_t sent = 0;
  std::optional<Loop::TimerId> limit;
  std::optional<Loop::TimerId> silence;
};

// Every code that libcurl can give; what is not named here is worth another try.
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
    case CURLE_OPERATION_TIMEDOUT:  // libcurl is told no other limit
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
    case CURLE_UNSUPPORTED_PROTOCOL:
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

// The options of one easy handle; the first that is refused is kept.
class Options {
 public:
  explicit Options(CURL* easy) : m_easy(easy) {}
  template <typename T>
  void set(CURLoption option, T value) {
    if (m_problem == CURLE_OK) m_problem = curl_easy_setopt(m_easy, option, value);
  }
  // Text that stays where it is as long as the handle lives.
  void set_blob(CURLoption option, const std::string& text) {
    if (text.empty()) return;
    curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
    set(option, &blob);
  }
  void append(List& list, const std::string& line) {
    curl_slist* longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) m_problem = CURLE_OUT_OF_MEMORY;
    if (longer == nullptr || list) return;  // it still begins where it did
    list.reset(longer);
  }
  [[nodiscard]] CURLcode problem() const { return m_problem; }

 private:
  CURL* m_easy;
  CURLcode m_problem = CURLE_OK;
};

// "Name;" is libcurl's way to say a header without a value, "Name:" to leave out one of its own.
void set_headers(Options& options, Exchange& exchange, bool other_name) {
  bool agent = false;
  bool host = false;
  bool type = exchange.request.body.empty();
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
}

// A name to expect instead of the host stands in the URL, where certificate and SNI are taken from; where to connect is said apart.
void set_address(Options& options, Exchange& exchange, const Endpoint& endpoint, bool other_name) {
  const auto& url = exchange.request.url;
  const auto proxy = endpoint.proxy.empty() ? proxy_for(url, process_environment()) : endpoint.proxy;
  options.set(CURLOPT_PROTOCOLS_STR, "http,https");
  options.set(CURLOPT_PROXY, proxy.c_str());
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
}

void set_tls(Options& options, const Endpoint& endpoint) {
  const auto bundle = system_certificates(process_environment());
  const char* system = bundle ? bundle->c_str() : nullptr;
  options.set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  options.set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // else Debian's libcurl trusts the system's beside those given
  options.set(CURLOPT_CAINFO, endpoint.ca_pem.empty() ? system : nullptr);
  options.set_blob(CURLOPT_CAINFO_BLOB, endpoint.ca_pem);
  options.set(CURLOPT_PROXY_CAPATH, static_cast<const char*>(nullptr));
  options.set(CURLOPT_PROXY_CAINFO, system);
  options.set_blob(CURLOPT_SSLCERT_BLOB, endpoint.certificate_pem);
  options.set_blob(CURLOPT_SSLKEY_BLOB, endpoint.key_pem);
  options.set(CURLOPT_KEYPASSWD, "");  // else OpenSSL asks the terminal for the password of a key that has one
  options.set(CURLOPT_SSL_VERIFYPEER, endpoint.verify ? 1L : 0L);
  options.set(CURLOPT_SSL_VERIFYHOST, endpoint.verify ? 2L : 0L);
}

void set_connection(Options& options, const Request& request) {
  options.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  options.set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::max<Duration::rep>(request.connect_limit.count(), 1)));
  options.set(CURLOPT_NOSIGNAL, 1L);
  options.set(CURLOPT_QUICK_EXIT, 1L);  // a name that is being resolved by a thread of Debian's libcurl is not waited for
  options.set(CURLOPT_BUFFERSIZE, 16'384L);
  options.set(CURLOPT_MAXAGE_CONN, 600L);  // whether an older one still lives is asked the kernel, which probes it
  options.set(CURLOPT_TCP_KEEPALIVE, 1L);
  options.set(CURLOPT_TCP_KEEPIDLE, 30L);
  options.set(CURLOPT_TCP_KEEPINTVL, 10L);
}

bool has_line_break(const Request& request) {
  for (const auto& [name, value] : request.headers)
    if ((name + value).find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) return true;
  return false;
}

void initialize_once() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)done;  // if it fails, so does every curl_easy_init
  struct sigaction action {};
  // A connection that the server has closed must be an error, not our end; libcurl leaves that to us (CURLOPT_NOSIGNAL).
  if (::sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) ::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

// libcurl's callbacks only note what has come. Handlers are called when libcurl has returned, because they may start and cancel exchanges, which it
// refuses within its callbacks.
class CurlTransport::Engine : public std::enable_shared_from_this<Engine> {
 public:
  explicit Engine(PollLoop& loop);
  Id start(Request request, Handler handler);
  void cancel(Id id);
  // Nothing happens after it, also when a handler is being called.
  void close();

 private:
  enum class What { head, data, done };
  struct Event {
    Id id;
    What what;
    std::string bytes;
  };

  std::optional<Error> open(Exchange& exchange);
  void look_for_silence(Exchange& exchange);
  void perform(curl_socket_t socket, int ready);
  void collect();
  Result<Response> result_of(Exchange& exchange, CURLcode code);
  void finish(Exchange& exchange, Result<Response> result);
  void release(Exchange& exchange);
  void note(Id id, What what, std::string_view bytes = {});
  void deliver();
  static void deliver(Exchange& exchange, const Event& event);

  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* engine, void* assigned);
  static int on_timer(CURLM* multi, long timeout_ms, void* engine);
  static std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* exchange);
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* exchange);

  PollLoop& m_loop;
  CURLM* m_multi;
  std::map<Id, std::shared_ptr<Exchange>> m_exchanges;
  std::deque<Event> m_events;
  std::optional<Loop::TimerId> m_timer;
  Id m_next = 1;
  bool m_delivering = false;
};
