// What pending means for a job: how long it is waited for, and what is told.
#include "job_story.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

TEST_CASE("what is final at once ends the job at once") {
  struct Row {
    std::string words;
    std::function<void(Story&)> happens;
  };
  for (const auto& row : {Row{"invalid image name", [](Story& story) { story.pod(1, waits("InvalidImageName", "bad")); }},
                          Row{"rejected by its operator", [](Story& story) { story.warning("ValidationError", "no"); }}}) {
    CAPTURE(row.words);
    Story story(gang(1));
    story.found();
    row.happens(story);
    CHECK(story.of<RemoveJob>(story.of_last_event).size() == 1);
    const auto verdict = story.verdict_after_removal();
    CHECK(exit_code(verdict) == 2);
    CHECK_FALSE(verdict.retry_can_help);
    CHECK_THAT(verdict.message, Contains(row.words));
  }
}

TEST_CASE("a transient problem is waited for, reported once, and then final") {
  struct Row {
    Json pod;
    Duration limit;
    std::string words, node;
  };
  for (const auto& row : {Row{waits("ErrImagePull", "not found"), 5min, "cannot pull the image: not found", "node-1"},
                          Row{waits("CreateContainerConfigError", "secret \"keys\" not found"), 2min, "secret \"keys\" not found", "node-1"},
                          Row{unscheduled("persistentvolumeclaim \"data\" not found"), 5min, "persistentvolumeclaim \"data\" not found", ""}}) {
    CAPTURE(row.words);
    Story story(gang(1));
    story.found();
    story.job(Judged::pending);
    story.pass(10min);  // is none of its time
    story.pod(1, row.pod, "", row.node);
    CHECK(story.times_said(row.words) == 1);
    CHECK(story.said("waiting up to " + describe(row.limit) + " for it to change"));
    for (Duration passed = 0s; passed < row.limit - 1s; passed += 1s) {
      story.pass(1s);
      if (passed == 20s) story.pod(1, row.pod, "", row.node);
    }
    CHECK(story.times_said(row.words) == 1);
    CHECK_FALSE(story.removed());
    story.pass(1s);
    const auto verdict = story.verdict_after_removal();
    CHECK(exit_code(verdict) == 2);
    CHECK_THAT(verdict.message, Contains(row.words) && Contains("this has lasted " + describe(row.limit)));
  }
}

TEST_CASE("a problem that disappears in time is forgotten, and starts over if it returns") {
  Story story(single());
  story.found();
  for (int i = 0; i < 3; ++i) {
    story.pod(0, waits("ErrImagePull", "toomanyrequests"));
    story.pass(4min);
    story.pod(0, creating());
    story.pass(1s);
  }
  CHECK_FALSE(story.removed());
  story.pod(0, runs());
  story.pass(24h);
  CHECK_FALSE(story.removed());
}

TEST_CASE("the cause that the registry gave stays while the kubelet only waits for its next try") {
  Story story(single());
  story.found();
  story.pod(0, waits("ErrImagePull", "pull access denied"));
  story.pass(10s);
  story.pod(0, waits("ImagePullBackOff", "Back-off pulling image \"registry.example/train:1\""));
  story.pass(5min);
  CHECK_THAT(story.verdict_after_removal().message, Contains("pull access denied"));
}

TEST_CASE("as long as the reason of a failed image pull is unknown, the next attempts are awaited") {
  Story story(single());
  story.found(true);
  story.pod(0, waits("ImagePullBackOff", "Back-off pulling image \"registry.example/train:1\""));
  story.pass(14min);
  CHECK_FALSE(story.removed());
  SECTION("they show it") {
    story.pod(0, waits("ErrImagePull", "pull access denied"));
    CHECK_THAT(story.verdict_after_removal().message, Contains("pull access denied"));
  }
  SECTION("they do not") {
    story.pass(1min);
    CHECK_THAT(story.verdict_after_removal().message, Contains("Back-off pulling image"));
  }
}

TEST_CASE("a registry that words each failure differently is reported once") {
  Story story(single());
  story.found();
  for (const auto* words : {"i/o timeout", "429 Too Many Requests", "i/o timeout"}) story.pod(0, waits("ErrImagePull", words));
  CHECK(story.times_said("cannot pull") == 1);
}

TEST_CASE("two troubles at once have a clock each") {
  Story story(gang(1));
  story.found();
  story.pod(0, waits("ErrImagePull", "not found"));
  story.pass(4min);
  story.pod(1, waits("CreateContainerConfigError", "secret missing"));
  story.pass(59s);
  CHECK_FALSE(story.removed());
  story.pass(1s);
  CHECK_THAT(story.verdict_after_removal().message, Contains("master-0: cannot pull the image"));
}

TEST_CASE("unschedulable, over quota: waited for without a limit, and reported on every change") {
  Story story(gang(2));
  story.found();
  story.warning("FailedCreatePod", "pods \"digits-master-0\" is forbidden: exceeded quota: q, used: pods=9");
  story.warning("FailedCreatePod", "pods \"digits-worker-1\" is forbidden: exceeded quota: q, used: pods=9");
  CHECK(story.times_said("exceeded quota") == 1);
  story.warning("FailedCreatePod", "pods \"digits-worker-1\" is forbidden: exceeded quota: q, used: pods=8");
  CHECK(story.times_said("exceeded quota") == 2);
  story.pass(48h);
  for (MemberIndex i = 0; i < 3; ++i) story.pod(i, unscheduled(), "", "");
  CHECK(story.times_said("cannot be scheduled") == 1);
  story.pod(0, creating());  // the next one misses the same: no news
  CHECK(story.times_said("cannot be scheduled") == 1);
  story.pod(1, unscheduled("0/5 nodes are available: 5 Insufficient memory."), "", "");
  CHECK(story.times_said("cannot be scheduled") == 2);
  story.pass(48h);
  CHECK_FALSE(story.removed());
}

TEST_CASE("pods that are refused by a policy: two minutes; by a webhook that does not answer: five, and it is not the user's fault") {
  Story refused(single());
  refused.found();
  refused.warning("FailedCreate", "Error creating: admission webhook \"w\" denied the request: no");
  refused.pass(2min);
  CHECK(exit_code(refused.verdict_after_removal()) == 2);
  Story silent(single());
  silent.found();
  silent.warning("FailedCreate", "Error creating: Internal error occurred: failed calling webhook \"w\"");
  silent.pass(299s);
  CHECK_FALSE(silent.removed());
  silent.pass(1s);
  const auto verdict = silent.verdict_after_removal();
  CHECK(exit_code(verdict) == 3);
  CHECK(verdict.retry_can_help);
}

TEST_CASE("warnings are obsolete once all pods exist, even if a later list repeats them") {
  Story story(single());
  story.found();
  story.warning("FailedCreate", "Error creating: admission webhook \"w\" denied the request: no", "rv-1");
  story.pass(1min);
  story.pod(0, runs(), "a");
  story.gone(0, "a");
  story.warning("FailedCreate", "Error creating: admission webhook \"w\" denied the request: no", "rv-1");
  story.pass(1h);
  CHECK_FALSE(story.removed());
  story.warning("FailedCreate", "Error creating: admission webhook \"w\" denied the request: no", "rv-2");
  story.pass(2min);
  CHECK(story.removed());
}

TEST_CASE("operator absent: no status, no pods, no event for two minutes") {
  struct Row {
    std::string what;
    std::function<void(Story&)> sign;
    bool absent;
  };
  const auto none = [](Story&) {};
  for (const auto& row : {Row{"nothing", none, true}, Row{"a status", [](Story& story) { story.job(Judged::pending); }, false},
                          Row{"a pod", [](Story& story) { story.pod(0, creating()); }, false},
                          Row{"an event", [](Story& story) { story.warning("Whatever", ""); }, false},
                          Row{"suspended", [](Story& story) { story.job(Judged::suspended); }, false},
                          Row{"an empty status", [](Story& story) { story.job(Judged::unknown); }, true}}) {
    CAPTURE(row.what);
    Story story(single());
    story.pass(1h);  // the create took its time
    story.found();
    row.sign(story);
    story.pass(119s);
    CHECK_FALSE(story.removed());
    story.pass(1s);
    REQUIRE(story.removed() == row.absent);
    if (!row.absent) continue;
    const auto verdict = story.verdict_after_removal();
    CHECK(exit_code(verdict) == 3);
    CHECK(verdict.retry_can_help);
    CHECK_THAT(verdict.message, Contains("no controller has picked up pytorchjobs/digits") && Contains("is the operator of this kind running?"));
  }
}

TEST_CASE("an operator may restart: its absence is reported after two minutes, and final after ten") {
  Story story(single(), {.job = "pytorchjobs/digits"});
  story.found();
  story.pass(119s);
  CHECK_FALSE(story.said("no controller has picked up"));
  story.pass(1s);
  CHECK(story.said("no controller has picked up pytorchjobs/digits yet"));
  story.pass(8min - 1s);
  CHECK_FALSE(story.removed());
  SECTION("it comes back") {
    story.job(Judged::pending);
    story.pass(24h);
    CHECK_FALSE(story.removed());
  }
  SECTION("it does not") {
    story.pass(1s);
    CHECK(exit_code(story.verdict_after_removal()) == 3);
    CHECK(story.times_said("no controller has picked up pytorchjobs/digits yet") == 1);
  }
}

TEST_CASE("a warning is of the past when a pod was made after it, or the pod that it names is there") {
  const auto etcd = [](Story& story, const std::string& message, Duration at) {
    story.event(WarningSeen{"MPIJob digits", "MPIJobFailed", message, "rv-1", start + at});
  };
  const std::string denied = "worker pod created failed: admission webhook \"w\" denied the request: no";
  const auto with_pod = [](Story& story, MemberIndex member, Duration at) {
    auto pod = story.view(member, unscheduled(), "", "");
    pod.created = start + at;
    story.event(PodSeen{member, std::move(pod)});
  };
  Story story(gang(2));
  story.found();
  SECTION("a pod was made later") {
    etcd(story, denied, 10s);
    with_pod(story, 1, 11s);
    story.pass(24h);
    CHECK_FALSE(story.removed());
  }
  SECTION("one was created before: it says nothing about the missing ones") {
    with_pod(story, 1, 9s);
    etcd(story, denied, 10s);
    story.pass(2min);
    CHECK(story.removed());
  }
  SECTION("the one that it names") {
    with_pod(story, 1, 9s);
    etcd(story, R"(worker pod created failed: pods "digits-worker-0" is forbidden: violates PodSecurity)", 10s);
    story.pass(24h);
    CHECK_FALSE(story.removed());
  }
  SECTION("another one whose name begins like that") {
    with_pod(story, 1, 9s);
    etcd(story, R"(worker pod created failed: pods "digits-worker-01" is forbidden: violates PodSecurity)", 10s);
    story.pass(2min);
    CHECK(story.removed());
  }
}

TEST_CASE("a registry that is overloaded has half an hour, a control plane that cannot make pods a quarter; neither is the user's fault") {
  struct Row {
    std::function<void(Story&)> trouble;
    Duration limit;
  };
  for (const auto& row :
       {Row{[](Story& story) { story.pod(0, waits("ErrImagePull", "toomanyrequests: You have reached your pull rate limit")); }, 30min},
        Row{[](Story& story) { story.pod(0, waits("CreateContainerError", "context deadline exceeded")); }, 30min},
        Row{[](Story& story) { story.warning("FailedCreatePod", "Error creating: etcdserver: leader changed"); }, 15min}}) {
    Story story(single());
    story.found();
    row.trouble(story);
    story.pass(row.limit - 1s);
    CHECK_FALSE(story.removed());
    story.pass(1s);
    const auto verdict = story.verdict_after_removal();
    CHECK(exit_code(verdict) == 3);
    CHECK(verdict.retry_can_help);
  }
}

TEST_CASE("a pull that fails for good keeps its clock while the registry also fails for want of an answer") {
  Story story(single());
  story.found();
  for (int i = 0; i < 5; ++i) {
    story.pod(0, waits("ErrImagePull", "not found"));
    story.pass(40s);
    story.pod(0, waits("ErrImagePull", "503 Service Unavailable"));
    story.pass(20s);
  }
  CHECK_FALSE(story.removed());
  story.pod(0, waits("ErrImagePull", "not found"));
  CHECK(exit_code(story.verdict_after_removal()) == 2);
}

TEST_CASE("a clock that jumps makes no trouble last longer") {
  Story story(single());
  story.found();
  story.pod(0, waits("ErrImagePull", "not found"));
  story.pass(1min);
  story.now += 10h;  // no timer fires
  story.pod(0, waits("ErrImagePull", "not found"));
  CHECK_FALSE(story.removed());
}

TEST_CASE("between two tries of an overloaded registry the kubelet only says that it waits: it stays the registry's fault") {
  Story story(single());
  story.found();
  story.pod(0, waits("ErrImagePull", "unexpected status code https://registry.example/v2/: 503 Service Unavailable"));
  story.pass(10s);
  story.pod(0, waits("ImagePullBackOff", "Back-off pulling image \"registry.example/train:1\""));
  story.pass(29min);
  CHECK_FALSE(story.removed());
}

TEST_CASE("before a job is ended because of its known state, it is read again: watches may be silent") {
  struct Row {
    std::string what;
    std::function<void(Story&)> trouble;
    Duration after;
  };
  const auto pulling = [](Story& story) { story.pod(0, waits("ErrImagePull", "x")); };
  for (const auto& row : {Row{"operator", [](Story&) {}, 2min}, Row{"pending", pulling, 5min}, Row{"limit", pulling, 1min}}) {
    for (const bool over : {true, false}) {
      CAPTURE(row.what, over);
      auto rules = single();
      if (row.what == "limit") rules.limits.starting = 1min;
      Story story(rules);
      story.lists_at_once = false;
      story.found();
      row.trouble(story);
      story.pass(row.after - 1s);
      CHECK(story.all<Refresh>().empty());
      story.pass(1s);
      CHECK(story.all<Refresh>().size() == 1);
      story.pass(1min);
      CHECK(story.all<Refresh>().size() == 1);
      CHECK_FALSE(story.removed());
      if (over) {  // it has succeeded meanwhile
        story.job(Judged::succeeded);
        story.pod(0, succeeded());
        story.logs_complete();
      }
      story.event(PodsListed{});
      CHECK(story.removed() == !over);
      if (over) CHECK(exit_code(*story.verdict()) == 0);
    }
  }
}

TEST_CASE("a limit of a phase that passes while something final is awaited to change ends with the class of that") {
  auto rules = single();
  rules.limits.starting = 1min;
  Story story(rules);
  story.found();
  story.pod(0, creating());
  story.pass(50s);
  story.pod(0, waits("ErrImagePull", "x"));
  story.pass(10s);
  REQUIRE(story.removed());
  const auto verdict = story.verdict_after_removal();
  CHECK(exit_code(verdict) == 2);
  CHECK_THAT(verdict.message, Contains("limits.starting") && Contains("cannot pull the image"));
}

TEST_CASE("a problem that turns out to be over when the job is read again is forgotten") {
  Story story(single());
  story.lists_at_once = false;
  story.found();
  story.pod(0, waits("ErrImagePull", "x"));
  story.pass(5min);
  story.pod(0, runs());
  story.event(PodsListed{});
  story.pass(24h);
  CHECK_FALSE(story.removed());
}

TEST_CASE("the user's limits count while the API server cannot be reached") {
  for (const bool known_before : {true, false}) {
    auto rules = single();
    rules.limits.running = 10min;
    Story story(rules);
    story.lists_at_once = false;
    story.all_run();
    if (known_before) story.event(ServerTrouble{"timeout"});
    story.pass(10min);
    CHECK(story.removed() == known_before);
    if (!known_before) story.event(ServerTrouble{"timeout"});  // the look has found out
    CHECK(exit_code(story.verdict_after_removal()) == 4);
  }
}

TEST_CASE("while the API server is unreachable no limit is applied, and afterwards all of them start over") {
  Story absent(single());
  absent.found();
  absent.event(ServerTrouble{"cannot reach the API server (connection refused)"});
  CHECK(absent.said("cannot reach the API server (connection refused); the job keeps running; trying again"));
  absent.pass(24h);
  absent.event(ServerTrouble{""});
  CHECK(absent.said("the API server is responding again"));
  absent.pass(119s);
  CHECK_FALSE(absent.removed());
  absent.pass(1s);
  CHECK(absent.removed());

  Story pulling(single());
  pulling.found();
  pulling.pod(0, waits("ErrImagePull", "x"));
  pulling.pass(4min);
  pulling.event(ServerTrouble{"timeout"});
  pulling.pass(1h);
  pulling.event(ServerTrouble{""});
  pulling.pass(299s);
  CHECK_FALSE(pulling.removed());
  pulling.pass(1s);
  CHECK(pulling.removed());
}

TEST_CASE("a pod that waits for another container after the program's end is reported within a minute, whatever the exit code") {
  for (const int code : {0, 1}) {
    Story story(single());
    story.all_run();
    story.pod(0, status("Running", Json::array({container(running(), 0, Json::object(), "istio-proxy"), container(terminated(code))})));
    story.pass(59s);
    CHECK_FALSE(story.said("is waiting for the container"));
    story.pass(1s);
    CHECK(story.said("the program of main has ended, but its pod is waiting for the container istio-proxy"));
  }
  Story story(single());
  story.all_run();
  story.pod(0, status("Running", Json::array({container(running(), 0, Json::object(), "istio-proxy"), container(terminated(0))})));
  story.pod(0, succeeded());
  story.pass(1h);
  CHECK_FALSE(story.said("is waiting for the container"));
}
