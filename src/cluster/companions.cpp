// SPDX-License-Identifier: Apache-2.0
#include "cluster/companions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/objects.h"

namespace trainstep::cluster {
namespace {

constexpr Duration patience{300'000};
constexpr Duration look_again{1'000};

}  // namespace

Companion claim(const std::string& name, const std::string& size, const std::string& access_mode) {
  const auto mode = access_mode.empty() ? std::string("ReadWriteMany") : access_mode;
  return {"persistentvolumeclaims",
          {{"apiVersion", "v1"},
           {"kind", "PersistentVolumeClaim"},
           {"metadata", {{"name", name}}},
           {"spec", {{"accessModes", {mode}}, {"resources", {{"requests", {{"storage", size}}}}}}}},
          true};
}

Companion secret(const std::string& name, const Json& text_by_key) {
  return {"secrets", {{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", name}}}, {"stringData", text_by_key}}, false};
}

Companions::Companions(kube::Client& client, const Json& job, std::vector<Companion> companions, std::function<void(Result<void>)> done)
    : m_client(client),
      m_name_space(text(metadata_of(job), "namespace")),
      m_owner(
          {{"apiVersion", text(&job, "apiVersion")}, {"kind", text(&job, "kind")}, {"name", text(metadata_of(job), "name")}, {"uid", uid_of(job)}}),
      m_companions(std::move(companions)),
      m_done(std::move(done)),
      m_gone_by(client.loop()) {
  next();
}

Companions::~Companions() {
  m_client.cancel(m_call);
  m_client.loop().cancel(m_timer);
}

kube::Path Companions::path(bool with_name) const {
  const auto& companion = m_companions[m_at];
  return {"v1", companion.plural, m_name_space, with_name ? text(metadata_of(companion.object), "name") : "", ""};
}

void Companions::next() {
  if (m_at == m_companions.size()) return finish({});
  m_companions[m_at].may_be_there ? look() : create();
}

void Companions::look() {
  m_call = m_client.get(path(true), {}, {patience, false}, [this](kube::Answer answer) {
    m_call = 0;
    if (!answer && answer.error().status == 404) return create();
    // Who may not look cannot make one either: the pods will tell whether it is there.
    if (!answer && answer.error().status != 403) return finish(std::move(answer.error().error));
    if (answer && is_of_job_before(*answer)) return await_gone();
    ++m_at;
    next();
  });
}

bool Companions::is_of_job_before(const Json& object) const {
  const auto* owners = at(metadata_of(object), "ownerReferences");
  if (owners == nullptr || !owners->is_array()) return false;
  return std::ranges::any_of(*owners, [this](const Json& owner) {
    return text(&owner, "kind") == text(&m_owner, "kind") && text(&owner, "name") == text(&m_owner, "name") &&
           text(&owner, "uid") != text(&m_owner, "uid");
  });
}

// The garbage collector comes to it in a moment.
void Companions::await_gone() {
  if (!m_gone_by.is_set()) m_gone_by.set(patience);
  if (m_gone_by.passed()) return finish(Error{ErrorKind::unavailable, "one of a job that is gone is still there"});
  m_timer = m_client.loop().after(look_again, [this] { look(); });
}

void Companions::create() {
  auto object = m_companions[m_at].object;
  object["metadata"]["ownerReferences"] = Json::array({m_owner});
  m_call = m_client.create(path(false), object, false, {patience, false}, [this](kube::Answer answer) {
    m_call = 0;
    if (!answer && answer.error().reason == "AlreadyExists") {
      if (!m_gone_by.is_set()) m_gone_by.set(patience);
      return m_gone_by.passed() ? finish(std::move(answer.error().error)) : look();
    }
    if (!answer) return finish(std::move(answer.error().error));
    ++m_at;
    next();
  });
}

void Companions::finish(Result<void> result) {
  if (!result) result = in_context(fmt::format("{} for the job", path(true).name), std::move(result.error()));
  std::exchange(m_done, nullptr)(std::move(result));
}

}  // namespace trainstep::cluster
