// SPDX-License-Identifier: Apache-2.0
#include "job_types/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace trainstep::job_types {
namespace {

constexpr auto why = "default: fetches inputs and delivers outputs";
constexpr auto mounts = "/spec/containers/0/volumeMounts";

std::string folder(std::string_view path = {}) {
  return path.empty() ? std::string(plan::agent_folder) : fmt::format("{}/{}", plan::agent_folder, path);
}

// What Pod Security's level "restricted" requires of a container; a user ID chosen in job_options takes precedence (OpenShift allows only certain
// ones).
Json security_context(const plan::PodOptions& options) {
  constexpr int nobody = 65532;
  Json context = {{"allowPrivilegeEscalation", false},
                  {"capabilities", {{"drop", {"ALL"}}}},
                  {"readOnlyRootFilesystem", true},
                  {"runAsNonRoot", true},
                  {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  for (const auto* given : {&options.security_context, &options.pod_security_context})
    if (const auto* user = given->is_object() ? trainstep::find(*given, "runAsUser") : nullptr; user != nullptr && *user != Json(0)) {
      context["runAsUser"] = *user;
      return context;
    }
  context["runAsUser"] = nobody;
  return context;
}

// A quota may require sizes for every container; these matter less than the program's.
Json resources() {
  const Json sizes = {{"cpu", "100m"}, {"memory", "64Mi"}};
  return {{"limits", sizes}, {"requests", sizes}};
}

void add_init_container(const plan::Plan& plan, const plan::PodOptions& options, Manifest& pod) {
  pod.append("/spec/initContainers",
             {{"name", "trainstep"},
              {"image", plan.data.agent_image},
              {"command", {"trainstep", "exec", "--install", folder("trainstep")}},
              {"resources", resources()},
              {"securityContext", security_context(options)},
              {"volumeMounts", Json::array({{{"name", "trainstep"}, {"mountPath", folder()}}})}},
             plan.options.agent_image.empty() ? "default: the step's own image, which holds the agent" : "job_options.agent_image");
}

void add_keys(const plan::Plan& plan, Manifest& pod) {
  std::size_t index = 0;
  for (const auto& store : plan.data.secrets) {
    const auto name = keys_volume(index);
    const auto place = folder(fmt::format("keys/{}", index++));
    if (store.secret.empty()) continue;
    const bool derived = !store.signing_keys_key.empty();
    const Json items =
        Json::array({{{"key", store.access_key_key}, {"path", "access_key"}},
                     {{"key", derived ? store.signing_keys_key : store.secret_key_key}, {"path", derived ? "signing_keys" : "secret_key"}}});
    const auto source = fmt::format("default: credentials for {}", store.endpoint);
    pod.append("/spec/volumes", {{"name", name}, {"secret", {{"secretName", store.secret}, {"items", items}}}}, source);
    pod.append(mounts, {{"name", name}, {"mountPath", place}, {"readOnly", true}}, source);
  }
}

bool is_only_read(const plan::Plan& plan, const std::string& claim) {
  return std::ranges::all_of(plan.data.claims, [&](const plan::ClaimMount& mount) { return mount.claim != claim || mount.read_only; });
}

// One volume per claim: with some storage drivers a pod must not use a claim in two volumes. A claim that the step mounts read-only is read-only in
// the pods, too, because its driver may otherwise refuse to attach it.
void add_claims(const plan::Plan& plan, Manifest& pod) {
  for (const auto& claim : plan.data.claims) {
    const bool only_read = is_only_read(plan, claim.claim);
    std::string name;
    for (const auto& volume : pod.json().at("spec").at("volumes"))
      if (volume.contains("persistentVolumeClaim") && volume["persistentVolumeClaim"].value("claimName", "") == claim.claim &&
          (only_read || !volume["persistentVolumeClaim"].value("readOnly", false)))
        name = volume.value("name", "");
    if (name.empty()) {
      name = "trainstep-claim-" + claim.mount_path.substr(claim.mount_path.rfind('/') + 1);
      Json source = {{"claimName", claim.claim}};
      if (only_read) source["readOnly"] = true;
      pod.append("/spec/volumes", {{"name", name}, {"persistentVolumeClaim", std::move(source)}}, "default: the step has it mounted");
    }
    Json mount = {{"name", name}, {"mountPath", claim.mount_path}};
    if (!claim.sub_path.empty()) mount["subPath"] = claim.sub_path;
    if (claim.read_only) mount["readOnly"] = true;
    pod.append(mounts, mount, "default: the step has it mounted");
  }
}

}  // namespace

std::string keys_volume(std::size_t index) { return fmt::format("trainstep-keys-{}", index); }

Arguments with_agent(const plan::Plan& plan, std::string_view role, Arguments program) {
  if (!plan.data.has_agent()) return program;
  Arguments words;
  for (const auto& word :
       {folder("trainstep"), std::string("exec"), std::string("--role"), std::string(role), std::string("--scratch"), folder(), std::string("--")})
    words.push_back({word, why});
  words.insert(words.end(), std::make_move_iterator(program.begin()), std::make_move_iterator(program.end()));
  return words;
}

std::string role_of(const Replicas& replicas) {
  if (!replicas.primary) return "replica";
  return replicas.count == 1 ? "primary" : "indexed";
}

void add_agent(const plan::Plan& plan, const std::string& type, Manifest& pod) {
  if (!plan.data.has_agent()) return;
  const auto options = plan::options_for(plan.options, type);
  pod.append("/spec/volumes", {{"name", "trainstep"}, {"emptyDir", Json::object()}}, why);
  pod.append(mounts, {{"name", "trainstep"}, {"mountPath", folder()}}, why);
  add_keys(plan, pod);
  add_claims(plan, pod);
  add_init_container(plan, options, pod);
}

}  // namespace trainstep::job_types
