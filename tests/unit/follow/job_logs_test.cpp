// Which logs are read, when they end, and what becomes of attempts.
#include "job_story.h"
#include "result/pod_report.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

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

TEST_CASE("if all replicas are awaited, only the primary's log is read by default") {
  Rules rules;
  rules.logs = {"primary"};
  for (int i = 0; i < 3; ++i)
    rules.members.push_back({.name = "worker-" + std::to_string(i), .primary = i == 0, .awaited = true, .container = "train"});
  Story story(rules);
  story.all_run();
  CHECK(opened(story) == Lines{"digits-worker-0 worker-0/0 train"});
}

TEST_CASE("the log is that of the program's container, whatever other containers are in its pod") {
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
  CHECK(story.said("main restarted (attempt 2)"));
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
  CHECK(story.said("master-0 restarted"));
}

TEST_CASE("an older pod of the same replica is ignored") {
  Story story(single());
  story.found();
  story.pod(0, runs(), "b");
  story.pod(0, failed(1), "a");
  story.gone(0, "a");
  CHECK_FALSE(story.said("exited"));
  CHECK(story.phase() == Phase::running);
  CHECK(opened(story).size() == 1);
}

TEST_CASE("lines of a replaced attempt are shown, and are its own last lines") {
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

TEST_CASE("the log of a hidden replica is read if it failed first, for its last lines") {
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

TEST_CASE("the log of a replica that turns out to have failed first is read, too") {
  Story story(gang(2));
  story.all_run();
  story.pod(1, failed(1, "", "2026-11-21T08:01:09Z"));
  story.pod(2, failed(1, "", "2026-11-21T08:01:00Z"));
  CHECK(opened(story).back() == "digits-worker-1 worker-1/0 train");
}

TEST_CASE("the log of a failed init container is read: it shows why the program could not start") {
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

TEST_CASE("a sidecar that was ended with its pod did not fail first") {
  Story story(single());
  story.found();
  auto object = trainstep::test::pod(
      "digits-main", "main",
      status("Failed", Json::array({container(waiting("PodInitializing"))}),
             Json::array({container(terminated(137), 0, Json::object(), "log-agent"), container(terminated(2), 0, Json::object(), "fetch-data")})));
  object["spec"]["initContainers"] = Json::array({{{"name", "log-agent"}, {"restartPolicy", "Always"}}, {{"name", "fetch-data"}}});
  story.event(PodSeen{0, job_types::read_pod(object)});
  CHECK(story.said("main exited with code 2: init container fetch-data failed"));
  CHECK(opened(story) == Lines{"digits-main main/fetch-data fetch-data"});
}

TEST_CASE("a pod that never began takes no log along") {
  Story story(single());
  story.found();
  story.pod(0, evicted_early());
  CHECK(opened(story).empty());
  CHECK(story.said("main failed: Evicted"));
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

TEST_CASE("the log of a terminating pod is read to its end, although another has replaced it") {
  Story story(on_failure(single(), 5));
  story.all_run();
  story.deleting(0, runs());
  auto next = story.view(0, creating(), "b");
  next.name = "digits-main-2";
  story.event(PodSeen{0, next});
  CHECK(story.all<EndLog>().empty());
  const auto old = story.all<FollowLog>().front().attempt;
  next = story.view(0, runs(), "b");
  next.name = "digits-main-2";
  story.event(PodSeen{0, next});
  story.event(MemberOutput{0, "saved: step 500\n", old});
  CHECK(story.all<ShowOutput>().back().member == 0);
  SECTION("its program ends") {
    story.deleting(0, failed(143));
    story.gone(0);
  }
  SECTION("it goes, and its end was not seen") { story.gone(0); }
  SECTION("it stays, and the job ends") {
    story.job(Judged::failed);
    story.pass(1min);
    CHECK(ended(story).size() == 2);
  }
  REQUIRE_FALSE(story.all<EndLog>().empty());
  CHECK(story.all<EndLog>().front().attempt == old);
}

TEST_CASE("metrics are those of the primary's last attempt, however late the log of the one before comes") {
  Story story(on_failure(single(), 5));
  story.found();
  story.pod(0, runs());
  story.output(0, "epoch=1/2 loss=9 broken=1\n");
  const auto first = story.all<FollowLog>().back().attempt;
  SECTION("started again in place") { story.pod(0, runs(1, terminated(1))); }
  SECTION("in another pod") { story.pod(0, runs(), "b"); }
  REQUIRE(story.all<FollowLog>().back().attempt != first);
  story.output(0, "loss=0.5\n");
  story.event(MemberOutput{0, "epoch=2/2 late=1\n", first});
  const auto metrics = story.follower.metrics().latest();
  REQUIRE(metrics.size() == 1);
  CHECK(metrics[0].name == "loss");
  CHECK(metrics[0].value == 0.5);
  CHECK_FALSE(story.follower.metrics().progress().epoch);
}

namespace {

// The pod's agent has found the record of a training that had finished.
Json repeats(int restarts = 0) {
  result::PodReport report;
  report.verdict_class = VerdictClass::succeeded;
  report.primary = report.repeated = true;
  auto ended = terminated(0);
  ended["terminated"]["message"] = to_text(report);
  return status("Succeeded", Json::array({container(ended, restarts, restarts > 0 ? terminated(137) : Json::object())}));
}

}  // namespace

TEST_CASE("a pod that was lost after its delivery keeps its metrics, also those that come late, when the next one finds nothing left to do") {
  const bool in_place = GENERATE(true, false);
  Story story(on_failure(single(), 5));
  story.found();
  story.pod(0, runs(), "a");
  story.output(0, "loss=0.5\n");
  const auto first = story.all<FollowLog>().back().attempt;
  in_place ? story.pod(0, runs(1, terminated(137)), "a") : story.pod(0, runs(), "b");
  REQUIRE(story.all<FollowLog>().back().attempt != first);
  CHECK(story.follower.metrics().latest().empty());
  story.event(MemberOutput{0, "accuracy=0.9\n", first});
  story.pod(0, repeats(in_place ? 1 : 0), in_place ? "a" : "b");
  story.event(MemberOutput{0, "f1=0.8\n", first});
  CHECK(story.follower.metrics().latest().size() == 3);
  CHECK_FALSE(story.said("may be missing"));
}

TEST_CASE("the log of a container lost after its delivery is read for its metrics, although it was not followed") {
  Story story(on_failure(single(), 5));
  story.found(true);
  story.pod(0, runs(1, terminated(137)), "a");
  story.pod(0, repeats(1), "a");
  CHECK(opened(story).back() == "digits-main a/0 train previous");
  story.event(MemberOutput{0, "loss=0.5\n", "a/0"});
  CHECK(story.follower.metrics().latest().size() == 1);
  CHECK_FALSE(story.said("may be missing"));
}

TEST_CASE("the log of a pod that failed after its delivery is read for its metrics by an attempt that finds the job at its end") {
  Story story(on_failure(single(), 5));
  story.found(true);
  story.pod(0, failed(137), "a");
  story.pod(0, repeats(), "b");
  story.job(Judged::succeeded);
  CHECK(opened(story) == Lines{"digits-main a/0 train", "digits-main b/0 train"});
  story.event(MemberOutput{0, "loss=0.5\n", "a/0"});
  CHECK(story.follower.metrics().latest().size() == 1);
  CHECK_FALSE(story.said("may be missing"));
}

TEST_CASE("if the log of a pod lost after its delivery was not read, missing metrics are reported") {
  const std::string missed = GENERATE("it", "that it was it", "nothing");
  CAPTURE(missed);
  Story story(on_failure(single(), 5));
  story.found(missed == "it");
  if (missed != "it") story.pod(0, runs(), "a");
  if (missed == "that it was it") {
    story.output(0, "loss=0.5\n");
    story.pod(0, runs(), "b");  // lost before it could tell
  }
  story.pod(0, runs(), "c");
  story.pod(0, repeats(), "c");
  CHECK(story.said("main: the metrics of the attempt that finished the training are unknown and may be missing") == (missed != "nothing"));
  CHECK(story.follower.metrics().latest().empty());
}

TEST_CASE("metrics in the part of the log that is still read after the pod is gone are used") {
  Story story(single());
  story.all_run();
  story.pod(0, succeeded());
  const auto attempt = story.all<FollowLog>().back().attempt;
  story.gone(0);
  story.event(MemberOutput{0, "loss=0.5\n", attempt});
  CHECK(story.follower.metrics().latest().size() == 1);
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

TEST_CASE("a succeeded job without pods is reported, as its metrics are lost, unless pods may not be listed") {
  Story story(single());
  story.found(true);
  const bool hidden = GENERATE(true, false), seen = GENERATE(true, false);
  if (hidden) story.event(PodsHidden{"no right"});
  if (seen) story.pod(0, succeeded());
  story.job(Judged::succeeded);
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 0);
  CHECK(story.said("its pods are gone") == (!hidden && !seen));
}

TEST_CASE("an unmatched metric definition is reported if the log of each attempt was read completely") {
  const std::string missing = GENERATE("nothing", "lines", "its end", "an attempt", "all of it", "the success");
  const bool adopted = GENERATE(true, false), is_observer = GENERATE(true, false);
  CAPTURE(missing, adopted, is_observer);
  auto rules = on_failure(single(), 5);
  rules.metrics = {{"loss", "loss is (\\S+)"}, {"val_loss", "val loss is (\\S+)"}};
  auto of_job = job_rules();
  of_job.is_observer = is_observer;
  Story story(rules, of_job);
  story.found(adopted);
  if (missing == "all of it") story.event(PodsHidden{"no right"});
  if (missing != "all of it") {
    const bool restarted = missing == "an attempt";
    story.pod(0, restarted ? runs(1, terminated(1)) : runs());
    story.output(0, "the loss is 0.5\n");
    story.pod(0, restarted ? status("Succeeded", Json::array({container(terminated(0), 1, terminated(1))})) : succeeded());
  }
  story.job(missing == "the success" ? Judged::failed : Judged::succeeded);
  if (missing == "its end")
    story.pass(Duration{60'000});
  else
    for (const auto& order : story.all<EndLog>()) story.event(LogComplete{order.member, order.attempt, missing != "lines"});
  story.pass(Duration{60'000});
  REQUIRE(story.verdict());
  CHECK((exit_code(*story.verdict()) == 0) == (missing != "the success"));
  CHECK(story.said("no line matched job_options.metrics[1] (val_loss)") == (missing == "nothing"));
  CHECK_FALSE(story.said("(loss)"));
}

TEST_CASE("a definition matched only in an earlier attempt is reported: its metrics are not used") {
  auto rules = on_failure(single(), 5);
  rules.metrics = {{"loss", "loss is (\\S+)"}, {"acc", "acc is (\\S+)"}};
  Story story(rules);
  story.all_run();
  story.output(0, "the loss is 0.5\n");
  story.pod(0, failed(1));
  story.pod(0, runs(), "b");
  story.output(0, "acc is 0.9\n");
  story.pod(0, succeeded(), "b");
  story.job(Judged::succeeded);
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(story.said("no line matched job_options.metrics[0] (loss)"));
  CHECK_FALSE(story.said("(acc)"));
}
