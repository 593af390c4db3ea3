// SPDX-License-Identifier: Apache-2.0
#include "step/node_selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/fields.h"
#include "data/secrets.h"
#include "data/tree.h"
#include "plan/labels.h"

namespace trainstep::step {
namespace {

constexpr std::size_t max_labels = 1000;  // of a node; each is compared with all others

// The content of a wrong file should not fill the log.
std::string shown_part(std::string_view text) {
  constexpr std::size_t longest = 100;
  return text.size() <= longest ? std::string(text) : fmt::format("{}…", text.substr(0, longest));
}

Result<void> check_label(std::string_view key, std::string_view value, const std::string& place) {
  if (!plan::is_qualified_name(key))
    return input_error(
        fmt::format("{}: \"{}\" is not a node label; write lines such as nvidia.com/gpu.product: \"Tesla-V100\"", place, shown_part(key)));
  if (!plan::is_label_value(value))
    return input_error(fmt::format("{}: {} is not a valid value of the label {}: use at most 63 of A-Z a-z 0-9 - _ .", place,
                                   shown_value(key, Json(shown_part(value))), key));
  return {};
}

// Takes a quoted or plain word off `rest`, with the blanks around it.
Result<std::string> take_word(std::string_view& rest, std::string_view ends, const std::string& place) {
  rest = trim(rest);
  std::string word;
  if (!rest.empty() && (rest.front() == '"' || rest.front() == '\'')) {
    const auto close = rest.find(rest.front(), 1);
    if (close == std::string_view::npos) return input_error(fmt::format("{}: unterminated quote in {}", place, shown_part(rest)));
    word = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
  } else {
    const auto end = std::min(rest.find_first_of(ends), rest.size());
    word = trim(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  rest = trim(rest);
  return word;
}

Result<void> read_pair(std::string_view item, const std::string& place, Json& selector) {
  auto rest = item;
  ASSIGN(const auto key, take_word(rest, ":=", place));
  if (rest.empty() || (rest.front() != ':' && rest.front() != '='))
    return input_error(fmt::format("{}: \"{}\" has no value; write key: \"value\"", place, shown_part(trim(item))));
  rest.remove_prefix(1);
  const auto plain = trim(rest);
  if (plain == "null" || plain == "~") return {};  // not given
  ASSIGN(const auto value, take_word(rest, "", place));
  if (!rest.empty())
    return input_error(
        fmt::format("{}: unexpected \"{}\" after the value of {}; write one label per line", place, shown_part(rest), shown_part(key)));
  TRY(check_label(key, value, place));
  if (selector.contains(key)) return input_error(fmt::format("{}: the label {} is specified twice", place, key));
  selector[key] = value;
  if (selector.size() > max_labels) return input_error(fmt::format("{}: more than {} labels", place, max_labels));
  return {};
}

}  // namespace

Result<Json> parse_node_selector(std::string_view text) {
  auto body = trim(text);
  if (body.size() >= 2 && body.front() == '{' && body.back() == '}') body = body.substr(1, body.size() - 2);
  auto selector = Json::object();
  int number = 0;
  for (const auto line : split(body, '\n')) {
    const auto place = fmt::format("node_selector: line {}", ++number);
    const auto comment = line.find(" #");
    const auto content = trim(comment == std::string_view::npos ? line : line.substr(0, comment));
    if (content.starts_with('#') || content == "---") continue;
    for (const auto item : split(content, ','))
      if (!trim(item).empty()) TRY(read_pair(item, place, selector));
  }
  return selector;
}

Result<Json> check_node_selector(const Json& object, const std::string& where) {
  std::vector<std::pair<std::string, Json>> selector;
  for (const auto& [key, value] : object.items()) {
    std::string text;
    if (value.is_null()) continue;
    if (value.is_string()) {
      text = value.get<std::string>();
    } else if (value.is_boolean()) {
      text = value.get<bool>() ? "true" : "false";
    } else if (const auto whole = whole_number(value)) {
      text = fmt::format("{}", *whole);
    } else {
      return input_error(fmt::format("{}.{}: expected a string, got {}; quote it", where, key, shown_value(key, value)));
    }
    TRY(check_label(key, text, where));
    selector.emplace_back(key, std::move(text));
  }
  return make_object(std::move(selector));
}

}  // namespace trainstep::step
