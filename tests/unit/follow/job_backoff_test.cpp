// Attempts that are counted: backoff_limit where it is ours, and which failure was one too many.
#include "job_story.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

TEST_CASE("where the operator does not keep backoffLimit we do: restarts in place, and failed pods") {
  for (const int limit : {0, 1, 3}) {
    CAPTURE(limit);
    Story in_place(on_failure(single(), limit), counting());
    in_place.all_run();
    for (int i = 0; i < limit; ++i) {
      in_place.pod(0, crash_loop(i, 7));
      in_place.pod(0, runs(i + 1, terminated(7)));
      CHECK(in_place.phase() == Phase::running);
    }
    in_place.pod(0, crash_loop(limit, 7));
    CHECK_FALSE(in_place.removed());  // its last words come first
    in_place.logs_complete();
    const auto verdict = in_place.verdict_after_removal();
    CHECK(exit_code(verdict) == 1);
    CHECK(verdict.first_failure->exit_code == 7);
    CHECK_THAT(verdict.message, Contains("job_options.run_policy.backoff_limit is " + std::to_string(limit)));

    auto rules = on_failure(single(), limit);
    rules.policy.restart_policy = "ExitCode";
    Story new_pods(rules, counting());
    new_pods.found();
    for (int i = 0; i <= limit; ++i) {
      const std::string uid(1, static_cast<char>('a' + i));
      CHECK_FALSE(new_pods.phase() == Phase::finishing);
      new_pods.pod(0, runs(), uid);
      new_pods.pod(0, failed(137), uid);
      if (i < limit) new_pods.gone(0, uid);
    }
    new_pods.logs_complete();
    CHECK(exit_code(new_pods.verdict_after_removal()) == 1);
  }
}

TEST_CASE("waiting for the rest of the last lines is limited") {
  Story story(on_failure(single(), 0), counting());
  story.all_run();
  story.pod(0, crash_loop(0, 7));
  story.pass(15s);
  CHECK(exit_code(story.verdict_after_removal()) == 1);
}

TEST_CASE("restarts before this attempt are counted, too") {
  Story story(on_failure(single(), 3), counting());
  story.found(true);
  story.pod(0, runs(3, terminated(7)));
  CHECK(story.follower.members()[0].attempts == 4);
  CHECK_FALSE(story.phase() == Phase::finishing);
  story.pod(0, crash_loop(3, 7));
  story.logs_complete();
  CHECK(story.removed());
}

TEST_CASE("adopted after the failure, in a pod that runs again: how it failed is in its last state, and why in the previous log") {
  Story story(on_failure(gang(1), 1), job_rules());
  story.found(true);
  story.pod(0, runs());
  story.pod(1, runs(1, terminated(7, "", "2026-11-21T08:01:00Z")));
  CHECK(opened(story).size() == 1);
  story.job(Judged::failed, "PyTorchJobFailed", "Job digits has failed because it has reached the specified backoff limit");
  CHECK(opened(story).back() == "digits-worker-0 worker-0/0 train previous");
  story.event(MemberOutput{1, "KeyError: 'x'\n", "worker-0/0"});
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 1);
  REQUIRE(story.verdict()->first_failure);
  CHECK(story.verdict()->first_failure->replica == "worker-0");
  CHECK(story.verdict()->first_failure->exit_code == 7);
  CHECK(story.verdict()->first_failure->last_lines == Lines{"KeyError: 'x'"});
}

TEST_CASE("an init container that fails again and again is counted as well") {
  const auto pod = [](int restarts) {
    return status("Pending", Json::array({container(waiting("PodInitializing"))}),
                  Json::array({container(waiting("CrashLoopBackOff"), restarts, terminated(1), "init-pytorch")}));
  };
  Story story(on_failure(single(), 2), counting());
  story.found();
  story.pod(0, pod(0));
  story.pod(0, pod(1));
  CHECK_FALSE(story.phase() == Phase::finishing);
  CHECK(story.times_said("init container init-pytorch failed") == 1);
  story.pod(0, pod(2));
  story.pass(15s);
  const auto verdict = story.verdict_after_removal();
  CHECK(exit_code(verdict) == 1);
  CHECK_THAT(verdict.message, Contains("backoff_limit is 2") && Contains("main: init container init-pytorch failed (exit code 1)"));
}

TEST_CASE("disruptions do not count towards backoff_limit") {
  Story story(on_failure(single(), 0), counting());
  story.found();
  story.pod(0, runs(), "a");
  story.pod(0, evicted(), "a");
  story.gone(0, "a");
  story.pod(0, runs(), "b");
  story.deleting(0, failed(143), "b");
  story.gone(0, "b");
  story.pod(0, runs(), "c");
  story.pass(1h);
  CHECK_FALSE(story.removed());
  CHECK(story.phase() == Phase::running);
}

TEST_CASE("backoff_limit is left to operators that enforce it, and permanent exit codes always") {
  Story kept(on_failure(single(), 0), counting());
  kept.event(JobFound{false, true});
  kept.pod(0, crash_loop(9, 7));
  kept.pass(1h);
  CHECK_FALSE(kept.removed());
  auto rules = on_failure(single(), 0);
  rules.policy.restart_policy = "ExitCode";
  Story permanent(rules, counting());
  permanent.all_run();
  permanent.pod(0, failed(1));
  permanent.pass(1h);
  CHECK_FALSE(permanent.removed());
}

TEST_CASE("a job that its operator marks as failed at the same time is not deleted") {
  Story story(on_failure(single(), 0), counting());
  story.all_run();
  story.pod(0, crash_loop(0, 7));
  story.job(Judged::failed, "PyTorchJobFailed", "PyTorchJob digits is failed because it has reached the specified backoff limit");
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 1);
  CHECK_FALSE(story.removed());
}

TEST_CASE("a job that fails when its program runs again is reported with the failure that exceeded the limit") {
  Story story(on_failure(gang(1), 2), job_rules());
  story.all_run();
  story.output(1, "KeyError: 'x'\n");
  story.pod(1, runs(1, terminated(7)));
  story.job(Judged::failed, "PyTorchJobFailed", "PyTorchJob digits is failed because it has reached the specified backoff limit");
  story.logs_complete();
  REQUIRE(story.verdict());
  REQUIRE(story.verdict()->first_failure);
  CHECK(story.verdict()->first_failure->replica == "worker-0");
  CHECK(story.verdict()->first_failure->exit_code == 7);
}

TEST_CASE("if several members failed and run again, the last failure exceeded the limit") {
  Story story(on_failure(gang(2), 2), job_rules());
  story.all_run();
  story.pod(1, runs(1, terminated(5, "", "2026-11-21T08:01:00Z")));
  story.pod(2, runs(1, terminated(6, "", "2026-11-21T08:02:00Z")));
  story.job(Judged::failed, "PyTorchJobFailed", "PyTorchJob digits is failed because it has reached the specified backoff limit");
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(story.verdict()->first_failure->replica == "worker-1");
  CHECK(story.verdict()->first_failure->exit_code == 6);
}

TEST_CASE("a sidecar that restarts is not the program") {
  Story story(on_failure(single(), 0), counting());
  story.found();
  auto object = trainstep::test::pod(
      "digits-main", "main",
      status("Running", Json::array({container(running())}), Json::array({container(waiting("CrashLoopBackOff"), 9, terminated(1), "log-agent")})));
  object["spec"]["initContainers"] = Json::array({{{"name", "log-agent"}, {"restartPolicy", "Always"}}});
  story.event(PodSeen{0, job_types::read_pod(object)});
  story.pass(1h);
  CHECK_FALSE(story.removed());
  CHECK(story.phase() == Phase::running);
}
