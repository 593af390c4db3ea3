// SPDX-License-Identifier: Apache-2.0
#include "staging/written_objects.h"

#include <algorithm>
#include <filesystem>

#include "data/json.h"

namespace trainstep::staging {
namespace {

constexpr ReadLimits written_limits{.bytes = std::size_t{256} << 20U, .depth = 6, .nodes = 40'000'000};
constexpr auto unknown_tag = "-";  // for stores that report no ETag: never taken for ours

// It is sent as a header value.
bool is_mark(const std::string& text) {
  constexpr std::size_t longest = 512;
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7F'; });
}

}  // namespace

plan::TaskPlace WrittenObjects::beside(const plan::TaskPlace& record) {
  if (record.in_store()) return {record.uri.substr(0, record.uri.rfind('/')) + "/outputs.json", record.store, ""};
  if (record.path.empty()) return {};
  auto path = std::filesystem::path(record.path);
  return {"", 0, path.replace_extension(".outputs.json").string()};
}

// {"mark": "train.1f2e", "outputs": [{"uri": "s3://bucket/model", "objects": [["weights", ""], …]}]}
WrittenObjects WrittenObjects::read(std::string_view text) {
  WrittenObjects written;
  const auto json = parse_json(text, "written objects", written_limits);
  const auto* mark = json && json->is_object() ? find(*json, "mark") : nullptr;
  if (mark != nullptr && mark->is_string() && is_mark(mark->get<std::string>())) written.m_mark = mark->get<std::string>();
  const auto* outputs = json && json->is_object() ? find(*json, "outputs") : nullptr;
  if (outputs == nullptr || !outputs->is_array()) return written;
  for (const auto& output : *outputs) {
    if (!output.is_object()) continue;
    const auto* uri = find(output, "uri");
    const auto* objects = find(output, "objects");
    if (uri == nullptr || !uri->is_string() || objects == nullptr || !objects->is_array()) continue;
    auto& keys = written.m_outputs[uri->get<std::string>()];
    for (const auto& object : *objects)
      if (object.is_array() && object.size() == 2 && object[0].is_string() && object[1].is_string())
        keys[object[0].get<std::string>()] = object[1].get<std::string>();
  }
  return written;
}

std::string WrittenObjects::text() const {
  Json outputs = Json::array();
  for (const auto& [uri, keys] : m_outputs) {
    Json objects = Json::array();
    for (const auto& [key, tag] : keys) objects.push_back({key, tag});
    outputs.push_back({{"uri", uri}, {"objects", std::move(objects)}});
  }
  return to_text(Json{{"mark", m_mark}, {"outputs", std::move(outputs)}});
}

bool WrittenObjects::add(const std::string& uri, const std::vector<objectstore::LocalFile>& files, const std::vector<objectstore::Object>& there) {
  std::map<std::string_view, const objectstore::Object*> objects;
  for (const auto& object : there) objects[object.key] = &object;
  auto& keys = m_outputs[uri];
  bool added = false;
  for (const auto& file : files) {
    if (keys.contains(file.path)) continue;
    const auto found = objects.find(file.path);
    const auto& tag = found == objects.end() ? std::string() : found->second->etag;
    keys[file.path] = found != objects.end() && tag.empty() ? unknown_tag : tag;
    added = true;
  }
  return added;
}

const std::string* WrittenObjects::before(const std::string& uri, const std::string& key) const {
  const auto output = m_outputs.find(uri);
  if (output == m_outputs.end()) return nullptr;
  const auto found = output->second.find(key);
  return found == output->second.end() ? nullptr : &found->second;
}

bool WrittenObjects::may_be_ours(const std::string& uri, const objectstore::Object& object) const {
  const auto* tag = before(uri, object.key);
  return tag != nullptr && *tag != unknown_tag && *tag != object.etag;
}

bool WrittenObjects::names(const std::string& uri, const std::string& key) const { return before(uri, key) != nullptr; }

bool WrittenObjects::replaces(const std::string& uri, const std::string& key) const {
  const auto* tag = before(uri, key);
  return tag != nullptr && !tag->empty();
}

}  // namespace trainstep::staging
