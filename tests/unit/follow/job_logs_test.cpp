// Which logs are read, when they end, and what becomes of attempts.
#include "job_story.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

Lines opened(const Story& story) {
  Lines logs;
  for (const auto& order : story.all<FollowLog>())
    logs.push_back(order.pod + " " + order.attempt + " " + order.container + (order.previous ? " previous" : ""));
  return logs;
}

Lines ended(const Story& story) {
  Lines logs;
  for (const auto& order : story.all<EndLog>()) logs.push_back(order.attempt + (order.restarted ? " restarted" : ""));
  return logs;
}

JobRules counting() {
  auto rules = job_rules();
  rules.restarts_are_ours = true;
  return rules;
}

Rules on_failure(Rules rules, int backoff_limit) {
  rules.policy.restart_policy = "OnFailure";
  rules.policy.backoff_limit = backoff_limit;
  return rules;
}

}  // namespace

TEST_CASE("logs are opened by need: the primary's, all, none, or the named ones") {
  struct Row {
    Lines wanted;
    std::size_t opened, shown;
  };
  for (const auto& row : {Row{{"primary"}, 1, 1}, Row{{"all"}, 3, 3}, Row{{"worker-1"}, 2, 1}, Row{{"none"}, 1, 0}}) {
    CAPTURE(row.wanted.front());
    auto rules = gang(2);
    rules.logs = row.wanted;
    Story story(rules);
    story.all_run();
    for (MemberIndex i = 0; i < 3; ++i) story.output(i, "line\n");
    CHECK(opened(story).size() == row.opened);  // the primary's is always read: for metrics and the last words
    CHECK(story.all<ShowOutput>().size() == row.shown);
  }
}

TEST_CASE("of replicas that are all awaited only the primary's log is read by default") {
  Rules rules;
  rules.logs = {"primary"};
  for (int i = 0; i < 3; ++i)
    rules.members.push_back({.name = "worker-" + std::to_string(i), .primary = i == 0, .awaited = true, .container = "train"});
  Story story(rules);
  story.all_run();
  CHECK(opened(story) == Lines{"digits-worker-0 worker-0/0 train"});
}

TEST_CASE("the log is that of the program's container, beside whatever else was put into its pod") {
  Story story(single());
  story.found();
  story.pod(0, status("Running", Json::array({container(running(), 0, Json::object(), "istio-proxy"), container(running())})));
  CHECK(opened(story) == Lines{"digits-main main/0 train"});
  auto renamed = single();
  renamed.members[0].container = "gone";
  Story other(renamed);
  other.all_run();
  CHECK(opened(other) == Lines{"digits-main main/0 train"});
}

TEST_CASE("an attempt's log is opened once and ended once, however often its pod is seen") {
  Story story(single());
  story.found();
  for (int i = 0; i < 3; ++i) story.pod(0, runs());
  for (int i = 0; i < 3; ++i) story.pod(0, succeeded());
  CHECK(opened(story).size() == 1);
  CHECK(ended(story) == Lines{"main/0"});
}

TEST_CASE("a pod that is first seen after its end has its log read all the same") {
  Story story(single());
  story.found();
  story.pod(0, failed(1));
  CHECK(opened(story) == Lines{"digits-main main/0 train"});
  CHECK(ended(story) == Lines{"main/0"});
  CHECK(story.follower.members()[0].started == from_rfc3339("2026-11-21T08:00:05Z"));
  CHECK(story.follower.members()[0].ended == from_rfc3339("2026-11-21T08:01:00Z"));
}

TEST_CASE("restarted in place: the rest of the old log is the previous container's, the new one begins from its start") {
  Story story(on_failure(single(), 5), counting());
  story.all_run();
  story.pod(0, crash_loop(0, 3));
  CHECK(ended(story) == Lines{"main/0"});  // it waits: what is there is still its own
  CHECK(story.said("main exited with code 3"));
  story.pod(0, runs(1, terminated(3)));
  CHECK(ended(story) == Lines{"main/0", "main/0 restarted"});
  CHECK(opened(story) == Lines{"digits-main main/0 train", "digits-main main/1 train"});
  CHECK(story.said("main starts again (attempt 2)"));
  CHECK(story.times_said("exited with code 3") == 1);
}

TEST_CASE("a log that was read to its end before the restart is not ended again") {
  Story story(on_failure(single(), 5), counting());
  story.all_run();
  story.pod(0, crash_loop(0, 3));
  story.logs_complete();
  story.pod(0, runs(1, terminated(3)));
  CHECK(ended(story) == Lines{"main/0"});
}

TEST_CASE("a restart in place whose end was missed is an end all the same") {
  Story story(on_failure(single(), 5), counting());
  story.all_run();
  story.pod(0, runs(1, terminated(3)));
  CHECK(story.said("main exited with code 3"));
  CHECK(ended(story).back() == "main/0 restarted");
  CHECK(story.follower.members()[0].attempts == 2);
  CHECK_FALSE(story.follower.members()[0].ending);
}

TEST_CASE("restarted by a new pod: the old log ends, a new one is opened") {
  Story story(gang(1));
  story.all_run();
  story.pod(0, failed(130), "a");  // the master-0 of before is another uid
  story.gone(0, "a");
  story.pod(0, creating(), "b");
  story.pod(0, runs(), "b");
  CHECK(opened(story).back() == "digits-master-0 b/0 train");
  CHECK(story.said("master-0 starts again"));
}

TEST_CASE("an older pod of the same replica is none of ours any more") {
  Story story(single());
  story.found();
  story.pod(0, runs(), "b");
  story.pod(0, failed(1), "a");
  story.gone(0, "a");
  CHECK_FALSE(story.said("exited"));
  CHECK(story.phase() == Phase::running);
  CHECK(opened(story).size() == 1);
}

TEST_CASE("lines of an attempt that was replaced are shown, and are its own last words") {
  Story story(on_failure(single(), 0), counting());
  story.found();
  story.pod(0, runs());
  const auto first = story.all<FollowLog>().back().attempt;
  story.event(MemberOutput{0, "one\n", first});
  story.pod(0, runs(1, terminated(1)));
  story.event(MemberOutput{0, "second attempt\n", story.all<FollowLog>().back().attempt});
  story.event(MemberOutput{0, "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    f()\nKeyError: 'x'\n", first});
  CHECK(story.all<ShowOutput>().size() == 3);
  story.logs_complete();
  story.pass(15s);
  const auto verdict = story.verdict_after_removal();
  REQUIRE(verdict.first_failure);
  CHECK(verdict.first_failure->reason == "KeyError: 'x'");
  for (const auto& line : verdict.first_failure->last_lines) CHECK(line != "second attempt");
}

TEST_CASE("the log of a replica that is not shown is read when it failed first, for its last words") {
  Story story(gang(2));
  story.all_run();
  story.pod(2, failed(1, "", "2026-11-21T08:01:00Z"));
  CHECK(opened(story).back() == "digits-worker-1 worker-1/0 train");
  CHECK(ended(story) == Lines{"worker-1/0"});
  story.output(2, "RuntimeError: out of luck\n");
  CHECK(story.all<ShowOutput>().empty());
  story.pod(1, failed(1, "", "2026-11-21T08:01:09Z"));  // a follower
  CHECK(opened(story).size() == 2);
  story.job(Judged::failed);
  CHECK_FALSE(story.verdict());
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(story.verdict()->first_failure->last_lines == Lines{"RuntimeError: out of luck"});
}

TEST_CASE("who turns out to have failed earlier than the first that was seen has its log read, too") {
  Story story(gang(2));
  story.all_run();
  story.pod(1, failed(1, "", "2026-11-21T08:01:09Z"));
  story.pod(2, failed(1, "", "2026-11-21T08:01:00Z"));
  CHECK(opened(story).back() == "digits-worker-1 worker-1/0 train");
}

TEST_CASE("an init container that failed has its log read: why the program could not begin stands there") {
  Story story(gang(1));
  story.all_run();
  story.pod(1, init_failed(1), "x");
  CHECK(opened(story).back() == "digits-worker-0 x/init-pytorch init-pytorch");
  CHECK(ended(story).back() == "x/init-pytorch");
  story.output(1, "nslookup: can't resolve 'digits-master-0'\n");
  story.job(Judged::failed, "PyTorchJobFailed", "");
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK_THAT(describe(*story.verdict()), Contains("worker-0 exited with code 1: init container init-pytorch failed"));
  CHECK(story.verdict()->first_failure->last_lines == Lines{"nslookup: can't resolve 'digits-master-0'"});
}

TEST_CASE("a pod that never began takes no log along") {
  Story story(single());
  story.found();
  story.pod(0, evicted_early());
  CHECK(opened(story).empty());
  CHECK(story.said("main failed: Evicted"));
}

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

TEST_CASE("the rest of the last words is not waited for without end") {
  Story story(on_failure(single(), 0), counting());
  story.all_run();
  story.pod(0, crash_loop(0, 7));
  story.pass(15s);
  CHECK(exit_code(story.verdict_after_removal()) == 1);
}

TEST_CASE("restarts that were before our time count, too") {
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

TEST_CASE("when the job has failed, what the primary has written by then is read, though it still runs") {
  Story story(gang(1));
  story.all_run();
  story.pod(1, failed(1));
  story.job(Judged::failed);
  CHECK(ended(story) == Lines{"worker-0/0", "master-0/0"});
  CHECK_FALSE(story.verdict());
  story.logs_complete();
  CHECK(story.verdict());
}

TEST_CASE("the log of a pod that is gone is not asked for again: another pod may have its name") {
  Story story(gang(1));
  story.all_run();
  story.pod(0, runs(), "b");  // the operator made it anew, under the same name
  REQUIRE(story.all<EndLog>().size() == 1);
  CHECK(story.all<EndLog>().front().attempt == "master-0/0");
  CHECK(story.all<EndLog>().front().gone);
  story.gone(0, "b");
  CHECK(story.all<EndLog>().back().gone);
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
  CHECK(story.times_said("init container init-pytorch fails") == 1);
  story.pod(0, pod(2));
  story.pass(15s);
  CHECK(exit_code(story.verdict_after_removal()) == 1);
}

TEST_CASE("what happens to pods from outside does not count against backoff_limit") {
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

TEST_CASE("backoff_limit is the operator's matter where it keeps it, and exit codes that it takes for permanent are always") {
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

TEST_CASE("a job that its operator gives up while we do is not deleted") {
  Story story(on_failure(single(), 0), counting());
  story.all_run();
  story.pod(0, crash_loop(0, 7));
  story.job(Judged::failed, "PyTorchJobFailed", "PyTorchJob digits is failed because it has reached the specified backoff limit");
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 1);
  CHECK_FALSE(story.removed());
}

TEST_CASE("a job that fails when its program runs again is told by the failure that was one too many") {
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

TEST_CASE("metrics and progress are read from the primary's log, shown or not") {
  auto rules = gang(1);
  rules.logs = {"none"};
  Story story(rules);
  story.all_run();
  story.output(0, "Epoch 2/5\nloss=0.5\n");
  CHECK(story.all<ShowOutput>().empty());
  REQUIRE(story.all<ShowProgress>().size() == 1);
  CHECK(story.all<ShowProgress>().front().done == 2);
}
