// SPDX-License-Identifier: Apache-2.0
#include "sim/selector.h"

#include <algorithm>

#include "sim/store.h"

namespace trainstep::sim {
namespace {

std::string trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

// At commas, but not within parentheses.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> result;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0) {
      result.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!part.empty()) result.push_back(trimmed(part));
  return result;
}

const Json* field(const Json& object, std::string_view path) {
  const auto* at = &object;
  while (at != nullptr && !path.empty()) {
    const auto dot = path.find('.');
    at = dig(*at, {path.substr(0, dot)});
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  }
  return at;
}

}  // namespace

Selector::Selector(std::string_view labels, std::string_view fields) {
  const auto read = [](const std::string& text) -> Term {
    for (const std::string_view word : {" notin (", " in ("}) {
      const auto at = text.find(word);
      if (at == std::string::npos) continue;
      const auto from = at + word.size();
      return {trimmed(text.substr(0, at)), split(text.substr(from, text.rfind(')') - from)), word.starts_with(" not")};
    }
    if (const auto at = text.find("!="); at != std::string::npos) return {trimmed(text.substr(0, at)), {trimmed(text.substr(at + 2))}, true};
    if (const auto at = text.find('='); at != std::string::npos)
      return {trimmed(text.substr(0, at)), {trimmed(text.substr(text.find_last_of('=', at + 1) + 1))}, false};
    if (text.starts_with('!')) return {trimmed(text.substr(1)), {}, true};
    return {text, {}, false};
  };
  for (const auto& part : split(labels)) m_labels.push_back(read(part));
  for (const auto& part : split(fields)) m_fields.push_back(read(part));
}

bool Selector::holds(const Term& term, const Json* value) {
  const bool matched =
      value != nullptr && value->is_string() &&
      (term.values.empty() || std::find(term.values.begin(), term.values.end(), value->get_ref<const std::string&>()) != term.values.end());
  return matched != term.negated;
}

bool Selector::matches(const Json& object) const {
  for (const auto& term : m_labels)
    if (!holds(term, dig(object, {"metadata", "labels", term.key}))) return false;
  for (const auto& term : m_fields)
    if (!holds(term, field(object, term.key))) return false;
  return true;
}

}  // namespace trainstep::sim
