// Who attaches sees what may be seen, and changes nothing, whatever goes wrong.
#include "cluster/attach.h"

#include <algorithm>

#include "cluster/jobs.h"
#include "support/catch.h"
#include "support/pods.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;
using Catch::Matchers::Contains;

namespace {

Json job_object(const std::string& condition = "") {
  Json object = Json::parse(R"({"apiVersion": "batch/v1", "kind": "Job",
      "metadata": {"name": "digits-1", "namespace": "ns", "uid": "u", "resourceVersion": "5", "creationTimestamp": "2026-11-21T08:00:00Z",
                   "labels": {"trainstep.dev/run": "r", "app.kubernetes.io/managed-by": "trainstep"},
                   "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "wf", "uid": "w"}]},
      "spec": {"template": {"spec": {"containers": [{"name": "proxy"}, {"name": "train"}]}}}, "status": {"active": 1}})");
  if (condition == "Complete") object["status"] = {{"succeeded", 1}};
  if (!condition.empty()) object["status"]["conditions"] = Json::array({{{"type", condition}, {"status", "True"}}});
  return object;
}

Json pod_object(Json status) {
  auto pod = trainstep::test::pod("digits-1-x", "p", std::move(status), "node-1");
  pod["metadata"]["labels"] = {{"batch.kubernetes.io/job-name", "digits-1"}};
  pod["metadata"]["ownerReferences"] = Json::array({{{"kind", "Job"}, {"name", "digits-1"}, {"uid", "u"}, {"controller", true}}});
  return pod;
}

Reply list_of(const std::vector<Json>& items) {
  return Reply::text(to_text(Json{{"kind", "List"}, {"apiVersion", "v1"}, {"metadata", {{"resourceVersion", "9"}}}, {"items", items}}));
}

Reply forbidden(const std::string& what) { return refusal(403, "Forbidden", what + R"( is forbidden: User "me" cannot do that)"); }

struct Visit : run::Listener {
  VirtualLoop loop;
  FakeTransport server{loop};
  std::function<Reply(const FakeTransport::Asked&)> jobs, pods, events, log;
  Json job = job_object();
  std::vector<std::string> said, printed;
  std::optional<result::Verdict> verdict;
  std::vector<result::MetricSeries> series;
  std::size_t outputs = 0;
  std::unique_ptr<Attachment> attachment;

  Visit() {
    jobs = [this](const FakeTransport::Asked& request) {
      if (request.query("watch") == "true") return Reply{.end = Reply::End::open};
      return request.request.url.path.ends_with("digits-1") ? Reply::text(to_text(job)) : list_of({job});
    };
    pods = [](const FakeTransport::Asked& request) {
      return request.query("watch") == "true" ? Reply{.end = Reply::End::open} : list_of({pod_object(trainstep::test::runs())});
    };
    events = [](const FakeTransport::Asked& request) { return request.query("watch") == "true" ? Reply{.end = Reply::End::open} : list_of({}); };
    log = [](const FakeTransport::Asked&) { return Reply::text("2026-11-21T08:00:06Z loss=1\n"); };
    server.serve([this](const FakeTransport::Asked& request) {
      const auto& path = request.request.url.path;
      if (path.ends_with("/log")) return log(request);
      if (path.find("/jobs") != std::string::npos) return jobs(request);
      return path.find("/pods") != std::string::npos ? pods(request) : events(request);
    });
  }

  void begin() {
    auto credentials = std::make_shared<kube::Credentials>();
    credentials->server = {"https", "api", 6443, "/base", {}};
    credentials->token = std::make_unique<CountingTokens>();
    credentials->name_space = "ns";
    const Submitted submitted{job_types::find("Job").resources.front(), job, true};
    attachment = std::make_unique<Attachment>(loop, server, std::move(credentials), Place{"ns", "here", 1}, *plan_of(submitted), submitted,
                                              std::vector<run::Listener*>{this});
    attachment->begin([this](const Session::Done& done) {
      verdict = done.outcome.verdict;
      series = done.outcome.series;
      outputs = done.outcome.outputs.size();
    });
  }
  void info(Time /*at*/, const std::string& text) override { said.push_back(text); }
  void output(Time /*at*/, const std::string& member, std::string_view lines) override { printed.push_back(member + ": " + std::string(lines)); }
  std::ptrdiff_t times(const std::string& words) const {
    return std::ranges::count_if(said, [&](const std::string& line) { return line.find(words) != std::string::npos; });
  }
  std::vector<std::string> written() const {
    std::vector<std::string> lines;
    for (const auto& asked : server.asked())
      if (asked.request.method != "GET") lines.push_back(asked.line());
    return lines;
  }
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(Visit, "attach never writes and has no limits, whatever fails") {
  std::string word;
  SECTION("pods may not be listed") {
    pods = [](const FakeTransport::Asked&) { return forbidden("pods"); };
    word = "no permission to list its pods";
  }
  SECTION("pods may not be watched") {
    pods = [](const FakeTransport::Asked& request) {
      return request.query("watch") == "true" ? forbidden("pods") : list_of({pod_object(trainstep::test::runs())});
    };
    word = "no permission to list its pods";
  }
  SECTION("the image cannot be pulled") {
    pods = [](const FakeTransport::Asked& request) {
      const Json state = trainstep::test::waiting("ImagePullBackOff", "not found");
      return request.query("watch") == "true"
                 ? Reply{.end = Reply::End::open}
                 : list_of({pod_object(trainstep::test::status("Pending", Json::array({trainstep::test::container(state)})))});
    };
    word = "cannot pull the image";
  }
  SECTION("no operator") {
    job.erase("status");
    pods = events;
    word = "no controller has picked up jobs/digits-1 yet";
  }
  SECTION("events may not be read") {
    events = [](const FakeTransport::Asked&) { return forbidden("events"); };
    word = "no permission to read events";
  }
  SECTION("the operator refuses it") {
    pods = events;  // there are none
    events = [](const FakeTransport::Asked& request) {
      const Json event = Json::parse(R"({"metadata": {"name": "e", "resourceVersion": "3"}, "reason": "ValidationError", "message": "no",
                                         "involvedObject": {"kind": "Job", "name": "digits-1", "uid": "u"}})");
      return request.query("watch") == "true" ? Reply{.end = Reply::End::open} : list_of({event});
    };
    word = "rejected by its operator";
  }
  SECTION("a log may not be read") {
    log = [](const FakeTransport::Asked&) { return forbidden("pods/log"); };
    word = "log of digits-1-x";
  }
  SECTION("nothing goes wrong") { word = "adopted"; }
  begin();
  loop.run(24h);
  CAPTURE(word, said);
  CHECK(written() == Words{});
  CHECK_FALSE(verdict);
  CHECK(times(word) == 1);
}

TEST_CASE_METHOD(Visit, "where the job itself may not be watched attach ends, and leaves it") {
  jobs = [](const FakeTransport::Asked&) { return forbidden("jobs"); };
  begin();
  loop.run(24h);
  REQUIRE(verdict);
  CHECK(result::exit_code(*verdict) == 3);
  CHECK_THAT(verdict->message, Contains("; leaving it unchanged"));
  CHECK(written() == Words{});
}

TEST_CASE_METHOD(Visit, "the program's log is shown, not that of a container that a webhook has put before it") {
  pods = [](const FakeTransport::Asked& request) {
    auto status = trainstep::test::runs();
    auto& containers = status["containerStatuses"];
    containers.insert(containers.begin(), trainstep::test::container(trainstep::test::running(), 0, Json::object(), "aaa-proxy"));
    return request.query("watch") == "true" ? Reply{.end = Reply::End::open} : list_of({pod_object(status)});
  };
  begin();
  loop.run(10s);
  const auto& asked = server.asked();
  const auto log_request = std::ranges::find_if(asked, [](const auto& one) { return one.request.url.path.ends_with("/log"); });
  REQUIRE(log_request != asked.end());
  CHECK(log_request->query("container") == "train");
  REQUIRE_FALSE(printed.empty());
  CHECK(printed.front() == "main: loss=1\n");
}

TEST_CASE_METHOD(Visit, "with permissions on jobs only, attach ends with the job's own status") {
  pods = events = log = [](const FakeTransport::Asked&) { return forbidden("pods"); };
  std::string condition, reported;
  int code = 0;
  SECTION("it has succeeded") { condition = "Complete"; }
  SECTION("it has failed, and why cannot be seen") {
    condition = "Failed";
    code = 3;
    SECTION("but its step has reported the reason") {
      reported = "timeout";
      code = 4;
    }
  }
  jobs = [this, look = jobs, condition, reported](const FakeTransport::Asked& request) {
    if (request.query("watch") != "true") return look(request);
    job = job_object(condition);
    if (!reported.empty()) job["metadata"]["annotations"]["trainstep.dev/outcome"] = reported;
    auto changed = job;
    changed["metadata"]["resourceVersion"] = "10";
    return Reply{.pieces = {{Duration(2min), to_text(Json{{"type", "MODIFIED"}, {"object", changed}}) + "\n"}}, .end = Reply::End::open};
  };
  begin();
  loop.run(1min);
  CHECK_FALSE(verdict);
  loop.run(10min);
  REQUIRE(verdict);
  CHECK(result::exit_code(*verdict) == code);
  CHECK(written() == Words{});
  const auto words = result::describe(*verdict);
  CHECK(words.find("retrying may help") == words.rfind("retrying may help"));
}

TEST_CASE_METHOD(Visit, "curves of event files reported by a pod are shown if the log has none of that name") {
  result::PodReport report;
  report.primary = true;
  report.outputs.push_back({.name = "model", .artifact = true, .present = true, .value = {}, .uri = {}});
  for (const auto* name : {"loss", "lr"}) report.outputs[0].curves.push_back({name, result::MetricSeries::Axis::step, {{1, 8, {}}, {2, 9, {}}}});
  job = job_object("Complete");
  job["metadata"]["annotations"]["trainstep.dev/outcome"] = "succeeded";
  auto status = trainstep::test::succeeded();
  status["containerStatuses"][0]["state"]["terminated"]["message"] = result::to_text(report);
  pods = [status](const FakeTransport::Asked& request) {
    return request.query("watch") == "true" ? Reply{.end = Reply::End::open} : list_of({pod_object(status)});
  };
  begin();
  loop.run(10min);
  REQUIRE(verdict);
  REQUIRE(series.size() == 2);
  CHECK(series[0].name == "loss");
  CHECK(series[0].points.back().value == 1);  // of the log
  CHECK(series[1].name == "lr");
  CHECK(series[1].points.size() == 2);
  CHECK(outputs == 0);
  CHECK(written() == Words{});
}

TEST_CASE_METHOD(Visit, "the outcome reported by a job's step takes precedence over the job's own status") {
  std::string condition, told = "system";
  int code = 3;
  SECTION("the training has succeeded, the step has not") { condition = "Complete"; }
  SECTION("a limit has passed") {
    condition = "Failed";
    told = "timeout";
    code = 4;
  }
  SECTION("both have succeeded") {
    condition = "Complete";
    told = "succeeded";
    code = 0;
  }
  SECTION("a failure class that only a newer release knows") {
    condition = "Complete";
    told = "preempted";
  }
  job = job_object(condition);
  job["metadata"]["annotations"]["trainstep.dev/outcome"] = told;
  begin();
  loop.run(10min);
  REQUIRE(verdict);
  CHECK(result::exit_code(*verdict) == code);
  CHECK(written() == Words{});
}

TEST_CASE_METHOD(Visit, "attach waits a while for the step of a Workflow's job to report its outcome") {
  std::string told;
  bool has_step = true;
  bool goes = false;
  int code = 0;
  Duration at = 10min;
  SECTION("the outputs are not there") {
    told = "system";
    code = 3;
    at = 84s;
  }
  SECTION("it has succeeded, too") {
    told = "succeeded";
    at = 84s;
  }
  SECTION("it deletes the job") {
    goes = true;
    at = 84s;
  }
  SECTION("it reports nothing") { at = 155s; }
  SECTION("no step of a Workflow has made it") {
    has_step = false;
    at = 34s;
  }
  if (!has_step) job["metadata"].erase("ownerReferences");
  const auto start = loop.now();
  const auto run_to = [&](Duration time) { loop.run(std::chrono::duration_cast<Duration>(start + time - loop.now())); };
  pods = events;  // there are none
  jobs = [&, look = jobs](const FakeTransport::Asked& request) {
    if (request.query("watch") != "true") return look(request);
    auto complete = job_object("Complete");
    complete["metadata"]["resourceVersion"] = "10";
    if (!has_step) complete["metadata"].erase("ownerReferences");
    auto later = complete;
    later["metadata"]["resourceVersion"] = "11";
    if (!told.empty()) later["metadata"]["annotations"]["trainstep.dev/outcome"] = told;
    const auto event = [](const char* type, const Json& object) { return to_text(Json{{"type", type}, {"object", object}}) + "\n"; };
    if (loop.now() > start + 10s) return Reply{.end = Reply::End::open};
    return Reply{.pieces = {{Duration(30s), event("MODIFIED", complete)}, {Duration(50s), event(goes ? "DELETED" : "MODIFIED", later)}},
                 .end = Reply::End::open};
  };
  begin();
  run_to(at - 5s);
  CHECK_FALSE(verdict);
  run_to(at);
  REQUIRE(verdict);
  CHECK(result::exit_code(*verdict) == code);
  CHECK(times("has not reported an outcome") == (at == 155s ? 1 : 0));
  CHECK(written() == Words{});
}
