// SPDX-License-Identifier: Apache-2.0
#include "step/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "data/fields.h"

namespace trainstep::step {
namespace {

constexpr std::string_view opening = "{{$.inputs.parameters['";
constexpr std::string_view closing = "']}}";

// Never in text that a user writes: the channels of the KFP SDKs.
constexpr std::array<std::string_view, 3> always{"{{channel:", "{{pipelineparam:", "{{$.inputs.parameters['pipelinechannel--"};
// More placeholders that backends replace.
constexpr std::array<std::string_view, 10> of_backends{"{{$.inputs.", "{{$.outputs.", "{{$.pipeline_", "{{inputs.", "{{outputs.",
                                                       "{{workflow.", "{{tasks.",     "{{steps.",      "{{item}}",  "{{item."};

template <typename List>
std::optional<std::string> first_of(std::string_view text, const List& beginnings) {
  constexpr std::size_t longest = 80;
  for (auto at = text.find("{{"); at != std::string_view::npos; at = text.find("{{", at + 2))
    for (const auto beginning : beginnings)
      if (text.substr(at).starts_with(beginning)) {
        const auto end = text.find("}}", at);
        return std::string(text.substr(at, std::min(longest, end == std::string_view::npos ? longest : end + 2 - at)));
      }
  return std::nullopt;
}

Error unresolved(std::string_view place, std::string_view placeholder) {
  return input_error(fmt::format("{}: {} was not replaced with a value; does the pipeline set it?", place, placeholder));
}

// The name of the reference at the start of `text`; removes it from `text`.
std::optional<std::string_view> take_reference(std::string_view& text) {
  if (!text.starts_with(opening) || !text.substr(opening.size()).starts_with(channel_prefix)) return std::nullopt;
  const auto end = text.find(closing);
  if (end == std::string_view::npos) return std::nullopt;
  const auto name = text.substr(opening.size(), end - opening.size());
  text.remove_prefix(end + closing.size());
  return name;
}

std::string as_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  const auto whole = whole_number(value);
  return whole ? fmt::format("{}", *whole) : to_text(value);
}

bool any_null(const Json& channels) {
  return std::any_of(channels.items().begin(), channels.items().end(),
                     [](const auto& member) { return member.key().starts_with(channel_prefix) && member.value().is_null(); });
}

// A cheap test, because most values have no reference.
bool may_refer(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>() == "null" || value.get_ref<const std::string&>().find("{{") != std::string::npos;
  return value.is_structured() && std::any_of(value.begin(), value.end(), may_refer);
}

Result<Json> resolved_text(const std::string& whole, const Json& channels, const std::string& place) {
  if (whole == "null" && any_null(channels)) return Json();
  std::string result;
  std::string_view text = whole;
  while (true) {
    const auto at = text.find(opening);
    const auto before = text.substr(0, at);
    TRY(check_resolved(before, Author::pipeline, place));
    result += before;
    if (at == std::string_view::npos) return Json(std::move(result));
    text.remove_prefix(at);
    const auto reference = text.substr(0, text.find("}}") == std::string_view::npos ? text.size() : text.find("}}") + 2);
    const auto name = take_reference(text);
    const auto channel = name ? channels.find(std::string(*name)) : channels.end();
    if (channel == channels.end()) return unresolved(place, reference);
    if (result.empty() && text.empty()) return *channel;
    if (channel->is_null())
      return input_error(fmt::format("{}: the pipeline parameter {} is null, which cannot be part of a string; set a value", place,
                                     name->substr(channel_prefix.size())));
    result += as_text(*channel);
  }
}

}  // namespace

// The recursion is bounded: parse_json limits the nesting.
Result<Json> resolved(const Json& value, const Json& channels, const std::string& place) {
  if (!may_refer(value)) return value;
  if (value.is_string()) return resolved_text(value.get_ref<const std::string&>(), channels, place);
  if (value.is_object()) {
    auto result = Json::object();
    for (const auto& [key, member] : value.items()) {
      ASSIGN(result[key], resolved(member, channels, fmt::format("{}.{}", place, key)));
    }
    return result;
  }
  if (!value.is_array()) return value;
  auto result = Json::array();
  for (std::size_t i = 0; i < value.size(); ++i) {
    ASSIGN(auto item, resolved(value[i], channels, fmt::format("{}[{}]", place, i)));
    result.push_back(std::move(item));
  }
  return result;
}

Json with_channels(const Json& value, const Json& channels) {
  if (value.is_structured()) {
    auto result = value;
    for (auto& member : result) member = with_channels(member, channels);
    return result;
  }
  if (!value.is_string()) return value;
  std::string result;
  std::string_view text = value.get_ref<const std::string&>();
  while (true) {
    const auto at = text.find(opening);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    text.remove_prefix(at);
    auto rest = text;
    const auto name = take_reference(rest);
    const auto channel = name ? channels.find(std::string(*name)) : channels.end();
    const bool known = channel != channels.end() && !channel->is_null();
    result += known ? as_text(*channel) : std::string(text.substr(0, opening.size()));
    text = known ? rest : text.substr(opening.size());
  }
}

Result<void> check_resolved(std::string_view text, Author author, std::string_view place) {
  if (const auto found = first_of(text, always)) return unresolved(place, *found);
  if (author == Author::user) return {};
  if (const auto found = first_of(text, of_backends)) return unresolved(place, *found);
  return {};
}

Result<void> check_specification_resolved(std::string_view text, std::string_view place) {
  const auto body = trim(text);
  if (body.starts_with("{{") && body.find("}}") == body.size() - 2) return check_resolved(body, Author::pipeline, place);
  return {};
}

}  // namespace trainstep::step
