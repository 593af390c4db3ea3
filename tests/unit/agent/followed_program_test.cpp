// What an agent does once no step follows its job.
// SPDX-License-Identifier: Apache-2.0
#include "agent/followed_program.h"

#include <memory>
#include <optional>
#include <string>

#include "kube/token_source.h"
#include "support/catch.h"
#include "unit/objectstore/fake_store.h"

using namespace trainstep;
using namespace trainstep::agent;
using namespace std::chrono_literals;
using objectstore::test::FakeTransport;
using objectstore::test::Reply;
using result::VerdictClass;

namespace {

// Waiting runs virtual time.
class RunningVirtualLoop : public RunningLoop {
 public:
  explicit RunningVirtualLoop(trainstep::test::VirtualLoop& loop) : m_loop(loop) {}
  [[nodiscard]] Time now() const override { return m_loop.now(); }
  TimerId start(Duration delay, std::function<void()> done) override { return m_loop.start(delay, std::move(done)); }
  void cancel(TimerId timer) override { m_loop.cancel(timer); }
  void post(std::function<void()> task) override { m_loop.post(std::move(task)); }
  void run() override {
    m_stopped = false;
    for (int second = 0; second < 3'600 && !m_stopped; ++second) {
      m_loop.start(1s, [] {});
      m_loop.run(1s);
    }
  }
  void stop() override { m_stopped = true; }

 private:
  trainstep::test::VirtualLoop& m_loop;
  bool m_stopped = false;
};

// A pod whose step has put two inputs into the job's prefix, and was seen last when the pod started.
struct Pod : objectstore::test::FakeStore {
  RunningVirtualLoop running{loop};
  plan::Task task;
  Time renewed = loop.now();
  std::string log;
  int stops = 0, kills = 0;
  result::PodReport report;
  std::optional<FollowedProgram> program;

  Pod() {
    task.job = "digits-1";
    task.stores = {{"http://store:9000", "us-east-1", true, "", "", ""}};
    task.lease = {30min, 10s, {"s3://bkt/jobs/digits-1/inputs", 0, ""}};
    objects = {{"jobs/digits-1/inputs/a", "1"}, {"jobs/digits-1/inputs/b/c", "2"}, {"jobs/digits-1/checkpoints/1", "3"}, {"sets/a", "4"}};
    fault = [this](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      if (asked.request.url.host != "api") return std::nullopt;
      const Json spec = {{"renewTime", to_rfc3339(renewed)}, {"leaseDurationSeconds", 1800}};
      return Reply::text(to_text(Json{{"kind", "Lease"}, {"metadata", {{"name", "digits-1"}}}, {"spec", spec}}));
    };
    report.verdict_class = VerdictClass::user;
    report.exit_code = 143;
  }
  void start(bool in_cluster = true) {
    auto credentials = std::make_shared<kube::Credentials>();
    credentials->server = {"http", "api", 80, "", {}};
    credentials->endpoint = std::make_shared<http::Endpoint>();
    credentials->token = kube::fixed_token("t");
    credentials->name_space = "there";
    FollowedProgram::Context context{.loop = running,
                                     .transport = transport,
                                     .environment = {{"AWS_ACCESS_KEY_ID", "key"}, {"AWS_SECRET_ACCESS_KEY", "secret"}},
                                     .seed = 1,
                                     .log = [this](const std::string& line) { log += line + "\n"; },
                                     .stop = [this] { ++stops; },
                                     .kill = [this] { ++kills; }};
    program.emplace(std::move(context), task, in_cluster ? credentials : nullptr, "no service account");
  }
  void live(Duration time) {
    loop.start(time, [] {});
    loop.run(time);
  }
};

}  // namespace

TEST_CASE_METHOD(Pod, "a program that no step follows gets SIGTERM, and SIGKILL after its grace period") {
  start();
  live(29min);
  CHECK(stops == 0);
  live(12min);
  INFO(log);
  CHECK(stops == 1);
  CHECK(kills == 1);
  CHECK(log.find("no step follows this job: its Lease digits-1 was not renewed by ") == 0);
  program->conclude(report);
  CHECK(report.verdict_class == VerdictClass::capacity);
  CHECK(report.exit_code == 5);
  CHECK(report.message.find("no step follows this job") == 0);
}

TEST_CASE_METHOD(Pod, "the inputs of a job that no step follows are removed, and nothing else") {
  start();
  live(42min);
  program->conclude(report);
  CHECK(objects == std::map<std::string, std::string>{{"jobs/digits-1/checkpoints/1", "3"}, {"sets/a", "4"}});
  CHECK(log.find("removed the job's inputs at s3://bkt/jobs/digits-1/inputs\n") != std::string::npos);
}

TEST_CASE_METHOD(Pod, "inputs that cannot be removed are reported, and the reason of the end stays") {
  const auto lease = fault;
  fault = [lease](const FakeTransport::Asked& asked) { return asked.request.url.host == "api" ? lease(asked) : refusal(403, "AccessDenied"); };
  start();
  live(42min);
  program->conclude(report);
  CHECK(objects.size() == 4);
  CHECK(log.find("cannot remove the job's inputs at s3://bkt/jobs/digits-1/inputs: ") != std::string::npos);
  CHECK(report.message.find("no step follows this job") == 0);
}

TEST_CASE_METHOD(Pod, "the outputs of a program that has ended are delivered, whoever follows") {
  start();
  live(29min);
  program->ended();
  live(30min);
  CHECK(stops == 0);
  report.verdict_class = VerdictClass::succeeded;
  report.exit_code = 0;
  program->conclude(report);
  CHECK(report.verdict_class == VerdictClass::succeeded);
  CHECK(objects.size() == 4);
}

TEST_CASE_METHOD(Pod, "a program that succeeds when it is told to end has succeeded") {
  start();
  live(42min);
  report.verdict_class = VerdictClass::succeeded;
  program->conclude(report);
  CHECK(report.verdict_class == VerdictClass::succeeded);
  CHECK(objects.size() == 4);
}

TEST_CASE_METHOD(Pod, "a pod without a service account says that nothing ends its training, and a task without a Lease is not watched") {
  start(false);
  live(24h);
  CHECK(log == "no service account: if the step that follows this job vanishes, nothing ends the training\n");
  log.clear();
  task.lease = {};
  start();
  live(24h);
  CHECK(log.empty());
  CHECK(stops == 0);
  CHECK(transport.asked().empty());
}
