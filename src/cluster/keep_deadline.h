// Keeps a job for the next attempt of its step, which may never come: sets a deadline, which its controller enforces and which the next attempt
// removes (docs/adr/0021-a-job-that-waits-for-the-next-attempt.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "job_types/job_type.h"
#include "kube/client.h"

namespace trainstep::cluster {

// On the job: until when it is kept (RFC 3339).
inline constexpr std::string_view kept_annotation = "trainstep.dev/kept-until";

// On a job that is kept: the activeDeadlineSeconds that was replaced. Without it the job had no other deadline than that of its inputs.
inline constexpr std::string_view own_deadline_annotation = "trainstep.dev/own-deadline";

// On the job: the process that follows it, if that is not the one that created it (random, like attempt_annotation). Set by whoever adopts the job.
inline constexpr std::string_view follower_annotation = "trainstep.dev/followed-by";

// Whether the job is kept for the next attempt, with a deadline set by this program.
bool has_keep_deadline(const Json& job);
// Empty: the one that created it.
std::string follower_of(const Json& job);
// The job's deadline relative to its start, without the one set for keeping it, from any source: its inputs, a patch of them, a webhook or kubectl.
// `planned`: that of its inputs.
std::optional<Duration> own_deadline(const Json& job, std::optional<Duration> planned);
// Whether a deadline has ended the job.
bool is_overdue(const job_types::Judgement& judged);
// Whether the job is kept, and the deadline set for that is earlier than its own.
bool is_cut_short(const Json& job, std::optional<Duration> planned);
// Whether the job was kept, and was ended by the deadline set for that, not by its own.
bool has_expired(const Json& job, const job_types::JobType& job_type, std::optional<Duration> planned);
// activeDeadlineSeconds, which counts from the start of the job, for a job that is to end `length` after `now`; `started` unset: it has not started.
// `own`: own_deadline(); the earlier one counts. Pure.
std::int64_t deadline_seconds(Time now, std::optional<Time> started, Duration length, std::optional<Duration> own);

class KeepDeadline {
 public:
  struct Job {
    job_types::Resource resource;
    std::string name_space, name, uid;
    std::string follower{};       // of the process that adopts it …
    std::optional<Time> began{};  // … and when its pod was created, if a Workflow created it
  };
  using Done = std::function<void(const std::optional<kube::ApiError>& problem)>;  // called once, from the loop
  // `own`: own_deadline(), which is restored when the job is no longer kept. `client` must outlive it.
  KeepDeadline(kube::Client& client, Job job, std::optional<Duration> own) : m_client(client), m_job(std::move(job)), m_own(own) {}
  KeepDeadline(const KeepDeadline&) = delete;
  KeepDeadline& operator=(const KeepDeadline&) = delete;

  // `version`: of the job as it was seen; if it has changed since, nothing is done (409). Empty: any version. If the deadline or the annotations do
  // not persist – a webhook changes the job –, nothing would end it, or the deadline could not be recognised as ours: it is removed again (422).
  void set(Time now, std::optional<Time> started, Duration length, const std::string& version, kube::Retry retry, Done done);
  // `version` as above: a PATCH that was delayed by the network must not take the job from an attempt that has adopted it in the meantime.
  void lift(const std::string& version, kube::Retry retry, Done done);
  // Records that `follower` has adopted it, for a job without such a deadline.
  void mark(const std::string& version, kube::Retry retry, Done done);

 private:
  void patch(Json metadata, const Json& seconds, kube::Retry retry, Done done);
  void take_back(Done done);
  [[nodiscard]] Json own_seconds() const;
  void write_follower(Json& annotations) const;
  [[nodiscard]] kube::Path path() const;
  void patch_launcher(const Json& seconds, kube::Retry retry, Done done);

  kube::Client& m_client;
  Job m_job;
  std::optional<Duration> m_own;
  kube::PendingCall m_call;
};

}  // namespace trainstep::cluster
