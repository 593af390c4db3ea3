// On which nodes the pods of a job can run, by the access modes of the claims that they mount. The scheduler does not look at those of a claim whose
// volume several nodes could see: a pod on another node than the first would wait for the volume for ever (Multi-Attach).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cluster/facts.h"
#include "data/json.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

enum class ClaimAccess { many_nodes, one_node, one_pod };

// A claim that the pods mount.
struct MountedClaim {
  std::string name;
  bool read_only = true;  // by each of them
  bool made = false;      // for the job, where there is none of that name
  int pods = 0;           // that mount it
};

// Each once: the step's own that hold its data, pvc_name, those of job_options.volumes. Of a plan whose data have been routed; none where
// job_options.single_node is false, as nothing follows from them.
std::vector<MountedClaim> mounted_claims(const plan::Plan& plan);

// By the modes of the volume, or those that are asked for as long as there is none. ReadOnlyMany counts where nobody writes. Any JSON is allowed.
ClaimAccess access_of(const Json& claim, bool read_only);
ClaimAccess access_of_mode(const std::string& mode);

// `access`: of the claims whose modes are known. Where job_options.affinity says beside whom pods stand, that counts, but for the step's own node.
// Error (input): the pods cannot have one of them all at once.
Result<plan::Nodes> nodes_for(const plan::Plan& plan, const Facts& facts, const std::map<std::string, ClaimAccess>& access);

// What is to be said of it; empty: nothing.
std::string describe(const plan::Nodes& nodes);

// Reads the claims.
class ClaimLook {
 public:
  using Done = std::function<void(Result<std::map<std::string, ClaimAccess>>)>;
  struct Context {
    kube::Client& client;
    std::string name_space;
    std::string made_mode;                             // of claims that are not there yet, and are made for the job
    std::function<void(const std::string& line)> say;  // which may not be read
  };
  // `done`: once, perhaps at once. Errors: unavailable.
  ClaimLook(Context context, std::vector<MountedClaim> claims, Done done);
  ClaimLook(const ClaimLook&) = delete;
  ClaimLook& operator=(const ClaimLook&) = delete;
  ~ClaimLook() { m_context.client.cancel(m_call); }
  // Nobody waits for the rest: `done` comes with what is known, unless it has come.
  void leave();

 private:
  void look();
  void answered(const kube::Answer& answer);

  Context m_context;
  std::vector<MountedClaim> m_claims;  // that are left
  std::map<std::string, ClaimAccess> m_access;
  Done m_done;
  kube::Client::CallId m_call = 0;
};

}  // namespace trainstep::cluster
