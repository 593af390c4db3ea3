// An attached job of another step: no event causes an action on it.
#include "job_story.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

JobRules observer() {
  auto rules = job_rules();
  rules.is_observer = true;
  return rules;
}

Rules limited(Rules rules) {
  rules.limits = {1min, 1min, 1min, 1min, 1min, 1min};
  rules.policy.restart_policy = "OnFailure";
  return rules;
}

}  // namespace

TEST_CASE("an attached observer waits with the job whatever blocks it, and says so") {
  struct Row {
    std::string what;
    std::function<void(Story&)> happens;
  };
  for (const auto& row :
       {Row{"cannot pull the image", [](Story& story) { story.pod(0, waits("ErrImagePull", "not found")); }},
        Row{"invalid image name", [](Story& story) { story.pod(0, waits("InvalidImageName", "bad")); }},
        Row{"rejected by its operator", [](Story& story) { story.warning("ValidationError", "no"); }},
        Row{"its pods are rejected",
            [](Story& story) { story.warning("FailedCreate", "Error creating: admission webhook \"w\" denied the request"); }},
        Row{"no controller has picked up", [](Story&) {}}, Row{"cannot be scheduled", [](Story& story) { story.pod(0, unscheduled(), "", ""); }},
        Row{"", [](Story& story) { story.pod(0, runs()); }}, Row{"restarted", [](Story& story) {
                                                                   for (int i = 1; i < 20; ++i) story.pod(0, crash_loop(i, 1));
                                                                 }}}) {
    CAPTURE(row.what);
    Story story(limited(single()), observer());
    story.found(true);
    row.happens(story);
    story.pass(24h);
    CHECK_FALSE(story.removed());
    CHECK_FALSE(story.verdict());
    CHECK(story.said(row.what));
    CHECK_FALSE(story.said("waiting"));
  }
}

TEST_CASE("a signal, a cancel or a rejecting server ends the observer, not the job") {
  struct Row {
    decltype(Event::what) what;
    int code;
  };
  for (const auto& row :
       {Row{StopRequested{SIGTERM}, 143}, Row{CancelSeen{"stopped"}, 143}, Row{BackendFailed{{ErrorKind::denied, "list jobs: forbidden"}}, 3}}) {
    Story story(single(), observer());
    story.all_run();
    story.event(row.what);
    CHECK_FALSE(story.removed());
    CHECK(story.all<KeepJob>().empty());
    REQUIRE(story.verdict());
    CHECK(exit_code(*story.verdict()) == row.code);
  }
}

TEST_CASE("pods that may not be listed are reported once; the job's own status still decides") {
  Story story(gang(1), observer());
  story.found(true);
  story.job(Judged::running);
  story.event(PodsHidden{"list pods: forbidden"});
  story.event(PodsHidden{"list pods: forbidden"});
  CHECK(story.times_said("no permission to list its pods (list pods: forbidden)") == 1);
  CHECK(story.phase() == Phase::running);
  story.pass(24h);
  CHECK_FALSE(story.verdict());
  SECTION("it succeeds") {
    story.job(Judged::succeeded);
    REQUIRE(story.verdict());
    CHECK(exit_code(*story.verdict()) == 0);
  }
  SECTION("it fails: whose fault that is cannot be known") {
    story.job(Judged::failed, "PyTorchJobFailed", "a replica failed");
    REQUIRE(story.verdict());
    check(*story.verdict(), VerdictClass::system, 3, "no permission to list its pods");
  }
  CHECK_FALSE(story.removed());
}
