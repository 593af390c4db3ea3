// What the agent in a pod says of its end makes the verdict's class and reason.
// SPDX-License-Identifier: Apache-2.0
#include "job_story.h"
#include "result/pod_report.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;

namespace {

result::PodReport report(VerdictClass verdict_class, int code, const std::string& message) {
  result::PodReport made;
  made.attempt = "00ff";
  made.verdict_class = verdict_class;
  made.exit_code = code;
  made.message = message;
  return made;
}

// A pod whose container has ended with this in its termination message.
Json failed_with(const std::string& message, int code, const std::string& reason = "") {
  auto status = failed(code, reason);
  status["containerStatuses"][0]["state"]["terminated"]["message"] = message;
  return status;
}

Json failed_with(const result::PodReport& made) { return failed_with(to_text(made), made.exit_code); }

// Of a gang whose worker has ended like that.
result::Verdict verdict_of(const Json& worker) {
  Story story(gang(1));
  story.all_run();
  story.pod(1, worker);
  story.job(Judged::failed, "PyTorchJobFailed", "PyTorchJob digits is failed because 1 Worker replica(s) failed.");
  story.pod(0, failed(1, "", "2026-11-21T08:02:00Z"));
  story.logs_complete();
  REQUIRE(story.verdict());
  return *story.verdict();
}

}  // namespace

TEST_CASE("data that could not be moved is not a failure of the program: the agent's class and message are used") {
  struct Row {
    VerdictClass verdict_class;
    int code;
    bool retry;
  };
  const auto row = GENERATE(values<Row>({{VerdictClass::input, 2, false}, {VerdictClass::system, 3, true}, {VerdictClass::timeout, 4, false}}));
  const auto verdict = verdict_of(failed_with(report(row.verdict_class, row.code, "input data: s3://b/data")));
  check(verdict, row.verdict_class, row.code, "s3://b/data");
  CHECK(verdict.retry_can_help == row.retry);
  CHECK(verdict.message.find("data of a replica could not be transferred") != std::string::npos);
  REQUIRE(verdict.first_failure);
  CHECK(verdict.first_failure->replica == "worker-0");
  CHECK(verdict.first_failure->reason == "input data: s3://b/data");
}

TEST_CASE("a failure that the agent attributes to the program is the program's, with the agent's message") {
  const auto verdict = verdict_of(failed_with(report(VerdictClass::user, 1, "output accuracy: the program succeeded, but did not write its value")));
  check(verdict, VerdictClass::user, 1, "output accuracy: the program succeeded, but did not write its value");
  CHECK(verdict.message.find("moved") == std::string::npos);
}

TEST_CASE("anything but a report, or one without a message, is treated as if there were no agent") {
  const auto text =
      GENERATE(std::string("Traceback (most recent call last):\nValueError: 3"), std::string(R"({"trainstep_report": 1, "class": )"),
               to_text(report(VerdictClass::user, 3, "")), std::string(R"({"trainstep_report": 2, "class": "system", "message": "m"})"));
  CAPTURE(text);
  const auto verdict = verdict_of(failed_with(text, 3));
  check(verdict, VerdictClass::user, 1, "exited with code 3");
  CHECK(verdict.first_failure->reason.empty());
}

TEST_CASE("a replica evicted while its data is fetched is a capacity failure, whatever its agent reports") {
  const auto stopped = report(VerdictClass::cancelled, 143, "stopped by SIGTERM (15) while data came in");
  SECTION("evicted") {
    auto status = evicted();
    status["containerStatuses"][0]["state"]["terminated"]["message"] = to_text(stopped);
    check(verdict_of(status), VerdictClass::capacity, 5, "Evicted");
  }
  SECTION("by an unknown client: the step itself was not cancelled") {
    check(verdict_of(failed_with(stopped)), VerdictClass::capacity, 5, "stopped by SIGTERM");
  }
}

TEST_CASE("a program that was killed for its memory stays so with an agent in front of it") {
  const auto verdict = verdict_of(failed_with("", 137, "OOMKilled"));
  check(verdict, VerdictClass::user, 1, "OOMKilled");
}
