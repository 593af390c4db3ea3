// The nodes on which the pods of a job can run, given the access modes of their claims. The scheduler does not check them for a claim whose volume
// several nodes can reach: a pod on another node than the first would wait for the volume for ever (Multi-Attach).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/loop.h"
#include "cluster/facts.h"
#include "data/json.h"
#include "kube/client.h"
#include "plan/plan.h"

namespace trainstep::cluster {

enum class ClaimAccess { many_nodes, one_node, one_pod, absent };

// A claim that the pods mount.
struct MountedClaim {
  std::string name;
  bool read_only = true;  // in each of them
  bool made = false;      // for the job, if there is none of that name
  int pods = 0;           // that mount it
};

// Each once: those of the step that hold its data, pvc_name, those of job_options.volumes. For a plan whose data have been routed; none if
// job_options.single_node is false, because it has no consequence then.
std::vector<MountedClaim> mounted_claims(const plan::Plan& plan);

// From the modes of the volume, or the requested ones as long as there is none. ReadOnlyMany counts if no pod writes. Any JSON is allowed.
ClaimAccess access_of(const Json& claim, bool read_only);
ClaimAccess access_of_mode(const std::string& mode);

// `access`: of the claims whose modes are known. A job_options.affinity that says which pods run together takes precedence, except over the step's
// own node; the result says so. Error (input): the pods cannot all have one of the claims.
Result<plan::Nodes> nodes_for(const plan::Plan& plan, const Facts& facts, const std::map<std::string, ClaimAccess>& access);

using trainstep::describe;  // that of a duration is not hidden by this one
// For the log; empty: nothing to say.
std::string describe(const plan::Nodes& nodes);
// Why pods that mount it do not start, or cannot write: its volume is gone, or many nodes may read it only. Any JSON is allowed.
std::string obstacle(const Json& claim, const MountedClaim& mounted);

// Reads the claims.
class ClaimModesReader {
 public:
  using Done = std::function<void(Result<std::map<std::string, ClaimAccess>>)>;
  struct Context {
    kube::Client& client;
    std::string name_space;
    std::string made_mode;                             // of claims that do not exist yet, and are created for the job
    std::function<void(const std::string& line)> log;  // that cannot be read or used
  };
  // Calls `done` once, perhaps immediately. Errors: unavailable; what the API server refuses otherwise than by 403 or 404.
  ClaimModesReader(Context context, std::vector<MountedClaim> claims, Done done);
  ClaimModesReader(const ClaimModesReader&) = delete;
  ClaimModesReader& operator=(const ClaimModesReader&) = delete;
  // Does not wait for the rest: `done` is called with what is known, unless it was called.
  void leave();

 private:
  void look();
  void answered(const kube::Answer& answer);

  Context m_context;
  std::vector<MountedClaim> m_claims;  // remaining ones
  std::map<std::string, ClaimAccess> m_access;
  Done m_done;
  kube::PendingCall m_call;
};

}  // namespace trainstep::cluster
