// SPDX-License-Identifier: Apache-2.0
#include "cluster/keys_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cluster/job_data.h"
#include "cluster/secret_credentials.h"
#include "data/digest.h"
#include "objectstore/signing_keys.h"

namespace trainstep::cluster {
namespace {

constexpr Duration keys_interval{300'000};
constexpr Duration after_creation{10'000};  // of the job: the copy is created then
constexpr kube::Retry retry{.at_most = Duration(300'000)};

}  // namespace

std::map<std::string, std::string> KeysCopy::contents(const objectstore::Credentials& keys, Time now) const {
  std::map<std::string, std::string> contents{{std::string(access_key), keys.access_key}};
  if (whole)
    contents.emplace(secret_key, keys.secret_key);
  else
    contents.emplace(signing_keys, objectstore::to_text(objectstore::signing_keys(keys.secret_key, regions, now + clock, days_ahead)));
  return contents;
}

int days_ahead(Duration lease) {
  constexpr int most = 7;
  return static_cast<int>(std::min<std::int64_t>(std::chrono::floor<std::chrono::days>(lease).count() + 1, most));
}

std::optional<KeysCopy> as_in_job(KeysCopy copy, const Json& job) {
  const auto route = route_of(job);
  if (!route.folder) return copy;
  const bool reads_whole = route.folder->store.signing_keys_key.empty();
  if (reads_whole && !copy.whole) return std::nullopt;
  copy.whole = reads_whole;
  return copy;
}

KeysRenewal::KeysRenewal(kube::Client& there, Job job, Source source, Log log)
    : m_there(there), m_job(std::move(job)), m_source(std::move(source)), m_log(std::move(log)) {
  m_job.adopted ? look() : look_later(after_creation);
}

void KeysRenewal::look_later(Duration pause) {
  m_timer = m_there.loop().timer(pause, [this] { look(); });
}

// If the Secret cannot be read, its last contents count.
void KeysRenewal::look() {
  look_later(keys_interval);
  m_call = m_source.home.get({"v1", "secrets", m_source.name_space, m_source.at.secret, ""}, {}, retry, [this](const kube::Answer& answer) {
    if (auto keys = answer ? decode_credentials(*answer, m_source.at) : Result<objectstore::Credentials>(answer.error().error); keys)
      m_source.keys = std::move(*keys);
    update();
  });
}

// The API server applies all of it or nothing: what the job does not own stays as it is.
void KeysRenewal::update() {
  m_wanted = m_source.copy.contents(m_source.keys, m_there.loop().now());
  if (m_wanted == m_written) return;
  Json operations = Json::array({{{"op", "test"}, {"path", "/metadata/ownerReferences/0/uid"}, {"value", m_job.uid}}});
  for (const auto& [key, text] : m_wanted) operations.push_back({{"op", "add"}, {"path", "/data/" + key}, {"value", encode_base64(text)}});
  m_call = m_there.json_patch({"v1", "secrets", m_job.name_space, m_source.copy.name, ""}, operations, retry,
                              [this](const kube::Answer& answer) { updated(answer); });
}

void KeysRenewal::updated(const kube::Answer& answer) {
  if (answer) {
    m_written = std::move(m_wanted);
    if (std::exchange(m_reported, false)) m_log("the keys of the job's pods to their bucket are renewed again");
    return;
  }
  if (std::exchange(m_reported, true)) return;
  constexpr int failed_test = 422;
  if (answer.error().status == failed_test)
    return m_log(fmt::format(
        "Secret {} in namespace {} does not belong to this job: its pods may have other keys to their bucket; delete it, and run the step again",
        m_source.copy.name, m_job.name_space));
  m_log(fmt::format("cannot renew the keys of the job's pods to their bucket{}; trying again every five minutes: {}",
                    m_source.copy.whole ? "" : fmt::format(", which expire in less than {} days", m_source.copy.days_ahead + 1),
                    answer.error().error.message));
}

}  // namespace trainstep::cluster
