// A job in another cluster, whose clock is not that of the step's.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <ctime>

#include "cluster/session.h"
#include "data/digest.h"
#include "job_types/job_type.h"
#include "job_types/object.h"
#include "plan/plan.h"
#include "support/catch.h"
#include "unit/cluster/session_support.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

Result<plan::Plan> plan(const Facts&, const std::string& name_space) {
  plan::Request request;
  request.run_id = "run-1";
  request.name_space = name_space;
  request.train_specification = R"({"image": "i", "command": ["t"]})";
  request.job_options = {{"limits", {{"total", "20m"}}}};
  return plan::make_plan(request, job_types::traits());
}

// An attempt that finds a job which has run for ten seconds, by the clock of its cluster, `ahead` of the step's own.
struct Behind {
  Harness h;
  Duration ahead{0};
  std::unique_ptr<Session> session;
  std::optional<result::Verdict> verdict;
  std::vector<std::string> sent;  // changes of the job
  trainstep::test::Told told;
  std::string host = "https://remote", token = "t";  // in the Secret
  std::string accepted = "Bearer t";                 // by the other cluster
  std::vector<Time> readings;                        // of the Secret
  bool readable = true;

  [[nodiscard]] Reply dated(Reply reply, Duration clock) const {
    const auto time = std::chrono::system_clock::to_time_t(h.loop.now() + clock);
    char text[64];
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&time));
    reply.headers.push_back({"Date", text});
    return reply;
  }
  [[nodiscard]] Json job(Time made) const {
    const auto its = *plan({}, "there");
    Json object = {{"apiVersion", "batch/v1"}, {"kind", "Job"}};
    object["metadata"] = {{"name", its.job_name}, {"uid", "u"}, {"resourceVersion", "5"}, {"creationTimestamp", to_rfc3339(made)}};
    object["metadata"]["labels"] = {{"app.kubernetes.io/managed-by", "trainstep"}, {"trainstep.dev/run", its.run_id}};
    object["metadata"]["annotations"] = {{std::string(job_types::spec_hash_annotation), its.spec_hash}, {"trainstep.dev/created-by", "before"}};
    object["status"] = {{"startTime", to_rfc3339(made)}, {"active", 1}, {"ready", 1}};
    return object;
  }
  Reply of_home(const FakeTransport::Asked& asked) {
    const auto& path = asked.request.url.path;
    if (!path.ends_with("/secrets/other")) return Reply::silent();
    readings.push_back(h.loop.now());
    if (!readable) return refusal(403, "Forbidden", "no");
    return trainstep::test::secret("other", {{"remote-host", host}, {"remote-token", token}, {"remote-namespace", "there"}});
  }
  Reply of_remote(const FakeTransport::Asked& asked, const Json& job) {
    const auto& path = asked.request.url.path;
    const auto is_token = [](const auto& header) { return header.name == "Authorization"; };
    const auto with = std::ranges::find_if(asked.request.headers, is_token);
    if (with == asked.request.headers.end() || with->value != accepted) return Reply::text("Unauthorized", 401);
    if (path.ends_with("/apis/batch/v1")) return Reply::text(R"({"kind": "APIResourceList", "resources": [{"name": "jobs"}]})");
    if (asked.query("watch") == "true") return Reply{.end = Reply::End::open};
    if (path.ends_with("/jobs"))
      return Reply::text(to_text({{"kind", "JobList"}, {"metadata", {{"resourceVersion", "5"}}}, {"items", Json::array({job})}}));
    if (path.ends_with("/pods") || path.ends_with("/events"))
      return Reply::text(to_text({{"kind", "List"}, {"metadata", {{"resourceVersion", "5"}}}, {"items", Json::array()}}));
    if (asked.request.method != "GET") sent.push_back(asked.request.method);
    return Reply::text(to_text(job));
  }
  void live() {
    const auto found = job(h.loop.now() + ahead - 10s);
    h.server.serve([this, found](const FakeTransport::Asked& asked) {
      return asked.request.url.host == "remote" ? dated(of_remote(asked, found), ahead) : dated(of_home(asked), Duration{0});
    });
    auto credentials = std::make_shared<kube::Credentials>();
    credentials->server = {"https", "api", 6443, "", {}};
    credentials->token = std::make_unique<CountingTokens>();
    SessionOptions options;
    options.name_space = "here";
    options.seed = 7;
    options.facts.emplace();
    options.facts->written = h.loop.now();  // our pod, by the clock of its cluster
    options.configuration_secrets = {"other"};
    options.make_plan = plan;
    session = std::make_unique<Session>(h.loop, h.server, std::move(credentials), std::move(options), std::vector<run::Listener*>{&told});
    session->begin([this](Session::Done done) { verdict = done.outcome.verdict; });
    h.loop.run(5min);
  }
};

}  // namespace

TEST_CASE_METHOD(Behind, "the limits of a job in another cluster are by that cluster's clock") {
  ahead = GENERATE(0min, -30min, -3h, 3h);
  live();
  CHECK_FALSE(verdict);
  CHECK(sent == std::vector<std::string>{"PATCH"});  // who follows it
  h.loop.run(30min);
  CHECK(verdict.has_value());
  CHECK(std::ranges::find(sent, "DELETE") != sent.end());
}

TEST_CASE_METHOD(Behind, "a token of another cluster that is renewed in its Secret is read again when the old one is refused") {
  live();
  REQUIRE(readings.size() == 1);
  accepted = "Bearer new";
  token = "new";
  h.loop.run(30min);
  REQUIRE(verdict);
  CHECK(std::ranges::find(sent, "DELETE") != sent.end());
  INFO(told.text);
  CHECK(readings.size() == 2);
  CHECK(told.count("https://remote does not accept the token of Secret other; using its new one") == 1);
}

TEST_CASE_METHOD(Behind, "a Secret whose token is refused is read again and again, but not often") {
  const auto why = GENERATE("put a new one into the Secret", "cannot be reread: ", "now names another server: https://elsewhere");
  live();
  accepted = "Bearer new";
  readable = std::string_view(why) != "cannot be reread: ";
  if (std::string_view(why).starts_with("now names")) host = "https://elsewhere", token = "new";
  h.loop.run(11min);
  REQUIRE(readings.size() > 2);
  for (std::size_t i = 1; i < readings.size(); ++i) CHECK(readings[i] - readings[i - 1] >= 10s);
  INFO(told.text);
  CHECK(told.count(why) == 1);
  readable = true;
  host = "https://remote";
  token = "new";
  h.loop.run(30min);
  CHECK(verdict.has_value());
  CHECK(std::ranges::find(sent, "DELETE") != sent.end());
}

TEST_CASE_METHOD(Behind, "a token of another cluster that expires within a day is reported, with the remaining time") {
  const auto [life, said] = GENERATE(table<Duration, std::string>({
      {2h, "Secret other: the token for https://remote expires in 2 h 00 min; put a new one into the Secret"},
      {-2h, "Secret other: the token for https://remote has expired at "},
      {25h, ""},
  }));
  const auto ends = std::chrono::duration_cast<std::chrono::seconds>((h.loop.now() + life).time_since_epoch()).count();
  const auto claims = to_text(Json{{"exp", ends}});
  auto payload = encode_base64(claims);
  payload.erase(std::min(payload.find('='), payload.size()));
  token = "e30." + payload + ".c2lnbmF0dXJl";
  accepted = "Bearer " + token;
  live();
  INFO(told.text);
  CHECK_FALSE(verdict);
  CHECK(told.count("the token for ") == (said.empty() ? 0 : 1));
  CHECK(told.count(said) >= 1);
}
