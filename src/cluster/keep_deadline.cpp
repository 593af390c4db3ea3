// SPDX-License-Identifier: Apache-2.0
#include "cluster/keep_deadline.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "cluster/objects.h"
#include "cluster/ownership.h"

namespace trainstep::cluster {
namespace {

using std::chrono::ceil;
using Seconds = std::chrono::seconds;

constexpr std::int64_t max_deadline = 1'000'000'000'000;  // seconds

std::string kept_until(const Json& job) { return text(at(metadata_of(job), "annotations"), kept_annotation); }

// In the spec of a Job, in the runPolicy of the operators' resources.
std::optional<std::int64_t> written_deadline(const Json& job) {
  const auto* spec = at(&job, "spec");
  const auto* policy = at(spec, "runPolicy");
  const auto* seconds = at(policy != nullptr ? policy : spec, "activeDeadlineSeconds");
  return seconds != nullptr && seconds->is_number_integer() ? std::optional(seconds->get<std::int64_t>()) : std::nullopt;
}

bool ends_by(const Json& job, const Json& seconds) {
  const auto written = written_deadline(job);
  return written && *written <= seconds.get<std::int64_t>();
}

std::optional<std::int64_t> replaced_deadline(const Json& job) {
  const auto written = text(at(metadata_of(job), "annotations"), own_deadline_annotation);
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), seconds);
  return error == std::errc() && end == written.data() + written.size() && seconds >= 0 ? std::optional(seconds) : std::nullopt;
}

// In the spec of a Job, in the runPolicy of the operators' resources.
Json spec_with(const job_types::Resource& resource, const Json& seconds) {
  const Json deadline = {{"activeDeadlineSeconds", seconds}};
  return resource.run_policy.empty() ? deadline : Json{{resource.run_policy, deadline}};
}

}  // namespace

bool has_keep_deadline(const Json& job) { return !kept_until(job).empty(); }

std::string follower_of(const Json& job) { return text(at(metadata_of(job), "annotations"), follower_annotation); }

std::optional<Duration> own_deadline(const Json& job, std::optional<Duration> planned) {
  const auto seconds = has_keep_deadline(job) ? replaced_deadline(job) : written_deadline(job);
  if (seconds) return Seconds(std::clamp<std::int64_t>(*seconds, 0, max_deadline));
  return has_keep_deadline(job) ? planned : std::nullopt;
}

// The job has the smaller of the two (deadline_seconds).
bool is_cut_short(const Json& job, std::optional<Duration> planned) {
  const auto own = own_deadline(job, planned);
  if (!has_keep_deadline(job) || !own) return has_keep_deadline(job);
  const auto seconds = written_deadline(job);
  return seconds && *seconds < ceil<Seconds>(*own).count();
}

bool has_expired(const Json& job, const job_types::JobType& job_type, std::optional<Duration> planned) {
  return is_cut_short(job, planned) && is_overdue(job_type.judge(job));
}

bool is_overdue(const job_types::Judgement& judged) {
  const auto says = [&](std::string_view words) {
    return judged.reason.find(words) != std::string::npos || judged.message.find(words) != std::string::npos;
  };
  return judged.state == job_types::Judgement::State::failed && (says("DeadlineExceeded") || says("longer than specified deadline"));
}

std::int64_t deadline_seconds(Time now, std::optional<Time> started, Duration length, std::optional<Duration> own) {
  const auto active = started && now > *started ? now - *started : Time::duration{};
  auto deadline = ceil<Seconds>(active + length);
  if (own) deadline = std::min(deadline, ceil<Seconds>(*own));
  return deadline.count();
}

kube::Path KeepDeadline::path() const {
  return {std::string(m_job.resource.group_version), std::string(m_job.resource.plural), m_job.name_space, m_job.name, ""};
}

void KeepDeadline::set(Time now, std::optional<Time> started, Duration length, const std::string& version, kube::Retry retry, Done done) {
  Json metadata = {{"uid", m_job.uid}, {"annotations", {{kept_annotation, to_rfc3339(now + length)}}}};
  if (!version.empty()) metadata["resourceVersion"] = version;
  if (m_own) metadata["annotations"][own_deadline_annotation] = std::to_string(ceil<Seconds>(*m_own).count());
  patch(std::move(metadata), deadline_seconds(now, started, length, m_own), retry, std::move(done));
}

void KeepDeadline::lift(const std::string& version, kube::Retry retry, Done done) {
  Json metadata = {{"uid", m_job.uid}, {"annotations", {{kept_annotation, nullptr}}}};
  if (!version.empty()) metadata["resourceVersion"] = version;
  if (m_own) metadata["annotations"][own_deadline_annotation] = nullptr;
  if (!m_job.follower.empty()) write_follower(metadata["annotations"]);
  patch(std::move(metadata), own_seconds(), retry, std::move(done));
}

void KeepDeadline::write_follower(Json& annotations) const {
  annotations[follower_annotation] = m_job.follower;
  annotations[began_annotation] = m_job.began ? Json(to_rfc3339(*m_job.began)) : Json(nullptr);
}

Json KeepDeadline::own_seconds() const { return m_own ? Json(ceil<Seconds>(*m_own).count()) : Json(nullptr); }

void KeepDeadline::mark(const std::string& version, kube::Retry retry, Done done) {
  Json change = {{"metadata", {{"uid", m_job.uid}}}};
  if (!version.empty()) change["metadata"]["resourceVersion"] = version;
  write_follower(change["metadata"]["annotations"]);
  m_call = m_client.merge_patch(path(), change, retry, [this, retry, done = std::move(done)](const kube::Answer& answer) {
    if (!answer) return done(answer.error());
    // The attempt that removed the deadline from the job may not have reached its launcher.
    if (m_job.resource.has_launcher_job) return patch_launcher(own_seconds(), retry, done);
    done(std::nullopt);
  });
}

void KeepDeadline::patch(Json metadata, const Json& seconds, kube::Retry retry, Done done) {
  const bool sets = metadata["annotations"][kept_annotation].is_string();
  const Json change = {{"metadata", std::move(metadata)}, {"spec", spec_with(m_job.resource, seconds)}};
  m_call = m_client.merge_patch(path(), change, retry, [this, sets, seconds, retry, done = std::move(done)](const kube::Answer& answer) {
    if (!answer) return done(answer.error());
    if (sets && uid_of(*answer) == m_job.uid && !(has_keep_deadline(*answer) && ends_by(*answer, seconds))) return take_back(done);
    if (m_job.resource.has_launcher_job) return patch_launcher(seconds, retry, done);
    done(std::nullopt);
  });
}

void KeepDeadline::take_back(Done done) {
  const Json marks = {{kept_annotation, nullptr}, {own_deadline_annotation, nullptr}};
  const Json change = {{"metadata", {{"uid", m_job.uid}, {"annotations", marks}}}, {"spec", spec_with(m_job.resource, own_seconds())}};
  m_call = m_client.merge_patch(path(), change, {Duration(0)}, [this, done = std::move(done)](const kube::Answer& answer) {
    const auto stays = answer ? std::string() : fmt::format("; the deadline may still be set: {}", answer.error().error.message);
    done(kube::ApiError{
        {ErrorKind::unavailable, fmt::format("patch {}: the deadline or its annotation was dropped{}", path().describe(), stays)}, 422, {}, {}, {}});
  });
}

// mpi-operator sets it on the launcher's Job when it creates that, and never again (docs/design/operators.md, Limits).
void KeepDeadline::patch_launcher(const Json& seconds, kube::Retry retry, Done done) {
  const kube::Path path{"batch/v1", "jobs", m_job.name_space, job_types::launcher_job(m_job.resource, m_job.name), ""};
  m_call = m_client.get(path, {}, retry, [this, path, seconds, retry, done = std::move(done)](const kube::Answer& launcher) {
    if (!launcher && kube::tells_absent(launcher.error(), path.name)) return done(std::nullopt);  // it will be created with it
    if (!launcher) return done(launcher.error());
    const auto* there = at(at(&*launcher, "spec"), "activeDeadlineSeconds");
    const bool same = there == nullptr ? seconds.is_null() : *there == seconds;
    if (same || !is_owned_by(*launcher, m_job.uid)) return done(std::nullopt);
    const Json change = {{"metadata", {{"uid", uid_of(*launcher)}}}, {"spec", {{"activeDeadlineSeconds", seconds}}}};
    m_call = m_client.merge_patch(path, change, retry, [this, path, done](const kube::Answer& answer) {
      if (answer || kube::tells_absent(answer.error(), path.name)) return done(std::nullopt);
      done(answer.error());
    });
  });
}

}  // namespace trainstep::cluster
