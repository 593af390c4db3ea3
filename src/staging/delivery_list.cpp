// Writes the list of what a delivery has put below the job's own prefix.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "data/place.h"
#include "staging/delivered.h"
#include "staging/staging.h"

namespace trainstep::staging {

// Empty folders exist only in a list: no object represents them.
void Delivery::look_at_folders(objectstore::LocalTree& tree) {
  m_empty_folders.clear();
  for (const auto& folder : tree.empty_folders)
    if (is_own(output().to.uri) && !find_invalid_utf8(folder))
      m_empty_folders.push_back(folder);
    else
      tree.left_out.push_back(folder + ": an empty folder");
}

// A fetch from the job's own prefix takes exactly what this list contains.
void Delivery::keep_list() {
  const auto at = objectstore::Address::parse(list_beside(output().to.uri));
  if (!at) return finish(at.error());
  const auto& known = m_stores.sync_state().known(output().path, output().to.uri);
  std::vector<objectstore::Object> objects;
  for (const auto& file : m_files) {
    const auto same = known.find(file.path);
    objects.push_back({.key = file.path, .size = file.size, .etag = same == known.end() ? "" : same->second.etag});
  }
  for (const auto& folder : m_empty_folders) objects.push_back({.key = folder + '/', .size = 0, .etag = ""});
  m_call = store().put(
      *at, [text = list_of(objects)] { return Result<std::string>(text); },
      [this](objectstore::Answer<objectstore::Object> answer) { answer ? next_output() : failed(std::move(answer.error().error)); },
      {{"Content-Type", "application/json"}});
}

}  // namespace trainstep::staging
