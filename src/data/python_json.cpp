// SPDX-License-Identifier: Apache-2.0
#include "data/python_json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "data/finite.h"
#include "data/json_reader.h"

namespace trainstep {
namespace {

// Prefix of such a word while it is represented as a string: a private-use character, with which no string of a step begins.
constexpr std::string_view mark = "\uE0F7";
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::array<std::pair<std::string_view, double>, 3> words{
    {{"NaN", std::numeric_limits<double>::quiet_NaN()}, {"Infinity", infinity}, {"-Infinity", -infinity}}};

bool is_word_character(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// The word at the start of `text`, unless it is part of a longer word, or is a key.
std::string_view word_at(std::string_view text) {
  for (const auto& [word, number] : words) {
    if (!text.starts_with(word) || (text.size() > word.size() && is_word_character(text[word.size()]))) continue;
    const auto next = text.find_first_not_of(" \t\r\n", word.size());
    return next != std::string_view::npos && text[next] == ':' ? std::string_view() : word;
  }
  return {};
}

std::string with_marked_words(std::string_view text) {
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = !in_string && (i == 0 || !is_word_character(text[i - 1]));
    if (const auto word = begins ? word_at(text.substr(i)) : std::string_view(); !word.empty()) {
      result += fmt::format("\"{}{}\"", mark, word);
      i += word.size() - 1;
      continue;
    }
    if (text[i] == '"') in_string = !in_string;
    result += text[i];
    if (in_string && text[i] == '\\' && i + 1 < text.size()) result += text[++i];
  }
  return result;
}

Json with_numbers(Json json) {
  if (json.is_structured()) {
    for (auto& member : json) member = with_numbers(std::move(member));
  } else if (const auto* text = json.get_ptr<const std::string*>(); text != nullptr && text->starts_with(mark)) {
    for (const auto& [word, number] : words)
      if (std::string_view(*text).substr(mark.size()) == word) return number;
  }
  return json;
}

Json with_texts(Json json) {
  if (json.is_structured()) {
    for (auto& member : json) member = with_texts(std::move(member));
  } else if (json.is_number_float() && !std::isfinite(json.get<double>())) {
    return fmt::format("{}{}", mark, portable(json).get<std::string>());
  }
  return json;
}

Result<Json> with_words(std::string_view text, std::string_view what, const ReadLimits& limits,
                        Result<Json> (*parse)(std::string_view, std::string_view, const ReadLimits&)) {
  if (text.find("NaN") == std::string_view::npos && text.find("Infinity") == std::string_view::npos) return parse(text, what, limits);
  ASSIGN(auto json, parse(with_marked_words(text), what, limits));
  return with_numbers(std::move(json));
}

}  // namespace

Result<Json> parse_python_json(std::string_view text, std::string_view what, const ReadLimits& limits) {
  return with_words(text, what, limits, parse_json);
}

Result<Json> parse_returned_json(std::string_view text, std::string_view what) { return with_words(text, what, {}, read_answer); }

std::string to_python_text(const Json& json) {
  if (all_finite(json)) return to_text(json);
  auto text = to_text(with_texts(json));
  for (const auto& [word, number] : words) {
    const auto written = fmt::format("\"{}{}\"", mark, word);
    for (auto at = text.find(written); at != std::string::npos; at = text.find(written, at + word.size())) text.replace(at, written.size(), word);
  }
  return text;
}

}  // namespace trainstep
