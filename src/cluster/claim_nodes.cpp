// SPDX-License-Identifier: Apache-2.0
#include "cluster/claim_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/objects.h"
#include "job_types/affinity.h"
#include "job_types/job_type.h"

namespace trainstep::cluster {
namespace {

constexpr kube::Retry claim_retry{.at_most = Duration{300'000}, .silence_counts = false, .doubts_refusals = true};

void add(std::vector<MountedClaim>& claims, const MountedClaim& claim) {
  if (claim.name.empty()) return;
  const auto same = std::ranges::find(claims, claim.name, &MountedClaim::name);
  if (same == claims.end()) return claims.push_back(claim);
  same->read_only = same->read_only && claim.read_only;
  same->made = same->made || claim.made;
}

// From job_options.volumes: {"claim": NAME}, or the form of Kubernetes, {"volume": {"persistentVolumeClaim": …}}.
void add_volumes(std::vector<MountedClaim>& claims, const Json& volumes) {
  for (const auto& volume : volumes) {
    const auto* own = at(at(&volume, "volume"), "persistentVolumeClaim");
    const bool read_only = is_true(at(&volume, "read_only")) || is_true(at(own, "readOnly"));
    add(claims, {text(&volume, "claim"), read_only});
    add(claims, {text(own, "claimName"), read_only});
  }
}

std::vector<MountedClaim> claims_of(const plan::Plan& plan, const std::string& type) {
  std::vector<MountedClaim> claims;
  for (const auto& mount : plan.data.claims) add(claims, {mount.claim, mount.read_only});
  add(claims, {plan.pvc_name, false, true});
  add_volumes(claims, plan::options_for(plan.options, type).volumes);
  return claims;
}

// Terms of job_options.affinity already say which pods run together.
bool are_placed(const plan::Plan& plan) {
  return std::ranges::any_of(job_types::find(plan.job_type).replicas(plan), [&](const job_types::Replicas& replicas) {
    return job_types::has_pod_affinity(plan::options_for(plan.options, replicas.type).affinity);
  });
}

bool is_ours(const Facts& facts, const std::string& claim) {
  return std::ranges::any_of(facts.mounts, [&](const plan::ClaimMount& mount) { return mount.claim == claim; });
}

}  // namespace

std::vector<MountedClaim> mounted_claims(const plan::Plan& plan) {
  std::vector<MountedClaim> all;
  if (plan.options.single_node == false) return all;
  for (const auto& replicas : job_types::find(plan.job_type).replicas(plan))
    for (const auto& claim : claims_of(plan, replicas.type)) {
      add(all, claim);
      std::ranges::find(all, claim.name, &MountedClaim::name)->pods += replicas.count;
    }
  return all;
}

ClaimAccess access_of_mode(const std::string& mode) {
  if (mode == "ReadWriteOncePod") return ClaimAccess::one_pod;
  return mode == "ReadWriteOnce" ? ClaimAccess::one_node : ClaimAccess::many_nodes;
}

ClaimAccess access_of(const Json& claim, bool read_only) {
  const auto modes_at = [&](std::string_view part) {
    const auto* modes = at(at(&claim, part), "accessModes");
    return modes != nullptr && modes->is_array() ? *modes : Json::array();
  };
  auto modes = modes_at("status");
  if (modes.empty()) modes = modes_at("spec");
  const auto has = [&](const char* mode) { return std::ranges::find(modes, Json(mode)) != modes.end(); };
  if (has("ReadWriteMany") || (read_only && has("ReadOnlyMany"))) return ClaimAccess::many_nodes;
  for (const auto* mode : {"ReadWriteOnce", "ReadWriteOncePod"})
    if (has(mode)) return access_of_mode(mode);
  return ClaimAccess::many_nodes;
}

Result<plan::Nodes> nodes_for(const plan::Plan& plan, const Facts& facts, const std::map<std::string, ClaimAccess>& access) {
  auto nodes = plan.nodes;
  for (const auto& claim : mounted_claims(plan)) {
    const auto known = access.find(claim.name);
    if (known == access.end() || known->second == ClaimAccess::many_nodes) continue;
    if (known->second == ClaimAccess::absent) {
      nodes.absent = claim.name;
      continue;
    }
    const bool ours = is_ours(facts, claim.name);
    if (known->second == ClaimAccess::one_pod && (ours || claim.pods > 1))
      return input_error(fmt::format("claim {} is ReadWriteOncePod, and {}; use a ReadWriteMany claim, or object store addresses", claim.name,
                                     ours ? "this step's own pod uses it" : fmt::format("{} pods mount it", claim.pods)));
    if (known->second == ClaimAccess::one_pod) continue;
    const bool here = ours && !facts.node.empty();
    if (!here && claim.pods > 1 && are_placed(plan)) {
      nodes.apart = fmt::format("claim {} (ReadWriteOnce)", claim.name);
    } else if (here || (!nodes.together && claim.pods > 1)) {
      nodes.node = here ? facts.node : "";
      nodes.together = true;
      nodes.source = fmt::format("claim {} (ReadWriteOnce)", claim.name);
    }
  }
  return nodes;
}

std::string obstacle(const Json& claim, const MountedClaim& mounted) {
  const auto* status = at(&claim, "status");
  if (text(status, "phase") == "Lost") return fmt::format("claim {} is Lost: its volume is gone, and pods that mount it do not start", mounted.name);
  const auto* modes = at(status, "accessModes");
  if (mounted.read_only || modes == nullptr || *modes != Json::array({"ReadOnlyMany"})) return {};
  return fmt::format("claim {} is ReadOnlyMany, but its mount is not read-only", mounted.name);
}

std::string describe(const plan::Nodes& nodes) {
  if (nodes.node.empty() && !nodes.apart.empty())
    return fmt::format(
        "{}: the pods are not placed on one node, because job_options.affinity already sets a pod affinity; pods on other nodes than the "
        "first one wait for the claim",
        nodes.apart);
  if (nodes.node.empty() && !nodes.together) return {};
  const auto where = nodes.node.empty() ? std::string("one node") : fmt::format("node {}, where this step uses it", nodes.node);
  return fmt::format("{}: all pods are scheduled on {}; set job_options.single_node: false if its storage serves several nodes", nodes.source, where);
}

ClaimModesReader::ClaimModesReader(Context context, std::vector<MountedClaim> claims, Done done)
    : m_context(std::move(context)), m_claims(std::move(claims)), m_done(std::move(done)) {
  look();
}

void ClaimModesReader::look() {
  if (m_claims.empty()) return m_done(std::move(m_access));
  m_call = m_context.client.get({"v1", "persistentvolumeclaims", m_context.name_space, m_claims.back().name, ""}, {}, claim_retry,
                                [this](const kube::Answer& answer) { answered(answer); });
}

void ClaimModesReader::leave() {
  if (!m_call) return;
  m_call.cancel();
  m_done(std::move(m_access));
}

void ClaimModesReader::answered(const kube::Answer& answer) {
  m_call = {};
  const auto claim = std::move(m_claims.back());
  m_claims.pop_back();
  const auto unread = [&] {
    m_context.log(fmt::format("{} claim {}: if only one node can mount it, pods on other nodes wait ({})",
                              answer.error().status == 403 ? "no permission to read" : "cannot read", claim.name, answer.error().error.message));
  };
  if (answer) {
    m_access[claim.name] = access_of(*answer, claim.read_only);
    if (const auto line = obstacle(*answer, claim); !line.empty()) m_context.log(line);
  } else if (kube::tells_absent(answer.error(), claim.name)) {
    m_access[claim.name] = claim.made ? access_of_mode(m_context.made_mode) : ClaimAccess::absent;
  } else if (answer.error().status == 404 || answer.error().status == 403) {
    unread();
  } else {
    return m_done(answer.error().error);
  }
  look();
}

}  // namespace trainstep::cluster
