// SPDX-License-Identifier: Apache-2.0
#include "staging/delivery_listing.h"

#include <cstdint>
#include <utility>

#include "data/json.h"

namespace trainstep::staging {
namespace {

constexpr ReadLimits delivered_limits{.bytes = std::size_t{256} << 20U, .depth = 4, .nodes = 40'000'000};

bool is_entry(const Json& entry) {
  return entry.is_array() && entry.size() == 3 && entry[0].is_string() && entry[1].is_number_integer() && entry[2].is_string() &&
         entry[1].get<std::int64_t>() >= 0;
}

}  // namespace

std::string delivery_list_of(const std::string& uri) { return uri + ".objects.json"; }

// {"objects": [["weights", 1024, "9e107d9d372bb6826bd81d3542a419d6"], …]}
std::string list_of(const std::vector<objectstore::Object>& objects) {
  Json entries = Json::array();
  for (const auto& object : objects) entries.push_back({object.key, object.size, object.etag});
  return to_text(Json{{"objects", std::move(entries)}});
}

Result<std::vector<objectstore::Object>> read_list(std::string_view text) {
  const auto unreadable = Error{ErrorKind::unavailable, "cannot read the list of fetched files"};
  const auto json = parse_json(text, "list", delivered_limits);
  const auto* entries = json && json->is_object() ? find(*json, "objects") : nullptr;
  if (entries == nullptr || !entries->is_array()) return unreadable;
  std::vector<objectstore::Object> objects;
  for (const auto& entry : *entries) {
    if (!is_entry(entry)) return unreadable;
    objects.push_back({.key = entry[0].get<std::string>(), .size = entry[1].get<std::int64_t>(), .etag = entry[2].get<std::string>()});
  }
  return objects;
}

}  // namespace trainstep::staging
