// Every way a job can end: class, exit code and words.
#include "job_story.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

void check(const result::Verdict& verdict, VerdictClass verdict_class, int code, const std::string& words) {
  CHECK(name(verdict.verdict_class) == name(verdict_class));
  CHECK(exit_code(verdict) == code);
  CHECK_THAT(describe(verdict), Contains(words));
}

}  // namespace

TEST_CASE("the job's own success is success, once its primary's end and log have come") {
  Story story(gang(2));
  story.all_run();
  story.output(0, "epoch 1\n");
  story.job(Judged::succeeded);
  CHECK_FALSE(story.verdict());
  story.pod(0, succeeded());
  REQUIRE(story.all<EndLog>().size() == 1);
  CHECK_FALSE(story.all<EndLog>().front().restarted);
  CHECK_FALSE(story.verdict());
  story.logs_complete();
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::succeeded, 0, "succeeded");
  CHECK_FALSE(story.removed());
}

TEST_CASE("a pod's success is not the job's") {
  Story story(single());
  story.all_run();
  story.pod(0, succeeded());
  story.logs_complete();
  story.pass(24h);
  CHECK_FALSE(story.verdict());
  story.job(Judged::succeeded);
  CHECK(story.verdict());
}

TEST_CASE("a pod's failure is not the job's: its kind may try again, and the job may succeed all the same") {
  Story story(gang(1));
  story.all_run();
  story.pod(1, failed(1), "a");
  story.pass(1h);
  CHECK_FALSE(story.verdict());
  story.pod(0, succeeded());
  story.job(Judged::succeeded);
  story.logs_complete();
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::succeeded, 0, "");
}

TEST_CASE("once the job has ended its pods are looked at again: only then all is known") {
  Story story(single());
  story.lists_at_once = false;
  story.all_run();
  CHECK(story.all<LookAgain>().empty());
  story.job(Judged::succeeded);
  CHECK(story.all<LookAgain>().size() == 1);
  story.pass(1h);  // the API server may be away
  CHECK_FALSE(story.verdict());
  story.pod(0, succeeded());
  story.logs_complete();
  CHECK_FALSE(story.verdict());
  story.event(PodsListed{});
  REQUIRE(story.verdict());
  CHECK(story.all<LookAgain>().size() == 1);
}

TEST_CASE("a job that ends before anything was seen of its pod shows its log all the same") {
  Story story(single());
  story.lists_at_once = false;
  story.found();
  story.job(Judged::succeeded);
  story.pod(0, succeeded());
  story.event(PodsListed{});
  REQUIRE(story.all<FollowLog>().size() == 1);
  CHECK_FALSE(story.verdict());
  story.logs_complete();
  CHECK(story.verdict());
}

TEST_CASE("an end that never comes, and a log that never ends, are waited for so long and no longer") {
  Story story(single());
  story.all_run();
  story.job(Judged::succeeded);
  story.pass(4900ms);
  CHECK(story.all<EndLog>().empty());
  story.pass(200ms);
  REQUIRE(story.all<EndLog>().size() == 1);
  CHECK_FALSE(story.verdict());
  story.pass(10s);
  REQUIRE(story.verdict());
  CHECK(story.said("main: the end of its log could not be read in time"));
  check(*story.verdict(), VerdictClass::succeeded, 0, "");
}

TEST_CASE("pods that are gone already do not keep a job from its end") {
  for (const auto end : {Judged::succeeded, Judged::failed}) {
    Story story(gang(1));
    story.found(true);
    story.job(end);
    REQUIRE(story.verdict());
    CHECK(exit_code(*story.verdict()) == (end == Judged::succeeded ? 0 : 1));
  }
}

TEST_CASE("replicas that outlive the job are not waited for") {
  auto rules = gang(2);
  rules.logs = {"all"};
  Story story(rules);
  story.all_run();
  story.pod(0, succeeded());
  story.job(Judged::succeeded);
  story.logs_complete();
  CHECK(story.verdict());
}

TEST_CASE("the first final word of the job counts") {
  Story story(single());
  story.all_run();
  story.pod(0, failed(3));
  story.job(Judged::failed, "PyTorchJobFailed", "");
  story.job(Judged::succeeded);
  story.logs_complete();
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::user, 1, "exited with code 3");
}

TEST_CASE("kinds of failure") {
  struct Row {
    std::string what;
    Json pod;
    std::string reason, message;  // the job's
    VerdictClass verdict_class;
    int code;
    std::string words;
    bool retry = false;
  };
  using enum VerdictClass;
  auto start_error = failed(128, "StartError");
  start_error["containerStatuses"][0]["state"]["terminated"]["message"] = "exec: \"python9\": executable file not found in $PATH";
  auto unknown = failed(137, "ContainerStatusUnknown");
  const Row rows[] = {
      {"exit code", failed(3), "BackoffLimitExceeded", "Job has reached the specified backoff limit", user, 1, "main exited with code 3"},
      {"out of memory", failed(137, "OOMKilled"), "BackoffLimitExceeded", "", user, 1, "main was killed by SIGKILL (9): OOMKilled"},
      {"segmentation fault", failed(139), "PyTorchJobFailed", "", user, 1, "main was killed by SIGSEGV (11)"},
      {"killed by nobody knows whom", failed(137), "PyTorchJobFailed", "", user, 1, "killed from outside, or out of memory"},
      {"no such command", start_error, "PyTorchJobFailed", "", user, 1,
       "main exited with code 128: StartError: exec: \"python9\": executable file not found in $PATH"},
      {"evicted", evicted(), "PyTorchJobFailed", "", capacity, 5,
       "Evicted: The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi.", true},
      {"evicted before it began", evicted_early(), "BackoffLimitExceeded", "", capacity, 5, "main failed: Evicted: Pod was rejected", true},
      {"preempted", preempted(), "PyTorchJobFailed", "", capacity, 5, "made room for a pod of higher priority (PreemptionByScheduler)", true},
      {"no room on its node",
       {{"phase", "Failed"}, {"reason", "OutOfcpu"}, {"message", "Pod was rejected: Node didn't have enough resource: cpu"}},
       "BackoffLimitExceeded",
       "",
       capacity,
       5,
       "OutOfcpu: Pod was rejected",
       true},
      {"an init container", init_failed(1), "PyTorchJobFailed", "", user, 1, "main exited with code 1: init container init-pytorch failed"},
      {"nobody saw the end", unknown, "PyTorchJobFailed", "", user, 1, "main failed: ContainerStatusUnknown"},
      {"deadline", deadline_pod(), "DeadlineExceeded", "Job was active longer than specified deadline", timeout, 4, "run_policy.active_deadline"},
      {"deadline of the v1 operator", runs(), "PyTorchJobFailed", "Job digits has failed because it was active longer than specified deadline",
       timeout, 4, "run_policy.active_deadline"},
      {"only the job says why", runs(), "PodFailurePolicy",
       "Container train for pod ns/digits failed with exit code 3 matching FailJob rule at index 1", user, 1,
       "pytorchjobs/digits failed: PodFailurePolicy: Container train for pod"},
      {"only the job says it was evicted", runs(), "MPIJobEvicted", "1/2 workers are evicted", capacity, 5, "MPIJobEvicted: 1/2 workers are evicted",
       true},
      {"nothing says why", runs(), "", "", user, 1, "pytorchjobs/digits failed, and nothing says why"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    Story story(single());
    story.all_run();
    story.pod(0, row.pod, "x");
    story.job(Judged::failed, row.reason, row.message);
    story.logs_complete();
    story.pass(15s);
    REQUIRE(story.verdict());
    check(*story.verdict(), row.verdict_class, row.code, row.words);
    CHECK(story.verdict()->retry_can_help == row.retry);
    CHECK_FALSE(story.removed());
  }
}

TEST_CASE("a failure whose pod is not seen in time is told in the job's own words") {
  Story story(gang(1));
  story.all_run();
  story.job(Judged::failed, "PyTorchJobFailed", "PyTorchJob digits is failed because 1 Worker replica(s) failed.");
  story.pass(4900ms);
  CHECK_FALSE(story.verdict());
  story.pass(200ms);
  story.logs_complete();  // the master's, that has come this far
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::user, 1,
        "pytorchjobs/digits failed: PyTorchJobFailed: PyTorchJob digits is failed because 1 Worker replica(s) failed.");
}

TEST_CASE("the pods' ends may come after the job's own word") {
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
    story.pod(0, failed(143, "", at));  // ended by SIGTERM: it follows somebody
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

TEST_CASE("pods that the operator deletes after the first failure are not blamed, whenever they are said to have ended") {
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

TEST_CASE("a job that fails because a pod was deleted had it taken away: capacity") {
  Story story(single());
  story.all_run();
  story.deleting(0, failed(143));
  story.gone(0);
  story.job(Judged::failed, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
  story.logs_complete();
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::capacity, 5, "taken away");
}

TEST_CASE("pods that are gone before their end was seen say nothing: the job's own words count") {
  Story story(single());
  story.all_run();
  story.gone(0);
  story.job(Judged::failed, "TFJobFailed", "TFJob digits has failed because it has reached the specified backoff limit");
  story.logs_complete();
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::user, 1, "TFJobFailed: TFJob digits has failed because it has reached the specified backoff limit");
}

TEST_CASE("a lost node is capacity, although nobody wrote an end") {
  Story story(gang(1));
  story.all_run();
  story.deleting(1, node_lost());
  story.gone(1);
  story.job(Judged::failed);
  story.logs_complete();
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::capacity, 5, "worker-0 failed: its node was lost or tainted (DeletionByTaintManager)");
}

TEST_CASE("a thousand followers are not told one by one, and their logs are not read") {
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
  CHECK(story.said("more replicas fail"));
  CHECK(story.all<FollowLog>().size() == 2);  // the master's, and the first failure's
}

TEST_CASE("a job that is gone before its end was seen: nobody knows") {
  Story story(single());
  story.all_run();
  story.pod(0, succeeded());
  story.event(JobGone{});
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::system, 3,
        "pytorchjobs/digits was deleted by somebody else before its end was seen; whether the training succeeded cannot be known");
  CHECK_FALSE(story.removed());
}

TEST_CASE("a job that is gone after its end was seen has ended as it said") {
  Story story(single());
  story.all_run();
  story.job(Judged::succeeded);
  story.event(JobGone{});
  story.gone(0);
  story.logs_complete();
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::succeeded, 0, "");
}

TEST_CASE("nothing changes a verdict, and nothing is ordered after it") {
  Story story(single());
  story.all_run();
  story.event(JobGone{});
  const auto count = story.orders.size();
  story.job(Judged::succeeded);
  story.pod(0, failed(1));
  story.event(StopRequested{SIGTERM});
  story.event(CancelSeen{"x"});
  story.event(BackendFailed{{ErrorKind::unavailable, "x"}});
  story.pass(24h);
  CHECK(story.orders.size() == count);
}
