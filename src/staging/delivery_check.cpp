// Two pods of one job may live at a time: one that is lost to its API server, and the one that follows it. What stands at an address in the end is of
// one of them (docs/adr/0020).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

#include "staging/staging.h"

namespace trainstep::staging {

using objectstore::Answer;
using objectstore::Object;

std::string Delivery::mark() const { return m_manifest->mark() + (m_options.pod.empty() ? "" : '/' + m_options.pod); }

// In the job's own folder all is the job's.
std::vector<http::Header> Delivery::headers() const {
  if (is_own(output().to.uri) || m_manifest->mark().empty()) return {};
  return {{std::string(objectstore::mark_header), mark()}};
}

// A follower that has delivered has left its list, until the step has told of its model. One look will do: they put the same names there.
void Delivery::look_for_successor() {
  const auto go_on = [this] {
    find_others();
    keep_manifest();
  };
  if (m_keys) return go_on();
  auto& keys = m_keys.emplace();
  for (const auto& object : m_there) keys.insert(object.key);
  const auto taken = std::ranges::find_if(m_files, [&](const auto& file) { return keys.contains(file.path); });
  if (m_listed || m_options.mark.empty() || is_own(output().to.uri) || taken == m_files.end()) return go_on();
  call(output().to.store, [&](auto& client) {
    return client.head(at(taken->path), [this, go_on](const Answer<Object>& there) {
      m_call = 0;
      if (!there || !objectstore::bears(there->mark, m_options.mark)) return go_on();
      finish(Error{ErrorKind::conflict, fmt::format("another pod of this job has delivered to {} and was reported", output().to.uri)});
    });
  });
}

// What is looked at again, and listed with another ETag than it was put there with: some stores do so. The mark says whose it is; where there is
// none, it is believed.
void Delivery::look_at_unsure() {
  if (m_unsure.empty()) return transfer();
  call(output().to.store, [&](auto& client) {
    return client.head(at(m_unsure.back().object.key), [this](const Answer<Object>& there) {
      m_call = 0;
      const bool gone = !there && there.error().status == 404;
      if (!there && !gone && there.error().error.kind != ErrorKind::denied) return failed(there.error().error);
      if (gone || (there && !there->mark.empty() && there->mark != mark())) m_plan.items.push_back(m_unsure.back());
      m_unsure.pop_back();
      look_at_unsure();
    });
  });
}

// The files were seen when the program had ended, and what becomes of them when they are there matters no more.
void Delivery::look_again(std::vector<Object> there) {
  m_there = std::move(there);
  find_others();
  keep_manifest();
}

void Delivery::look_for_own() {
  std::map<std::string_view, std::int64_t> sizes;
  for (const auto& object : m_there) sizes[object.key] = object.size;
  const auto same_size = [&](const auto& item) {
    const auto found = sizes.find(item.object.key);
    return found != sizes.end() && found->second == item.file.size;
  };
  const auto unsure = std::ranges::stable_partition(m_plan.items, std::not_fn(same_size));
  m_unsure.assign(unsure.begin(), unsure.end());
  m_plan.items.erase(unsure.begin(), unsure.end());
  look_at_unsure();
}

// The outputs are there, and what is not known to be is no reason to say otherwise.
void Delivery::keep_uploads(const objectstore::StoreError& why) {
  if (why.status == 0 || retryable(why)) tell_once(fmt::format("{}; incomplete uploads of an earlier attempt may remain there", why.error.message));
  delivered();
}

// Whoever has written last looks last: of two that write at a time at least one finds what the other has done.
void Delivery::delivered() {
  const auto& uri = output().to.uri;
  if (is_own(uri)) return keep_list();
  if (m_options.nothing || (m_pass > 0 && m_plan.items.empty())) return next_output();
  if (m_pass++ > 0)
    return failed({ErrorKind::unavailable, fmt::format("\"{}\" at {} differs from what was written: another client is writing there at the same time",
                                                       m_plan.items.front().object.key, uri)});
  m_timer = m_stores.loop().after(Duration(0), [this] { next(); });
}

}  // namespace trainstep::staging
