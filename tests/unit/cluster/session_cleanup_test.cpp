// The end of a step whose job was cancelled while its pod still wrote to the store.
// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include "cluster/session.h"
#include "staging/written_objects.h"
#include "support/catch.h"
#include "unit/cluster/session_support.h"
#include "unit/kube/harness.h"
#include "unit/objectstore/fake_store.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using objectstore::test::FakeStore;
using objectstore::test::FakeTransport;
using objectstore::test::Reply;

namespace {

// A job that runs until it is deleted, and whose pod lives on for its grace.
struct Cancelled : FakeStore {
  SessionOptions options = test::bucket_options();
  std::optional<Session> session;
  std::optional<std::string> problem;
  Json job_options = Json::object();
  std::string model = "/tmp/trainstep-no-such-model", uri;
  std::string prefix = "jobs/";  // with the job's name, once it is known
  std::optional<Json> job;
  Duration pod_lives = 4s;
  std::function<void()> pod_writes = [] {};                                    // in its last second
  std::function<std::optional<Reply>()> create = [] { return std::nullopt; };  // the answer to one that makes nothing
  Duration takes_effect{};                                                     // so late, and without an answer
  std::function<void()> marked = [] {};                                        // a PATCH has come, which is never answered
  std::function<void()> end = [this] { stop(); };
  Reply own_pod = test::own_pod();
  bool store_away = false, has_data = true, cancelled = true;
  Time stopped, concluded, last_create;
  test::Told log;

  Cancelled() {
    options.environment = {{"AWS_ACCESS_KEY_ID", "key"}, {"AWS_SECRET_ACCESS_KEY", "secret"}};
    options.make_plan = [this](const Facts&, const std::string&) {
      plan::Request request;
      request.train_specification = R"(implementation: {container: {image: i, command: [train]}})";
      if (has_data) {
        request.train_specification =
            "outputs: [{name: model, type: Model}]\nimplementation: {container: {image: i, command: [train, {outputPath: model}]}}";
        request.outputs = {{.name = "model_dir", .path = model, .uri = uri, .type = "", .metadata = Json::object()}};
        request.train_parameters["model"] = "model_dir";
      }
      request.job_options = job_options;
      request.run_id = "run-1";
      return plan::make_plan(request, test::all_kinds);
    };
    fault = [this](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      if (asked.request.url.path.starts_with("/api")) return of_api(asked);
      if (store_away) return Reply::silent();
      return std::nullopt;
    };
  }
  Reply of_api(const FakeTransport::Asked& asked) {
    const auto& path = asked.request.url.path;
    const auto& method = asked.request.method;
    if (path.ends_with("/secrets/training")) return test::bucket_secret();
    if (test::is_of_own_pod(asked)) return own_pod;
    if (path == "/apis/batch/v1") return test::serves_jobs();
    if (method == "POST" && path.ends_with("/jobs")) {
      const auto made = test::made(asked.request.body, "u");
      if (asked.query("dryRun").empty()) {
        last_create = loop.now();
        if (const auto reply = create()) return *reply;
        if (takes_effect > Duration(0)) {
          loop.after(takes_effect, [this, made] { job = made; });
          return Reply::silent();
        }
        job = made;
      }
      return Reply::text(to_text(made), 201);
    }
    if (method == "PATCH") {
      marked();
      return Reply::silent();
    }
    if (method == "DELETE" && job) {
      (*job)["metadata"]["deletionTimestamp"] = "2026-11-21T08:00:00Z";
      loop.after(pod_lives - 1s, [this] { pod_writes(); });
      loop.after(pod_lives, [this] { job.reset(); });
      return Reply::text(to_text(*job));
    }
    if (path.find("/jobs/") != std::string::npos)
      return job ? Reply::text(to_text(*job))
                 : kube::test::refusal(404, "NotFound", "jobs.batch \"" + path.substr(path.rfind('/') + 1) + "\" not found");
    if (!asked.query("watch").empty()) return Reply::silent();
    Json items = Json::array();
    if (path.ends_with("/jobs") && job) items.push_back(*job);
    return test::list_of(items);
  }
  // Exists until the step was stopped and has cleaned up.
  void live() {
    session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{&log});
    session->begin([this](const Session::Done& done) {
      CHECK((done.outcome.verdict.verdict_class == result::VerdictClass::cancelled) == cancelled);
      session->conclude(done.outcome.verdict, [this](const std::string& what) {
        problem = what;
        concluded = loop.now();
      });
    });
    loop.run(15s);  // a store that is away is waited for 10 s
    REQUIRE(job);
    prefix += (*job)["metadata"]["name"].get<std::string>();
    end();
    loop.run(2h);
    REQUIRE(problem);
  }
  void stop() {
    stopped = loop.now();
    session->request_stop(SIGTERM);
  }
  void put(const std::string& key, const std::string& content, const std::string& mark = "") {
    objects[key] = content;
    marks[key] = mark;
  }
};

}  // namespace

TEST_CASE_METHOD(Cancelled, "objects that a cancelled job's pod still writes below the prefix are removed") {
  pod_writes = [this] {
    put(prefix + "/outputs/model_dir/weights", "w");
    put(prefix + "/outputs/model_dir.objects.json", "{}");
    put(prefix + "/finished.json", "{}");
  };
  live();
  CHECK(problem->empty());
  CHECK(objects.empty());
}

TEST_CASE_METHOD(Cancelled, "the data of a job is kept if the next attempt may exist, whose job has the same name") {
  options.facts = test::facts_in_pod();
  bool stays = true;
  SECTION("its pod is gone") { own_pod = kube::test::absent("step-1"); }
  SECTION("its pod is there") { stays = false; }
  pod_writes = [this] { put(prefix + "/outputs/model_dir/weights", "w"); };
  live();
  CHECK(problem->empty());
  CHECK(objects.empty() != stays);
}

TEST_CASE_METHOD(Cancelled, "objects that a cancelled job's pod still delivers elsewhere are removed, and no others") {
  uri = "s3://bkt/run/model";
  options.wants_stores = false;
  options.facts->stores =
      "minio:\n  default: {endpoint: \"store:9000\", disableSSL: true, forcePathStyle: true, credentials: {fromEnv: true}}\n"
      "s3:\n  default: {endpoint: \"http://store:9000\", disableSSL: true, forcePathStyle: true, region: us-east-1, "
      "credentials: {fromEnv: true}}\n";
  options.configuration_secrets.clear();
  prefix = "run/.trainstep/";
  put("run/model/notes", "of others");
  put("run/model/replaced", "before");
  const auto before = etag("before");
  pod_writes = [this, before] {
    put("run/model/weights", "w", "job.1");
    put("run/model/taken", "since, by others", "another");
    put(prefix + "/outputs.json", R"({"mark": "job.1", "outputs": [{"uri": "s3://bkt/run/model", "objects": [["weights", ""], ["taken", ""],
                                     ["replaced", ")" +
                                      before + R"("], ["never", ""]]}]})");
    upload_keys["u"] = "run/model/never";
    uploads["u"][1] = "part";
    if (GENERATE(false, true)) put(prefix + "/finished.json", "{}");
  };
  SECTION("as far as can be") {
    live();
    CHECK(problem->empty());
    CHECK(objects == std::map<std::string, std::string>{
                         {"run/model/notes", "of others"}, {"run/model/replaced", "before"}, {"run/model/taken", "since, by others"}});
    CHECK(uploads.empty());
  }
  SECTION("an output that cannot be reverted keeps its list") {
    const auto others = fault;
    fault = [others](const FakeTransport::Asked& asked) {
      return asked.line() == "DELETE /bkt/run/model/weights" ? std::optional(refusal(403, "AccessDenied")) : others(asked);
    };
    live();
    CHECK_THAT(*problem, Contains("cannot remove the job's data") && Contains("AccessDenied"));
    CHECK(objects.contains("run/model/weights"));
    CHECK(objects.contains(prefix + "/outputs.json"));
  }
}

TEST_CASE_METHOD(Cancelled, "the checkpoints of a cancelled job stay, and nothing else does") {
  job_options = {{"checkpoint_dir", "/saved"}};
  pod_writes = [this] {
    for (const auto* name : {"/checkpoints/.trainstep/sets/1", "/inputs/data/a", "/inputs/data.objects.json", "/outputs/model_dir/weights",
                             "/outputs.json", "/finished.json"})
      put(prefix + name, "x");
  };
  live();
  CHECK(problem->empty());
  CHECK(objects.size() == 1);
  CHECK(objects.contains(prefix + "/checkpoints/.trainstep/sets/1"));
}

TEST_CASE_METHOD(Cancelled, "a cancelled step ends within its grace period, others need not, and the leftovers are reported") {
  options.facts->grace = 20s;
  SECTION("the pod") {
    pod_lives = 1h;
    live();
    CHECK_THAT(*problem, Contains("waiting for its pods"));
  }
  SECTION("the store") {
    store_away = true;
    live();
    CHECK_THAT(*problem, Contains("no time left to remove the data of the job") && Contains("s3://bkt/" + prefix));
  }
  CHECK(concluded - stopped < 20s);
}

TEST_CASE_METHOD(Cancelled, "a step stopped while it records the job's end finishes within its grace period") {
  options.facts->grace = 20s;
  job_options = {{"cleanup", "never"}};
  has_data = cancelled = false;
  end = [this] { (*job)["status"]["conditions"] = {{{"type", "Failed"}, {"status", "True"}, {"reason", "BackoffLimitExceeded"}}}; };
  marked = [this] { loop.after(1s, [this] { stop(); }); };
  live();
  CHECK_THAT(*problem, Contains("not be marked as done"));
  CHECK(concluded - stopped < 20s);
}

TEST_CASE_METHOD(Cancelled, "a step whose server takes no changes says what it waits for, and ends") {
  job_options = {{"cleanup", "never"}};
  has_data = cancelled = false;
  end = [this] { (*job)["status"]["conditions"] = {{{"type", "Failed"}, {"status", "True"}, {"reason", "BackoffLimitExceeded"}}}; };
  live();
  CHECK_THAT(*problem, Contains("the job could not be marked as done: no answer for 15 min"));
  CHECK(log.count("waiting for the API server to mark the job as done") == 1);
}

TEST_CASE_METHOD(Cancelled, "while the reason of a stop is determined no job is created, even if a create would now be accepted") {
  options.facts = test::facts_in_pod();
  has_data = false;
  create = [this]() -> std::optional<Reply> {
    if (stopped == Time{} || loop.now() - stopped < 3s) return kube::test::refusal(503, "ServiceUnavailable", "not ready");
    return std::nullopt;
  };
  std::optional<result::Verdict> verdict;
  session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{});
  session->begin([&](const Session::Done& done) { verdict = done.outcome.verdict; });
  loop.run(1s);
  REQUIRE(last_create != Time{});
  stop();
  loop.run(1h);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::cancelled);
  CHECK(last_create <= stopped);
  CHECK_FALSE(job);
}

TEST_CASE_METHOD(Cancelled, "a pending create that may still create a job is reported before SIGKILL") {
  options.pod.name = "step-1";
  options.pod.name_space = "team";
  own_pod = Reply::text(to_text(Json{
      {"metadata", {{"name", "step-1"}, {"uid", "p-1"}}}, {"spec", {{"terminationGracePeriodSeconds", 10}}}, {"status", {{"phase", "Running"}}}}));
  has_data = false;
  test::Told story;
  create = [] { return Reply::silent(); };
  std::optional<Time> ended;
  session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{&story});
  session->begin([&](const Session::Done&) { ended = loop.now(); });
  loop.run(2s);
  stop();
  loop.run(1h);
  REQUIRE(ended);
  CHECK(*ended - stopped < 10s);
  CHECK_THAT(story.text, Contains("a create request got no response; a job of this run may still appear"));
}

TEST_CASE_METHOD(Cancelled, "a job that appears late is deleted, and nothing else is reported about it") {
  options.pod.name = "step-1";
  options.pod.name_space = "team";
  own_pod = Reply::text(to_text(Json{
      {"metadata", {{"name", "step-1"}, {"uid", "p-1"}}}, {"spec", {{"terminationGracePeriodSeconds", 30}}}, {"status", {{"phase", "Running"}}}}));
  has_data = false;
  takes_effect = 6s;
  const bool once = GENERATE(true, false);
  int creates = 0;
  create = [&]() -> std::optional<Reply> {
    if (once || ++creates > 1) return std::nullopt;
    return Reply::text("<html>gateway time-out</html>", 504);
  };
  test::Told story;
  std::optional<Time> ended;
  session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{&story});
  session->begin([&](const Session::Done&) { ended = loop.now(); });
  loop.run(2s);
  stop();
  loop.run(1h);
  REQUIRE(ended);
  CAPTURE(story.text);
  CHECK_FALSE(job);
  CHECK_THAT(story.text, Contains("the job is deleted"));
  CHECK_THAT(story.text, !Contains("may still exist"));
  // Of two creates the other one may come as well.
  CHECK((*ended - stopped < 20s) == once);
  CHECK((story.text.find("a job of this run may still appear") == std::string::npos) == once);
}
