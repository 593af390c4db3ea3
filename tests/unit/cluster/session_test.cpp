// A step in a cluster as a whole: here its end, when there is data of the job in a bucket.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/session.h"

#include <memory>
#include <optional>
#include <string>

#include "job_types/job_type.h"
#include "kube/token_source.h"
#include "support/catch.h"
#include "unit/kube/harness.h"
#include "unit/staging/store_of_pod.h"

using namespace trainstep;
using namespace trainstep::cluster;
using Catch::Matchers::Contains;
using trainstep::test::FakeTransport;
using trainstep::test::Reply;

namespace {

const char* const configuration = R"(
minio:
  default: {endpoint: "store:9000", region: minio, disableSSL: true, forcePathStyle: true, credentials: {fromEnv: true}}
)";

// A job with an output in a bucket, with an API server that rejects every create; `there`: one of an earlier attempt.
struct Refused : staging::test::StoreOfPod {
  std::unique_ptr<Session> session;
  std::optional<result::Verdict> verdict;
  std::string job;    // its name
  std::string there;  // what its name leads to, in an answer

  Refused() {
    transport.serve([this](const FakeTransport::Asked& asked) {
      if (asked.request.url.path.find("/namespaces/team-a/jobs/") != std::string::npos)
        return there.empty() ? kube::test::refusal(404, "NotFound", "no such job") : Reply::text(there);
      if (asked.request.url.host == "api") return kube::test::refusal(403, "Forbidden", "no");
      if (fault)
        if (auto reply = fault(asked)) return *reply;
      return answer(asked);
    });
  }

  static Result<plan::Plan> plan(const Json& options) {
    plan::Request request;
    request.run_id = "run-1";
    request.train_specification = R"(
outputs: [{name: model, type: Model}]
implementation:
  container: {image: i, command: [t, {outputPath: model}]}
)";
    request.train_parameters = {{"model", "model_dir"}};
    request.outputs = {{.name = "model_dir", .path = "/minio/b/model", .uri = "minio://bkt/run/model", .type = "", .metadata = Json::object()}};
    request.job_options = options;
    return plan::make_plan(request, job_types::traits());
  }

  // Lives through the step up to its verdict; what an attempt has left lies below the job's prefix.
  void live(const Json& job_options = Json::object()) {
    auto credentials = std::make_shared<kube::Credentials>();
    credentials->server = {"https", "api", 6443, "", {}};
    credentials->token = kube::fixed_token("t");
    SessionOptions options;
    options.name_space = "team-a";
    options.where = "in-cluster";
    options.seed = 1;
    options.facts.emplace();
    options.facts->image = "trainstep:1";
    options.facts->stores = configuration;
    options.environment = {{"AWS_ACCESS_KEY_ID", "key"}, {"AWS_SECRET_ACCESS_KEY", "secret"}};
    options.make_plan = [job_options](const Facts&, const std::string&) { return plan(job_options); };
    session = std::make_unique<Session>(loop, transport, std::move(credentials), std::move(options), std::vector<run::Listener*>{});
    session->begin([this](Session::Done done) {
      verdict = done.outcome.verdict;
      REQUIRE(done.plan);
      job = done.plan->job_name;
    });
    loop.run();
    REQUIRE(verdict);
    REQUIRE(verdict->verdict_class != result::VerdictClass::succeeded);
    objects[data()] = "{}";
    objects["run/model/weights"] = "w";
  }
  [[nodiscard]] std::string data() const { return "run/.trainstep/" + job + "/finished.json"; }

  // → what could not be done
  std::string conclude() {
    std::optional<std::string> problem;
    session->conclude(*verdict, [&](std::string found) { problem = std::move(found); });
    loop.run();
    REQUIRE(problem);
    return *problem;
  }
};

}  // namespace

TEST_CASE_METHOD(Refused, "at the end of a step the data of its job is removed, silently if that succeeds") {
  live();
  CHECK(conclude().empty());
  CHECK_FALSE(objects.contains(data()));
  CHECK(objects.contains("run/model/weights"));
}

TEST_CASE_METHOD(Refused, "the data of a job that an earlier attempt has left running stays") {
  live();
  there = to_text(
      {{"metadata", {{"name", job}, {"uid", "u"}, {"labels", {{"app.kubernetes.io/managed-by", "trainstep"}, {"trainstep.dev/run", "run-1"}}}}}});
  CHECK(conclude().empty());
  CHECK(objects.contains(data()));
}

TEST_CASE_METHOD(Refused, "data of a job that could not be removed is reported with the store's reason") {
  live();
  refuse("DELETE", 403, "AccessDenied");
  CHECK_THAT(conclude(), Contains("cannot remove the job's data: ") && Contains("AccessDenied"));
  CHECK(objects.contains(data()));
}

TEST_CASE_METHOD(Refused, "with cleanup: never the data of a job stays") {
  live({{"cleanup", "never"}});
  CHECK(conclude().empty());
  CHECK(objects.contains(data()));
}
