// What a job needs beside itself and takes with it when it goes: a claim, keys to an object store. Made right after the job, which owns them; its
// pods wait until they are there.
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
  std::string plural;  // "secrets", "persistentvolumeclaims"; of the API's core group
  Json object;         // with its metadata.name
  bool may_be_there;   // somebody may have made it for many jobs: then it is theirs and stays as it is
};

// `access_mode`: "ReadWriteMany" where it is empty.
OwnedObject claim(const std::string& name, const std::string& size, const std::string& access_mode);
OwnedObject secret(const std::string& name, const Json& text_by_key);

// One of the job's that had the name before goes with that: it is waited for, and made anew, as is what is being deleted. A claim that was made for
// jobs becomes this one's as well (claim_owners.h).
class OwnedObjects {
 public:
  using Tell = std::function<void(std::string)>;
  // The client must outlive it. `job`: the object as the API server has it. `tell`: what is waited for, or could not be done. `done`: once, from the
  // loop. Errors: denied, input, unavailable.
  OwnedObjects(kube::Client& client, Json job, std::vector<OwnedObject> objects, Tell tell, std::function<void(Result<void>)> done);
  OwnedObjects(const OwnedObjects&) = delete;
  OwnedObjects& operator=(const OwnedObjects&) = delete;
  ~OwnedObjects();

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
  Tell m_tell;
  std::function<void(Result<void>)> m_done;
  kube::Client::CallId m_call = 0;
  Loop::TimerId m_timer = 0;
  Deadline m_gone_by;  // set when one of a job before, or that is being deleted, is awaited to go
  bool m_told_going = false;
};

}  // namespace trainstep::cluster
