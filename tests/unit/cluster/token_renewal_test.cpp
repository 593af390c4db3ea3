// SPDX-License-Identifier: Apache-2.0
#include "cluster/token_renewal.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "data/digest.h"
#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;
using Catch::Matchers::Contains;

namespace {

constexpr auto path = "/api/v1/namespaces/training/serviceaccounts/gpu/token";

// The token of a Secret, of the service account training/gpu.
struct Renewal {
  Harness h;
  std::unique_ptr<kube::Client> remote;
  SecretToken* source = nullptr;
  std::unique_ptr<TokenRenewal> renewal;
  std::string log;
  Reply answer;                     // to a TokenRequest
  std::vector<Time> asked;          // when there was one
  std::vector<std::string> tokens;  // with which

  std::string jwt(Duration life, const std::string& subject = "system:serviceaccount:training:gpu") const {
    const auto ends = std::chrono::duration_cast<std::chrono::seconds>((h.loop.now() + life).time_since_epoch()).count();
    auto payload = encode_base64(to_text(Json{{"exp", ends}, {"sub", subject}}));
    payload.erase(std::min(payload.find('='), payload.size()));
    return "e30." + payload + ".c2lnbmF0dXJl";
  }
  void begin(const std::string& token) {
    const auto say = [this](const std::string& line) { log += line + "\n"; };
    kube::Credentials first;
    first.server = {"https", "remote", 6443, "", {}};
    first.token = kube::fixed_token(token);
    auto credentials = std::make_shared<kube::Credentials>();
    credentials->server = first.server;
    credentials->description = "https://remote:6443";
    auto made = std::make_unique<SecretToken>(*h.client, kube::Path{"v1", "secrets", "ns", "gpu", ""}, first, say);
    source = made.get();
    credentials->token = std::move(made);
    remote = std::make_unique<kube::Client>(h.loop, h.server, std::move(credentials), 1);
    h.server.serve([this](const FakeTransport::Asked& request) {
      if (request.request.url.path != path) return Reply::silent();
      asked.push_back(request.at);
      tokens.push_back(request.header("Authorization"));
      return answer;
    });
    renewal = std::make_unique<TokenRenewal>(TokenRenewal::Context{*remote, *source, "gpu", say});
  }
  [[nodiscard]] Reply issued(const std::string& token, Duration life) const {
    return Reply::text(to_text(Json{{"status", {{"token", token}, {"expirationTimestamp", to_rfc3339(h.loop.now() + life)}}}}), 201);
  }
};

}  // namespace

TEST_CASE_METHOD(Renewal, "a token that expires within the hour is renewed at once, and then whenever a fifth of its life is left") {
  answer = issued("new", 1h);
  const auto began = h.loop.now();
  const auto old = jwt(10min);
  begin(old);
  h.loop.run(1min);
  CHECK(asked.size() == 1);
  CHECK(source->token(h.loop.now()).value_or("") == "new");
  CHECK(log == "https://remote:6443 has issued a new token for training/gpu: valid for 1 h 00 min, and renewed before it expires\n");
  answer = issued("newer", 2h);
  h.loop.run(1h);
  REQUIRE(asked.size() == 2);
  CHECK(asked[1] - began > 47min);
  CHECK(asked[1] - began < 49min);
  CHECK(tokens == std::vector<std::string>{"Bearer " + old, "Bearer new"});
  CHECK(source->token(h.loop.now()).value_or("") == "newer");
  CHECK(std::ranges::count(log, '\n') == 1);
}

TEST_CASE_METHOD(Renewal, "a new token that would expire earlier than the present one is not used") {
  answer = issued("new", 1min);
  const auto before = jwt(30min);
  begin(before);
  h.loop.run(10min);
  CHECK(asked.size() == 1);
  CHECK(source->token(h.loop.now()).value_or("") == before);
  CHECK(log.empty());
  answer = issued("newer", 1h);
  h.loop.run(28min);
  CHECK(asked.size() == 2);
  CHECK(source->token(h.loop.now()).value_or("") == "newer");
}

TEST_CASE_METHOD(Renewal, "a new token that is refused gives way to the one before it, and then the Secret is read") {
  answer = issued("new", 1h);
  const auto before = jwt(30min);
  begin(before);
  const auto pass = [this](Duration time) {
    const auto timer = h.loop.timer(time, [] {});
    h.loop.run(time);
  };
  pass(1min);
  REQUIRE(source->token(h.loop.now()).value_or("") == "new");
  source->refused();
  CHECK(source->ready(h.loop.now()));
  CHECK(source->token(h.loop.now()).value_or("") == before);
  source->refused();
  CHECK(!source->ready(h.loop.now()));  // until the Secret is read
  pass(20s);
  source->refused();  // the request that was refused had been sent before
  CHECK(source->token(h.loop.now()).value_or("") == "new");
}

TEST_CASE_METHOD(Renewal, "a token with a long life is renewed late, one without an end or of another user never") {
  const auto [life, subject, requests] = GENERATE(table<Duration, std::string, std::size_t>({
      {10h, "system:serviceaccount:training:gpu", 1},
      {10h, "system:serviceaccount:training", 0},
      {10h, "alice", 0},
  }));
  answer = issued("new", 100h);
  begin(jwt(life, subject));
  const auto began = h.loop.now();
  h.loop.run(9h);
  REQUIRE(asked.size() == requests);
  if (requests > 0) CHECK((asked[0] - began > 7h + 50min && asked[0] - began < 8h + 10min));
}

TEST_CASE_METHOD(Renewal, "a token that is not a JSON web token is left as it is") {
  begin("opaque");
  h.loop.run(24h);
  CHECK(asked.empty());
  CHECK(log.empty());
}

TEST_CASE_METHOD(Renewal, "without the permission to renew it the end of a token is reported, once") {
  answer = refusal(403, "Forbidden", "serviceaccounts \"gpu\" is forbidden: no right");
  begin(jwt(30min));
  h.loop.run(2h);
  CHECK(asked.size() == 1);
  CHECK_THAT(log, Contains("Secret gpu: the token for https://remote:6443 expires in ") && Contains("and cannot be renewed: ") &&
                      Contains("is forbidden") && Contains("; put a new one into the Secret"));
  CHECK(std::ranges::count(log, '\n') == 1);
}

TEST_CASE_METHOD(Renewal, "a server that is away is asked again for a new token") {
  answer = Reply::lost();
  begin(jwt(30min));
  h.loop.run(5min);
  answer = issued("new", 1h);
  h.loop.run(3min);
  CHECK(source->token(h.loop.now()).value_or("") == "new");
}

TEST_CASE_METHOD(Renewal, "an answer without a usable token changes nothing") {
  answer = GENERATE(Reply::text("{}", 201), Reply::text(R"({"status": {"token": 7}})", 201), Reply::text(R"({"status": {"token": "a b"}})", 201));
  const auto before = jwt(30min);
  begin(before);
  h.loop.run(10min);
  CHECK(source->token(h.loop.now()).value_or("") == before);
  CHECK_THAT(log, Contains("cannot be renewed: the answer to a TokenRequest is "));
}

TEST_CASE_METHOD(Renewal, "a server that grants a minute is not asked in a busy loop") {
  answer = issued("new", 1min);
  begin(jwt(30min));
  h.loop.run(1h);
  CHECK(asked.size() <= 61);
}
