// SPDX-License-Identifier: Apache-2.0
#include "agent/checkpoint_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "data/json.h"

namespace trainstep::agent {
namespace {

using objectstore::Object;

constexpr std::string_view own_folder = ".trainstep/";
constexpr ReadLimits limits{.bytes = std::size_t{64} << 20U, .depth = 4, .nodes = 10'000'000};

// Each pair begins with a path. Empty if the set was written by an earlier version.
const Json& pairs_in(const Json& set, const char* key) {
  static const Json none = Json::array();
  const auto* pairs = find(set, key);
  const auto is_pair = [](const Json& pair) { return pair.is_array() && pair.size() == 2 && pair[0].is_string(); };
  return pairs != nullptr && pairs->is_array() && std::ranges::all_of(*pairs, is_pair) ? *pairs : none;
}

}  // namespace

std::string key_of_set(std::uint64_t number, std::string_view writer) { return fmt::format("{}{:010}-{}.json", sets_folder, number, writer); }

std::string key_of_file(std::string_view writer, std::uint64_t count, std::string_view path) {
  return fmt::format("{}files/{}-{}{}{}", own_folder, writer, count, path.empty() ? "" : "/", path);
}

std::string writer_of_set(std::string_view key) {
  if (number_of_set(key) == 0) return {};
  key.remove_prefix(std::min(key.find('-', sets_folder.size()), key.size() - 1) + 1);
  return std::string(key.substr(0, key.rfind('.')));
}

std::uint64_t number_of_set(std::string_view key) {
  if (!key.starts_with(sets_folder)) return 0;
  key.remove_prefix(sets_folder.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  return error == std::errc{} && end != key.data() + key.size() && *end == '-' ? number : 0;
}

bool is_plain(std::string_view key) { return !key.starts_with(own_folder); }

std::string text_of(const CheckpointSet& set) {
  Json files = Json::array();
  Json etags = Json::array();  // separate from the files, like what follows: versions without them can still read the files
  for (const auto& [path, file] : set.files) {
    files.push_back({path, file.key, file.size, file.changed});
    etags.push_back(file.etag);
  }
  Json json{{"files", std::move(files)}, {"etags", std::move(etags)}};
  auto& links = json["links"] = Json::array();
  for (const auto& [path, target] : set.links) links.push_back({path, target});
  auto& folders = json["folders"] = Json::array();
  for (const auto& [path, changed] : set.folders) folders.push_back({path, changed});
  return to_text(json);
}

std::optional<CheckpointSet> read_set(std::string_view text, std::string key) {
  const auto json = parse_json(text, "checkpoints", limits);
  const auto* files = json && json->is_object() ? find(*json, "files") : nullptr;
  if (files == nullptr || !files->is_array()) return std::nullopt;
  const auto* etags = find(*json, "etags");
  const auto* tags = etags != nullptr && etags->is_array() && etags->size() == files->size() ? etags : nullptr;
  CheckpointSet set{std::move(key), {}, {}, {}};
  for (const auto& link : pairs_in(*json, "links"))
    if (link[1].is_string()) set.links[link[0].get<std::string>()] = link[1].get<std::string>();
  for (const auto& folder : pairs_in(*json, "folders"))
    if (folder[1].is_number_integer()) set.folders[folder[0].get<std::string>()] = folder[1].get<std::int64_t>();
  std::size_t number = 0;
  for (const auto& file : *files) {
    if (!file.is_array() || file.size() != 4 || !file[0].is_string() || !file[1].is_string() || !file[2].is_number_integer() ||
        !file[3].is_number_integer())
      return std::nullopt;
    auto& saved = set.files[file[0].get<std::string>()];
    saved = {file[1].get<std::string>(), file[2].get<std::int64_t>(), file[3].get<std::int64_t>()};
    if (tags == nullptr) continue;
    if (const auto& tag = (*tags)[number++]; tag.is_string()) saved.etag = tag.get<std::string>();
  }
  return set;
}

// No key is written twice: the size shows that the object is complete. The ETag shows that it was not replaced, by a restored backup for example.
bool is_complete(const CheckpointSet& set, const std::vector<Object>& there) {
  std::map<std::string_view, const Object*> objects;
  for (const auto& object : there) objects[object.key] = &object;
  return std::ranges::all_of(set.files, [&](const auto& entry) {
    const auto& file = entry.second;
    const auto found = objects.find(file.key);
    if (found == objects.end() || found->second->size != file.size) return false;
    return file.etag.empty() || found->second->etag.empty() || found->second->etag == file.etag;
  });
}

NewestSet::NewestSet(objectstore::Client& client, objectstore::Address at, Done done)
    : m_client(client), m_at(std::move(at)), m_done(std::move(done)) {
  m_listing = std::make_unique<objectstore::Listing>(client, m_at, [this](objectstore::Answer<std::vector<Object>> there) {
    const auto told = m_done;  // it may destroy this
    if (!there) return told(std::move(there.error().error));
    m_found.there = std::move(*there);
    for (const auto& object : m_found.there)
      if (number_of_set(object.key) != 0) m_sets.push_back(object);
    std::ranges::sort(m_sets, {}, [](const Object& object) { return std::pair(number_of_set(object.key), object.key); });
    read_next();
  });
}

void NewestSet::read_next() {
  const auto told = m_done;
  if (m_sets.empty()) return told(std::move(m_found));
  const auto object = std::move(m_sets.back());
  m_sets.pop_back();
  // As a range: a response that was cut short is requested again.
  const auto all = object.size > 0 ? std::optional(objectstore::Range{0, object.size}) : std::nullopt;
  m_call = m_client.get(m_at.child(object.key), all, object.etag, [this, object](objectstore::Answer<std::string> text) {
    const auto done = m_done;
    if (!text && text.error().error.kind != ErrorKind::not_found && text.error().status != 412) return done(std::move(text.error().error));
    take(object, text.value_or(""));
  });
}

void NewestSet::take(const Object& object, const std::string& text) {
  const bool whole = static_cast<std::int64_t>(text.size()) == object.size;
  auto set = whole ? read_set(text, object.key) : std::nullopt;
  if (!set || !is_complete(*set, m_found.there)) {
    ++m_found.incomplete;
    return read_next();
  }
  m_found.set = std::move(set);
  m_sets.clear();
  read_next();
}

}  // namespace trainstep::agent
