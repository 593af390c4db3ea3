// SPDX-License-Identifier: Apache-2.0
#include "cluster/claim_owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/objects.h"
#include "cluster/ownership.h"

namespace trainstep::cluster {
namespace {

constexpr int max_conflicts = 5;

Json owners_of(const Json& object) {
  const auto* owners = at(metadata_of(object), "ownerReferences");
  return owners != nullptr && owners->is_array() ? *owners : Json::array();
}

bool has(const Json& owners, const std::string& uid) {
  return std::ranges::any_of(owners, [&](const Json& owner) { return text(&owner, "uid") == uid; });
}

// Appends those of `more` that are missing to `owners`.
Json with(Json owners, const Json& more) {
  for (const auto& owner : more)
    if (!has(owners, text(&owner, "uid"))) owners.push_back(owner);
  return owners;
}

Json without(const Json& owners, const std::function<bool(const Json&)>& leaves) {
  Json rest = Json::array();
  for (const auto& owner : owners)
    if (!leaves(owner)) rest.push_back(owner);
  return rest;
}

// Not as a controller, and without blocking its deletion.
Json reference(const Json* object, const Json* named) {
  Json owner = Json::object();
  for (const auto* key : {"apiVersion", "kind"}) owner[key] = text(object, key);
  for (const auto* key : {"name", "uid"}) owner[key] = text(named, key);
  return owner;
}

Json change_to(const Json& claim, Json owners) { return owners == owners_of(claim) ? Json() : Json{{"ownerReferences", std::move(owners)}}; }

}  // namespace

Json claim_labels(const std::string& run) { return {{std::string(manager_label), std::string(manager)}, {std::string(run_label), run}}; }

bool is_made_for_jobs(const Json& claim, const std::string& run) {
  const auto* labels = at(metadata_of(claim), "labels");
  return text(labels, manager_label) == manager && (!owners_of(claim).empty() || text(labels, run_label) == run);
}

Json owners_for(const Json& job) {
  Json owners = Json::array({reference(&job, metadata_of(job))});
  for (const auto& owner : owners_of(job)) owners.push_back(reference(&owner, &owner));
  return owners;
}

bool is_before(const Json& owner, const Json& job) {
  return text(&owner, "kind") == text(&job, "kind") && text(&owner, "name") == text(metadata_of(job), "name") && text(&owner, "uid") != uid_of(job);
}

std::string goes_with_job(const std::string& claim, const kube::ApiError& problem) {
  return fmt::format("claim {} and its data are deleted with the job: {}", claim, problem.error.message);
}

std::string shown_owners(const Json& object) {
  std::string all;
  for (const auto& owner : owners_of(object)) all += fmt::format("{}{} {}", all.empty() ? "" : ", ", text(&owner, "kind"), text(&owner, "name"));
  return all;
}

Json joined(const Json& claim, const Json& job) {
  const auto ours = owners_for(job);
  return change_to(claim, with(without(owners_of(claim), [&](const Json& owner) { return is_before(owner, job); }), ours));
}

Json handed_on(const Json& claim, const std::string& job_uid, const Json& new_owners, const std::string& run) {
  const auto owners = owners_of(claim);
  const bool kept = !new_owners.empty() && with(owners, new_owners) == owners;
  if (!has(owners, job_uid) || kept) return {};
  const auto others = without(owners, [&](const Json& owner) { return text(&owner, "uid") == job_uid; });
  return {{"ownerReferences", with(others, new_owners)}, {"labels", claim_labels(run)}};
}

Json released(const Json& claim, const Json& job) {
  const auto ours = owners_for(job);
  const auto owners = owners_of(claim);
  const bool used = std::ranges::any_of(owners, [&](const Json& owner) { return !has(ours, text(&owner, "uid")); });
  return owners.empty() || used ? Json() : change_to(claim, Json::array({ours.front()}));
}

ClaimChange::ClaimChange(kube::Client& client, kube::Path path, kube::Retry retry, Change change,
                         std::function<void(std::optional<kube::ApiError>)> done)
    : m_client(client), m_path(std::move(path)), m_retry(retry), m_change(std::move(change)), m_done(std::move(done)) {
  look();
}

// The callback may destroy this object.
void ClaimChange::finish(std::optional<kube::ApiError> problem) { std::exchange(m_done, nullptr)(std::move(problem)); }

void ClaimChange::look() {
  m_call = m_client.get(m_path, {}, m_retry, [this](const kube::Answer& answer) {
    if (answer) return change(*answer);
    const auto status = answer.error().status;
    finish(status == 404 || status == 403 ? std::nullopt : std::optional(answer.error()));
  });
}

void ClaimChange::change(const Json& claim) {
  auto metadata = at(metadata_of(claim), "deletionTimestamp") == nullptr ? m_change(claim) : Json();
  if (metadata.is_null()) return finish(std::nullopt);
  metadata["uid"] = uid_of(claim);
  metadata["resourceVersion"] = text(metadata_of(claim), "resourceVersion");
  m_call = m_client.merge_patch(m_path, {{"metadata", std::move(metadata)}}, m_retry, [this](const kube::Answer& answer) {
    if (answer || answer.error().status == 404) return finish(std::nullopt);
    if (answer.error().status == 409 && ++m_conflicts <= max_conflicts) return look();
    finish(answer.error());
  });
}

}  // namespace trainstep::cluster
