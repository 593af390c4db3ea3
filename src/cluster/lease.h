// A job that is left to the next attempt of its step, which may never come: it gets a deadline of its own, which its controller keeps and which the
// next attempt takes away (docs/adr/0021-a-job-that-waits-for-the-next-attempt.md).
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

// Of the job: until when it is kept (RFC 3339).
inline constexpr std::string_view kept_annotation = "trainstep.dev/kept-until";

// Of a job that is kept: the activeDeadlineSeconds that its keeping has replaced. Without it the job had none but what its inputs ask for.
inline constexpr std::string_view own_deadline_annotation = "trainstep.dev/own-deadline";

// Of the job: which process follows it, if that is not the one that has made it (random, as attempt_annotation). Whoever takes a job up writes it.
inline constexpr std::string_view follower_annotation = "trainstep.dev/followed-by";

bool is_leased(const Json& job);
// Empty: who has made it.
std::string follower_of(const Json& job);
// What it is to end by but for its keeping, from its start: whoever has set that, its inputs, a patch of theirs, a webhook or kubectl. `planned`:
// what its inputs ask for.
std::optional<Duration> own_deadline(const Json& job, std::optional<Duration> planned);
// A deadline has ended it.
bool is_overdue(const job_types::Judgement& judged);
// It is kept, and that deadline comes before its own, which counts on.
bool is_cut_short(const Json& job, std::optional<Duration> planned);
// It was kept, and has ended by that deadline, not by its own.
bool has_lapsed(const Json& job, const job_types::JobType& job_type, std::optional<Duration> planned);
// activeDeadlineSeconds, which counts from the job's start, for a job that is to end `length` after `now`; `started`: unset, it has not yet.
// `own`: own_deadline(); the earlier one counts. Pure.
std::int64_t deadline_seconds(Time now, std::optional<Time> started, Duration length, std::optional<Duration> own);

class Lease {
 public:
  struct Job {
    job_types::Resource resource;
    std::string name_space, name, uid;
    std::string follower{};       // who takes it up …
    std::optional<Time> began{};  // … and when its pod was created, where a Workflow has made that
  };
  using Done = std::function<void(const std::optional<kube::ApiError>& problem)>;  // once, from the loop
  // `own`: own_deadline(), which is there again once the keeping is over. `client` must outlive it.
  Lease(kube::Client& client, Job job, std::optional<Duration> own) : m_client(client), m_job(std::move(job)), m_own(own) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { m_client.cancel(m_call); }

  // `version`: of the job as it was seen; if it has changed since, nothing is done (409). Empty: whatever it is now. Where the deadline does not
  // stay, or the annotations do not – a webhook changes the job –, nothing would end it, or nobody know the deadline for the keeping's: it is taken
  // back (422).
  void set(Time now, std::optional<Time> started, Duration length, const std::string& version, kube::Retry retry, Done done);
  // As above: a PATCH that a network has held up must not take the job from an attempt that has taken it up meanwhile.
  void lift(const std::string& version, kube::Retry retry, Done done);
  // That `follower` has taken it up, of a job that has no such deadline.
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
  kube::Client::CallId m_call = 0;
};

}  // namespace trainstep::cluster
