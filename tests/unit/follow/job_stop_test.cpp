// Cancel, eviction, and a backend that fails.
#include "follow/reasons.h"
#include "job_story.h"

using namespace trainstep;
using namespace trainstep::follow;
using namespace trainstep::follow::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

bool removal_comes_first(const Story& story) {
  return !story.of_last_event.empty() && std::holds_alternative<RemoveJob>(story.of_last_event.front());
}

}  // namespace

TEST_CASE("a cancel removes the job before anything else, at every stage") {
  const std::pair<std::string, std::function<void(Story&)>> stages[] = {
      {"before there is a job", [](Story&) {}},
      {"found", [](Story& story) { story.found(); }},
      {"pending",
       [](Story& story) {
         story.found();
         story.pod(0, unscheduled(), "", "");
       }},
      {"suspended",
       [](Story& story) {
         story.found();
         story.job(Judged::suspended);
       }},
      {"running", [](Story& story) { story.all_run(); }},
      {"a pod has failed",
       [](Story& story) {
         story.all_run();
         story.pod(0, failed(1));
       }},
      {"the server is away",
       [](Story& story) {
         story.all_run();
         story.event(ServerTrouble{"timeout"});
       }},
  };
  for (const auto& [stage, reach] : stages) {
    CAPTURE(stage);
    for (const int signal : {SIGTERM, SIGINT}) {
      Story story(single());
      reach(story);
      story.event(StopRequested{signal});
      CHECK(removal_comes_first(story));
      const auto verdict = story.verdict_after_removal();
      CHECK(exit_code(verdict) == 128 + signal);
      CHECK_THAT(describe(verdict), Contains("cancelled by " + result::signal_name(signal)));
    }
    Story seen(single());
    reach(seen);
    seen.event(CancelSeen{"the workflow was stopped"});
    CHECK(removal_comes_first(seen));
    CHECK(seen.said(stage == "before there is a job" ? "the workflow was stopped: looking for a job of this run"
                                                     : "the workflow was stopped: deleting the job"));
    CHECK_FALSE(seen.said("is deleted"));  // that is for who has seen it
    CHECK(exit_code(seen.verdict_after_removal()) == 143);
  }
}

TEST_CASE("a second SIGTERM, or one after a cancel was seen, changes nothing") {
  for (const bool signal_first : {true, false}) {
    Story story(single());
    story.all_run();
    if (signal_first)
      story.event(StopRequested{SIGTERM});
    else
      story.event(CancelSeen{"the workflow was stopped"});
    story.event(StopRequested{SIGTERM});
    story.event(CancelSeen{"again"});
    CHECK(exit_code(story.verdict_after_removal()) == 143);
  }
}

TEST_CASE("a second SIGINT, and at a terminal any second signal, ends the wait for the removal, and the unknown outcome is reported") {
  for (const bool at_shell : {true, false}) {
    auto job = job_rules();
    job.at_shell = at_shell;
    job.run = "run-7";
    Story story(single(), job);
    story.all_run();
    story.event(StopRequested{at_shell ? SIGTERM : SIGINT});
    CHECK_FALSE(story.verdict());
    story.event(StopRequested{at_shell ? SIGTERM : SIGINT});
    REQUIRE(story.verdict());
    CHECK(exit_code(*story.verdict()) == (at_shell ? 143 : 130));
    CHECK(story.said("the job may still exist: trainstep stop run-7"));
    story.event(JobGone{});
    CHECK(story.all<Finish>().size() == 1);
  }
}

TEST_CASE("no second signal ends the keeping of a job, which would have no end without its deadline") {
  Story story(single());
  story.all_run();
  story.event(EvictionSeen{"this step's pod is deleted", true});
  story.event(StopRequested{SIGTERM});
  for (const int signal : {SIGINT, SIGTERM, SIGINT}) story.event(StopRequested{signal});
  CHECK_FALSE(story.verdict());
  SECTION("it is kept") {
    story.event(JobKept{});
    REQUIRE(story.verdict());
    CHECK(exit_code(*story.verdict()) == 75);
  }
  SECTION("it cannot be, and is deleted: this may be cut short, which is reported") {
    story.event(BackendFailed{{ErrorKind::unavailable, "no answer"}});
    CHECK(story.removed());
    CHECK_FALSE(story.verdict());
    story.event(StopRequested{SIGINT});
    REQUIRE(story.verdict());
    CHECK(exit_code(*story.verdict()) == 143);
    CHECK(story.said("the job may still exist"));
  }
}

TEST_CASE("with cleanup: never a job is left by everything but a cancel") {
  auto job = job_rules();
  job.never_removed = true;
  auto rules = single();
  rules.limits.running = Duration(1h);
  {
    Story story(rules, job);
    story.all_run();
    story.pass(2h);
    REQUIRE(story.verdict());
    CHECK(exit_code(*story.verdict()) == 4);
    CHECK_FALSE(story.removed());
    CHECK(story.said("the job is left unchanged (job_options.cleanup: never)"));
  }
  Story cancelled(rules, job);
  cancelled.all_run();
  cancelled.event(StopRequested{SIGTERM});
  CHECK(cancelled.removed());
}

TEST_CASE("whatever happens while the job is being removed, the verdict stays, and the end of the removal is the end") {
  Story story(single());
  story.all_run();
  story.event(StopRequested{SIGTERM});
  story.deleting(0, failed(143));
  story.job(Judged::failed);
  story.gone(0);
  story.pass(24h);
  CHECK(exit_code(story.verdict_after_removal()) == 143);
}

TEST_CASE("a failed removal is reported, and ends the run as well") {
  Story story(single());
  story.all_run();
  story.event(StopRequested{SIGTERM});
  story.event(BackendFailed{{ErrorKind::unavailable, "no answer for 25 s"}});
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 143);
  CHECK(story.said("the job may still exist: no answer for 25 s"));
}

TEST_CASE("a stop after the job's end only ends the waiting for logs: the verdict is the job's") {
  for (const bool well : {true, false}) {
    for (const bool by_signal : {true, false}) {
      CAPTURE(well, by_signal);
      Story story(single());
      story.all_run();
      story.pod(0, well ? succeeded() : failed(3));
      story.job(well ? Judged::succeeded : Judged::failed);
      CHECK_FALSE(story.verdict());
      if (by_signal)
        story.event(StopRequested{SIGTERM});
      else
        story.event(CancelSeen{"x"});
      REQUIRE(story.verdict());
      CHECK(exit_code(*story.verdict()) == (well ? 0 : 1));
      CHECK_FALSE(story.removed());
    }
  }
}

TEST_CASE("an eviction leaves the job running if another attempt follows, or if it is wanted") {
  struct Row {
    std::string option;
    bool retry_follows;
    int signal;
    bool kept;
  };
  const Row rows[] = {
      {"default", true, SIGTERM, true}, {"default", false, SIGTERM, false}, {"keep", true, SIGTERM, true},    {"keep", false, SIGTERM, true},
      {"delete", true, SIGTERM, false}, {"delete", false, SIGTERM, false},  {"default", true, SIGINT, false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.option, row.retry_follows, row.signal);
    auto job = job_rules();
    job.on_eviction = row.option;
    Story story(single(), job);
    story.all_run();
    story.event(EvictionSeen{"this step's pod is being evicted", row.retry_follows});
    CHECK_FALSE(story.removed());
    story.event(StopRequested{row.signal});
    CHECK(story.removed() == !row.kept);
    if (!row.kept) {
      CHECK(removal_comes_first(story));
      CHECK(exit_code(story.verdict_after_removal()) == 128 + row.signal);
      continue;
    }
    // Wanted for good, or until the next attempt takes it up.
    CHECK(story.all<KeepJob>().size() == (row.option == "keep" ? 0 : 1));
    CHECK(story.verdict().has_value() == (row.option == "keep"));
    story.event(JobKept{});
    REQUIRE(story.verdict());
    CHECK(exit_code(*story.verdict()) == 75);
    CHECK(story.verdict()->retry_can_help);
    CHECK_THAT(describe(*story.verdict()), Contains("this step's pod is being evicted; the job keeps running for the next attempt"));
  }
}

TEST_CASE("only a cancel of the run deletes a job whatever its status") {
  for (const int signal : {SIGTERM, SIGINT}) {
    Story story(single());
    story.all_run();
    story.event(StopRequested{signal});
    CHECK_FALSE(story.all<RemoveJob>().at(0).at_once);
  }
  Story seen(single());
  seen.all_run();
  seen.event(CancelSeen{"the workflow was stopped"});
  CHECK(seen.all<RemoveJob>().at(0).at_once);
}

TEST_CASE("a job that succeeds before it can be deleted has succeeded, whatever had been decided") {
  auto rules = single();
  rules.limits.running = Duration(1h);
  Story story(rules);
  story.all_run();
  story.pass(2h);
  REQUIRE(story.all<RemoveJob>().size() == 1);
  CHECK(story.all<RemoveJob>().at(0).unless_succeeded);
  story.pod(0, succeeded());
  story.event(JobSucceededFirst{{Judged::succeeded, "", ""}});
  CHECK(story.said("the job succeeded anyway; ignoring: the limit of 1 h 00 min for running"));
  CHECK_FALSE(story.verdict());  // its log is read to its end, as after any success
  story.output(0, "loss=0.1\n");
  story.logs_complete();
  REQUIRE(story.verdict());
  CHECK(story.verdict()->verdict_class == VerdictClass::succeeded);
  CHECK(story.all<RemoveJob>().size() == 1);
}

TEST_CASE("a step stopped while its job is being deleted does not wait for the logs of a job that succeeded anyway") {
  auto rules = single();
  rules.limits.running = Duration(1h);
  Story story(rules);
  story.all_run();
  story.pass(2h);
  SECTION("a signal") { story.event(StopRequested{SIGTERM}); }
  SECTION("a cancel") { story.event(CancelSeen{"the workflow was stopped"}); }
  story.event(JobSucceededFirst{{Judged::succeeded, "", ""}});
  REQUIRE(story.verdict());
  CHECK(story.verdict()->verdict_class == VerdictClass::succeeded);
}

TEST_CASE("a job deleted on a user's request is not checked for success") {
  Story by_signal(single());
  by_signal.all_run();
  by_signal.event(StopRequested{SIGTERM});
  CHECK_FALSE(by_signal.all<RemoveJob>().at(0).unless_succeeded);
  Story by_cancel(single());
  by_cancel.all_run();
  by_cancel.event(CancelSeen{"the workflow was stopped"});
  CHECK_FALSE(by_cancel.all<RemoveJob>().at(0).unless_succeeded);
}

TEST_CASE("a job that another attempt follows is left to it, and nothing has failed") {
  auto rules = single();
  rules.limits.running = Duration(1h);
  auto job = job_rules();
  std::string why = "SIGTERM (15) received; ";
  SECTION("a signal") {}
  SECTION("an eviction after which none was expected") {
    job.on_eviction = "delete";
    why = "this step's pod is being evicted; ";
  }
  SECTION("a limit") { why = "the limit of"; }
  Story story(rules, job);
  story.all_run();
  if (job.on_eviction == "delete") story.event(EvictionSeen{"this step's pod is being evicted", true});
  why == "the limit of" ? story.pass(2h) : story.event(StopRequested{SIGTERM});
  story.event(JobFollowed{});
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 75);
  CHECK_THAT(describe(*story.verdict()), Contains(why));
  CHECK_THAT(describe(*story.verdict()), Contains("another attempt of this step is following the job"));
}

TEST_CASE("a job that a later attempt follows already is not followed, and nothing has failed") {
  Story story(single(), job_rules());
  story.event(JobFollowed{});
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 75);
  CHECK_THAT(describe(*story.verdict()), Contains("another attempt of this step is following the job"));
  CHECK_FALSE(story.removed());
}

TEST_CASE("a job that cannot be left to the next attempt is deleted, and the verdict gives the reason") {
  Story story(single());
  story.all_run();
  story.event(EvictionSeen{"this step's pod is being evicted", true});
  story.event(StopRequested{SIGTERM});
  REQUIRE_FALSE(story.removed());
  story.event(BackendFailed{{ErrorKind::unavailable, "no answer"}});
  REQUIRE(story.removed());
  story.event(JobKept{});  // of a PATCH that was late
  CHECK_FALSE(story.verdict());
  SECTION("it is gone") { story.event(JobGone{}); }
  SECTION("nor can it be deleted") {
    story.event(BackendFailed{{ErrorKind::unavailable, "no answer again"}});
    CHECK(story.said("the job may still exist: no answer again"));
  }
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 143);
  CHECK_THAT(describe(*story.verdict()), Contains("this step's pod is being evicted; the job could not be left to the next attempt (no answer)"));
}

TEST_CASE("a SIGTERM while the API server is unreachable is a cancel: its reason cannot be read") {
  Story story(single());
  story.all_run();
  story.event(ServerTrouble{"connection refused"});
  story.event(StopRequested{SIGTERM});
  CHECK(removal_comes_first(story));
}

TEST_CASE("an eviction read after the signal is used, although another request is rejected") {
  Story story(single());
  story.all_run();
  story.event(ServerTrouble{"webhook.example.org: no endpoints available"});
  story.event(EvictionSeen{"this step's pod is being evicted", true});
  story.event(StopRequested{SIGTERM});
  CHECK_FALSE(story.removed());
}

TEST_CASE("a SIGTERM of which nothing is known is a cancel") {
  Story story(single());
  story.all_run();
  story.event(StopRequested{SIGTERM});
  CHECK(story.removed());
}

TEST_CASE("a backend that fails before there is a job: its error is the verdict, and nothing is removed") {
  struct Row {
    ErrorKind kind;
    int code;
  };
  for (const auto& row : {Row{ErrorKind::input, 2}, Row{ErrorKind::conflict, 2}, Row{ErrorKind::denied, 2}, Row{ErrorKind::unavailable, 3},
                          Row{ErrorKind::internal, 3}}) {
    Story story(single());
    story.event(BackendFailed{{row.kind, "create pytorchjobs/digits: no"}});
    REQUIRE(story.verdict());
    CHECK(exit_code(*story.verdict()) == row.code);
    CHECK(story.verdict()->retry_can_help == (row.kind == ErrorKind::unavailable));
    CHECK_THAT(story.verdict()->message, Contains("create pytorchjobs/digits: no"));
    CHECK_FALSE(story.removed());
  }
}

TEST_CASE("a job that cannot be followed any more is removed: nothing would clean it up") {
  Story story(single());
  story.all_run();
  story.event(BackendFailed{{ErrorKind::denied, "list pods: forbidden"}});
  const auto verdict = story.verdict_after_removal();
  CHECK(exit_code(verdict) == 2);
  CHECK_THAT(verdict.message, Contains("list pods: forbidden"));
}

TEST_CASE("a backend that fails after the job's end does not change it") {
  Story story(single());
  story.all_run();
  story.job(Judged::succeeded);
  story.event(BackendFailed{{ErrorKind::unavailable, "x"}});
  REQUIRE(story.verdict());
  CHECK(exit_code(*story.verdict()) == 0);
}

TEST_CASE("the backend's own messages are logged unchanged") {
  Story story(single());
  story.event(BackendMessage{"created Job digits in namespace team-a"});
  CHECK(story.said("created Job digits in namespace team-a"));
}

TEST_CASE("a job deleted by another client is not left to the next attempt, but removed with its pods") {
  Story story(gang(1));
  story.all_run();
  story.job(Judged::running, std::string(being_deleted), "example.com/backup");
  story.event(EvictionSeen{"this step's pod is being evicted", true});
  story.event(StopRequested{SIGTERM});
  CHECK(story.all<KeepJob>().empty());
  CHECK(story.removed());
  story.event(JobGone{});
  REQUIRE(story.verdict());  // at once
  check(*story.verdict(), VerdictClass::interrupted, 75, "the job is being deleted by another client");
}
