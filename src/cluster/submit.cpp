// SPDX-License-Identifier: Apache-2.0
#include "cluster/submit.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/marks.h"
#include "cluster/objects.h"
#include "job_types/object.h"
#include "job_types/render.h"

namespace trainstep::cluster {
namespace {

// How long a create that gets 5xx or no response is retried (docs/cluster.md).
constexpr Duration submit_timeout{300'000};
constexpr Duration dry_run_timeout{30'000};  // for callers that only want to know
constexpr Duration submit_interval{1'000};
constexpr Duration taking_up{30'000};  // how long a PATCH is retried before the job is followed without it
constexpr Duration marking{5'000};     // … that only records who follows it
constexpr Duration max_pause{5'000};
constexpr Duration quota_lag{60'000};
constexpr Duration sure_for{10'000};    // that no other attempt has started: none starts sooner after ours was lost
constexpr int max_name_conflicts = 60;  // responses that an object of the name exists, while all others say that there is none
// An API server responds to every write within 34 s, and a write whose response was lost has taken effect by then.
constexpr Duration max_write_time{36'000};
constexpr int max_changes = 5;            // of reading and adopting a job, before it is followed without an annotation
constexpr int max_gateway_responses = 6;  // consecutive ones: from a gateway, or an API server that has just started
constexpr int max_unauthorized = 8;       // a token that is about to be replaced: a minute

// It may have taken effect.
bool is_doubtful(const kube::ApiError& problem) { return problem.status == 0 || problem.status == 408 || problem.status >= 500; }

bool serves(const Json& list, std::string_view plural) {
  const auto* resources = trainstep::find(list, "resources");
  return resources != nullptr && resources->is_array() &&
         std::ranges::any_of(*resources, [&](const Json& resource) { return resource.is_object() && resource.value("name", "") == plural; });
}

// A successful response, but not from an API server. A create may have taken effect.
kube::ApiError no_object(const std::string& what) { return kube::not_the_servers(what + ": the answer is not an object"); }

std::string candidates(const job_types::JobType& job_type) {
  std::string text;
  for (const auto& resource : job_type.resources)
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", resource.plural, resource.group_version);
  return text;
}

// A webhook that does not declare to be without side effects: the API server refuses every dry run that would call it.
bool cannot_be_checked(const kube::ApiError& problem) {
  return problem.status == 400 && problem.error.message.find("does not support dry run") != std::string::npos;
}

// A response to discovery that does not come from an API server which knows what it serves.
bool is_odd(const kube::Answer& answer) {
  if (answer) return false;
  const auto& problem = answer.error();
  const auto status = problem.status;
  return status == 403 || status == 409 || status == 410 || (kube::says_nothing(problem) && !kube::tells_not_served(problem));
}

// A 404 that names nothing, not even the namespace: the resource was served a moment ago.
bool names_nothing(const kube::ApiError& problem) { return problem.status == 404 && text(&problem.details, "name").empty(); }

// A webhook may deny with any status. A quota's conflict has its own limit.
bool is_of_another_writer(const kube::ApiError& problem) {
  const bool denied = problem.reason == "AlreadyExists" || problem.error.message.find(" denied the request") != std::string::npos;
  return problem.status == 409 && !denied && !kube::retryable(problem);
}

// From a gateway, from an API server that has just started and knows no permissions yet, or from one whose storage is contended. It says nothing
// about the job.
bool is_odd_refusal(const kube::ApiError& problem) {
  const bool no_right = problem.status == 403 && problem.error.kind == ErrorKind::denied;
  return kube::says_nothing(problem) || no_right || names_nothing(problem) || is_of_another_writer(problem);
}

// What is not caused by the inputs is not caused by them after several attempts either.
Error as_error(kube::ApiError problem) {
  if (names_nothing(problem) || is_of_another_writer(problem)) problem.error.kind = ErrorKind::unavailable;
  return std::move(problem.error);
}

// Of a job that has the id of a run, but is not one.
std::string of_other_manager(const Json& job) { return fmt::format(": its label {} is \"{}\", not \"{}\"", manager_label, manager_of(job), manager); }

Error unmarked(const std::string& lost) {
  if (lost == "name")
    return input_error(
        "the job's name was changed on creation, perhaps by a webhook, so no other attempt could adopt the job; the name must be kept");
  return input_error(fmt::format(
      "the job's {} was removed or changed on creation, perhaps by a webhook, so no other attempt could identify the job; it must be kept", lost));
}

// Without limits: what follows checks whether there is a job.
std::unique_ptr<Removal> take_back(kube::Client& client, kube::Path path, std::string uid, std::function<void(bool taken)> done) {
  return std::make_unique<Removal>(
      client,
      Removal::Order{.path = std::move(path), .uid = std::move(uid), .silence = submit_timeout, .to_the_end = true, .end_timeout = submit_timeout},
      Removal::Sink{[](const kube::ApiError&) {},
                    {},
                    [done = std::move(done)](const Removal::Outcome& outcome) { done(outcome.end != Removal::End::failed); }});
}

}  // namespace

Submission::Submission(kube::Client& client, const plan::Plan& plan, const Facts& facts, std::string name_space, std::string attempt, Sink sink,
                       AttemptOrder* order, Depth depth)
    : m_client(client),
      m_plan(plan),
      m_facts(facts),
      m_job_type(job_types::find(plan.job_type)),
      m_name_space(std::move(name_space)),
      m_attempt(std::move(attempt)),
      m_sink(std::move(sink)),
      m_resource(m_job_type.resources.front()),
      m_gone_by(client.loop()),
      m_create_ends(client.loop()),
      m_settled(client.loop()),
      m_quota_ends(client.loop()),
      m_unsure(client.loop()),
      m_order(order),
      m_depth(depth) {
  m_unsure.set(sure_for);
  discover(0);
}

Submission::~Submission() {
  if (m_order != nullptr) m_order->forget();
  m_client.forget(this);
}

Duration Submission::unsettled() const { return m_creating || (m_settled.is_set() && !m_settled.passed()) ? max_write_time : Duration(0); }

// A pod has time: an API server that is away does not decide anything. At a shell a person waits, who may have named the wrong one – until there may
// be a job of ours: then the server's absence does not decide anything either.
kube::Retry Submission::patient() const {
  if (m_settled.is_set()) return {};
  if (m_depth == Depth::dry_run) return {dry_run_timeout};
  return {submit_timeout, m_facts.pod.empty() && m_creates == 0};
}

kube::Path Submission::collection() const { return {std::string(m_resource.group_version), std::string(m_resource.plural), m_name_space, "", ""}; }

kube::Path Submission::object_path() const {
  auto path = collection();
  path.name = m_plan.job_name;
  return path;
}

std::string Submission::shown_name() const { return fmt::format("{}/{}", m_resource.plural, m_plan.job_name); }

void Submission::fail(Error error) { m_sink.done(std::move(error)); }

// Short, and limited.
bool Submission::again(std::function<void()> question, std::optional<Duration> floor) {
  if (++m_odd_answers > max_gateway_responses) return false;
  m_timer = m_client.loop().timer(std::min(m_client.pause(m_odd_answers, floor), max_pause), std::move(question));
  return true;
}

// An API server that has just started does not know all of its resources yet. Callers that only want to know need not wait for that.
void Submission::not_served() {
  if (++m_not_served <= (m_depth == Depth::create ? max_gateway_responses : 1)) {
    m_timer = m_client.loop().timer(std::clamp(m_client.pause(m_not_served), submit_interval, max_pause), [this] { discover(0); });
    return;
  }
  fail(input_error(fmt::format("distribution_type {}: this cluster does not serve {}; is its operator installed? \"{}\" requires none",
                               m_plan.job_type, candidates(m_job_type), job_types::all().front().traits.name)));
}

void Submission::discover(std::size_t candidate) {
  if (candidate == m_job_type.resources.size()) return not_served();
  m_resource = m_job_type.resources[candidate];
  m_call = m_client.get({std::string(m_resource.group_version), "", "", "", ""}, {}, patient(), [this, candidate](kube::Answer answer) {
    if (is_odd(answer) && again([this, candidate] { discover(candidate); }, answer.error().retry_after)) return;
    if (!answer && answer.error().status != 404) return fail(std::move(answer.error().error));
    if (!answer || !serves(*answer, m_resource.plural)) return discover(candidate + 1);
    auto manifest = job_types::render(m_plan, m_resource.group_version);
    if (!manifest) return fail(std::move(manifest.error()));
    m_manifest = manifest->json();
    stamp(m_manifest, m_facts, m_name_space, m_attempt);
    m_served = m_resource;
    m_odd_answers = 0;
    look();
  });
}

void Submission::look() {
  m_call = m_client.get(object_path(), {}, patient(), [this](kube::Answer answer) {
    if (answer && uid_of(*answer).empty()) answer = tl::unexpected(no_object("get " + shown_name()));
    if (answer) {
      m_client.works(this);  // whatever became of a create
      return found(std::move(*answer));
    }
    const auto status = answer.error().status;
    const bool may_not_look = m_depth == Depth::dry_run && status == 403;
    if (status == 404 || may_not_look) return absent();
    if (status >= 300 && status < 500 && again([this] { look(); }, answer.error().retry_after))
      return;  // from a gateway, or one that has just started
    if (!m_settled.is_set()) return fail(std::move(answer.error().error));
    fail(in_context("cannot tell whether the job was created; it may exist", std::move(answer.error().error)));
  });
}

void Submission::absent() {
  if (m_refusal && unsettled() > Duration(0)) {
    m_timer = m_client.loop().timer(submit_interval, [this] { look(); });
    return;
  }
  if (m_refusal) return fail(std::move(*m_refusal));
  if (m_no_create) return fail(*m_no_create);
  if (m_checked) return create();
  m_odd_answers = 0;
  check();
}

void Submission::check() {
  m_call = m_client.create(collection(), m_manifest, true, patient(), [this](kube::Answer answer) {
    const auto lost = answer ? lost_mark(m_manifest, *answer) : "";
    if (!lost.empty()) return fail(unmarked(lost));
    const bool odd = !answer && is_odd_refusal(answer.error()) && (m_depth == Depth::create || kube::says_nothing(answer.error()));
    if (odd && again([this] { check(); }, answer.error().retry_after)) return;
    const bool may_be_made = answer || cannot_be_checked(answer.error());
    if (may_be_made && !m_plan.nodes.absent.empty())
      return fail(input_error(fmt::format("claim {}: not found in namespace {}; create it, or correct its name in job_options.volumes",
                                          m_plan.nodes.absent, m_name_space)));
    if (answer && m_depth == Depth::dry_run) return m_sink.done(Submitted{m_resource, std::move(*answer), false});
    m_checked = may_be_made;
    if (m_checked && m_depth == Depth::create) return create();
    if (answer.error().error.kind == ErrorKind::unavailable) return fail(std::move(answer.error().error));
    if (answer.error().reason == "AlreadyExists") return taken();
    if (waits_for_quota(answer.error())) return;
    refused(as_error(std::move(answer.error())));
  });
}

// The server that was read may be behind the one that knows it.
void Submission::taken() {
  if (++m_taken == 1) return look();
  if (m_taken > max_name_conflicts)
    return fail({ErrorKind::unavailable, fmt::format("the API server's answers disagree on whether {} exists", shown_name())});
  m_timer = m_client.loop().timer(submit_interval, [this] { look(); });
}

// If we were cut off from the API server before this point, another attempt may have replaced this one: then the job is for that attempt to create.
void Submission::create() {
  if (m_order == nullptr || !m_unsure.passed()) return make();
  m_unsure.set(sure_for);
  m_order->ask_replaced(m_lifetime.bind([this](const Result<bool>& replaced) {
    // Also if unknown: without permission to read the pod, or without a response, a create would not be accepted either.
    if (!replaced || !*replaced) return make();
    m_replaced = true;
    fail({ErrorKind::unavailable, "this step's pod is gone: the job is left to the next attempt"});
  }));
}

// One attempt each: between two the name is looked up, because a quota or a webhook may refuse the second one because of what the first has created.
void Submission::make() {
  if (m_held) return;
  if (!m_create_ends.is_set()) m_create_ends.set(submit_timeout);
  m_creating = true;
  ++m_creates;
  if (const auto since = began()) m_manifest["metadata"]["annotations"][began_annotation] = to_rfc3339(*since);
  m_call = m_client.create(collection(), m_manifest, false, {Duration(0)}, [this](kube::Answer answer) {
    m_creating = false;
    if (!answer) return create_failed(std::move(answer.error()));
    if (uid_of(*answer).empty()) return create_failed(no_object("create " + shown_name()));
    m_client.works(this);
    if (const auto lost = lost_mark(m_manifest, *answer); !lost.empty()) {
      auto path = object_path();
      path.name = text(metadata_of(*answer), "name");
      m_removal = take_back(m_client, path, uid_of(*answer), [this, path, why = unmarked(lost)](bool taken) mutable {
        if (!taken) why.message += fmt::format("; {} may still exist: delete it", path.describe());
        fail(std::move(why));
      });
      return;
    }
    m_sink.done(Submitted{m_resource, std::move(*answer), false});
  });
}

// A server that does not respond at all is waited for; one that responds 5xx for a limited time.
void Submission::create_failed(kube::ApiError problem) {
  if (problem.reason == "AlreadyExists") return taken();
  if (is_doubtful(problem) || kube::says_nothing(problem)) m_settled.set(max_write_time);
  const bool token_due = problem.status == 401 && ++m_unauthorized <= max_unauthorized;
  const bool odd = is_odd_refusal(problem) && ++m_odd_creates <= max_gateway_responses;
  const bool again = token_due || odd || (kube::retryable(problem) && (problem.status == 0 || !m_create_ends.passed()));
  if (!again) {
    if (waits_for_quota(problem)) return;
    if (m_creates > 1 && kube::retryable(problem)) problem.error.message += fmt::format(" (after {} attempts)", m_creates);
    return refused(as_error(std::move(problem)));
  }
  const auto pause = m_client.pause(m_creates, problem.retry_after);
  if (m_creates > 1 || pause > max_pause) m_client.failing(this, problem);
  m_timer = m_client.loop().timer(pause, [this] { look(); });
}

// A quota counts a deleted job for some more seconds.
bool Submission::waits_for_quota(const kube::ApiError& problem) {
  if (!m_removal || problem.status != 403 || problem.error.message.find("exceeded quota") == std::string::npos) return false;
  if (!m_quota_ends.is_set()) {
    m_quota_ends.set(quota_lag);
    m_sink.log("a quota still counts the deleted job: waiting");
  }
  if (m_quota_ends.passed()) return false;
  m_timer = m_client.loop().timer(submit_interval, [this] { look(); });
  return true;
}

void Submission::refused(Error error) {
  m_refusal = std::move(error);
  look();
}

void Submission::found(Json object) {
  if (m_order == nullptr) return decide_on(std::move(object));
  const auto& job = object;
  m_order->judge(job, [this, object](bool /*later*/) { decide_on(object); });
}

void Submission::decide_on(Json object) {
  const auto uid = uid_of(object);
  const auto existing = judge_existing(object, m_plan, m_job_type, m_attempt, began());
  if (m_depth == Depth::dry_run && existing != Existing::other_spec && existing != Existing::unknown_spec && existing != Existing::foreign)
    return m_sink.done(Submitted{m_resource, std::move(object), true});
  switch (existing) {
    case Existing::ours:
      return m_sink.done(Submitted{m_resource, std::move(object), false});
    case Existing::later_attempt:
      return m_sink.done(Submitted{m_resource, std::move(object), true, std::nullopt, true});
    case Existing::earlier_attempt:
      return adopt_existing(std::move(object));
    case Existing::reported_failure:
      return recreate(uid, "failed in an earlier attempt and was reported");
    case Existing::emptied:
      return recreate(uid, "ended in an earlier attempt, and its outputs are gone");
    case Existing::lapsed:
      return recreate(uid, "was kept for this attempt, but its deadline has passed");
    case Existing::unwanted:
      if (m_no_create && m_plan.options.reattach == "never") {  // it would run on unwanted
        m_sink.log(fmt::format("{} is from an earlier attempt (job_options.reattach: never); deleting it", shown_name()));
        return replace(uid);
      }
      return recreate(uid, fmt::format("is from an earlier attempt (job_options.reattach: {})", m_plan.options.reattach));
    case Existing::terminating:
      if (std::exchange(m_told_going, true)) return await_gone();
      m_sink.log(fmt::format("{} from an earlier attempt is being deleted; waiting until it is gone", shown_name()));
      return end_pods_of(uid);
    case Existing::other_spec:
      return fail({ErrorKind::conflict, fmt::format("{} exists for this run, but with another specification or data location; the inputs, a Secret, "
                                                    "or the trainstep version changed between two attempts{}. Delete it, or use another run id",
                                                    shown_name(), made_by_another(object))});
    case Existing::unknown_spec:
      return fail({ErrorKind::conflict, fmt::format("{} exists for this run, but its inputs cannot be compared: its annotation {} is "
                                                    "missing; perhaps a webhook removes annotations. Delete the job, or use another run id",
                                                    shown_name(), job_types::spec_hash_annotation)});
    case Existing::foreign:
      return fail({ErrorKind::conflict,
                   fmt::format("{} already exists and does not belong to this run{}; delete it, or use another model_name or run id", shown_name(),
                               text(at(metadata_of(object), "labels"), run_label) == m_plan.run_id ? of_other_manager(object) : "")});
  }
}

// It has changed since it was read, or there was no response for a while: perhaps another attempt has adopted it.
bool Submission::may_have_changed(const kube::ApiError& problem) {
  const bool may = problem.status == 409 || (problem.status == 0 && m_changes == 0);
  return may && ++m_changes <= max_changes;
}

// Makes a job that an earlier attempt has kept for a while ours for good. If that cannot be written, it is the only job of this run nevertheless: its
// follower tries again.
void Submission::adopt_existing(Json object) {
  m_keep_deadline =
      std::make_unique<KeepDeadline>(m_client, KeepDeadline::Job{m_resource, m_name_space, m_plan.job_name, uid_of(object), m_attempt, began()},
                                     own_deadline(object, m_plan.options.run_policy.active_deadline));
  if (!has_keep_deadline(object)) return mark(std::move(object));
  const auto version = text(metadata_of(object), "resourceVersion");
  m_keep_deadline->lift(version, {taking_up, patient().silence_counts},
                        [this, object = std::move(object)](const std::optional<kube::ApiError>& problem) mutable {
                          if (!problem) return m_sink.done(Submitted{m_resource, std::move(object), true});
                          if (may_have_changed(*problem)) return look();
                          const bool gone = kube::tells_absent(*problem, m_plan.job_name) || problem->status == 422;  // 422: another object's name
                          if (gone && !std::exchange(m_taking_up, true)) return look();
                          m_sink.done(Submitted{m_resource, std::move(object), true, problem->error});
                        });
}

// A lost attempt whose process still runs does not set a deadline on a job that another one follows (KeepDeadline::set).
void Submission::mark(Json object) {
  const auto state = m_job_type.judge(object).state;
  if (state == job_types::Judgement::State::succeeded || state == job_types::Judgement::State::failed)
    return m_sink.done(Submitted{m_resource, std::move(object), true});
  const auto version = text(metadata_of(object), "resourceVersion");
  m_keep_deadline->mark(version, {marking, true}, [this, object = std::move(object)](const std::optional<kube::ApiError>& problem) mutable {
    if (problem && may_have_changed(*problem)) return look();
    m_sink.done(Submitted{m_resource, std::move(object), true});
  });
}

// The claim that was created for the job would be deleted with it, including what its program has saved there. If the job has an owner, so has the
// claim from the start; otherwise it has none until the new job exists.
void Submission::keep_claim(const std::string& uid, std::function<void()> then) {
  if (m_plan.pvc_name.empty()) return then();
  const auto* owners = at(metadata_of(m_manifest), "ownerReferences");
  const auto change = [uid, new_owners = owners == nullptr ? Json::array() : *owners, run = m_plan.run_id](const Json& claim) {
    return handed_on(claim, uid, new_owners, run);
  };
  m_claim_change = std::make_unique<ClaimChange>(m_client, kube::Path{"v1", "persistentvolumeclaims", m_name_space, m_plan.pvc_name, ""}, patient(),
                                                 change, [this, then = std::move(then)](const std::optional<kube::ApiError>& problem) {
                                                   if (problem && problem->error.kind == ErrorKind::unavailable) return fail(problem->error);
                                                   if (problem) m_sink.log(goes_with_job(m_plan.pvc_name, *problem));
                                                   then();
                                                 });
}

void Submission::recreate(const std::string& uid, std::string_view why) {
  if (m_no_create) return fail(*m_no_create);
  m_sink.log(fmt::format("{} {}; recreating it", shown_name(), why));
  replace(uid);
}

void Submission::replace(const std::string& uid) {
  keep_claim(uid, [this, uid] { remove(uid); });
}

void Submission::remove(const std::string& uid) {
  Removal::Order order{object_path(), uid};
  order.timeout = submit_timeout;
  const auto failing = [this](const kube::ApiError& problem) {
    if (problem.status == 0 || kube::retryable(problem)) return m_client.failing(this, problem);
    if (!std::exchange(m_told_refusal, true)) m_sink.log(fmt::format("{}; trying again", problem.error.message));
  };
  m_removal = std::make_unique<Removal>(m_client, std::move(order), Removal::Sink{failing, {}, [this](const Removal::Outcome& outcome) {
                                                                                    m_client.works(this);
                                                                                    if (outcome.end == Removal::End::failed)
                                                                                      return fail(outcome.problem->error);
                                                                                    m_refusal.reset();
                                                                                    await_gone();
                                                                                  }});
}

// After a background deletion by another client its pods run until its finalizers are gone; our own DELETE removes them first, if permitted.
void Submission::end_pods_of(const std::string& uid) {
  keep_claim(uid, [this, uid] {
    m_removal = std::make_unique<Removal>(m_client, Removal::Order{object_path(), uid},
                                          Removal::Sink{[](const kube::ApiError&) {}, {}, [this](const Removal::Outcome&) { await_gone(); }});
  });
}

// With foreground propagation the object exists until all its pods are gone: a job of the same name must not meet them (docs/design/operators.md,
// Deletion).
void Submission::await_gone() {
  if (!m_gone_by.is_set()) m_gone_by.set(submit_timeout);
  if (m_gone_by.passed())
    return fail(
        {ErrorKind::unavailable, fmt::format("{} from an earlier attempt is still being deleted after {}", shown_name(), describe(submit_timeout))});
  m_refusal.reset();  // a quota has room again when it is gone
  m_timer = m_client.loop().timer(submit_interval, [this] { look(); });
}

}  // namespace trainstep::cluster
