// Who failed first, of many.
#include "job_story.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

TEST_CASE("the pods' terminations may arrive after the job's own status") {
  Story story(gang(2));
  story.all_run();
  story.job(Judged::failed, "PyTorchJobFailed", "");
  story.pass(1s);
  story.pod(2, failed(7));
  REQUIRE(story.all<FollowLog>().back().member == 2);
  story.output(2, "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    f()\nValueError: no data\n");
  story.logs_complete();
  REQUIRE(story.verdict());
  REQUIRE(story.verdict()->first_failure);
  CHECK(story.verdict()->first_failure->replica == "worker-1");
  CHECK(story.verdict()->first_failure->exit_code == 7);
  CHECK(story.verdict()->first_failure->reason == "ValueError: no data");
  CHECK(story.verdict()->first_failure->last_lines.size() == 4);
}

TEST_CASE("the first that failed is named, by the kubelets' clocks; the others are counted") {
  Story story(gang(3));
  story.all_run();
  story.pod(1, failed(1, "", "2026-11-21T08:01:09Z"));
  story.pod(3, failed(9, "", "2026-11-21T08:01:02Z"));
  story.pod(2, failed(1, "", "2026-11-21T08:01:05Z"));
  story.job(Judged::failed);
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(story.verdict()->first_failure->replica == "worker-2");
  CHECK_THAT(story.verdict()->message, Contains("2 other replicas failed after it"));
}

TEST_CASE("within a second a cause comes before what follows from it") {
  struct Row {
    Json cause;
    std::string words;
  };
  const auto at = "2026-11-21T08:01:00Z";
  for (const auto& row : {Row{failed(137, "OOMKilled", at), "OOMKilled"}, Row{evicted(at), "Evicted"}, Row{failed(1, "", at), "code 1"}}) {
    CAPTURE(row.words);
    Story story(gang(2));
    story.all_run();
    story.pod(0, failed(143, "", at));  // ended by SIGTERM: a subsequent failure
    story.pod(1, row.words == "code 1" ? failed(143, "", at) : failed(1, "", at));
    story.pod(2, row.cause);
    story.job(Judged::failed);
    story.logs_complete();
    REQUIRE(story.verdict());
    REQUIRE(story.verdict()->first_failure);
    CHECK(story.verdict()->first_failure->replica == "worker-1");
    CHECK_THAT(describe(*story.verdict()), Contains(row.words));
  }
}

TEST_CASE("pods that the operator deletes after the first failure are not blamed, whatever their finish times") {
  Story story(gang(2));
  story.all_run();
  story.pod(2, failed(1, "", "2026-11-21T08:01:05Z"));
  story.deleting(1, failed(143, "", "2026-11-21T08:01:03Z"));  // another node, another clock
  story.gone(1);
  story.gone(0);  // its end was never seen
  story.job(Judged::failed);
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(story.verdict()->first_failure->replica == "worker-1");
  CHECK(story.verdict()->message == "the training program failed");
  CHECK_FALSE(story.said("its pod was deleted"));
}

TEST_CASE("a job that fails because a pod was deleted is a capacity failure") {
  Story story(single());
  story.all_run();
  story.deleting(0, failed(143));
  story.gone(0);
  story.job(Judged::failed, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
  story.logs_complete();
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::capacity, 5, "was removed");
}

TEST_CASE("a failure that no pod shows: unknown, unless the job itself says that it was the program") {
  struct Row {
    std::string words;
    VerdictClass verdict_class;
    int code;
    std::string told;
  };
  using enum VerdictClass;
  for (const auto& row : {Row{"TFJob digits has failed because it has reached the specified backoff limit", user, 1, "backoff limit"},
                          Row{"Job has reached the specified backoff limit", system, 3,
                              "no remaining pod shows why, so it is unknown whether the training program failed"},
                          Row{"1 replica(s) failed.", system, 3, "1 replica(s) failed.; no remaining pod shows why"}}) {
    CAPTURE(row.words);
    Story story(single());
    story.all_run();
    story.gone(0);
    story.job(Judged::failed, "TFJobFailed", row.words);
    story.logs_complete();
    REQUIRE(story.verdict());
    check(*story.verdict(), row.verdict_class, row.code, row.told);
    CHECK(story.verdict()->retry_can_help == (row.code == 3));
  }
}

TEST_CASE("ends that were not seen because a pod was replaced, or of a suspension, leave a failure unexplained, too") {
  Story replaced(single());
  replaced.all_run();
  replaced.pod(0, runs(), "b");
  replaced.job(Judged::failed, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
  replaced.logs_complete();
  replaced.pass(15s);
  REQUIRE(replaced.verdict());
  CHECK(exit_code(*replaced.verdict()) == 3);
  Story suspended(single());
  suspended.all_run();
  suspended.job(Judged::suspended);
  suspended.deleting(0, failed(143));
  suspended.job(Judged::pending);
  suspended.gone(0);
  suspended.job(Judged::failed, "TFJobFailed", "1 replica(s) failed.");
  suspended.logs_complete();
  REQUIRE(suspended.verdict());
  CHECK(exit_code(*suspended.verdict()) == 3);
}

TEST_CASE("a lost node is a capacity failure, although no termination was recorded") {
  Story story(gang(1));
  story.all_run();
  story.deleting(1, node_lost());
  story.gone(1);
  story.job(Judged::failed);
  story.logs_complete();
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::capacity, 5, "worker-0 failed: its node was lost or tainted (DeletionByTaintManager)");
}

TEST_CASE("a thousand subsequent failures are summarised, and their logs are not read") {
  Story story(gang(1000));
  story.all_run();
  story.pod(500, failed(1, "", "2026-11-21T08:01:00Z"));
  for (MemberIndex i = 1; i <= 1000; ++i)
    if (i != 500) story.pod(i, failed(1, "", "2026-11-21T08:01:07Z"));
  story.job(Judged::failed);
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(story.verdict()->first_failure->replica == "worker-499");
  CHECK_THAT(story.verdict()->message, Contains("999 other replicas failed after it"));
  CHECK(story.times_said("exited with code 1") <= 5);
  CHECK(story.said("more replicas failed"));
  CHECK(story.all<FollowLog>().size() == 2);  // the master's, and the first failure's
}

TEST_CASE("a replica that was marked for its end before another one failed is the first to fail, although it ends later") {
  auto rules = job_rules();
  rules.log_end = 5min;
  Story story(gang(1), rules);
  story.all_run();
  const auto seen = [&story](Json status) {
    auto pod = story.view(1, std::move(status));
    pod.deleting = true;
    pod.disruption = "PreemptionByScheduler";
    pod.disrupted_at = from_rfc3339("2026-11-21T08:01:00Z");
    story.event(PodSeen{1, pod});
  };
  seen(runs());
  story.pod(0, failed(1, "", "2026-11-21T08:01:00Z"));  // it has lost its peer
  story.job(Judged::failed, "PyTorchJobFailed", "1 Master replica(s) failed.");
  story.logs_complete();
  story.pass(20s);
  CHECK_FALSE(story.verdict());
  CHECK(story.said("worker-0 is being removed from the job"));
  SECTION("its end is seen") { seen(failed(143, "", "2026-11-21T08:01:20Z")); }
  SECTION("it is gone") { story.gone(1); }
  SECTION("nothing more is heard of its node") { story.pass(1min); }
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(story.verdict()->verdict_class == VerdictClass::capacity);
  CHECK(exit_code(*story.verdict()) == 5);
  CHECK(story.verdict()->first_failure->replica == "worker-0");
}

TEST_CASE("a replica that is marked for its end after another one failed is not the cause") {
  Story story(gang(1));
  story.all_run();
  story.pod(0, failed(1, "", "2026-11-21T08:01:00Z"));
  auto pod = story.view(1, runs());
  pod.deleting = true;
  pod.disruption = "DeletionByTaintManager";
  pod.disrupted_at = GENERATE(from_rfc3339("2026-11-21T08:01:01Z"), std::optional<Time>());
  story.event(PodSeen{1, pod});
  story.job(Judged::failed, "PyTorchJobFailed", "1 Master replica(s) failed.");
  story.logs_complete();
  story.pass(10s);
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::user, 1, "master-0 exited with code 1");
}
