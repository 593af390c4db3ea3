// SPDX-License-Identifier: Apache-2.0
#include "follow/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "follow/gang_run_state.h"
#include "follow/record_io.h"

namespace trainstep::follow {

using job_types::ContainerStateTerminated;
using job_types::ContainerView;
using job_types::Judgement;
using job_types::PodView;

// The members of each value (record_io.h). Not in the unnamed namespace: Out and In find these by their first argument.
template <typename Io>
void members(Io& io, ContainerStateTerminated& v) {
  io("exit_code", v.exit_code), io("signal", v.signal), io("reason", v.reason), io("message", v.message);
  io("started", v.started), io("finished", v.finished);
}
template <typename Io>
void members(Io& io, ContainerView& v) {
  io("name", v.name), number(io, "state", v.state, ContainerView::State::terminated), io("reason", v.reason), io("message", v.message);
  io("termination", v.termination), io("last", v.last), io("started", v.started), io("restarts", v.restarts), io("sidecar", v.sidecar);
}
template <typename Io>
void members(Io& io, PodView& v) {
  io("name", v.name), io("uid", v.uid), io("created", v.created), io("node", v.node), io("phase", v.phase), io("reason", v.reason);
  io("message", v.message), io("deleting", v.deleting), io("unschedulable", v.unschedulable), io("disruption", v.disruption),
      io("disrupted_at", v.disrupted_at), io("scheduled", v.scheduled), io("considered", v.considered), io("scheduler", v.scheduler),
      io("sandboxed", v.sandboxed);
  io("init_containers", v.init_containers), io("containers", v.containers);
}
template <typename Io>
void members(Io& io, Judgement& v) {
  number(io, "state", v.state, Judgement::State::failed), io("reason", v.reason), io("message", v.message);
}
template <typename Io>
void members(Io& io, Termination& v) {
  io("exit_code", v.exit_code), io("signal", v.signal), io("reason", v.reason), io("vanished", v.vanished), io("disrupted", v.disrupted);
}
template <typename Io>
void members(Io& io, Member& v) {
  io("name", v.name), io("primary", v.primary), io("awaited", v.awaited), io("serves", v.serves), io("started", v.started),
      io("container", v.container);
}
template <typename Io>
void members(Io& io, plan::RunPolicy& v) {
  io("restart_policy", v.restart_policy), io("backoff_limit", v.backoff_limit), io("active_deadline", v.active_deadline),
      io("stop_grace", v.stop_grace);
}
template <typename Io>
void members(Io& io, plan::Limits& v) {
  io("queued", v.queued), io("scheduling", v.scheduling), io("starting", v.starting), io("running", v.running), io("finishing", v.finishing);
  io("total", v.total);
}
template <typename Io>
void members(Io& io, result::MetricDefinition& v) {
  io("name", v.name), io("regex", v.regex);
}
template <typename Io>
void members(Io& io, Rules& v) {
  io("members", v.members), io("policy", v.policy), io("limits", v.limits), io("logs", v.logs), io("failure_grace", v.failure_grace);
  if (!v.metrics.empty() || std::is_same_v<Io, In>) io("metrics", v.metrics);
  io("linger", v.linger), io("heartbeat", v.heartbeat);
}
template <typename Io>
void members(Io& io, JobRules& v) {
  io("job", v.job), io("restarts_are_ours", v.restarts_are_ours), io("needed", v.needed), io("on_eviction", v.on_eviction),
      io("operator_absent", v.operator_absent);
  io("settle", v.settle), io("log_end", v.log_end), io("looks_on", v.is_observer);
  io("run", v.run), io("never_removed", v.never_removed), io("at_shell", v.at_shell);
}
template <typename Io>
void members(Io& io, Error& v) {
  number(io, "kind", v.kind, ErrorKind::internal), io("message", v.message);
}

template <typename Io>
void members(Io& io, result::FirstFailure& v) {
  io("replica", v.replica), io("exit_code", v.exit_code), io("signal", v.signal), io("reason", v.reason), io("last_lines", v.last_lines);
}
template <typename Io>
void members(Io& io, result::Verdict& v) {
  number(io, "class", v.verdict_class, result::VerdictClass::cancelled), io("message", v.message), io("first_failure", v.first_failure);
  io("retry_can_help", v.retry_can_help), io("signal", v.signal);
}

// --- events: a name and its members ---
template <typename Io>
void members(Io&, Prepared&) {}
template <typename Io>
void members(Io& io, MemberStarted& v) {
  io("member", v.member), io("place", v.ran_on);
}
template <typename Io>
void members(Io& io, MemberEnded& v) {
  io("member", v.member), io("ending", v.ending);
}
template <typename Io>
void members(Io& io, BackendFailed& v) {
  io("error", v.error);
}
template <typename Io>
void members(Io& io, StopRequested& v) {
  io("signal", v.signal);
}
template <typename Io>
void members(Io& io, TimerFired& v) {
  io("timer", v.timer);
}
template <typename Io>
void members(Io& io, BackendMessage& v) {
  io("text", v.text), io("warning", v.warning);
}
template <typename Io>
void members(Io& io, JobFound& v) {
  io("adopted", v.adopted), io("backoff_is_kept", v.backoff_is_kept), io("created", v.created), io("clock", v.clock);
}
template <typename Io>
void members(Io& io, JobSeen& v) {
  io("judgement", v.judgement);
}
template <typename Io>
void members(Io&, JobGone&) {}
template <typename Io>
void members(Io& io, PodSeen& v) {
  io("member", v.member), io("pod", v.pod);
}
template <typename Io>
void members(Io& io, PodGone& v) {
  io("member", v.member), io("uid", v.uid);
}
template <typename Io>
void members(Io& io, WarningSeen& v) {
  io("object", v.object), io("reason", v.reason), io("message", v.message), io("version", v.version), io("last", v.last);
}
template <typename Io>
void members(Io& io, PodWarningSeen& v) {
  io("member", v.member), io("uid", v.uid), io("reason", v.reason), io("message", v.message), io("last", v.last);
}
template <typename Io>
void members(Io& io, LogComplete& v) {
  io("member", v.member), io("attempt", v.attempt), io("whole", v.whole);
}
template <typename Io>
void members(Io& io, CancelSeen& v) {
  io("what", v.what);
}
template <typename Io>
void members(Io& io, EvictionSeen& v) {
  io("what", v.what), io("retry_follows", v.retry_follows);
}
template <typename Io>
void members(Io& io, ServerTrouble& v) {
  io("reason", v.reason);
}
template <typename Io>
void members(Io&, PodsListed&) {}
template <typename Io>
void members(Io&, JobKept&) {}
template <typename Io>
void members(Io& io, PodsHidden& v) {
  io("reason", v.reason);
}
template <typename Io>
void members(Io&, JobFollowed&) {}
template <typename Io>
void members(Io& io, JobSucceededFirst& v) {
  io("judgement", v.judgement);
}
// Its text is borrowed: read_event() takes it from the line itself.
void members(Out& io, MemberOutput& v) { io("member", v.member), io("lines", std::string(v.lines)), io("attempt", std::string(v.attempt)); }
void members(In& io, MemberOutput& v) {
  io("member", v.member);
  const auto* lines = io.at("lines");
  if (lines != nullptr && lines->is_string()) v.lines = lines->get_ref<const std::string&>();
  const auto* attempt = io.at("attempt");
  if (attempt != nullptr && attempt->is_string()) v.attempt = attempt->get_ref<const std::string&>();
}

namespace {

constexpr const char* end_name = "end";
constexpr int last_signal = 64;

using What = decltype(Event::what);
// In the order of the variant.
constexpr const char* event_names[] = {"prepared",    "member_started", "output",       "member_ended", "backend_failed", "stop_requested",
                                       "timer",       "told",           "job_found",    "job",          "job_gone",       "pod",
                                       "pod_gone",    "warning",        "log_complete", "cancel",       "eviction",       "server_trouble",
                                       "pods_listed", "job_kept",       "pods_hidden",  "job_followed", "pod_warning",    "job_spared"};
static_assert(std::size(event_names) == std::variant_size_v<What>);

template <std::size_t Index>
bool read_as(std::size_t index, In& in, What& what) {
  if (index != Index) return false;
  members(in, what.emplace<Index>());
  return true;
}

template <std::size_t... Indices>
void read_what(std::size_t index, In& in, What& what, std::index_sequence<Indices...>) {
  (read_as<Indices>(index, in, what) || ...);
}

}  // namespace

Json record_of(const Rules& rules, const JobRules* job_rules, Time began) {
  Json line = {{"trainstep", TRAINSTEP_VERSION}, {"machine", job_rules != nullptr ? "job" : "gang"}, {"at", began.time_since_epoch().count()}};
  line["rules"] = Out::written(rules);
  if (job_rules != nullptr) line["job_rules"] = Out::written(*job_rules);
  return line;
}

Json GangRunState::record_head(Time began) const { return record_of(m_rules, nullptr, began); }
Json JobRunState::record_head(Time began) const { return record_of(m_rules, &m_job_rules, began); }

Json record_of(const Event& event) {
  auto line = std::visit([](const auto& what) { return Out::written(what); }, event.what);
  line["at"] = event.at.time_since_epoch().count();
  line["event"] = event_names[event.what.index()];
  return line;
}

Json record_of(const result::Verdict& verdict, Time at) {
  auto line = Out::written(verdict);
  line["at"] = at.time_since_epoch().count();
  line["event"] = end_name;
  return line;
}

namespace {

// "0.1.0" → "0.1": before 1.0 a minor version may change the format.
std::string_view format_of(std::string_view version) {
  const auto dot = version.find('.');
  return version.substr(0, dot == std::string_view::npos ? dot : version.find('.', dot + 1));
}

}  // namespace

Result<Replay> read_head(const Json& line) {
  const auto* version = line.is_object() ? trainstep::find(line, "trainstep") : nullptr;
  if (version == nullptr) return input_error("the first line is not a record header");
  constexpr std::string_view own_version = TRAINSTEP_VERSION;
  if (!version->is_string() || format_of(version->get_ref<const std::string&>()) != format_of(own_version))
    return input_error(
        fmt::format("unsupported record version: {}; this program reads records of version {}", to_text(*version), format_of(own_version)));
  In in{line};
  Replay replay;
  Rules rules;
  JobRules job_rules;
  std::string machine;
  in("machine", machine), in("at", replay.began), in("rules", rules);
  if (machine == "job") in("job_rules", job_rules);
  if (!in.fits || (machine != "job" && machine != "gang")) return input_error("the record header is damaged: a value is missing or out of range");
  if (machine == "job")
    replay.machine = std::make_unique<JobRunState>(std::move(rules), std::move(job_rules));
  else
    replay.machine = std::make_unique<GangRunState>(std::move(rules));
  return replay;
}

Result<std::optional<RecordedEnd>> read_end(const Json& line) {
  In in{line};
  RecordedEnd end;
  std::string name;
  in("event", name);
  if (name != end_name) return std::optional<RecordedEnd>();
  in("at", end.at);
  members(in, end.verdict);
  const auto& verdict = end.verdict;
  const bool cancelled = verdict.verdict_class == result::VerdictClass::cancelled;
  if (!in.fits || (cancelled && (verdict.signal < 1 || verdict.signal > last_signal))) return input_error("the end of the run is incomplete");
  return std::optional(std::move(end));
}

Result<Event> read_event(const Json& line, std::size_t members) {
  In in{line};
  Event event;
  std::string name;
  in("at", event.at), in("event", name);
  const auto* const found = std::ranges::find(event_names, name);
  if (found == std::end(event_names)) return input_error(fmt::format("unknown event \"{}\"", name.substr(0, 100)));
  read_what(static_cast<std::size_t>(found - std::begin(event_names)), in, event.what, std::make_index_sequence<std::variant_size_v<What>>{});
  const bool exists = std::visit(
      [&](const auto& what) {
        if constexpr (requires { what.member; }) return what.member < members;
        return true;
      },
      event.what);
  if (!in.fits || !exists) return input_error(fmt::format("the event \"{}\" is incomplete", name));
  return event;
}

}  // namespace trainstep::follow
