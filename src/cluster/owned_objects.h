// Objects that a job needs and owns, so that they are deleted with it: a claim, credentials for an object store. Created right after the job; its
// pods wait for them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "data/json.h"
#include "kube/client.h"

namespace trainstep::cluster {

struct OwnedObject {
  std::string plural;  // "secrets", "persistentvolumeclaims"; of the core API group
  Json object;         // with its metadata.name
  bool may_be_there;   // it may have been created for many jobs: then it belongs to them and is left unchanged
};

// `access_mode`: "ReadWriteMany" if it is empty.
OwnedObject claim(const std::string& name, const std::string& size, const std::string& access_mode);
OwnedObject secret(const std::string& name, const Json& text_by_key);

// An object of an earlier job of the same name is deleted with that: it is waited for and created again, and so is one that is being deleted. A claim
// that was created for jobs becomes this one's as well (claim_owners.h).
class OwnedObjects {
 public:
  using Log = std::function<void(std::string)>;
  // The client must outlive it. `job`: as returned by the API server. `tell`: what is waited for, or could not be done. `done`: called once, from the
  // loop. Errors: denied, input, unavailable.
  OwnedObjects(kube::Client& client, Json job, std::vector<OwnedObject> objects, Log log, std::function<void(Result<void>)> done);
  OwnedObjects(const OwnedObjects&) = delete;
  OwnedObjects& operator=(const OwnedObjects&) = delete;

 private:
  void next();
  void look();
  void create();
  [[nodiscard]] bool is_of_job_before(const Json& object) const;
  void await_gone(bool going);
  void join(const Json& claim);
  void made();
  [[nodiscard]] std::string run() const;
  void finish(Result<void> result);
  [[nodiscard]] kube::Path path(bool with_name) const;

  kube::Client& m_client;
  Json m_job;
  std::vector<OwnedObject> m_owned_objects;
  std::size_t m_at = 0;
  Log m_log;
  std::function<void(Result<void>)> m_done;
  kube::PendingCall m_call;
  Timer m_timer;
  Deadline m_gone_by;  // set while waiting for one of an earlier job, or one that is being deleted, to disappear
  bool m_told_going = false;
};

}  // namespace trainstep::cluster
