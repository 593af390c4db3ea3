// Every way a job can end: class, exit code and words.
#include "follow/reasons.h"
#include "job_story.h"
#include "job_types/conditions.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

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

TEST_CASE("a job marked as succeeded without any pod is not a success") {
  Story story(single());
  story.found();
  story.job(Judged::succeeded, std::string(job_types::uncounted));
  CHECK_FALSE(story.verdict());  // the server that listed the pods may lag
  story.pass(5s);
  CHECK(story.all<Refresh>().size() == 2);
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::system, 3, "of its primary replica was seen");
  CHECK_FALSE(story.said("its pods are gone"));
}

TEST_CASE("a success is one if a pod of the primary was seen, or the status counts one that succeeded") {
  SECTION("the pod was seen before it went") {
    Story story(single());
    story.all_run();
    story.gone(0);
    story.job(Judged::succeeded, std::string(job_types::uncounted));
    story.logs_complete();
    REQUIRE(story.verdict());
    check(*story.verdict(), VerdictClass::succeeded, 0, "succeeded");
  }
  SECTION("a stale list did not contain it") {
    Story story(single());
    story.found();
    story.job(Judged::succeeded, std::string(job_types::uncounted));
    story.pod(0, succeeded());
    story.logs_complete();
    REQUIRE(story.verdict());
    check(*story.verdict(), VerdictClass::succeeded, 0, "succeeded");
  }
  SECTION("the pods had gone when the job was found, or are counted after the first word") {
    Story story(single());
    story.found(true);
    if (GENERATE(true, false)) story.job(Judged::succeeded, std::string(job_types::uncounted));
    story.job(Judged::succeeded, "CompletionsReached");
    story.pass(5s);
    REQUIRE(story.verdict());
    check(*story.verdict(), VerdictClass::succeeded, 0, "succeeded");
    CHECK(story.said("its pods are gone"));
  }
  SECTION("a worker's pod is not the primary's") {
    Story story(gang(1));
    story.found();
    story.pod(1, succeeded());
    story.job(Judged::succeeded, std::string(job_types::uncounted));
    story.pass(5s);
    REQUIRE(story.verdict());
    check(*story.verdict(), VerdictClass::system, 3, "of its primary replica was seen");
  }
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
  CHECK(story.all<Refresh>().empty());
  story.job(Judged::succeeded);
  CHECK(story.all<Refresh>().size() == 1);
  story.pass(1h);  // the API server may be away
  CHECK_FALSE(story.verdict());
  story.pod(0, succeeded());
  story.logs_complete();
  CHECK_FALSE(story.verdict());
  story.event(PodsListed{});
  REQUIRE(story.verdict());
  CHECK(story.all<Refresh>().size() == 1);
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

TEST_CASE("a job that succeeds before its pod was seen to run has its pods listed a second time") {
  Story story(single());
  story.lists_at_once = false;
  story.found();
  story.pod(0, creating());
  story.job(Judged::succeeded);
  CHECK(story.all<Refresh>().size() == 1);
  story.event(PodsListed{});  // by a server that is behind
  story.pass(5s);
  CHECK_FALSE(story.verdict());
  CHECK(story.all<Refresh>().size() == 2);
  SECTION("which shows it") {
    story.pod(0, succeeded());
    story.event(PodsListed{});
    CHECK(opened(story).size() == 1);
    CHECK_FALSE(story.verdict());
    story.logs_complete();
  }
  SECTION("which shows nothing new") { story.event(PodsListed{}); }
  REQUIRE(story.verdict());
  CHECK(story.verdict()->verdict_class == VerdictClass::succeeded);
}

TEST_CASE("the wait for a missing end, or an endless log, is limited") {
  Story story(single());
  story.all_run();
  story.job(Judged::succeeded);
  story.pass(4900ms);
  CHECK(story.all<EndLog>().empty());
  story.pass(200ms);
  REQUIRE(story.all<EndLog>().size() == 1);
  CHECK_FALSE(story.verdict());
  CHECK(story.said("waiting up to 10 s for the end of the log of main"));
  story.pass(10s);
  REQUIRE(story.verdict());
  CHECK(story.said("main: the end of its log could not be read in time"));
  check(*story.verdict(), VerdictClass::succeeded, 0, "");
}

TEST_CASE("if the wait for the end of a log is cut short, missing lines are reported") {
  Story story(single());
  story.all_run();
  story.pod(0, succeeded());
  story.job(Judged::succeeded);
  REQUIRE_FALSE(story.verdict());
  story.event(StopRequested{SIGTERM});
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::succeeded, 0, "");
  CHECK(story.said("main: the end of its log could not be read in time"));
}

TEST_CASE("pods that are gone already do not keep a job from its end") {
  for (const auto end : {Judged::succeeded, Judged::failed}) {
    Story story(gang(1));
    story.found(true);
    story.job(end);
    REQUIRE(story.verdict());
    CHECK(exit_code(*story.verdict()) == (end == Judged::succeeded ? 0 : 3));
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

TEST_CASE("the first final status of the job decides") {
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
  auto of_the_node = failed(128, "StartError");
  of_the_node["containerStatuses"][0]["state"]["terminated"]["message"] =
      "failed to create shim task: OCI runtime create failed: error running hook #0: nvidia-container-cli: initialization error: load library "
      "failed: "
      "libnvidia-ml.so.1: cannot open shared object file: no such file or directory";
  auto unknown = failed(137, "ContainerStatusUnknown");
  const Row rows[] = {
      {"exit code", failed(3), "BackoffLimitExceeded", "Job has reached the specified backoff limit", user, 1, "main exited with code 3"},
      {"out of memory", failed(137, "OOMKilled"), "BackoffLimitExceeded", "", user, 1, "main was killed by SIGKILL (9): OOMKilled"},
      {"segmentation fault", failed(139), "PyTorchJobFailed", "", user, 1, "main was killed by SIGSEGV (11)"},
      {"killed for an unknown reason", failed(137), "PyTorchJobFailed", "", user, 1, "killed from outside, or out of memory"},
      {"no such command", start_error, "PyTorchJobFailed", "", input, 2,
       "the training program could not be started; first failure: main exited with code 128: StartError: exec: \"python9\": executable file not "
       "found "
       "in $PATH"},
      {"a node whose GPUs' driver does not fit", of_the_node, "PyTorchJobFailed", "", system, 3, "the training program could not be started", true},
      {"evicted", evicted(), "PyTorchJobFailed", "", capacity, 5,
       "Evicted: The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi.", true},
      {"evicted before it began", evicted_early(), "BackoffLimitExceeded", "", capacity, 5, "main failed: Evicted: Pod was rejected", true},
      {"preempted", preempted(), "PyTorchJobFailed", "", capacity, 5, "preempted by a pod of higher priority (PreemptionByScheduler)", true},
      {"no room on its node",
       {{"phase", "Failed"}, {"reason", "OutOfcpu"}, {"message", "Pod was rejected: Node didn't have enough resource: cpu"}},
       "BackoffLimitExceeded",
       "",
       capacity,
       5,
       "OutOfcpu: Pod was rejected",
       true},
      {"an init container", init_failed(1), "PyTorchJobFailed", "", user, 1, "main exited with code 1: init container init-pytorch failed"},
      {"its end was not seen", unknown, "PyTorchJobFailed", "", system, 3,
       "it is unknown whether the training program failed: its end was not seen; first failure: main failed: ContainerStatusUnknown", true},
      {"only the disruption was observed", with_condition(unknown, condition("DisruptionTarget", "True", "DeletionByTaintManager")),
       "PyTorchJobFailed", "", capacity, 5, "a replica was removed from the job", true},
      {"deadline", deadline_pod(), "DeadlineExceeded", "Job was active longer than specified deadline", timeout, 4, "run_policy.active_deadline"},
      {"deadline of the v1 operator", runs(), "PyTorchJobFailed", "Job digits has failed because it was active longer than specified deadline",
       timeout, 4, "run_policy.active_deadline"},
      {"kept for an attempt that did not come", runs(), std::string(kept_in_vain), "Job was active longer than specified deadline", capacity, 5,
       "the job ended at the deadline set by an attempt of this step", true},
      {"only the job says why", runs(), "PodFailurePolicy",
       "Container train for pod ns/digits failed with exit code 3 matching FailJob rule at index 1", user, 1,
       "pytorchjobs/digits failed: PodFailurePolicy: Container train for pod"},
      {"only the job says it was evicted", runs(), "MPIJobEvicted", "1/2 workers are evicted", capacity, 5, "MPIJobEvicted: 1/2 workers are evicted",
       true},
      {"killed, and the job says that it was evicted", failed(137), "MPIJobEvicted", "1/2 workers are evicted", capacity, 5, "a replica was removed",
       true},
      {"another container next to the program",
       status("Failed", Json::array({container(terminated(0)), container(terminated(1), 0, Json::object(), "istio-proxy")})), "BackoffLimitExceeded",
       "Job has reached the specified backoff limit", system, 3,
       "the program of main exited with code 0, but the container istio-proxy in the same pod failed (exit code 1)", true},
      {"nothing says why", runs(), "", "", system, 3,
       "pytorchjobs/digits failed; none of its pods shows why, so it is unknown whether the training program failed", true},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    Story story(single());
    story.all_run();
    story.pod(0, row.pod);
    story.job(Judged::failed, row.reason, row.message);
    story.logs_complete();
    story.pass(15s);
    REQUIRE(story.verdict());
    check(*story.verdict(), row.verdict_class, row.code, row.words);
    CHECK(story.verdict()->retry_can_help == row.retry);
    CHECK_FALSE(story.removed());
  }
}

TEST_CASE("a failure whose pod is not seen in time is reported with the job's own message") {
  Story story(gang(1));
  story.all_run();
  story.job(Judged::failed, "PyTorchJobFailed", "PyTorchJob digits is failed because 1 Worker replica(s) failed.");
  story.pass(4900ms);
  CHECK_FALSE(story.verdict());
  story.pass(200ms);
  story.logs_complete();  // the master's, that has come this far
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::system, 3,
        "pytorchjobs/digits failed: PyTorchJobFailed: PyTorchJob digits is failed because 1 Worker replica(s) failed.");
}

TEST_CASE("a failure that only the second list of the pods shows is used") {
  Story story(gang(1));
  story.all_run();
  story.job(Judged::failed, "PyTorchJobFailed", "PyTorchJob digits is failed because 1 Worker replica(s) failed.");
  story.lists_at_once = false;
  story.pass(6s);
  story.logs_complete();
  CHECK_FALSE(story.verdict());
  story.pod(1, failed(3));
  story.event(PodsListed{});
  story.logs_complete();
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::user, 1, "worker-0 exited with code 3");
}

TEST_CASE("a job that is gone before its end was seen has an unknown outcome") {
  Story story(single());
  story.all_run();
  story.pod(0, succeeded());
  story.event(JobGone{});
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::system, 3,
        "pytorchjobs/digits was deleted by another client before its outcome was seen; it is unknown whether the training succeeded");
  CHECK_FALSE(story.removed());
}

TEST_CASE("a job deleted by another client is waited for while its finalizers hold it, within a limit") {
  Story story(gang(1));
  story.all_run();
  story.job(Judged::running, std::string(being_deleted), "foregroundDeletion, example.com/backup");
  CHECK(story.said("is being deleted by another client; waiting for its finalizers (foregroundDeletion, example.com/backup)"));
  story.gone(0);
  story.gone(1);
  CHECK_FALSE(story.said("queued (after"));
  story.job(Judged::running, std::string(being_deleted), "foregroundDeletion, example.com/backup");
  CHECK(story.times_said("is being deleted") == 1);
  SECTION("gone") {
    story.event(JobGone{});
    check(*story.verdict(), VerdictClass::system, 3, "was deleted by another client before its outcome was seen");
  }
  SECTION("it ends before it goes") {
    story.job(Judged::succeeded);
    story.logs_complete();
    check(*story.verdict(), VerdictClass::succeeded, 0, "succeeded");
  }
  SECTION("it stays") {
    story.job(Judged::running, std::string(being_deleted), "example.com/backup");
    story.pass(9min);
    CHECK_FALSE(story.verdict());
    story.pass(1min);
    REQUIRE(story.verdict());
    check(*story.verdict(), VerdictClass::system, 3, "after 10 min 00 s it still exists, held by its finalizers (example.com/backup)");
    CHECK_FALSE(story.removed());
  }
}

TEST_CASE("if another client deleted a job in the background, and a finalizer holds it, its pods are stopped") {
  Story story(gang(1));
  story.all_run();
  story.gone(1);
  const bool runs_on = GENERATE(true, false);
  if (!runs_on) story.pod(0, failed(1));
  story.job(Judged::running, std::string(being_deleted), "example.com/backup");
  story.pass(10min);
  CHECK(story.removed() == runs_on);
  const auto verdict = runs_on ? story.verdict_after_removal() : story.verdict().value_or(result::Verdict{});
  CHECK(verdict.verdict_class == VerdictClass::system);
}

TEST_CASE("if a status has both conditions, the exit codes decide") {
  Story story(gang(1));
  story.all_run();
  const auto ends = [&](Json master) {
    story.pod(0, std::move(master));
    story.pod(1, failed(1));
    story.job(Judged::succeeded, std::string(job_types::contradicted));
    story.logs_complete();
    story.pass(1min);
    REQUIRE(story.verdict());
    return *story.verdict();
  };
  SECTION("the primary failed") { check(ends(failed(1)), VerdictClass::user, 1, "master-0 exited with code 1"); }
  SECTION("the primary succeeded, whatever the others did") { check(ends(succeeded()), VerdictClass::succeeded, 0, "succeeded"); }
  SECTION("unknown") { check(ends(runs()), VerdictClass::system, 3, "says both that it has succeeded and that it has failed"); }
}

TEST_CASE("a job that is gone after its end was seen has the outcome of its status") {
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

TEST_CASE("if a job failed because a pod was evicted, the end of the pod's grace period is awaited for a while") {
  auto rules = job_rules();
  rules.log_end = 5min;
  Story story(gang(1), rules);
  story.all_run();
  auto pod = story.view(1, runs());
  pod.deleting = true;
  pod.disruption = "EvictionByEvictionAPI";
  story.event(PodSeen{1, pod});
  story.job(Judged::failed, "PodFailurePolicy", "x");
  story.pass(5s);
  CHECK(story.said("worker-0 is being removed from the job (its node was drained (EvictionByEvictionAPI)); waiting up to 45 s for it to end"));
  CHECK(ended(story).empty());
  SECTION("it ends in time") {
    story.pass(40s);
    pod = story.view(1, failed(143));
    pod.deleting = true;
    pod.disruption = "EvictionByEvictionAPI";
    story.event(PodSeen{1, pod});
  }
  SECTION("it is gone") {
    story.pass(40s);
    story.gone(1);
  }
  SECTION("it does not") {
    story.pass(44s);
    CHECK_FALSE(story.verdict());
    story.pass(1min);
  }
  story.logs_complete();
  REQUIRE(story.verdict());
  check(*story.verdict(), VerdictClass::capacity, 5, "a replica was removed from the job");
  CHECK(story.verdict()->first_failure->replica == "worker-0");
  CHECK_THAT(story.verdict()->first_failure->reason, Contains("its node was drained"));
}

TEST_CASE("pods that their nodes refuse, that pass a deadline of their own, or use more disk than they may") {
  struct Row {
    std::string what;
    Json status;
    VerdictClass verdict_class;
    int code;
    std::string words;
  };
  const auto failed_pod = [](const std::string& reason, const std::string& message, Json containers) {
    auto result = status("Failed", std::move(containers));
    result["reason"] = reason;
    result["message"] = message;
    return result;
  };
  const auto killed = Json::array({container(terminated(137, "Error"))});
  for (const auto& row : {Row{"refused", failed_pod("TopologyAffinityError", "no NUMA node fits", Json::array()), VerdictClass::capacity, 5,
                              "rejected by its node, before its program started"},
                          Row{"late", failed_pod("DeadlineExceeded", "Pod was active on the node longer than the specified deadline", killed),
                              VerdictClass::timeout, 4, "the deadline of a pod (activeDeadlineSeconds) was exceeded"},
                          Row{"disk", failed_pod("Evicted", "Usage of EmptyDir volume \"x\" exceeds the limit \"1Gi\". ", killed), VerdictClass::user,
                              1, "exceeds the limit"}}) {
    CAPTURE(row.what);
    Story story(single());
    story.found();
    if (row.what != "refused") story.pod(0, runs());
    story.pod(0, row.status);
    story.job(Judged::failed, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
    story.pass(10s);
    story.logs_complete();
    story.pass(10min);
    REQUIRE(story.verdict());
    check(*story.verdict(), row.verdict_class, row.code, row.words);
  }
}
