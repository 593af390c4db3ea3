// A client before a scripted server, on virtual time.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kube/client.h"
#include "support/fake_transport.h"

namespace trainstep::kube::test {

using namespace std::chrono_literals;
using trainstep::test::FakeTransport;
using trainstep::test::Piece;
using trainstep::test::Reply;
using trainstep::test::VirtualLoop;

// "token-1", and after each refusal the next one.
class CountingTokens : public TokenSource {
 public:
  Result<std::string> token(Time /*now*/) override {
    if (problem) return *problem;
    return "token-" + std::to_string(number);
  }
  void refused() override { ++number; }
  int number = 1;
  std::optional<Error> problem;
};

struct Harness {
  VirtualLoop loop;
  FakeTransport server{loop};
  CountingTokens* tokens = nullptr;
  std::unique_ptr<Client> client;

  explicit Harness(std::uint64_t seed = 1) {
    auto credentials = std::make_shared<Credentials>();
    auto source = std::make_unique<CountingTokens>();
    tokens = source.get();
    credentials->server = {"https", "api", 6443, "/base", {}};
    credentials->token = std::move(source);
    credentials->name_space = "ns";
    credentials->description = "in-cluster";
    client = std::make_unique<Client>(loop, server, std::move(credentials), seed);
  }
};

inline std::string status_text(int code, const std::string& reason, const std::string& message, Json details = {}) {
  Json status{{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"}, {"message", message}, {"reason", reason}, {"code", code}};
  if (!details.is_null()) status["details"] = std::move(details);
  return to_text(status);
}

inline Reply refusal(int code, const std::string& reason, const std::string& message, Json details = {}) {
  return Reply::text(status_text(code, reason, message, std::move(details)), code);
}

// An object of which only its name matters.
inline Reply named(const std::string& name) { return Reply::text(to_text({{"metadata", {{"name", name}}}})); }

// As the API server tells that there is no such object; a gateway in front of it; the API server, of a path that it does not serve.
inline Reply absent(const std::string& name) {
  return refusal(404, "NotFound", "jobs.batch \"" + name + "\" not found", {{"name", name}, {"group", "batch"}, {"kind", "jobs"}});
}
inline Reply gateways_404() { return Reply::text("<html><body>default backend - 404</body></html>", 404); }
inline Reply no_such_path() { return refusal(404, "NotFound", "the server could not find the requested resource", Json::object()); }

}  // namespace trainstep::kube::test
