// SPDX-License-Identifier: Apache-2.0
#include "data/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "data/place.h"

namespace trainstep {
namespace {

// Fewer members are compared one by one; a set for each small object would cost more.
constexpr std::size_t many_members = 16;

void add_size(const Json& json, std::size_t depth, TreeSize& size) {
  ++size.nodes;
  size.depth = std::max(size.depth, depth);
  if (const auto* text = json.get_ptr<const Json::string_t*>()) size.bytes += text->size();
  if (json.is_array()) {
    for (const auto& item : json) add_size(item, depth + 1, size);
  } else if (const auto* object = json.get_ptr<const Json::object_t*>()) {
    for (const auto& [name, member] : *object) {
      size.bytes += name.size();
      add_size(member, depth + 1, size);
    }
  }
}

// ordered_json's own insertion compares with all members; here the names are known to be distinct.
Json object_of(std::vector<std::pair<std::string, Json>>&& members) {
  Json object = Json::object();
  auto& container = static_cast<Json::object_t::Container&>(object.get_ref<Json::object_t&>());
  container.reserve(members.size());
  for (auto& [name, member] : members) container.emplace_back(std::move(name), std::move(member));
  return object;
}

}  // namespace

std::optional<Json> big_integer(std::string_view digits) {
  constexpr std::size_t kept_digits = 17;  // digits that a double keeps
  auto significant = digits.substr(std::min(digits.find_first_of("123456789"), digits.size()));
  significant = significant.substr(0, significant.find_last_not_of('0') + 1);
  if (significant.size() > kept_digits) return std::nullopt;
  double value = 0;
  const auto* first = digits.data() + (digits.starts_with('+') ? 1 : 0);
  if (std::from_chars(first, digits.data() + digits.size(), value).ec != std::errc{}) return std::nullopt;
  return Json(value);
}

std::string big_integer_problem(std::string_view digits) {
  return fmt::format("the number {} exceeds 64 bits; put it in quotes to pass it unchanged to a string parameter", show_text(digits));
}

bool is_zero(std::string_view decimal) { return decimal.substr(0, decimal.find_first_of("eE")).find_first_of("123456789") == std::string_view::npos; }

Json make_object(std::vector<std::pair<std::string, Json>> members) {
  std::map<std::string, std::size_t, std::less<>> places;
  std::vector<std::pair<std::string, Json>> distinct;
  distinct.reserve(members.size());
  for (auto& member : members) {
    const auto [place, added] = places.try_emplace(member.first, distinct.size());
    if (added)
      distinct.push_back(std::move(member));
    else
      distinct[place->second].second = std::move(member.second);
  }
  return object_of(std::move(distinct));
}

void append_members(std::vector<std::pair<std::string, Json>>& members, const Json& object) {
  for (const auto& [name, value] : object.items()) members.emplace_back(name, value);
}

TreeSize size_of(const Json& json) {
  TreeSize size;
  add_size(json, 0, size);
  return size;
}

Problem TreeBuilder::count(std::size_t nodes, std::size_t bytes) {
  m_nodes += nodes;
  m_bytes += bytes;
  if (m_nodes > m_limits.nodes) return fmt::format("more than {} values (aliases included)", m_limits.nodes);
  // Escapes can make a text longer than it is written, by half at most; more can only come from aliases.
  if (m_bytes > 2 * m_limits.bytes) return fmt::format("with aliases expanded, the text exceeds {} bytes", 2 * m_limits.bytes);
  return {};
}

Problem TreeBuilder::open(bool is_object) {
  if (m_open.size() >= m_limits.depth) return fmt::format("nested deeper than {} levels", m_limits.depth);
  if (auto problem = count(1, 0)) return problem;
  m_open.emplace_back().is_object = is_object;
  return {};
}

Problem TreeBuilder::begin_object() { return open(true); }

Problem TreeBuilder::begin_list() { return open(false); }

bool TreeBuilder::knows(Open& open, const std::string& name) {
  if (open.members.size() < many_members) return std::ranges::any_of(open.members, [&](const auto& member) { return member.first == name; });
  if (!open.names) {
    open.names = std::make_unique<std::set<std::string, std::less<>>>();
    for (const auto& member : open.members) open.names->insert(member.first);
  }
  return !open.names->insert(name).second;
}

Problem TreeBuilder::key(std::string name) {
  auto& open = m_open.back();
  if (knows(open, name)) return fmt::format("duplicate key {}; remove one", show_text(name));
  if (auto problem = count(0, name.size())) return problem;
  open.members.emplace_back(std::move(name), Json());
  open.has_key = true;
  return {};
}

Problem TreeBuilder::merge_key() {
  m_open.back().has_key = true;
  m_open.back().merging = true;
  return {};
}

Problem TreeBuilder::attach(Json json, std::size_t nodes, std::size_t bytes, std::size_t depth) {
  if (const auto* text = json.get_ptr<const Json::string_t*>(); text != nullptr && bytes == 0) bytes = text->size();
  if (m_open.size() + depth > m_limits.depth) return fmt::format("nested deeper than {} levels", m_limits.depth);
  if (auto problem = count(nodes, bytes)) return problem;
  if (m_open.empty()) {
    m_last = &m_root.emplace(std::move(json));
    return {};
  }
  auto& open = m_open.back();
  if (!open.is_object) {
    m_last = &open.items.emplace_back(std::move(json));
    return {};
  }
  open.has_key = false;
  if (std::exchange(open.merging, false)) {
    m_last = &open.merged.emplace_back(std::move(json));
    return {};
  }
  open.members.back().second = std::move(json);
  m_last = &open.members.back().second;
  return {};
}

Problem TreeBuilder::merge(Open& open, Json&& json) {
  if (json.is_array()) {
    for (auto& item : json) {
      if (!item.is_object()) return "the merge key << requires an object or a list of objects";
      (void)merge(open, std::move(item));
    }
    return {};
  }
  auto* object = json.get_ptr<Json::object_t*>();
  if (object == nullptr) return "the merge key << requires an object or a list of objects";
  for (auto& [name, member] : *object)
    if (!knows(open, name)) open.members.emplace_back(name, std::move(member));
  return {};
}

Json TreeBuilder::close(Open&& open) {
  if (open.is_object) return object_of(std::move(open.members));
  Json list = Json::array();
  list.get_ref<Json::array_t&>() = std::move(open.items);
  return list;
}

Problem TreeBuilder::end() {
  auto open = std::move(m_open.back());
  m_open.pop_back();
  for (auto& json : open.merged)
    if (auto problem = merge(open, std::move(json))) return problem;
  return attach(close(std::move(open)), 0, 0);
}

Json TreeBuilder::take_root() {
  auto root = std::exchange(m_root, std::nullopt).value_or(Json());
  m_last = nullptr;
  return root;
}

}  // namespace trainstep
