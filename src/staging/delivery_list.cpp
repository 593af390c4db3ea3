// What a delivery has brought to the job's own folder is written down there.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "staging/delivered.h"
#include "staging/staging.h"

namespace trainstep::staging {

// Whoever fetches it from the job's own folder takes exactly this.
void Delivery::keep_list() {
  const auto at = objectstore::Address::parse(list_beside(output().to.uri));
  if (!at) return finish(at.error());
  const auto& known = m_stores.ledger().known(output().path, output().to.uri);
  std::vector<objectstore::Object> objects;
  for (const auto& file : m_files) {
    const auto same = known.find(file.path);
    objects.push_back({.key = file.path, .size = file.size, .etag = same == known.end() ? "" : same->second.etag});
  }
  call(output().to.store, [&](auto& client) {
    return client.put(
        *at, [text = list_of(objects)] { return Result<std::string>(text); },
        [this](objectstore::Answer<objectstore::Object> answer) {
          m_call = 0;
          answer ? next_output() : failed(std::move(answer.error().error));
        },
        {{"Content-Type", "application/json"}});
  });
}

}  // namespace trainstep::staging
