// SPDX-License-Identifier: Apache-2.0
#include "result/metric_patterns.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "data/secrets.h"
#include "result/clean_line.h"
#include "result/metric_line.h"
#include "result/metric_position.h"
#include "result/metric_sentence.h"
#include "result/metric_text.h"
#include "result/named_value.h"

namespace trainstep::result {
namespace {

// For one pattern: its program and the state cached by searches. Forty patterns take at most 5 MB; typical ones a few KB each.
constexpr std::int64_t max_memory = std::int64_t{128} << 10U;
constexpr int max_matches = 10;
constexpr std::size_t near_end = 1000;
constexpr std::size_t max_word_length = 100;
// A search takes up to a nanosecond for each byte and instruction of its pattern: for megabytes, seconds in which no signal is handled.
constexpr std::size_t max_read = std::size_t{8} << 10U;  // at each end of a line
constexpr std::size_t max_work = 8'000'000;              // bytes times instructions

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }
std::string_view view(const re2::StringPiece& text) { return {text.data(), text.size()}; }

RE2::Options regex_options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(max_memory);
  return options;
}

// What to write instead; empty if RE2's reason is sufficient.
std::string_view remedy(const RE2& regex) {
  const auto& part = regex.error_arg();
  const bool behind = regex.pattern().find("(?<=") != std::string::npos || regex.pattern().find("(?<!") != std::string::npos;
  if (part == "(?=" || part == "(?!" || (part.starts_with("(?<") && behind))
    return "; look-around is not supported: match the text around the value, with only the value in parentheses";
  if (part.starts_with("(?<")) return "; write a named group as (?P<name>…)";
  if (part.size() == 2 && part[0] == '\\' && is_digit(part[1])) return "; back-references are not supported: write out the text";
  return "";
}

Error refusal(const RE2& regex) {
  if (regex.error_code() == RE2::ErrorPatternTooLarge)
    return input_error("the pattern is too large; x{500} counts as 500 x, and a class such as \\pL as hundreds");
  auto reason = regex.error();
  const auto& part = regex.error_arg();
  if (const auto end = reason.size() - std::min(reason.size(), part.size() + 2); !part.empty() && reason.substr(end) == ": " + part)
    reason.resize(end);
  return input_error(fmt::format("{}{}{}{}", reason, part.empty() ? "" : ": ", part.empty() ? "" : shown_value("", Json(part)), remedy(regex)));
}

// Read as in the other forms; for a fraction also its denominator.
struct Number {
  double value = 0;
  std::optional<double> of{};
};
std::optional<Number> read_number(std::string_view text) {
  text = trim(text);
  const auto value = take_number(text);
  if (!value) return std::nullopt;
  Number number{*value};
  if (text.size() > 1 && text[0] == '/' && is_digit(text[1])) {
    text.remove_prefix(1);
    number.of = take_number(text);
  }
  return ends_value(text) ? std::optional(number) : std::nullopt;
}

// Where a long line may be cut: at a blank, or else, as in JSON without any, not within a number.
constexpr std::string_view blanks = " \t", of_numbers = "0123456789.,+-eE_";
std::size_t next_word(std::string_view text, std::size_t from) {
  const auto blank = text.find_first_of(blanks, from);
  return blank < from + max_word_length ? blank : std::min(text.find_first_not_of(of_numbers, from), text.size());
}
std::size_t last_word_end(std::string_view text, std::size_t end) {
  const auto blank = text.find_last_of(blanks, end - 1);
  return blank != std::string_view::npos && blank + max_word_length >= end ? blank : text.find_last_not_of(of_numbers, end - 1) + 1;
}

// Reads the epoch and the step that the line names, as they are read next to a metric in words.
void read_position(std::string_view text, MetricLine& line) {
  MetricLine words;
  words.metrics.emplace_back();
  read_sentence(text, words);
  if (!line.step) line.step = words.step;
  if (!line.epoch) line.epoch = words.epoch;
  if (!line.epoch) read_epoch(text, line, true);
}

}  // namespace

struct MetricPatterns::Pattern {
  explicit Pattern(const MetricDefinition& definition) : name(definition.name), regex(piece(definition.regex), regex_options()) {}
  // Of a long line: the last match near its end, or, if there is none, near its beginning.
  std::optional<Number> find(std::string_view text);
  std::optional<Number> find_last(std::string_view text, std::size_t from, std::size_t end);
  [[nodiscard]] bool match(std::string_view text, std::size_t from, std::size_t end);
  std::size_t last_from(std::string_view text, std::size_t from, std::size_t end);
  std::string name;
  RE2 regex;
  std::array<re2::StringPiece, 2> groups;  // of the last match
  Found found = Found::nothing;
};

bool MetricPatterns::Pattern::match(std::string_view text, std::size_t from, std::size_t end) {
  return from <= end && regex.Match(piece(text), from, end, RE2::UNANCHORED, groups.data(), 2);
}

// The last position from which there is a match. There is one from `from`, and none after it if there is none from a position before.
std::size_t MetricPatterns::Pattern::last_from(std::string_view text, std::size_t from, std::size_t end) {
  for (auto after = end + 1; after - from > 1;) {
    const auto middle = from + (after - from) / 2;
    (match(text, middle, end) ? from : after) = middle;
  }
  return from;
}

std::optional<Number> MetricPatterns::Pattern::find(std::string_view text) {
  const auto instructions = static_cast<std::size_t>(std::max(regex.ProgramSize(), 1));
  const auto size = std::clamp(max_work / instructions, near_end, max_read);
  if (text.size() <= 2 * size) return find_last(text, 0, text.size());
  if (const auto last = find_last(text, next_word(text, text.size() - size), text.size())) return last;
  return find_last(text, 0, last_word_end(text, size));
}

std::optional<Number> MetricPatterns::Pattern::find_last(std::string_view text, std::size_t from, std::size_t end) {
  std::optional<Number> last;
  // Each search may scan to the end of the line, so one search per byte would take quadratic time.
  for (int count = 1; match(text, from, end); ++count) {
    const auto number = groups[1].data() == nullptr ? std::nullopt : read_number(view(groups[1]));
    if (number) last = number;
    found = std::max(found, number ? Found::number : Found::no_number);
    from = static_cast<std::size_t>(groups[0].data() - text.data()) + std::max<std::size_t>(groups[0].size(), 1);
    if (count != max_matches || end - std::min(from, end) <= near_end || !match(text, from, end)) continue;
    last.reset();
    if (const auto near = std::min(text.find_first_of(" \t", end - near_end), end); match(text, near, end)) {
      from = near;
    } else {  // from the beginning of the word: the last match may be part of a longer one
      const auto at = last_from(text, from, end);
      const auto word = text.substr(0, at + 1).find_last_of(" \t") + 1;
      from = std::max({from, word, at - std::min(at, max_word_length)});
    }
  }
  return last;
}

// Also allows a colon, as in SageMaker's "validation:accuracy".
Result<void> check_metric_name(std::string_view name) {
  auto plain = std::string(name);
  std::ranges::replace(plain, ':', '_');
  if (is_name(plain) && !name.starts_with(':')) return {};
  return input_error(fmt::format("{} is not a valid metric name; use letters, digits and _ . - / :, starting with a letter, at most {}",
                                 shown_value("", Json(std::string(name))), max_name_length));
}

Result<void> check_regex(std::string_view text) {
  if (text.size() > max_regex_length) return input_error(fmt::format("the pattern has {} bytes, the limit is {}", text.size(), max_regex_length));
  const RE2 regex(piece(text), regex_options());
  if (!regex.ok()) return refusal(regex);
  if (regex.NumberOfCapturingGroups() == 0) return input_error("the pattern has no group; put the value in parentheses: loss is ([0-9.]+)");
  return {};
}

Result<void> check_definitions(const std::vector<MetricDefinition>& definitions) {
  if (definitions.size() > max_definitions) return input_error(fmt::format(": {} items, the limit is {}", definitions.size(), max_definitions));
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    const auto& [name, regex] = definitions[i];
    TRY(in_context(fmt::format("[{}].name", i), check_metric_name(name)));
    for (std::size_t before = 0; before < i; ++before)
      if (definitions[before].name == name)
        return input_error(fmt::format("[{}].name: [{}] also defines {}", i, before, shown_value("", Json(name))));
    TRY(in_context(fmt::format("[{}].regex", i), check_regex(regex)));
  }
  return {};
}

MetricPatterns::MetricPatterns(const std::vector<MetricDefinition>& definitions) {
  for (const auto& definition : definitions) {
    const bool usable = check_metric_name(definition.name) && check_regex(definition.regex);
    m_patterns.push_back(usable ? std::make_unique<Pattern>(definition) : nullptr);
  }
}

MetricPatterns::~MetricPatterns() = default;

MetricPatterns::Found MetricPatterns::found(std::size_t definition) const {
  const auto& pattern = m_patterns.at(definition);
  return pattern ? pattern->found : Found::nothing;
}

void MetricPatterns::read(std::string_view raw, MetricLine& line) {
  std::string storage;
  const auto text = clean_line(raw, storage);
  std::vector<std::optional<Number>> numbers;
  numbers.reserve(m_patterns.size());
  for (const auto& pattern : m_patterns) numbers.push_back(pattern ? pattern->find(text) : std::nullopt);
  if (std::ranges::any_of(numbers, [](const auto& number) { return number.has_value(); })) read_position(text, line);
  for (const auto& pattern : m_patterns)
    if (pattern) drop_value(line, pattern->name);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (const auto& number = numbers[i]) put_value(line, m_patterns[i]->name, number->value, number->of);
}

}  // namespace trainstep::result
