// SPDX-License-Identifier: Apache-2.0
#include "objectstore/recognition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "data/digest.h"
#include "objectstore/local_tree.h"

namespace trainstep::objectstore {

std::string etag_of_parts(const std::vector<std::string>& etags) {
  std::string digests;
  for (const auto& etag : etags) {
    const auto digest = from_hex(etag);
    if (!digest || digest->size() != 16) return {};
    digests += *digest;
  }
  return fmt::format("{}-{}", md5_hex(digests), etags.size());
}

Recognition::Recognition(Loop& loop, const std::vector<LocalFile>& files, const std::vector<Object>& there, std::filesystem::path root, Done done,
                         TransferLimits limits)
    : m_loop(loop), m_root(std::move(root)), m_done(std::move(done)), m_limits(limits) {
  std::map<std::string_view, const Object*> objects;
  for (const auto& object : there) objects[object.key] = &object;
  for (const auto& file : files)
    if (const auto found = objects.find(file.path); found != objects.end() && found->second->size == file.size && !found->second->etag.empty())
      m_left.push_back({file, *found->second});
  m_timer = m_loop.timer(Duration(0), [this] { step(); });
}

// One part per turn, so that a large file does not delay signals and timers.
void Recognition::step() {
  if (m_left.empty()) return std::exchange(m_done, nullptr)(m_same);
  const auto& [file, object] = m_left.back();
  const auto size = m_limits.part_of(file.size);
  const auto first = static_cast<std::int64_t>(m_etags.size()) * size;
  const auto length = std::min(size, file.size - first);
  const auto part = read_part(file.path.empty() ? m_root : m_root / file.path, first, length);
  if (!part) return next();  // the transfer will report it
  m_etags.push_back(md5_hex(*part));
  if (first + length < file.size) {
    m_timer = m_loop.timer(Duration(0), [this] { step(); });
    return;
  }
  const auto etag = file.size <= m_limits.part ? m_etags.front() : etag_of_parts(m_etags);
  const auto now = read_state(m_root, file.path);
  if (!etag.empty() && etag == object.etag && now && *now == file) m_same[file.path] = {file.size, file.changed, object.etag, file.touched};
  next();
}

void Recognition::next() {
  m_left.pop_back();
  m_etags.clear();
  m_timer = m_loop.timer(Duration(0), [this] { step(); });
}

}  // namespace trainstep::objectstore
