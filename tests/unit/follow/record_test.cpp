// SPDX-License-Identifier: Apache-2.0
#include "follow/record.h"

#include <limits>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::follow;

namespace {

const Time t0{Duration{1'700'000'000'000}};

job_types::PodView full_pod() {
  job_types::PodView pod;
  pod.name = "p";
  pod.uid = "u";
  pod.created = t0;
  pod.node = "n";
  pod.phase = "Failed";
  pod.reason = "Evicted";
  pod.message = "low on memory";
  pod.deleting = true;
  pod.unschedulable = "0/3 nodes";
  pod.scheduled = t0;
  pod.considered = pod.sandboxed = true;
  pod.scheduler = "volcano";
  pod.disruption = "TerminationByKubelet";
  job_types::ContainerView container;
  container.name = "train";
  container.state = job_types::ContainerView::State::terminated;
  container.termination = job_types::ContainerStateTerminated{137, 9, "OOMKilled", t0, t0 + Duration{5}};
  container.last = job_types::ContainerStateTerminated{1, std::nullopt, "Error", std::nullopt, std::nullopt};
  container.restarts = 2;
  pod.containers = {container};
  pod.init_containers = {job_types::ContainerView{}};
  return pod;
}

Rules rules() {
  Rules rules;
  rules.members = {{"master-0", true, true, false, true}, {"worker-0", false, false, false, true}};
  rules.limits.running = Duration{60'000};
  rules.policy.backoff_limit = 3;
  return rules;
}

std::vector<Event> one_of_each() {
  std::vector<Event> events;
  const auto add = [&](auto what) { events.push_back({t0 + Duration{static_cast<Duration::rep>(events.size())}, std::move(what)}); };
  add(Prepared{});
  add(MemberStarted{1, "pid 7"});
  add(MemberOutput{1, "a\nb \"c\"\n"});
  add(MemberEnded{0, Termination{1, 15, "why", true, true}});
  add(BackendFailed{{ErrorKind::denied, "no"}});
  add(StopRequested{15});
  add(TimerFired{4});
  add(BackendMessage{"text"});
  add(JobFound{true, true, t0, Duration{-5}});
  add(JobSeen{{job_types::Judgement::State::failed, "r", "m"}});
  add(JobGone{});
  add(PodSeen{1, full_pod()});
  add(PodGone{0, "u"});
  add(WarningSeen{"o", "r", "m", "v", t0});
  add(LogComplete{0, "u/0", false});
  add(CancelSeen{"what"});
  add(EvictionSeen{"what", true});
  add(ServerTrouble{""});
  add(PodsListed{});
  add(JobKept{});
  add(PodsHidden{"no"});
  add(JobFollowed{});
  add(PodWarningSeen{1, "u", "r", "m", t0});
  add(JobSucceededFirst{{job_types::Judgement::State::succeeded, "r", "m"}});
  return events;
}

}  // namespace

TEST_CASE("every event survives a round trip through its line") {
  const auto events = one_of_each();
  REQUIRE(events.size() == std::variant_size_v<decltype(Event::what)>);
  for (const auto& event : events) {
    const auto text = to_text(record_of(event));
    const auto line = parse_json(text, "line");
    REQUIRE(line);
    const auto again = read_event(*line, 2);
    REQUIRE(again);
    CHECK(to_text(record_of(*again)) == text);
    CHECK(again->what.index() == event.what.index());
  }
}

TEST_CASE("the verdict survives a round trip through its line, and no other line is one") {
  result::Verdict verdict{result::VerdictClass::user, "its outputs are incomplete", std::nullopt, true, 2};
  verdict.first_failure = result::FirstFailure{"worker-1", 3, std::nullopt, "OOMKilled", {"a", "b"}};
  const auto text = to_text(record_of(verdict, t0));
  const auto line = parse_json(text, "line");
  REQUIRE(line);
  const auto end = read_end(*line);
  REQUIRE(end);
  REQUIRE(*end);
  CHECK((*end)->at == t0);
  CHECK(to_text(record_of((*end)->verdict, t0)) == text);
  CHECK(result::describe((*end)->verdict) == result::describe(verdict));
  for (const auto& event : one_of_each()) {
    const auto other = read_end(record_of(event));
    REQUIRE(other);
    CHECK_FALSE(*other);
  }
  const auto success = read_end(record_of(result::Verdict{result::VerdictClass::succeeded, "", std::nullopt, false, 0}, t0));
  CHECK((success && *success && (*success)->verdict.verdict_class == result::VerdictClass::succeeded));
  CHECK_FALSE(read_end(Json::object({{"at", 1}, {"event", "end"}})));
  CHECK_FALSE(read_end(Json::object({{"at", 1}, {"event", "end"}, {"class", 7}, {"signal", 4000}})));
}

TEST_CASE("a record makes the same machine again") {
  const JobRunState job(rules(), JobRules{.job = "jobs/x", .restarts_are_ours = true});
  const auto head = job.record_head(t0);
  const auto again = read_head(head);
  REQUIRE(again);
  CHECK(again->began == t0);
  CHECK(to_text(again->machine->record_head(t0)) == to_text(head));
}

TEST_CASE("a record is replayed with the definitions of metrics that the run had") {
  auto defined = rules();
  defined.metrics = {{"loss", "loss is ([0-9.]+)"}};
  const JobRunState job(defined, JobRules{.job = "jobs/x"});
  const auto head = job.record_head(t0);
  const auto again = read_head(head);
  REQUIRE(again);
  CHECK(again->machine->rules().metrics == defined.metrics);
  CHECK(to_text(again->machine->record_head(t0)) == to_text(head));
  CHECK_FALSE(JobRunState(rules(), JobRules{.job = "jobs/x"}).record_head(t0)["rules"].contains("metrics"));
  // It was edited, or secrets were removed from it.
  auto edited = head;
  edited["rules"]["metrics"] = Json::parse(R"([{"name": "loss", "regex": "token=[redacted]"}, {"regex": 3}, 4])");
  CHECK(read_head(edited));
}

TEST_CASE("a record of another version is named by it, and a damaged one is not called another version") {
  auto head = JobRunState(rules(), JobRules{.job = "jobs/x"}).record_head(t0);
  const auto refusal = [](const Json& line) {
    const auto read = read_head(line);
    return read ? std::string() : read.error().message;
  };
  CHECK(refusal(head).empty());
  head["at"] = 1e300;
  CHECK(refusal(head) == "the record header is damaged: a value is missing or out of range");
  head["trainstep"] = GENERATE(as<Json>(), "99", 7, "9.9.9");
  CHECK_THAT(refusal(head),
             Catch::StartsWith("unsupported record version: " + to_text(head["trainstep"]) + "; this program reads records of version "));
}

TEST_CASE("anything but a record is rejected, whatever it contains") {
  CHECK_FALSE(read_head(Json::array()));
  CHECK_FALSE(read_head(Json::object({{"trainstep", "9"}})));
  CHECK_FALSE(read_event(Json::object({{"at", 1}, {"event", "moon"}}), 2));
  CHECK_FALSE(read_event(Json::object({{"at", 1}, {"event", "pod"}}), 2));
  CHECK_FALSE(read_event(Json::object({{"at", 1}, {"event", "member_started"}, {"member", 2}}), 2));
  CHECK_FALSE(read_event(Json("text"), 2));
  const auto at = [](std::int64_t when) { return read_event(Json::object({{"at", when}, {"event", "prepared"}}), 2); };
  CHECK(at(0));
  CHECK_FALSE(at(std::numeric_limits<std::int64_t>::min()));
  CHECK_FALSE(at(std::numeric_limits<std::int64_t>::max()));
}
