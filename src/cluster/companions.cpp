// SPDX-License-Identifier: Apache-2.0
#include "cluster/companions.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/objects.h"

namespace trainstep::cluster {
namespace {

constexpr Duration patience{300'000};

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
      m_done(std::move(done)) {
  next();
}

Companions::~Companions() { m_client.cancel(m_call); }

kube::Path Companions::path(bool with_name) const {
  const auto& companion = m_companions[m_at];
  return {"v1", companion.plural, m_name_space, with_name ? text(metadata_of(companion.object), "name") : "", ""};
}

void Companions::next() {
  if (m_at == m_companions.size()) return finish({});
  if (!m_companions[m_at].may_be_there) return create();
  m_call = m_client.get(path(true), {}, {patience, false}, [this](kube::Answer answer) {
    m_call = 0;
    if (!answer && answer.error().status == 404) return create();
    // Who may not look cannot make one either: the pods will tell whether it is there.
    if (!answer && answer.error().status != 403) return finish(std::move(answer.error().error));
    ++m_at;
    next();
  });
}

void Companions::create() {
  auto object = m_companions[m_at].object;
  object["metadata"]["ownerReferences"] = Json::array({m_owner});
  m_call = m_client.create(path(false), object, false, {patience, false}, [this](kube::Answer answer) {
    m_call = 0;
    if (!answer && answer.error().reason != "AlreadyExists") return finish(std::move(answer.error().error));
    ++m_at;
    next();
  });
}

void Companions::finish(Result<void> result) {
  if (!result) result = in_context(fmt::format("{} for the job", path(true).name), std::move(result.error()));
  std::exchange(m_done, nullptr)(std::move(result));
}

}  // namespace trainstep::cluster
