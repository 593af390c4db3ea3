// Phases have clocks of their own.
#include "job_story.h"
#include "support/cpu_time.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

TEST_CASE("phases follow the pods: queued, scheduling, starting, running, finishing") {
  Story story(gang(1));
  CHECK(story.phase() == Phase::queued);
  story.found();
  story.job(Judged::pending);
  CHECK(story.phase() == Phase::queued);
  story.pod(0, unscheduled(), "", "");
  CHECK(story.phase() == Phase::scheduling);
  story.pod(0, creating());
  CHECK(story.phase() == Phase::scheduling);  // the worker's is missing
  story.pod(1, creating());
  CHECK(story.phase() == Phase::starting);
  story.pod(1, runs());
  CHECK(story.phase() == Phase::starting);
  story.pod(0, runs());
  CHECK(story.phase() == Phase::running);
  story.pod(0, succeeded());
  CHECK(story.phase() == Phase::finishing);
  story.job(Judged::succeeded);
  CHECK(story.phase() == Phase::finishing);
}

TEST_CASE("an MPI launcher that is made when all workers are ready is not missing before") {
  Story story(gang(2));
  story.found();
  story.pod(1, creating());
  CHECK(story.phase() == Phase::scheduling);
  story.pod(2, creating());
  CHECK(story.phase() == Phase::starting);
}

TEST_CASE("the primary's program decides whether the job runs, whatever the job's conditions say") {
  Story story(gang(1));
  story.found();
  story.job(Judged::running);
  CHECK(story.phase() == Phase::queued);
  story.pod(1, runs());
  CHECK(story.phase() != Phase::running);
}

TEST_CASE("a running primary whose other replicas are unscheduled is still scheduling, and uses no running time") {
  auto rules = gang(1);
  rules.limits.scheduling = 10min;
  Story story(rules);
  story.found();
  story.pod(0, runs());
  story.pod(1, unscheduled(), "", "");
  CHECK(story.phase() == Phase::scheduling);
  story.pass(9min);
  CHECK_FALSE(story.removed());
  story.pass(1min);
  CHECK(exit_code(story.verdict_after_removal()) == 5);
}

TEST_CASE("an elastic job runs with as many as it needs") {
  auto job = job_rules();
  job.needed = 2;
  Story story(gang(2), job);
  story.found();
  story.pod(0, runs());
  story.pod(1, unscheduled(), "", "");
  CHECK(story.phase() == Phase::scheduling);
  story.pod(2, creating());
  CHECK(story.phase() == Phase::running);
}

TEST_CASE("replicas that have ended well need no place any more") {
  Story story(gang(1));
  story.all_run();
  story.pod(1, succeeded());
  story.gone(1);
  CHECK(story.phase() == Phase::running);
}

TEST_CASE("each phase has its own limit, that counts from its beginning; before a place is found it is a lack of capacity") {
  struct Row {
    Phase phase;
    std::function<void(plan::Limits&)> set;
    int code;
  };
  const Row rows[] = {{Phase::queued, [](auto& limits) { limits.queued = 10min; }, 5},
                      {Phase::scheduling, [](auto& limits) { limits.scheduling = 10min; }, 5},
                      {Phase::starting, [](auto& limits) { limits.starting = 10min; }, 4},
                      {Phase::running, [](auto& limits) { limits.running = 10min; }, 4},
                      {Phase::finishing, [](auto& limits) { limits.finishing = 10min; }, 4}};
  const auto reach = [](Story& story, Phase phase) {
    story.found();
    story.job(Judged::pending);
    if (phase == Phase::queued) return;
    story.pass(9min);
    story.pod(0, unscheduled(), "", "");
    if (phase == Phase::scheduling) return;
    story.pass(9min);
    story.pod(0, creating());
    if (phase == Phase::starting) return;
    story.pass(9min);
    story.pod(0, runs());
    if (phase == Phase::running) return;
    story.pass(9min);
    story.pod(0, succeeded());
  };
  for (const auto& row : rows) {
    CAPTURE(name(row.phase));
    auto rules = single();
    row.set(rules.limits);
    Story story(rules);
    reach(story, row.phase);
    REQUIRE(story.phase() == row.phase);
    story.pass(599s);
    CHECK_FALSE(story.removed());
    story.pass(1s);
    const auto verdict = story.verdict_after_removal();
    CHECK(exit_code(verdict) == row.code);
    CHECK(verdict.retry_can_help == (row.code == 5));
    CHECK_THAT(verdict.message, Contains("the limit of 10 min 00 s for " + std::string(name(row.phase)) + " (job_options.limits." +
                                         std::string(name(row.phase)) + ") was exceeded"));
  }
}

TEST_CASE("a limit that passes while something is missing names it") {
  auto rules = single();
  rules.limits.scheduling = 1min;
  Story story(rules);
  story.found();
  story.pod(0, unscheduled(), "", "");
  story.pass(1min);
  CHECK_THAT(story.verdict_after_removal().message, Contains("(job_options.limits.scheduling) was exceeded; main cannot be scheduled: 0/5 nodes"));
}

TEST_CASE("the limit for the whole step counts from its beginning, whatever the phase, and even before there is a job") {
  for (const bool found : {false, true}) {
    auto rules = single();
    rules.limits.total = 1h;
    Story story(rules);
    if (found) story.all_run();
    story.pass(1h);
    const auto verdict = story.verdict_after_removal();
    CHECK(exit_code(verdict) == 4);
    CHECK_THAT(verdict.message, Contains("the limit of 1 h 00 min for the whole step (job_options.limits.total) was exceeded"));
  }
}

TEST_CASE("a deadline enforced on behalf of the operator is reported by its own name") {
  auto rules = single();
  rules.policy.active_deadline = rules.limits.running = 1h;
  Story story(rules);
  story.all_run();
  story.pass(1h);
  CHECK_THAT(story.verdict_after_removal().message, Contains("(job_options.run_policy.active_deadline) was exceeded"));
}

TEST_CASE("suspension is not an end, whatever happens to the pods, and uses no running time") {
  auto rules = gang(1);
  rules.limits.running = 1h;
  rules.policy.restart_policy = "OnFailure";
  auto job = job_rules();
  job.restarts_are_ours = true;
  Story story(rules, job);
  story.all_run();
  story.pass(50min);
  story.deleting(1, failed(143));  // the pods' watch may be the faster one
  story.job(Judged::suspended, "PyTorchJobSuspended", "PyTorchJob digits is suspended.");
  CHECK(story.phase() == Phase::queued);
  CHECK(story.said("suspended"));
  story.deleting(0, failed(143));
  for (const auto& member : story.follower.members()) {
    CHECK(member.life == MemberState::Life::waiting);
    CHECK_FALSE(member.ending);
  }
  story.gone(0);
  story.gone(1);
  story.pass(100h);
  CHECK_FALSE(story.removed());
  story.job(Judged::pending, "PyTorchJobResumed", "");
  CHECK(story.said("resumed"));
  for (MemberIndex i = 0; i < 2; ++i) story.pod(i, runs(), "new-" + std::to_string(i));
  story.job(Judged::running);
  CHECK(story.phase() == Phase::running);
  story.pass(9min);
  CHECK_FALSE(story.removed());
  story.pod(1, failed(1), "new-1");
  story.job(Judged::failed);
  story.logs_complete();
  story.pass(15s);
  REQUIRE(story.verdict());
  CHECK(story.verdict()->first_failure->replica == "worker-0");
  CHECK(story.verdict()->first_failure->exit_code == 1);
  CHECK_THAT(story.verdict()->message, !Contains("other replica"));
}

TEST_CASE("a failure before a suspension is not the cause of one after it") {
  Story story(on_failure(gang(1), 9), job_rules());
  story.all_run();
  story.pod(1, runs(1, terminated(7)));
  story.job(Judged::suspended);
  story.gone(0);
  story.gone(1);
  story.job(Judged::running);
  story.job(Judged::failed, "PyTorchJobFailed", "no idea");
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK_FALSE(story.verdict()->first_failure);
  CHECK_THAT(story.verdict()->message, Contains("pytorchjobs/digits failed: PyTorchJobFailed: no idea"));
}

TEST_CASE("a suspended job misses nothing: its old troubles are not counted") {
  Story story(single());
  story.found();
  story.pod(0, status("Pending", Json::array({container(waiting("ErrImagePull", "x"))})));
  story.job(Judged::suspended);
  story.pass(1h);
  CHECK_FALSE(story.removed());
}

TEST_CASE("a restart goes back to an earlier phase, and running goes on where it was") {
  auto rules = single();
  rules.limits.running = 10min;
  Story story(rules);
  story.all_run();
  story.pass(9min);
  story.pod(0, failed(1), "a");
  story.gone(0, "a");
  CHECK(story.phase() == Phase::queued);
  story.pass(1h);
  story.pod(0, runs(), "b");
  CHECK(story.phase() == Phase::running);
  story.pass(59s);
  CHECK_FALSE(story.removed());
  story.pass(1s);
  CHECK(story.removed());
}

TEST_CASE("a long silence is reported with the job's phase") {
  auto rules = single();
  rules.heartbeat = 10min;
  Story story(rules);
  story.all_run();
  story.pass(9min);
  story.output(0, "step 1\n");
  story.pass(10min);
  CHECK_FALSE(story.said("no output"));
  story.pass(10min);
  CHECK(story.said("still running after 20 min 00 s; no output for 11 min 00 s"));
}

TEST_CASE("if the program has ended but its pod has not, the pod's other container is reported") {
  auto rules = single();
  rules.heartbeat = 10min;
  Story story(rules);
  story.found();
  const auto proxy = container(running(), 0, Json::object(), "istio-proxy");
  story.pod(0, status("Running", Json::array({proxy, container(running())})));
  CHECK(story.all<FollowLog>().front().container == "train");
  story.pod(0, status("Running", Json::array({proxy, container(terminated(0))})));
  CHECK(story.phase() == Phase::finishing);
  story.pass(20min);
  CHECK(story.said("still finishing"));
  CHECK(story.said("the program of main has ended, but its pod is waiting for the container istio-proxy"));
  CHECK_FALSE(story.verdict());
}

TEST_CASE("the events of a thousand replicas cost little", "[native]") {
  Story story(gang(999));
  story.found();
  story.job(Judged::pending);
  const auto began = trainstep::test::cpu_time();
  for (const auto& [status, node] : {std::pair{unscheduled(), ""}, {creating(), "n"}, {runs(), "n"}, {runs(), "n"}, {succeeded(), "n"}})
    for (MemberIndex i = 0; i < 1000; ++i) story.pod(i, status, "", node);
  const auto took = trainstep::test::cpu_time() - began;
  CHECK(story.all<LogMessage>().size() < 20);
  CHECK(story.all<FollowLog>().size() == 1);
  CHECK(took < 10s);  // with sanitizers, reading the JSON included; when each event looked at copies of all pods it was minutes
}

TEST_CASE("of two pods created in one second the newer one is followed, whatever the order of their events") {
  Story story(single());
  auto drained = story.view(0, runs(), "z");
  auto next = story.view(0, runs(), "a");
  drained.created = next.created = start;
  const auto see = [&](const job_types::PodView& pod) { story.event(PodSeen{0, pod}); };
  const auto end_drained = [&] {
    auto status = story.view(0, failed(143), "z");
    drained.phase = status.phase;
    drained.containers = status.containers;
  };
  story.found();
  story.job(Judged::running);
  SECTION("the drained one is seen first") {
    see(drained);
    drained.deleting = true;
    see(drained);
    see(next);
    CHECK(story.said("main restarted (attempt 2)"));
    see(drained);
    if (GENERATE(true, false)) {  // it is taken away as well
      next.deleting = true;
      see(next);
    }
    end_drained();
    see(drained);
    CHECK_FALSE(story.said("attempt 3"));
  }
  SECTION("a list shows the next one first") {
    see(next);
    if (GENERATE(true, false))
      drained.deleting = true;
    else
      end_drained();
    see(drained);
    CHECK_FALSE(story.said("starts again"));
  }
  story.event(PodGone{0, "z"});
  CHECK(story.phase() == Phase::running);
  CHECK_FALSE(story.said("queued (after"));
  story.pod(0, succeeded(), "a");
  story.job(Judged::succeeded);
  story.logs_complete();
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::succeeded, 0, "");
}
