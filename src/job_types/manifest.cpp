// SPDX-License-Identifier: Apache-2.0
#include "job_types/manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/secrets.h"
#include "data/tree.h"
#include "job_types/size.h"

namespace trainstep::job_types {
namespace {

constexpr std::string_view patch_source = "job_options.patch";
constexpr std::size_t max_operations = 1'000;  // each is applied to a copy of the manifest

std::string unescaped(std::string_view token) {
  std::string key;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    key += escape ? (token[++i] == '1' ? '/' : '~') : token[i];
  }
  return key;
}

std::optional<std::size_t> index_of(std::string_view token) {
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (code != std::errc{} || end != token.data() + token.size()) return std::nullopt;
  return index;
}

// The value at `pointer`, created if it is missing.
Json& make(Json& root, const std::string& pointer) {
  Json* at = &root;
  if (pointer.empty()) return *at;
  for (const auto token : split(std::string_view(pointer).substr(1), '/')) {
    const auto index = index_of(token);
    if (!at->is_structured()) *at = index ? Json::array() : Json::object();
    if (!at->is_array()) {
      at = &(*at)[unescaped(token)];
      continue;
    }
    while (at->size() <= index.value_or(0)) at->push_back(nullptr);
    at = &(*at)[index.value_or(0)];
  }
  return *at;
}

const Json* find_at(const Json& root, const std::string& pointer) {
  const Json::json_pointer place(pointer);
  return root.contains(place) ? &root.at(place) : nullptr;
}

void merge_values(Json& base, const Json& above) {
  if (!above.is_object() || !base.is_object()) {
    base = above;
    return;
  }
  for (const auto& [key, value] : above.items()) merge_values(base[key], value);
}

std::string parent_of(const std::string& pointer) { return pointer.substr(0, pointer.rfind('/')); }

}  // namespace

std::string escaped(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~')
      token += "~0";
    else if (c == '/')
      token += "~1";
    else
      token += c;
  }
  return token;
}

void Manifest::set(const std::string& pointer, Json value, std::string_view source) {
  make(m_json, pointer) = std::move(value);
  forget_below(pointer);
  m_sources[pointer] = source;
}

void Manifest::set_member(const std::string& pointer, std::string_view key, Json value, std::string_view source) {
  auto& object = make(m_json, pointer);
  if (!object.is_object()) object = Json::object();
  set(pointer + "/" + escaped(key), std::move(value), source);
}

void Manifest::set_members(const std::string& pointer, std::vector<Member> members) {
  if (members.empty()) return;
  auto& object = make(m_json, pointer);
  std::vector<std::pair<std::string, Json>> all;
  if (object.is_object()) append_members(all, object);
  for (auto& member : members) {
    const auto place = pointer + "/" + escaped(member.key);
    forget_below(place);
    m_sources[place] = std::move(member.source);
    all.emplace_back(std::move(member.key), std::move(member.value));
  }
  object = make_object(std::move(all));
}

std::string Manifest::append(const std::string& pointer, Json value, std::string_view source) {
  auto& list = make(m_json, pointer);
  if (!list.is_array()) list = Json::array();
  auto element = fmt::format("{}/{}", pointer, list.size());
  set(element, std::move(value), source);
  return element;
}

void Manifest::merge(const std::string& pointer, const Manifest& part) {
  merge_values(make(m_json, pointer), part.m_json);
  for (const auto& [below, source] : part.m_sources) m_sources[pointer + below] = source;
}

std::string Manifest::source_of(const std::string& pointer) const {
  for (auto at = pointer;; at = parent_of(at)) {
    if (const auto found = m_sources.find(at); found != m_sources.end()) return found->second;
    if (at.empty()) return "";
  }
}

void Manifest::forget_below(const std::string& pointer) {
  const auto prefix = pointer + "/";
  auto it = m_sources.lower_bound(prefix);
  while (it != m_sources.end() && it->first.starts_with(prefix)) it = m_sources.erase(it);
}

// An element was inserted before (+1), or removed from (-1), position `from` of a list: the elements after it keep their sources.
void Manifest::move_elements(const std::string& list, std::size_t from, int by) {
  const auto prefix = list + "/";
  std::map<std::string, std::string> moved;
  auto it = m_sources.lower_bound(prefix);
  while (it != m_sources.end() && it->first.starts_with(prefix)) {
    const auto rest = it->first.substr(prefix.size());
    const auto token = rest.substr(0, rest.find('/'));
    const auto index = index_of(token).value_or(0);
    const auto now = index < from ? index : index + static_cast<std::size_t>(by);
    if (index != from || by > 0) moved.emplace(fmt::format("{}{}{}", prefix, now, rest.substr(token.size())), it->second);
    it = m_sources.erase(it);
  }
  m_sources.merge(moved);
}

void Manifest::note_merge_patch(const std::string& pointer, const Json& patch) {
  for (const auto& [key, value] : patch.items()) {
    const auto member = pointer + "/" + escaped(key);
    if (value.is_object() && !value.empty()) {
      note_merge_patch(member, value);
      continue;
    }
    forget_below(member);
    if (value.is_null())
      m_sources.erase(member);
    else
      m_sources[member] = patch_source;
  }
}

void Manifest::note_operation(const Json& before, const std::string& operation, const std::string& path) {
  if (operation == "test") return;
  const auto list = parent_of(path);
  const auto token = path.substr(list.size() + (path.empty() ? 0U : 1U));
  const auto* parent = path.empty() ? nullptr : find_at(before, list);
  const bool in_list = parent != nullptr && parent->is_array();
  if (operation == "remove") {
    forget_below(path);
    m_sources.erase(path);
    if (in_list) move_elements(list, index_of(token).value_or(0), -1);
    return;
  }
  auto place = path;
  if (in_list && token == "-")
    place = fmt::format("{}/{}", list, parent->size());
  else if (in_list && operation != "replace")
    move_elements(list, index_of(token).value_or(0), +1);
  forget_below(place);
  m_sources[place] = patch_source;
}

namespace {

// "/spec/password" → "spec.password": its parts may suggest a secret.
std::string path_of(const Json& operation) {
  const auto* path = operation.is_object() ? trainstep::find(operation, "path") : nullptr;
  auto text = path != nullptr && path->is_string() ? path->get<std::string>() : std::string();
  std::ranges::replace(text, '/', '.');
  return text;
}

// Each "copy" may double what the one before has made.
std::size_t size_of_copy(const Json& before, const Json& operation) {
  if (!operation.is_object() || text_of(operation, "op") != "copy") return 0;
  const auto* source = find_at(before, text_of(operation, "from"));
  return source == nullptr ? 0 : to_text(*source).size();
}

}  // namespace

Result<void> Manifest::patch(const Json& patch) {
  if (patch.is_null()) return {};
  if (patch.is_object()) {
    m_json.merge_patch(patch);
    note_merge_patch("", patch);
    return {};
  }
  if (!patch.is_array()) return input_error("job_options.patch: expected an object (RFC 7396 merge patch) or a list (RFC 6902 patch)");
  if (patch.size() > max_operations)
    return input_error(fmt::format("job_options.patch: {} operations, the limit is {}; use a merge patch (an object)", patch.size(), max_operations));
  Manifest result = *this;
  std::size_t number = 0, copied = 0;
  for (const auto& operation : patch) {
    const auto before = result.m_json;
    copied += size_of_copy(before, operation);
    if (copied > max_manifest_size)
      return input_error(fmt::format("job_options.patch[{}]: the operations copy more than {} bytes, the Kubernetes limit of a manifest", number,
                                     max_manifest_size));
    try {
      result.m_json = before.patch(Json::array({operation}));
      const std::string name = operation.at("op"), path = operation.at("path");
      if (name == "move") result.note_operation(before, "remove", operation.at("from"));
      result.note_operation(before, name, path);
    } catch (const Json::exception&) {
      return input_error(fmt::format("job_options.patch[{}]: {} does not apply to the manifest; `trainstep render` shows it without the patch",
                                     number, shown_value(path_of(operation), operation)));
    }
    ++number;
  }
  *this = std::move(result);
  return {};
}

}  // namespace trainstep::job_types
