// SPDX-License-Identifier: Apache-2.0
#include "staging/sync_state.h"

#include "base/files.h"
#include "base/regular_file.h"
#include "data/digest.h"
#include "data/json.h"

namespace trainstep::staging {
namespace {

constexpr std::size_t max_page_size = std::size_t{256} << 20U;
constexpr ReadLimits state_limits{.bytes = max_page_size, .depth = 4, .nodes = 40'000'000};

// [["path", size, changed, "etag", touched], …]
objectstore::KnownFiles read_page(const std::filesystem::path& page) {
  objectstore::KnownFiles known;
  const auto text = read_regular_file(page, max_page_size);
  if (!text) return known;
  const auto json = parse_json(*text, "sync state", state_limits);
  if (!json || !json->is_array()) return known;
  for (const auto& file : *json)
    if (file.is_array() && file.size() == 5 && file[0].is_string() && file[1].is_number_integer() && file[2].is_number_integer() &&
        file[3].is_string() && file[4].is_number_integer())
      known[file[0].get<std::string>()] = {file[1].get<std::int64_t>(), file[2].get<std::int64_t>(), file[3].get<std::string>(),
                                           file[4].get<std::int64_t>()};
  return known;
}

}  // namespace

std::filesystem::path SyncState::page(const Tree& tree) const { return m_folder / (sha256_hex(tree.first + '\n' + tree.second) + ".json"); }

objectstore::KnownFiles& SyncState::open(const Tree& tree) {
  const auto [found, is_new] = m_trees.try_emplace(tree);
  if (is_new && !m_folder.empty()) found->second = read_page(page(tree));
  return found->second;
}

const objectstore::KnownFiles& SyncState::known(const std::string& path, const std::string& uri) { return open({path, uri}); }

void SyncState::add(const std::string& path, const std::string& uri, const objectstore::KnownFiles& same) {
  auto& known = open({path, uri});
  for (const auto& [file, state] : same) known.insert_or_assign(file, state);
}

void SyncState::keep(const std::string& path, const std::string& uri) {
  if (m_folder.empty()) return;
  Json json = Json::array();
  for (const auto& [file, state] : open({path, uri})) json.push_back({file, state.size, state.changed, state.etag, state.touched});
  (void)write_file_atomically(page({path, uri}), to_text(json));
}

}  // namespace trainstep::staging
