// A limit counts all time in its phase: over restarts of pods, and over attempts of the step.
#include "job_story.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;

namespace {

// The running container says since when.
Json runs_since(Time since, int restarts = 0, Json last = Json::object()) {
  return status("Running", Json::array({container(running(to_rfc3339(since)), restarts, std::move(last))}));
}

// Adopted by a step whose clock is as far behind the cluster's as `behind` says.
struct Adopted : Story {
  explicit Adopted(Rules rules, Duration age, Duration behind = {}) : Story(std::move(rules)) {
    now += 1h;
    event(JobFound{true, true, now + behind - age, behind == Duration{} ? std::nullopt : std::optional(behind)});
  }
};

job_types::PodView made_at(job_types::PodView pod, Time at) {
  pod.created = pod.scheduled = at;
  return pod;
}

Rules running_for(Duration limit) {
  auto rules = single();
  rules.limits.running = limit;
  return rules;
}

}  // namespace

TEST_CASE("a replaced pod does not restart the running limit") {
  Story story(running_for(10min));
  story.all_run();
  story.pass(6min);
  story.pod(0, failed(1), "a");
  story.pod(0, creating(), "b");
  story.pass(30min);  // is none of its time
  story.pod(0, runs(), "b");
  story.pass(4min - 1s);
  CHECK_FALSE(story.removed());
  story.pass(1s);
  CHECK(exit_code(story.verdict_after_removal()) == 4);
}

TEST_CASE("the limit for a queue counts each time in it") {
  auto rules = single();
  rules.limits.queued = 10min;
  Story story(rules);
  story.found();
  story.job(Judged::suspended);
  story.pass(9min);
  story.job(Judged::running);
  story.pod(0, runs());
  story.pass(5h);
  story.job(Judged::suspended);
  story.pass(1min - 1s);
  CHECK_FALSE(story.removed());
  story.pass(1s);
  CHECK(exit_code(story.verdict_after_removal()) == 5);
}

TEST_CASE("an attempt that adopts goes on counting from the cluster's own times, whatever its clock says") {
  for (const auto behind : {Duration{0}, Duration{2h}, Duration{-2h}}) {
    CAPTURE(behind);
    Adopted story(running_for(20min), 18min, behind);
    const auto cluster = story.now + behind;
    story.event(PodSeen{0, made_at(story.view(0, runs_since(cluster - 15min)), cluster - 16min)});
    story.pass(5min - 1s);
    CHECK_FALSE(story.removed());
    story.pass(1s);
    CHECK(exit_code(story.verdict_after_removal()) == 4);
  }
}

TEST_CASE("a pod is never older than its creation, even if its node's clock lags") {
  Adopted story(running_for(1h), 10min);
  story.job(Judged::running);
  const auto since = story.now - 2h;
  story.event(PodSeen{0, made_at(story.view(0, runs_since(since)), story.now - 10min)});
  story.pass(50min - 1s);
  CHECK_FALSE(story.removed());
  story.pass(1s);
  CHECK(exit_code(story.verdict_after_removal()) == 4);
}

TEST_CASE("running time before a restart in place, and in an earlier pod, is counted; the time in between is not") {
  Adopted story(running_for(20min), 60min);
  const auto now = story.now;
  const auto earlier = made_at(story.view(0, failed(1), "a"), now - 59min);
  auto ended = earlier;
  ended.containers.front().termination->started = now - 50min;
  ended.containers.front().termination->finished = now - 45min;  // 5 min
  story.event(PodSeen{0, ended});
  const auto last = terminated(1, "Error", to_rfc3339(now - 10min), to_rfc3339(now - 17min));  // 7 min
  story.pod(0, runs_since(now - 4min, 1, last), "b");                                          // 4 min
  story.pass(4min - 1s);
  CHECK_FALSE(story.removed());
  story.pass(1s);
  CHECK(story.removed());
}

TEST_CASE("an adopted job that still waits has waited before") {
  auto rules = gang(1);
  rules.limits.scheduling = 30min;
  Adopted story(rules, 25min);
  auto placed = made_at(story.view(0, creating()), story.now - 19min);
  placed.created = story.now - 20min;
  story.event(PodSeen{0, std::move(placed)});
  auto waits = story.view(1, unscheduled(), "", "");
  waits.created = story.now - 20min;
  story.event(PodSeen{1, std::move(waits)});
  story.pass(10min - 1s);
  CHECK_FALSE(story.removed());
  story.pass(1s);
  CHECK(exit_code(story.verdict_after_removal()) == 5);
}

TEST_CASE("all phases together: from the adopted job's creation") {
  auto rules = single();
  rules.limits.total = 2h;
  Adopted story(rules, 90min);
  story.pod(0, runs_since(story.now - 10min));
  story.pass(30min - 1s);
  CHECK_FALSE(story.removed());
  story.pass(1s);
  CHECK(exit_code(story.verdict_after_removal()) == 4);
}

TEST_CASE("a job that this attempt made has no past") {
  Story story(running_for(20min));
  story.event(JobFound{false, true, story.now - 1h, Duration{1h}});
  story.pod(0, runs_since(story.now - 30min));
  story.pass(20min - 1s);
  CHECK_FALSE(story.removed());
}

TEST_CASE("a slow create does not use up the queue limit") {
  auto rules = single();
  rules.limits.queued = 10min;
  Story story(rules);
  story.pass(1h);
  story.found();
  story.job(Judged::suspended);
  story.pass(10min - 1s);
  CHECK_FALSE(story.removed());
  story.pass(1s);
  CHECK(story.removed());
}

TEST_CASE("output during the grace period after a limit is shown, and then the step ends") {
  Story story(running_for(10min));
  story.all_run();
  story.pass(10min);
  REQUIRE(story.removed());
  story.event(JobGone{});
  CHECK_FALSE(story.verdict());
  story.output(0, "saved step 7\n");
  const auto shown = story.all<ShowOutput>();
  REQUIRE(shown.size() == 1);
  CHECK(shown.front().lines == "saved step 7\n");
  story.deleting(0, failed(3));
  CHECK_FALSE(story.said("main fails"));  // it is we who end it
  CHECK_FALSE(story.verdict());
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 4);
}

TEST_CASE("a grace period is awaited no longer than its duration, and not while stopping") {
  Story story(running_for(10min));
  story.all_run();
  story.pass(10min);
  story.event(JobGone{});
  SECTION("the pod is on a node that is cut off") {
    story.pass(34s);
    CHECK_FALSE(story.verdict());
    story.pass(1s);
  }
  SECTION("a signal comes") { story.event(StopRequested{SIGTERM}); }
  SECTION("the API server cannot be asked any more") { story.event(BackendFailed{Error{ErrorKind::unavailable, "no route to host"}}); }
  SECTION("the pod is gone") {
    story.gone(0);
    story.logs_complete();
  }
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 4);
  CHECK_FALSE(story.said("may still exist"));
}

TEST_CASE("a cancel does not wait for a grace period") {
  Story story(single());
  story.all_run();
  story.event(StopRequested{SIGTERM});
  story.event(JobGone{});
  CHECK(story.verdict());
}
