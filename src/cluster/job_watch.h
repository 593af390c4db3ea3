// What the API server says of one job and its pods: their watches, and the reads in addition, because a list or a silent watch may not show
// everything.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/pod_index.h"
#include "cluster/version_tracker.h"
#include "follow/event.h"
#include "job_types/job_type.h"
#include "job_types/pod_view.h"
#include "kube/client.h"
#include "kube/watch.h"
#include "plan/plan.h"

namespace trainstep::cluster {

class JobWatch {
 public:
  struct Job {
    job_types::Resource resource;
    kube::Path path;
    std::string uid;
    std::string version;  // resourceVersion, as it was last seen
    std::string created;  // as written by the API server
    bool adopted = false;
    bool anothers = false;  // it belongs to another step: its pods need not be visible
  };
  // Called from the loop. States are never older than those before.
  struct Sink {
    std::function<void(const Json& object, job_types::Judgement judgement)> job;
    std::function<void()> job_gone;  // may be called again until ended()
    std::function<void(follow::MemberIndex member, job_types::PodView pod)> pod;
    std::function<void(follow::MemberIndex member, const std::string& uid)> pod_gone;
    std::function<void()> pods_listed;                        // after refresh()
    std::function<void(const std::string& why)> pods_hidden;  // of another step's job
    std::function<void(Error why)> failed;
  };

  // References must outlive it.
  JobWatch(kube::Client& client, const plan::Plan& plan, Job job, Sink sink);
  JobWatch(const JobWatch&) = delete;
  JobWatch& operator=(const JobWatch&) = delete;

  // A state of the job from elsewhere, such as the response to its create.
  void handle_job(const Json& object);
  void open();
  // Closes the watches. What is being read is still reported.
  void close();
  // Reads the job, then its pods, and reports when both are at least as new as this call.
  void refresh();
  // A log has ended, and with it perhaps the job: reads it unless its watch reports the end soon.
  void expect_end();
  // The job is gone: what is still said about it does not count.
  void ended() { m_gone = true; }
  // Its status is final.
  [[nodiscard]] bool over() const { return m_over; }
  // Of an existing pod.
  [[nodiscard]] std::optional<follow::MemberIndex> member_of(const std::string& pod_uid) const;

 private:
  void watch_job();
  void watch_pods();
  void get_job();
  [[nodiscard]] bool has_gone(const kube::Answer& answer);
  void retry_get_job();
  void retry_refresh(kube::Answer& answer);
  void list_pods(kube::PendingCall& call, std::function<void(kube::Answer)> done);
  void relist_pods(int turn);
  [[nodiscard]] bool is_behind(const Json& list);
  void pods_refused(int turn, const kube::ApiError& problem);
  bool take_list(const Json& list);
  bool handle_pods(const std::vector<Json>& items, const std::string& version);
  void handle_pod(const Json& object);
  void pod_over();
  void pod_gone(const std::string& uid);
  void list_pods_soon();
  [[nodiscard]] bool is_closed() const { return !m_pod_watch; }
  [[nodiscard]] const job_types::JobType& type() const { return job_types::find(m_plan.job_type); }

  kube::Client& m_client;
  const plan::Plan& m_plan;
  Job m_job;
  Sink m_sink;
  PodIndex m_pods_by_label;
  VersionTracker m_known;
  std::map<std::string, follow::MemberIndex> m_pods;  // uid → member, of existing pods
  struct MissingPod {
    int lists = 0;       // consecutive ones without it
    int new_enough = 0;  // of them, those that were recent enough
  };
  std::map<std::string, MissingPod> m_missing;  // pods, by uid
  std::unique_ptr<kube::Watch> m_job_watch, m_pod_watch;
  bool m_over = false, m_gone = false;
  bool m_pod_over = false;  // one of them has ended
  int m_end_refreshes = 0;  // since something of it has ended
  Timer m_end_timer;
  // A GET of the job by its name, in addition to its watch: whether it is gone, whether it has ended.
  kube::PendingCall m_get;
  Timer m_get_timer;
  int m_unanswered_gets = 0;  // that brought no response
  int m_not_found = 0;        // consecutive responses that there is no such job
  int m_look = 0;             // identifies the last refresh()
  kube::PendingCall m_look_call;
  Timer m_look_timer;
  int m_failed_refreshes = 0;  // consecutive
  int m_failed_lists = 0;      // the same for its pods
  int m_old_lists = 0;         // of them, older than the job
  kube::PendingCall m_pods_call;
  Timer m_pods_timer;
};

}  // namespace trainstep::cluster
