// SPDX-License-Identifier: Apache-2.0
#include "cluster/submit.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/objects.h"
#include "kinds/render.h"

namespace trainstep::cluster {
namespace {

// A create that is answered 5xx, or not at all, is tried for so long (docs/cluster.md).
constexpr Duration patience{300'000};
constexpr Duration look_again{1'000};

bool serves(const Json& list, std::string_view plural) {
  const auto* resources = trainstep::find(list, "resources");
  return resources != nullptr && resources->is_array() &&
         std::ranges::any_of(*resources, [&](const Json& resource) { return resource.is_object() && resource.value("name", "") == plural; });
}

std::string candidates(const kinds::Kind& kind) {
  std::string text;
  for (const auto& resource : kind.resources) text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", resource.plural, resource.group_version);
  return text;
}

}  // namespace

Submission::Submission(kube::Client& client, const plan::Plan& plan, const Facts& facts, std::string name_space, std::string attempt, Sink sink,
                       Depth depth)
    : m_client(client),
      m_plan(plan),
      m_facts(facts),
      m_kind(kinds::find(plan.kind)),
      m_name_space(std::move(name_space)),
      m_attempt(std::move(attempt)),
      m_sink(std::move(sink)),
      m_resource(m_kind.resources.front()),
      m_gone_by(client.loop()),
      m_depth(depth) {
  discover(0);
}

Submission::~Submission() {
  m_client.cancel(m_call);
  m_client.loop().cancel(m_timer);
}

// In a pod there is time: an API server that is away is no verdict. At a shell somebody waits, who may have named the wrong one – until there may be
// a job of ours.
kube::Retry Submission::patient() const { return {patience, m_facts.pod.empty() && !m_may_exist}; }

kube::Path Submission::collection() const { return {std::string(m_resource.group_version), std::string(m_resource.plural), m_name_space, "", ""}; }

kube::Path Submission::object_path() const {
  auto path = collection();
  path.name = m_plan.job_name;
  return path;
}

std::string Submission::shown_name() const { return fmt::format("{}/{}", m_resource.plural, m_plan.job_name); }

void Submission::fail(Error error) {
  m_call = 0;
  m_sink.done(std::move(error));
}

void Submission::discover(std::size_t candidate) {
  if (candidate == m_kind.resources.size())
    return fail(input_error(fmt::format("distribution_type {}: this cluster serves no {}; is its operator installed? \"Job\" needs none", m_plan.kind,
                                        candidates(m_kind))));
  m_resource = m_kind.resources[candidate];
  m_call = m_client.get({std::string(m_resource.group_version), "", "", "", ""}, {}, patient(), [this, candidate](kube::Answer answer) {
    if (!answer && answer.error().status != 404) return fail(std::move(answer.error().error));
    if (!answer || !serves(*answer, m_resource.plural)) return discover(candidate + 1);
    auto manifest = kinds::render(m_plan, m_resource.group_version);
    if (!manifest) return fail(std::move(manifest.error()));
    m_manifest = manifest->json();
    stamp(m_manifest, m_facts, m_name_space, m_attempt);
    check();
  });
}

void Submission::check() {
  m_call = m_client.create(collection(), m_manifest, true, patient(), [this](kube::Answer answer) {
    if (answer && m_depth == Depth::dry_run) return m_sink.done(Submitted{m_resource, std::move(*answer), false});
    if (answer) return create();
    if (answer.error().reason == "AlreadyExists") return look_at_existing();
    fail(std::move(answer.error().error));
  });
}

void Submission::create() {
  m_may_exist = true;
  m_call = m_client.create(collection(), m_manifest, false, {patience, false}, [this](kube::Answer answer) {
    m_call = 0;
    if (answer) return m_sink.done(Submitted{m_resource, std::move(*answer), false});
    if (answer.error().reason == "AlreadyExists") return look_at_existing();
    fail(std::move(answer.error().error));
  });
}

// There is a job, so an API server that is away is no verdict any more.
void Submission::look_at_existing() {
  m_call = m_client.get(object_path(), {}, m_facts.pod.empty() ? patient() : kube::Retry{}, [this](kube::Answer answer) {
    if (answer) return decide_on(std::move(*answer));
    if (answer.error().status == 404) return m_depth == Depth::dry_run ? check() : create();  // it has gone meanwhile
    fail(std::move(answer.error().error));
  });
}

void Submission::decide_on(Json object) {
  m_call = 0;
  const auto uid = uid_of(object);
  const auto existing = judge_existing(object, m_plan, m_kind, m_attempt);
  if (m_depth == Depth::dry_run && existing != Existing::other_spec && existing != Existing::stranger)
    return m_sink.done(Submitted{m_resource, std::move(object), true});
  switch (existing) {
    case Existing::ours:
      return m_sink.done(Submitted{m_resource, std::move(object), false});
    case Existing::earlier_attempt:
      m_may_exist = true;
      return m_sink.done(Submitted{m_resource, std::move(object), true});
    case Existing::reported_failure:
      m_sink.tell(fmt::format("{} failed in an earlier attempt, which has told so: it is deleted and made anew", shown_name()));
      return replace(uid);
    case Existing::going:
      if (!std::exchange(m_told_going, true))
        m_sink.tell(fmt::format("{} of an earlier attempt is being deleted: waiting for its end", shown_name()));
      return await_gone(uid);
    case Existing::other_spec:
      return fail({ErrorKind::conflict,
                   fmt::format("{} exists for this run, but with another specification; the inputs changed between two attempts. Delete it, or use "
                               "another run id",
                               shown_name())});
    case Existing::stranger:
      return fail({ErrorKind::conflict,
                   fmt::format("{} exists already and does not belong to this run; delete it, or use another model_name or run id", shown_name())});
  }
}

void Submission::replace(const std::string& uid) {
  m_call = m_client.remove(object_path(), kube::Propagation::foreground, {uid}, {patience, false}, [this, uid](kube::Answer answer) {
    if (!answer && answer.error().status != 404 && answer.error().status != 409) return fail(std::move(answer.error().error));
    await_gone(uid);
  });
}

// With foreground propagation the object is there until all its pods are gone: a job of the same name must not meet them (operators.md §8, trap 30).
void Submission::await_gone(const std::string& uid) {
  m_call = 0;
  if (!m_gone_by.is_set()) m_gone_by.set(patience);
  if (m_gone_by.passed())
    return fail({ErrorKind::unavailable, fmt::format("{} of an earlier attempt is still being deleted after {}", shown_name(), describe(patience))});
  m_timer = m_client.loop().after(look_again, [this, uid] { look_at_existing(); });
}

}  // namespace trainstep::cluster
