// What a step finds out of another cluster before it stages anything for its job there.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "unit/cluster/store_step.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using kube::test::absent;
using objectstore::test::FakeTransport;
using test::Reply;

namespace {

// Its job is to be in another cluster, its input goes through a bucket.
struct Burst : test::StoreStep {
  std::optional<Reply> remote;  // the answer of the other API server to everything
  std::string at;               // … or only to what ends with this
  std::optional<Time> since;    // the end came
  Time began;

  Burst() {
    options.seed = 1;
    configured({{"minio-url", "http://store:9000"},
                {"minio-bucket", "bkt"},
                {"minio-job-folder", "jobs"},
                {"minio-accesskey", "key"},
                {"minio-secretkey", "secret"},
                {"remote-host", "https://remote"},
                {"remote-token", "t"},
                {"remote-namespace", "there"}});
    trouble = [this](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      const auto& path = asked.request.url.path;
      if (remote && asked.request.url.host == "remote" && path.ends_with(at)) return remote;
      if (path.ends_with("/resourcequotas")) return test::list_of(Json::array());
      const bool jobs = path.ends_with("/jobs");
      if (asked.request.method != "GET" || !(jobs || path.ends_with("/pods") || path.ends_with("/events"))) return std::nullopt;
      if (asked.query("watch") == "true") return Reply{.end = Reply::End::open};
      return test::list_of(jobs && created ? Json::array({*created}) : Json::array());
    };
  }
  void live(Duration time = 15s) {
    ++options.seed;
    verdict.reset();
    told.text.clear();
    began = loop.now();
    session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{&told});
    session->begin([this](const Session::Done& done) {
      verdict = done.outcome.verdict;
      since = loop.now();
    });
    loop.run(time);
  }
  void refused(const std::string& why) {
    INFO(told.text);
    REQUIRE(verdict);
    CHECK_THAT(verdict->message, Contains(why));
    CHECK((verdict->verdict_class == result::VerdictClass::input || verdict->verdict_class == result::VerdictClass::system));
    CHECK(*since - began <= 5s);
    CHECK(objects.empty());
    CHECK(owned.empty());
  }
};

}  // namespace

TEST_CASE_METHOD(Burst, "a step that may do all that it has to in another cluster stages its inputs and creates the job there") {
  live();
  INFO(told.text);
  CHECK_FALSE(verdict);
  CHECK(created);
  CHECK_FALSE(objects.empty());
}

TEST_CASE_METHOD(Burst, "a permission that is missing in another cluster is reported with its Role before anything is staged") {
  SECTION("one verb") {
    lacking = {"remote create secrets"};
    live();
    refused("cluster_configuration_secret: https://remote: no permission to create secrets in namespace there of https://remote");
    CHECK(told.count("# Missing permissions in namespace there (https://remote)") == 1);
    CHECK(told.count("\nkind: Role\n") == 1);
  }
  SECTION("on both sides") {
    lacking = {"remote create jobs", "remote delete jobs", "api get pods", "remote list events"};
    live();
    refused("no permission to get pods in namespace team of ");
    CHECK_THAT(verdict->message, Contains("no permission to create, delete jobs.batch in namespace there of https://remote"));
    CHECK(verdict->message.find("events") == std::string::npos);
    CHECK(told.count("\nkind: Role\n") == 2);
  }
}

TEST_CASE_METHOD(Burst, "a permission that a starting API server does not know yet is asked for again") {
  const auto before = trouble;
  lacking = {"remote create jobs"};
  trouble = [this, before](const FakeTransport::Asked& asked) {
    if (asked.at - began > 500ms) lacking.clear();
    return before(asked);
  };
  live();
  CHECK(created);
}

TEST_CASE_METHOD(Burst, "another cluster that cannot be used ends the step within five seconds, with nothing staged") {
  SECTION("an address where nothing responds") {
    remote = GENERATE(Reply::silent(), Reply::lost());
    live();
    refused("cluster_configuration_secret: Secret training: ");
    CHECK_THAT(verdict->message, Contains("if this is not the first attempt, its job may still exist there"));
  }
  SECTION("a Secret that may not be read") {
    trouble = [](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      if (asked.request.url.path.find("/secrets/") == std::string::npos) return std::nullopt;
      return kube::test::refusal(403, "Forbidden", "secrets \"training\" is forbidden: no right");
    };
    live();
    refused("is forbidden");
  }
  SECTION("a token that is not accepted") {
    remote = Reply::text("Unauthorized", 401);
    live();
    refused("put a valid token into the Secret");
  }
  SECTION("an address of another server") {
    remote = GENERATE(Reply::text("<html>not found</html>", 404), Reply::text("<html>welcome</html>"));
    live();
    refused("is this the address of an API server?");
  }
  SECTION("a namespace that is not there") {
    const auto before = trouble;
    trouble = [before](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      if (asked.request.method != "POST" || !asked.request.url.path.ends_with("/jobs")) return before(asked);
      return kube::test::refusal(404, "NotFound", "namespaces \"there\" not found", {{"name", "there"}, {"kind", "namespaces"}});
    };
    live();
    refused("namespaces \"there\" not found");
  }
}

TEST_CASE_METHOD(Burst, "silence of another cluster decides nothing for a later attempt, whose job may be there") {
  live();
  REQUIRE(created);
  const auto before = trouble;
  trouble = [this, before](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (!asked.request.url.path.ends_with("/pods/step-1")) return before(asked);
    auto pod = own_pod();
    pod["metadata"]["annotations"]["workflows.argoproj.io/node-name"] = "wf(0).train(1)";
    return Reply::text(to_text(pod));
  };
  remote = Reply::lost();
  live(60s);
  CHECK_FALSE(verdict);
  remote.reset();
  loop.run(60s);
  CHECK(told.count("a job of this run exists; its inputs are kept") == 1);
}

TEST_CASE_METHOD(Burst, "a later attempt whose token is not accepted says what to do") {
  const auto before = trouble;
  trouble = [this, before](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (!asked.request.url.path.ends_with("/pods/step-1")) return before(asked);
    auto pod = own_pod();
    pod["metadata"]["annotations"]["workflows.argoproj.io/node-name"] = "wf(0).train(1)";
    return Reply::text(to_text(pod));
  };
  remote = Reply::text("Unauthorized", 401);
  live(10min);
  REQUIRE(verdict);
  CHECK_THAT(verdict->message, Contains("put a valid token into the Secret"));
}

TEST_CASE_METHOD(Burst, "a job that is there already is followed whatever permissions are missing now") {
  live();
  REQUIRE(created);
  lacking = {"remote create jobs"};
  live();
  CHECK_FALSE(verdict);
  CHECK(told.count("adopted Job") == 1);
}
