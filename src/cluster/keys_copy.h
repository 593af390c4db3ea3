// The Secret with keys to the job's bucket that a job in another cluster owns (docs/adr/0039-signing-keys-for-another-cluster.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "data/json.h"
#include "kube/client.h"
#include "objectstore/provider.h"
#include "objectstore/signature.h"

namespace trainstep::cluster {

// What it has.
struct KeysCopy {
  static constexpr std::string_view access_key = "minio-accesskey", secret_key = "minio-secretkey", signing_keys = "signing-keys";

  std::string name;
  bool whole = false;                // the secret key itself, in place of signing keys
  std::vector<std::string> regions;  // that the signing keys are for
  int days_ahead = 1;                // days after the present one that they are for
  Duration clock{};                  // how far the store's clock, which decides, is ahead of ours

  [[nodiscard]] std::map<std::string, std::string> contents(const objectstore::Credentials& keys, Time now) const;
};

// How many days signing keys last without their step: as long as the job's lease (0: none), and one day more, at most a week.
int days_ahead(Duration lease);
// Keys in the form in which the pods of this job, which an earlier attempt has created, read them. nullopt: they read the secret key itself, which is
// not given away any more.
std::optional<KeysCopy> as_in_job(KeysCopy copy, const Json& job);

// Keeps it up to date while the job is followed: signing keys for the coming days, and what the Secret that they are from has by then. Reads that
// every five minutes, and changes the copy if its contents change, and once at the beginning, which shows whether that is permitted; only if the job
// owns it. A problem is reported once, and tried again.
class KeysRenewal {
 public:
  struct Source {
    kube::Client& home;  // of the Secret that the keys are from
    std::string name_space;
    objectstore::CredentialsRef at;
    objectstore::Credentials keys;  // so far
    KeysCopy copy;
  };
  struct Job {
    std::string name_space, uid;
    bool adopted;  // an earlier attempt has created the copy
  };
  using Log = std::function<void(std::string text)>;

  // References must outlive it. `there`: of the job's cluster.
  KeysRenewal(kube::Client& there, Job job, Source source, Log log);
  KeysRenewal(const KeysRenewal&) = delete;
  KeysRenewal& operator=(const KeysRenewal&) = delete;

 private:
  void look_later(Duration pause);
  void look();
  void update();
  void updated(const kube::Answer& answer);

  kube::Client& m_there;
  Job m_job;
  Source m_source;
  Log m_log;
  std::map<std::string, std::string> m_written, m_wanted;
  bool m_reported = false;
  Timer m_timer;
  kube::PendingCall m_call;
};

}  // namespace trainstep::cluster
