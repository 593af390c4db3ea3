// SPDX-License-Identifier: Apache-2.0
#include "objectstore/remote_credentials.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "data/json.h"
#include "data/xml.h"

namespace trainstep::objectstore {
namespace {

constexpr Duration early{300'000};  // credentials are renewed this long before they expire
constexpr Duration answer_limit{10'000};
constexpr Duration next_try{500};
constexpr int max_tries = 4;
constexpr std::size_t max_token_size = 65'536;

struct Temporary {
  Credentials keys;
  Time until;
};

// How to query a service and to parse its response.
struct Service {
  std::string what;                            // for messages
  std::function<Result<http::Request>()> ask;  // called for each query: tokens are rotated
  std::function<Result<Temporary>(const std::string& body)> read;
};

class Remote : public CredentialsProvider {
 public:
  Remote(Loop& loop, http::Transport& transport, Service service) : m_loop(loop), m_transport(transport), m_service(std::move(service)) {}
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;
  ~Remote() override { m_transport.cancel(m_exchange); }

  void ask(Done done) override {
    if (m_known && m_loop.now() < m_known->until - early) return done(m_known->keys);
    m_waiting.push_back(std::move(done));
    if (m_waiting.size() > 1) return;
    m_tries = 0;
    fetch();
  }
  // If several requests with the same credentials are in progress, the first one that is rejected triggers the renewal.
  void refused(const Credentials& keys) override {
    if (m_known && m_known->keys == keys) m_known.reset();
  }

 private:
  void fetch() {
    ++m_tries;
    auto request = m_service.ask();
    if (!request) return tell(in_context(m_service.what, std::move(request.error())));
    request->limit = answer_limit;
    m_exchange = m_transport.start(std::move(*request), {.head = {}, .data = {}, .done = [this](auto response) { answered(std::move(response)); }});
  }

  void answered(Result<http::Response> response) {
    m_exchange = 0;
    auto read = response ? read_from(*response) : Result<Temporary>(std::move(response.error()));
    const bool passing = !response || (!read && read.error().kind == ErrorKind::unavailable);
    if (passing && m_tries < max_tries) {
      m_pause = m_loop.timer(next_try * m_tries, [this] { fetch(); });
      return;
    }
    if (!read) return tell(in_context(m_service.what, std::move(read.error())));
    m_known = std::move(*read);
    tell(m_known->keys);
  }

  // A page of another server, such as a proxy, is not a response of the service: retried.
  [[nodiscard]] Result<Temporary> read_from(const http::Response& response) const {
    const auto status = response.status;
    const auto kind = status / 100 == 2 || status == 429 || status >= 500 ? ErrorKind::unavailable : ErrorKind::denied;
    if (status / 100 != 2) return Error{kind, fmt::format("the service answered {}", status)};
    auto read = m_service.read(response.body);
    if (!read) read.error().kind = kind;
    return read;
  }

  void tell(const Result<Credentials>& keys) {
    for (const auto& done : std::exchange(m_waiting, {})) done(keys);
  }

  Loop& m_loop;
  http::Transport& m_transport;
  Service m_service;
  std::optional<Temporary> m_known;
  std::vector<Done> m_waiting;
  http::Transport::Id m_exchange = 0;
  Timer m_pause;
  int m_tries = 0;
};

constexpr auto no_keys =
    "no credentials for the object store: the environment has neither AWS_ACCESS_KEY_ID nor a web identity nor container credentials, and no Secret "
    "is configured";

class Nothing : public CredentialsProvider {
 public:
  void ask(Done done) override { done(input_error(no_keys)); }
};

Error unreadable(std::string_view what) { return {ErrorKind::unavailable, fmt::format("an answer without {}", what)}; }

Result<Temporary> temporary(std::string_view access_key, std::string_view secret_key, std::string_view token, std::string_view until) {
  if (access_key.empty() || secret_key.empty()) return unreadable("keys");
  const auto end = from_rfc3339(until);
  if (!end) return unreadable("an expiration time");
  return Temporary{{std::string(access_key), std::string(secret_key), std::string(token)}, *end};
}

Result<Temporary> read_container(const std::string& body) {
  ASSIGN(const auto json, parse_json(body, "the answer"));
  const auto text = [&](const char* key) {
    const auto* value = json.is_object() ? find(json, key) : nullptr;
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
  };
  return temporary(text("AccessKeyId"), text("SecretAccessKey"), text("Token"), text("Expiration"));
}

Result<Temporary> read_role(const std::string& body) {
  ASSIGN(const auto root, parse_xml(body));
  const auto* result = root.child("AssumeRoleWithWebIdentityResult");
  const auto* found = result == nullptr ? nullptr : result->child("Credentials");
  if (found == nullptr) return unreadable("keys");
  return temporary(found->text_of("AccessKeyId"), found->text_of("SecretAccessKey"), found->text_of("SessionToken"), found->text_of("Expiration"));
}

using Environment = std::map<std::string, std::string>;

std::string value(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

// STS in the region of the pod, from its environment; the store may be elsewhere.
Service role_service(const Environment& environment, std::string_view default_region) {
  const auto given = value(environment, "AWS_ENDPOINT_URL_STS");
  auto region = value(environment, "AWS_REGION");
  if (region.empty()) region = value(environment, "AWS_DEFAULT_REGION");
  if (region.empty()) region = default_region;
  const auto address = given.empty() ? fmt::format("https://sts.{}.amazonaws.com/", region) : given;
  const auto session = value(environment, "AWS_ROLE_SESSION_NAME");
  auto ask = [address, role = value(environment, "AWS_ROLE_ARN"), session = session.empty() ? "trainstep" : session,
              file = value(environment, "AWS_WEB_IDENTITY_TOKEN_FILE")]() -> Result<http::Request> {
    if (role.empty()) return input_error("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
    http::Request request;
    request.method = "POST";
    ASSIGN(request.url, http::Url::parse(address));
    ASSIGN(const auto token, read_file(file, max_token_size));
    request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
    // In the body, because URLs end up in logs.
    request.body = fmt::format("Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn={}&RoleSessionName={}&WebIdentityToken={}",
                               http::percent_encoded(role), http::percent_encoded(session), http::percent_encoded(trim(token)));
    return request;
  };
  return {"credentials for AWS_ROLE_ARN", std::move(ask), read_role};
}

Service container_service(const Environment& environment) {
  const auto relative = value(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const auto address = relative.empty() ? value(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI") : "http://169.254.170.2" + relative;
  const auto direct = std::make_shared<http::Endpoint>();
  direct->direct = true;  // it is local; a proxy would see the token
  auto ask = [address, direct, token = value(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN"),
              file = value(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")]() -> Result<http::Request> {
    http::Request request;
    ASSIGN(request.url, http::Url::parse(address));
    request.endpoint = direct;
    auto authorization = token;
    if (!file.empty()) {
      ASSIGN(const auto read, read_file(file, max_token_size));
      authorization = trim(read);
    }
    if (!authorization.empty()) request.headers = {{"Authorization", authorization}};
    return request;
  };
  return {"credentials for this container", std::move(ask), read_container};
}

bool names_role(const Environment& environment) { return !value(environment, "AWS_WEB_IDENTITY_TOKEN_FILE").empty(); }

bool names_container(const Environment& environment) {
  return !value(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").empty() || !value(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI").empty();
}

}  // namespace

std::shared_ptr<CredentialsProvider> keys_of(Loop& loop, http::Transport& transport, const Environment& environment, std::string_view region) {
  if (std::shared_ptr<CredentialsProvider> own = credentials_in_environment(environment)) return own;
  if (names_role(environment)) return std::make_shared<Remote>(loop, transport, role_service(environment, region));
  if (names_container(environment)) return std::make_shared<Remote>(loop, transport, container_service(environment));
  return std::make_shared<Nothing>();
}

Result<void> check_keys(const Environment& environment) {
  if (credentials_in_environment(environment) || names_role(environment) || names_container(environment)) return {};
  return Error{ErrorKind::denied, no_keys};
}

}  // namespace trainstep::objectstore
