// SPDX-License-Identifier: Apache-2.0
#include "cluster/owned_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/claim_owners.h"
#include "cluster/objects.h"
#include "cluster/ownership.h"

namespace trainstep::cluster {
namespace {

constexpr Duration objects_timeout{300'000};
constexpr kube::Retry doubting{.at_most = objects_timeout, .silence_counts = false, .doubts_refusals = true};
constexpr Duration objects_interval{1'000};

}  // namespace

OwnedObject claim(const std::string& name, const std::string& size, const std::string& access_mode) {
  const auto mode = access_mode.empty() ? std::string("ReadWriteMany") : access_mode;
  return {"persistentvolumeclaims",
          {{"apiVersion", "v1"},
           {"kind", "PersistentVolumeClaim"},
           {"metadata", {{"name", name}}},
           {"spec", {{"accessModes", {mode}}, {"resources", {{"requests", {{"storage", size}}}}}}}},
          true};
}

OwnedObject secret(const std::string& name, const Json& text_by_key) {
  return {"secrets", {{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", name}}}, {"stringData", text_by_key}}, false};
}

OwnedObjects::OwnedObjects(kube::Client& client, Json job, std::vector<OwnedObject> objects, Log log, std::function<void(Result<void>)> done)
    : m_client(client),
      m_job(std::move(job)),
      m_owned_objects(std::move(objects)),
      m_log(std::move(log)),
      m_done(std::move(done)),
      m_gone_by(client.loop()) {
  next();
}

kube::Path OwnedObjects::path(bool with_name) const {
  const auto& object = m_owned_objects[m_at];
  return {"v1", object.plural, text(metadata_of(m_job), "namespace"), with_name ? text(metadata_of(object.object), "name") : "", ""};
}

void OwnedObjects::next() {
  if (m_at == m_owned_objects.size()) return finish({});
  m_owned_objects[m_at].may_be_there ? look() : create();
}

void OwnedObjects::look() {
  m_call = m_client.get(path(true), {}, doubting, [this](kube::Answer answer) {
    if (!answer && answer.error().status == 404) return create();
    // Without the permission to read it, it cannot be created either: the pods will tell whether it exists.
    if (!answer && answer.error().status != 403) return finish(std::move(answer.error().error));
    const bool going = answer && at(metadata_of(*answer), "deletionTimestamp") != nullptr;
    if (going || (answer && is_of_job_before(*answer))) return await_gone(going);
    if (answer && m_owned_objects[m_at].may_be_there && is_made_for_jobs(*answer, run())) return join(*answer);
    made();
  });
}

std::string OwnedObjects::run() const { return text(at(metadata_of(m_job), "labels"), run_label); }

void OwnedObjects::made() {
  ++m_at;
  next();
}

// Without permission the consequence is reported; the job runs nevertheless.
void OwnedObjects::join(const Json& claim) {
  auto metadata = joined(claim, m_job);
  if (metadata.is_null()) return made();
  metadata["uid"] = uid_of(claim);
  metadata["resourceVersion"] = text(metadata_of(claim), "resourceVersion");
  m_call = m_client.merge_patch(path(true), {{"metadata", std::move(metadata)}}, {objects_timeout, false}, [this, claim](const kube::Answer& answer) {
    if (!answer && (answer.error().status == 404 || answer.error().status == 409)) {
      m_timer = m_client.loop().timer(objects_interval, [this] { look(); });
      return;
    }
    if (!answer) {
      const auto owners = shown_owners(claim);
      m_log(fmt::format("claim {} was created for other jobs and cannot be shared with this one: it {}{} ({})", path(true).name,
                        owners.empty() ? "stays" : "is deleted with ", owners, answer.error().error.message));
    }
    made();
  });
}

bool OwnedObjects::is_of_job_before(const Json& object) const {
  const auto* owners = at(metadata_of(object), "ownerReferences");
  if (owners == nullptr || !owners->is_array()) return false;
  return !owners->empty() && std::ranges::all_of(*owners, [this](const Json& owner) { return is_before(owner, m_job); });
}

// The garbage collector deletes it in a moment; a claim that pods use is deleted after them.
void OwnedObjects::await_gone(bool going) {
  if (!m_gone_by.is_set()) m_gone_by.set(objects_timeout);
  if (m_gone_by.passed())
    return finish(
        Error{ErrorKind::unavailable, going ? "its deletion is taking too long: pods of another job may be using it, or a finalizer is blocking it"
                                            : "the one of a deleted job still exists"});
  if (going && !std::exchange(m_told_going, true)) m_log(fmt::format("{} is being deleted: waiting to recreate it", path(true).name));
  m_timer = m_client.loop().timer(objects_interval, [this] { look(); });
}

void OwnedObjects::create() {
  auto object = m_owned_objects[m_at].object;
  object["metadata"]["ownerReferences"] = owners_for(m_job);
  if (m_owned_objects[m_at].may_be_there) object["metadata"]["labels"] = claim_labels(run());
  m_call = m_client.create(path(false), object, false, doubting, [this](kube::Answer answer) {
    if (!answer && answer.error().reason == "AlreadyExists") {
      if (!m_gone_by.is_set()) m_gone_by.set(objects_timeout);
      return m_gone_by.passed() ? finish(std::move(answer.error().error)) : look();
    }
    if (!answer) return finish(std::move(answer.error().error));
    made();
  });
}

void OwnedObjects::finish(Result<void> result) {
  if (!result) result = in_context(fmt::format("{} for the job", path(true).name), std::move(result.error()));
  std::exchange(m_done, nullptr)(std::move(result));
}

}  // namespace trainstep::cluster
