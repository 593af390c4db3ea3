// Two pods of a job may run at the same time: one that its API server has lost contact with, and its successor. What is at an address in the end must
// come from only one of them (docs/adr/0020).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "staging/staging.h"

namespace trainstep::staging {

using objectstore::Answer;
using objectstore::Object;

std::string Delivery::mark() const { return m_manifest.mark() + (m_options.pod.empty() ? "" : '/' + m_options.pod); }

// Everything below the job's own prefix is the job's.
std::vector<http::Header> Delivery::headers() const {
  if (is_own(output().to.uri) || m_manifest.mark().empty()) return {};
  return {{std::string(objectstore::mark_header), mark()}};
}

// A successor that has delivered leaves its manifest in place until the step has reported the model. Checking one object suffices: both pods write
// the same names.
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
  m_call = store().head(at(taken->path), [this, go_on](const Answer<Object>& there) {
    if (!there || !objectstore::bears(there->mark, m_options.mark)) return go_on();
    finish(Error{ErrorKind::conflict, fmt::format("another pod of this job has delivered to {} and was reported", output().to.uri)});
  });
}

// Handles objects that the second listing shows with another ETag than that of their upload: some stores list other ETags. The mark shows which pod
// has written an object; without a mark, it is assumed to be ours.
void Delivery::look_at_unsure() {
  if (m_unsure.empty()) return transfer();
  m_call = store().head(at(m_unsure.back().object.key), [this](const Answer<Object>& there) {
    const bool gone = !there && there.error().status == 404;
    if (!there && !gone && there.error().error.kind != ErrorKind::denied) return failed(there.error().error);
    if (gone || (there && !there->mark.empty() && there->mark != mark())) m_plan.items.push_back(m_unsure.back());
    m_unsure.pop_back();
    look_at_unsure();
  });
}

// The files were compared when the program had ended; once they are uploaded, changes to them no longer matter.
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
  m_unsure.clear();
  std::ranges::copy_if(m_plan.items, std::back_inserter(m_unsure), same_size);
  std::erase_if(m_plan.items, same_size);
  look_at_unsure();
}

// The outputs are delivered; uploads that cannot be listed or aborted are not a reason to fail.
void Delivery::keep_uploads(const objectstore::StoreError& why) {
  if (why.status == 0 || retryable(why)) tell_once(fmt::format("{}; incomplete uploads of an earlier attempt may remain there", why.error.message));
  delivered();
}

// The last writer checks last: of two concurrent writers, at least one finds what the other has written.
void Delivery::delivered() {
  const auto& uri = output().to.uri;
  if (is_own(uri)) return keep_list();
  if (m_options.nothing || (m_pass > 0 && m_plan.items.empty())) return next_output();
  if (m_pass++ > 0)
    return failed({ErrorKind::unavailable, fmt::format("\"{}\" at {} differs from what was written: another client is writing there at the same time",
                                                       m_plan.items.front().object.key, uri)});
  m_timer = m_stores.loop().timer(Duration(0), [this] { next(); });
}

}  // namespace trainstep::staging
