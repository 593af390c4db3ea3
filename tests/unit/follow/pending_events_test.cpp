// What the events of a pod, and their absence, tell of why it does not begin.
#include "follow/pending_events.h"

#include "job_story.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Kind = Pending::Kind;

namespace {

const Member worker{.name = "worker-1"};

job_types::PodView on_node(Json status) { return job_types::read_pod(pod("digits-worker-1", "uid", std::move(status))); }

std::optional<Pending> heard(const std::string& reason, const std::string& message, Json status = creating()) {
  PendingEvents events;
  events.hear({0, "uid", reason, message}, start);
  return events.pending(worker, on_node(std::move(status)), start);
}

const std::string missing = "MountVolume.SetUp failed for volume \"volume-0\" : secret \"keys\" not found";
const std::string summary =
    "Unable to attach or mount volumes: unmounted volumes=[volume-0], unattached volumes=[], failed to process volumes=[]: timed out waiting for the "
    "condition";

}  // namespace

TEST_CASE("what an event of a pod means for its start") {
  struct Row {
    std::string reason, message;
    Kind kind;
    Duration limit;
    VerdictClass verdict_class;
    std::string words;
  };
  // Messages as kubelets and the controller that attaches volumes write them (1.28 to 1.33).
  for (const auto& row : {
           Row{"FailedMount", missing, Kind::configuration, 5min, VerdictClass::input, "worker-1: cannot mount its volumes: " + missing},
           Row{"FailedMount", "MountVolume.SetUp failed for volume \"settings\" : configmap \"settings\" not found", Kind::configuration, 5min,
               VerdictClass::input, "cannot mount its volumes: "},
           Row{"FailedMount", "MountVolume.SetUp failed for volume \"v\" : references non-existent secret key: token", Kind::configuration, 5min,
               VerdictClass::input, "cannot mount its volumes: "},
           Row{"FailedMount", "MountVolume.SetUp failed for volume \"v\" : hostPath type check failed: /data is not a directory", Kind::configuration,
               5min, VerdictClass::input, "hostPath type check"},
           Row{"FailedMount", "MountVolume.SetUp failed for volume \"kube-api-access-x\" : object \"ns\"/\"kube-root-ca.crt\" not registered",
               Kind::container, 30min, VerdictClass::system, "cannot mount its volumes at present: "},
           Row{"FailedMount", "MountVolume.SetUp failed for volume \"nfs\" : mount failed: exit status 32", Kind::container, 30min,
               VerdictClass::system, "at present"},
           Row{"FailedMount", summary, Kind::container, 30min, VerdictClass::system, "at present"},
           Row{"FailedAttachVolume",
               "Multi-Attach error for volume \"pvc-1\" Volume is already exclusively attached to one node and can't be attached to another",
               Kind::container, 30min, VerdictClass::system, "another node may be using it"},
           Row{"FailedAttachVolume", "AttachVolume.Attach failed for volume \"pvc-1\" : rpc error: code = NotFound desc = volume not found",
               Kind::container, 30min, VerdictClass::system, "at present"},
           Row{"FailedCreatePodSandBox", "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network", Kind::container,
               30min, VerdictClass::system, "cannot be set up on its node at present: "},
           Row{"NetworkNotReady", "network is not ready: container runtime network not ready", Kind::container, 30min, VerdictClass::system,
               "cannot be set up on its node at present: "},
       }) {
    CAPTURE(row.message);
    const auto pending = heard(row.reason, row.message);
    REQUIRE(pending);
    CHECK(pending->kind == row.kind);
    CHECK(pending->limit == row.limit);
    CHECK(pending->verdict_class == row.verdict_class);
    CHECK_THAT(pending->what(), Contains(row.words));
  }
  for (const auto* other : {"BackOff", "Failed", "Unhealthy", "FailedScheduling", "FailedPreStopHook", "Evicted", ""}) {
    CAPTURE(other);
    CHECK_FALSE(heard(other, missing));
  }
}

TEST_CASE("a pod that shows that its volumes are there has no trouble with them any more") {
  CHECK(heard("FailedMount", missing));
  CHECK_FALSE(heard("FailedMount", missing, with_condition(creating(), condition("PodReadyToStartContainers", "True"))));
  CHECK(heard("FailedMount", missing, with_condition(creating(), condition("PodReadyToStartContainers", "False"))));
  CHECK_FALSE(heard("FailedMount", missing, runs()));
  CHECK_FALSE(heard("FailedMount", missing, succeeded()));
  CHECK_FALSE(heard("FailedMount", missing, waits("ErrImagePull", "not found")));
  const auto initializing = Json::array({container(waiting("PodInitializing"))});
  CHECK(heard("FailedMount", missing, status("Pending", initializing, initializing)));
  CHECK_FALSE(heard("FailedMount", missing, status("Pending", initializing, Json::array({container(running(), 0, Json::object(), "agent")}))));
}

TEST_CASE("a problem that is not reported again is over") {
  PendingEvents events;
  const auto pod = on_node(creating());
  const auto lasts = [&](Duration passed) { return events.pending(worker, pod, start + passed).has_value(); };
  events.hear({0, "uid", "FailedMount", missing}, start);
  CHECK(lasts(150s));
  CHECK_FALSE(lasts(151s));
  events.hear({0, "uid", "FailedMount", summary}, start + 2min);
  CHECK(lasts(4min));
  CHECK_THAT(events.pending(worker, pod, start + 4min)->what(), Contains("secret \"keys\" not found"));
  events.hear({0, "uid", "FailedAttachVolume", "older"}, start + 1min);
  CHECK_THAT(events.pending(worker, pod, start + 4min)->what(), Contains("secret \"keys\" not found"));
  events.hear({0, "uid", "FailedCreatePodSandBox", "no network"}, start + 4min);
  CHECK_THAT(events.pending(worker, pod, start + 10min)->what(), Contains("no network"));
  CHECK_FALSE(lasts(11min));
}

TEST_CASE("the events of pods are watched once a pod has not started in the usual time and its status gives no reason") {
  Story story(gang(2));
  story.found();
  const auto asked = [&] { return story.all<WatchPodEvents>().size(); };
  SECTION("a pod that only waits") {
    story.pod(0, creating());
    story.pass(19s);
    CHECK(asked() == 0);
    story.pass(1s);
    CHECK(asked() == 1);
    story.pod(1, creating());
    story.pass(1h);
    CHECK(asked() == 1);
  }
  SECTION("pods that begin in time") {
    for (const MemberIndex member : {0, 1, 2}) {
      story.pod(member, creating());
      story.pass(15s);
      story.pod(member, runs());
      story.pass(6s);
    }
    CHECK(asked() == 0);
  }
  SECTION("a second one, when the first had begun") {
    story.pod(0, creating());
    story.pod(0, runs());
    story.pass(1min);
    CHECK(asked() == 0);
    story.pod(1, creating());
    story.pass(20s);
    CHECK(asked() == 1);
  }
  SECTION("one whose status gives the reason, and one without a node") {
    story.pod(0, waits("ErrImagePull", "not found"));
    story.pod(1, unscheduled(), "", "");
    story.pass(1min);
    CHECK(asked() == 0);
  }
}

TEST_CASE("a missing volume is reported, and final after its limit, as long as events repeat it") {
  Story story(gang(1));
  story.found();
  story.pod(0, runs());
  story.pod(1, creating());
  story.pass(20s);
  const auto tell = [&](const std::string& uid = "worker-0") { story.event(PodWarningSeen{1, uid, "FailedMount", missing}); };
  tell("of an earlier pod");
  CHECK_FALSE(story.said("cannot mount"));
  tell();
  CHECK(story.said("worker-0: cannot mount its volumes: " + missing + "; waiting up to " + describe(Duration(5min)) + " for it to change"));
  SECTION("it lasts") {
    for (int i = 0; i < 149; ++i) {
      story.pass(2s);
      tell();
    }
    CHECK_FALSE(story.removed());
    story.pass(2s);
    const auto verdict = story.verdict_after_removal();
    CHECK(exit_code(verdict) == 2);
    CHECK_THAT(verdict.message, Contains("secret \"keys\" not found") && Contains("this has lasted " + describe(Duration(5min))));
  }
  SECTION("it is created, and then a long pull begins") {
    story.pass(100s);
    tell();
    story.pass(1h);
    CHECK_FALSE(story.removed());
  }
  SECTION("it is created, and the program starts") {
    story.pass(100s);
    tell();
    story.pod(1, runs());
    tell();
    story.pass(1h);
    CHECK_FALSE(story.removed());
  }
  SECTION("its pod is recreated elsewhere") {
    story.pass(100s);
    tell();
    story.pod(1, creating(), "b");
    tell();
    story.pass(1h);
    CHECK_FALSE(story.removed());
  }
}

TEST_CASE("an event reported only before the watch counts from its own time") {
  const std::string attached = "Multi-Attach error for volume \"pvc-1\" Volume is already used by pod(s) notebook-0";
  Story story(gang(1));
  story.found();
  story.pod(0, runs());
  story.pod(1, creating());
  story.pass(20s);
  const auto tell = [&](Duration ago) { story.event(PodWarningSeen{1, "worker-0", "FailedAttachVolume", attached, story.now - ago}); };
  SECTION("a moment ago: it is reported, and final with the summarising event") {
    tell(19s);
    CHECK(story.said("worker-0: cannot mount its volumes at present: " + attached));
    for (int i = 0; i < 15; ++i) {
      story.pass(2min);
      story.event(PodWarningSeen{1, "worker-0", "FailedMount", summary});
    }
    const auto verdict = story.verdict_after_removal();
    CHECK(exit_code(verdict) == 3);
    CHECK_THAT(verdict.message, Contains("another node may be using it"));
  }
  SECTION("long ago: it is over") {
    tell(7min);
    CHECK_FALSE(story.said("cannot mount"));
  }
  SECTION("by a clock that is ahead") {
    tell(Duration(-1h));
    CHECK(story.said("cannot mount"));
    story.pass(7min);
    tell(Duration(7min));
    CHECK_FALSE(story.removed());
  }
}

TEST_CASE("a pod without a scheduler is reported after two minutes, and waited for") {
  Story story(gang(1));
  story.found();
  story.pod(0, runs());
  auto pod = story.view(1, status("Pending", Json::array()), "", "");
  SECTION("with a name") {
    pod.scheduler = "volcano";
    story.event(PodSeen{1, pod});
    story.pass(119s);
    CHECK_FALSE(story.said("scheduler"));
    story.pass(1s);
    CHECK(story.said("worker-0 cannot be scheduled: no scheduler has picked it up; is \"volcano\" running?"));
    story.pass(24h);
    CHECK(story.times_said("no scheduler") == 1);
    CHECK_FALSE(story.removed());
    story.pod(1, unscheduled(), "", "");
    CHECK(story.said("worker-0 cannot be scheduled: 0/5 nodes are available"));
  }
  SECTION("without one") {
    pod.scheduler.clear();
    story.event(PodSeen{1, pod});
    story.pass(2min);
    CHECK(story.said("no scheduler has picked it up; is one running?"));
  }
  SECTION("it was only slow") {
    story.event(PodSeen{1, pod});
    story.pass(119s);
    story.pod(1, unscheduled(), "", "");
    story.pass(1h);
    CHECK_FALSE(story.said("no scheduler"));
  }
}

TEST_CASE("a deleted pod that does not end is reported once, after a minute") {
  Story story(gang(1));
  story.all_run();
  auto pod = story.view(1, runs());
  pod.deleting = true;
  pod.disruption = "DeletionByTaintManager";
  story.event(PodSeen{1, pod});
  story.pass(59s);
  CHECK_FALSE(story.said("is being deleted"));
  SECTION("it stays") {
    story.pass(1s);
    CHECK(
        story.said("worker-0 is being deleted (its node was lost or tainted (DeletionByTaintManager)) but has not ended, and will not be replaced"));
    story.event(PodSeen{1, pod});
    story.pass(1h);
    CHECK(story.times_said("is being deleted") == 1);
    CHECK_FALSE(story.removed());
  }
  SECTION("it ends") {
    story.gone(1);
    story.pass(1h);
    CHECK_FALSE(story.said("is being deleted"));
  }
  SECTION("the job has ended") {
    story.job(Judged::succeeded);
    story.pass(1h);
    CHECK_FALSE(story.said("worker-0 is being deleted"));
  }
}
