// A step that is told to end before it knows anything.
// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "cluster/session.h"
#include "support/catch.h"
#include "unit/cluster/session_support.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;
using trainstep::kube::test::refusal;
using trainstep::test::FakeTransport;
using trainstep::test::Reply;
using trainstep::test::VirtualLoop;

namespace {

// A step in a pod of a Workflow; an earlier attempt's job runs. The API server is `troubled` for a while, and answers as it should afterwards.
struct Starting {
  VirtualLoop loop;
  FakeTransport server{loop};
  test::Told told;
  std::unique_ptr<Session> session;
  std::optional<result::Verdict> verdict;
  std::optional<Time> ended;
  Reply trouble = Reply::silent();
  Duration until{0};
  std::string away = "/";  // what the trouble is with
  std::string single;      // a claim
  SessionOptions options;
  Time began = loop.now();
  bool deleted = false, exists = true;

  Starting() {
    server.serve([this](const FakeTransport::Asked& asked) {
      if (asked.at - began < until && asked.request.url.path.find(away) != std::string::npos) return trouble;
      return answer(asked);
    });
  }
  Reply answer(const FakeTransport::Asked& asked) {
    const auto& path = asked.request.url.path;
    const auto name = path.substr(path.rfind('/') + 1);
    if (path.ends_with("/pods/step-1"))
      return Reply::text(to_text(
          Json{{"metadata",
                {{"name", "step-1"},
                 {"namespace", "team"},
                 {"uid", "p-1"},
                 {"creationTimestamp", "2026-03-01T10:00:00Z"},
                 {"annotations", {{"workflows.argoproj.io/node-name", "wf(0)"}}},
                 {"ownerReferences", Json::array({{{"apiVersion", "argoproj.io/v1alpha1"}, {"kind", "Workflow"}, {"name", "wf"}, {"uid", "w"}}})}}},
               {"status", {{"phase", "Running"}}}}));
    if (path.ends_with("/secrets/training")) return test::bucket_secret();
    if (path.ends_with("/persistentvolumeclaims/single")) return Reply::text(single);
    if (path.find("/jobs/") != std::string::npos && asked.request.method == "DELETE") deleted = true;
    if (path.find("/jobs/") != std::string::npos && !exists) return kube::test::absent(name);
    if (path.find("/jobs/") != std::string::npos)
      return Reply::text(to_text(Json{{"metadata",
                                       {{"name", name},
                                        {"uid", "u"},
                                        {"labels", {{"app.kubernetes.io/managed-by", "trainstep"}, {"trainstep.dev/run", "run-1"}}},
                                        {"annotations", {{"trainstep.dev/spec-hash", plan()->spec_hash}}}}}}));
    if (path.ends_with("/workflows/wf"))
      return Reply::text(
          to_text(Json{{"metadata", {{"name", "wf"}, {"uid", "w"}}}, {"spec", {{"shutdown", "Terminate"}}}, {"status", {{"phase", "Running"}}}}));
    return refusal(403, "Forbidden", "no");
  }
  static Result<plan::Plan> plan() {
    plan::Request request;
    request.run_id = "run-1";
    request.train_specification = "implementation: {container: {image: i, command: [train]}}";
    return plan::make_plan(request, job_types::traits());
  }
  void begin() {
    options.name_space = "team";
    options.seed = 1;
    options.pod.name = "step-1";
    if (!options.make_plan) options.make_plan = [](const Facts&, const std::string&) { return plan(); };
    session = std::make_unique<Session>(loop, server, test::credentials(), std::move(options), std::vector<run::Listener*>{&told});
    session->begin([this](const Session::Done& done) {
      verdict = done.outcome.verdict;
      ended = loop.now();
    });
  }
  void stop_at(Duration time, int signal) {
    loop.after(time, [this, signal] { session->request_stop(signal); });
  }
};

}  // namespace

TEST_CASE_METHOD(Starting, "a signal is handled while the own pod is requested: the job is deleted once the API server responds") {
  trouble = GENERATE(Reply::silent(), Reply::lost(), refusal(500, "InternalError", "etcdserver: request timed out"), Reply::text("not ready", 503));
  until = 14s;
  begin();
  stop_at(6s, GENERATE(SIGTERM, SIGINT));
  loop.run(25s);
  CHECK(deleted);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::cancelled);
  CHECK(*ended - began < 25s);
}

TEST_CASE_METHOD(Starting, "unknown outcomes are reported a second before the end of the grace period") {
  trouble = GENERATE(Reply::silent(), Reply::lost(), refusal(500, "InternalError", "etcdserver: request timed out"), Reply::text("not ready", 503));
  until = 1h;
  begin();
  stop_at(6s, SIGTERM);
  loop.run(40s);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::cancelled);
  CHECK(verdict->signal == SIGTERM);
  CHECK(verdict->message == "a job of an earlier attempt may still exist; its run is unknown, see trainstep list");
  CHECK(*ended - began == 35s);
}

TEST_CASE_METHOD(Starting, "an API server that refuses the first question is named within seconds, and once") {
  trouble = refusal(500, "InternalError", "etcdserver: request timed out");
  until = 40s;
  begin();
  loop.run(5s);
  CHECK(told.count("the API server returned 500 (get pods/step-1: etcdserver: request timed out") == 1);
  loop.run(100s);
  CHECK(told.count("the API server returned 500") == 1);
  CHECK(told.count("the API server is responding again") == 1);
}

TEST_CASE_METHOD(Starting, "a job is looked for in time also where a Secret is awaited when the signal comes") {
  options.configuration_secrets = {"training"};
  away = "/secrets/";
  trouble = GENERATE(Reply::silent(), Reply::lost(), Reply::text("not ready", 503));
  until = 14s;
  begin();
  stop_at(6s, GENERATE(SIGTERM, SIGINT));
  loop.run(25s);
  CHECK(deleted);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::cancelled);
}

TEST_CASE_METHOD(Starting, "a job is looked for at once where a claim's access mode is awaited when the signal comes") {
  options.make_plan = [](const Facts&, const std::string&) {
    auto planned = plan();
    planned->pvc_name = "data";
    return planned;
  };
  away = "/persistentvolumeclaims/";
  until = 1h;
  begin();
  stop_at(6s, GENERATE(SIGTERM, SIGINT));
  loop.run(25s);
  CHECK(deleted);
  REQUIRE(ended);
  CHECK(*ended - began < 10s);
}

TEST_CASE_METHOD(Starting, "a job is ended also where one of its claims would be refused by now") {
  options.make_plan = [](const Facts&, const std::string&) {
    auto planned = plan();
    planned->distribution.indexed = true;
    planned->distribution.workers = 2;
    planned->pvc_name = "data";
    planned->options.all.volumes = Json::array({{{"mount_path", "/a"}, {"claim", "single"}}});
    return planned;
  };
  away = "/persistentvolumeclaims/data";
  until = 1h;
  single = R"({"metadata": {"name": "single"}, "spec": {"accessModes": ["ReadWriteOncePod"]}})";
  begin();
  stop_at(6s, SIGTERM);
  loop.run(25s);
  CHECK(deleted);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::cancelled);
}

TEST_CASE_METHOD(Starting, "for a job of a known run that could not be looked up, the command that deletes it is printed") {
  options.configuration_secrets = {"training"};
  away = "/secrets/";
  exists = false;  // in this cluster
  until = 1h;
  begin();
  stop_at(6s, SIGTERM);
  loop.run(40s);
  REQUIRE(verdict);
  CHECK(verdict->message == "a job of an earlier attempt may still exist: trainstep stop run-1");
  CHECK(*ended - began == 35s);
}

TEST_CASE_METHOD(Starting, "a step whose run id is an input finds its job without its own pod") {
  options.run_id = "run-1";
  away = "/pods";
  trouble = GENERATE(Reply::silent(), Reply::text("not ready", 503));
  until = 1h;
  begin();
  stop_at(6s, SIGTERM);
  loop.run(35s);
  CHECK(deleted);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::cancelled);
}

TEST_CASE_METHOD(Starting, "determining the reason of a late signal takes only part of the remaining time") {
  away = "/pods";
  until = 29s;
  begin();
  stop_at(6s, SIGTERM);
  loop.run(36s);
  CHECK(deleted);
}
