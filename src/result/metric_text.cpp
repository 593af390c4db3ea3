// SPDX-License-Identifier: Apache-2.0
#include "result/metric_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "result/metric_words.h"
#include "result/sentence_separators.h"

namespace trainstep::result {
namespace {

// "±0.1", "+/-0.1", "+-0.1%"
void skip_deviation(std::string_view& text) {
  for (const std::string_view sign : {"\u00B1", "+/-", "+-"}) {
    if (!text.starts_with(sign)) continue;
    auto rest = text.substr(sign.size());
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    if (!rest.empty() && (is_digit(rest.front()) || rest.front() == '.') && take_number(rest)) text = rest;
    if (text.starts_with('%')) text.remove_prefix(1);
    return;
  }
}

// "0.50", ".5", "95"
std::string_view take_bound(std::string_view& text) {
  const auto bound = text.substr(0, text.find_first_not_of("0123456789."));
  const auto dots = std::ranges::count(bound, '.');
  if (dots > 1 || bound.size() == static_cast<std::size_t>(dots) || bound.ends_with('.') || bound.size() > 8) return {};
  text.remove_prefix(bound.size());
  return bound;
}

// A range of overlaps is 0.5:0.95 or 50:95; in "Acc@1:76.1" or "top1:0.76" the number after the colon is the value.
bool is_range(std::string_view from, std::string_view to) {
  const bool fraction = has(from, '.');
  const auto low = take_number(from), high = take_number(to);
  return low && high && (fraction ? *low <= 1 && *high <= 1 : *low >= 50 && *high <= 100 && std::trunc(*high) == *high);
}

// " ms", but not in "0.5 min 0.3" or "0.5 h=2".
bool is_time_unit(std::string_view text) {
  if (text.size() < 2 || text.front() != ' ' || !is_letter(text[1])) return false;
  const auto word = text.substr(1, static_cast<std::size_t>(std::ranges::find_if_not(text.substr(1), is_letter) - text.begin() - 1));
  const auto rest = text.substr(1 + word.size());
  const auto next = rest.find_first_not_of(' ');
  if (!names_time_unit(word)) return false;
  if (next == std::string_view::npos) return true;
  const bool ambiguous = word == "min" || word == "second";  // "loss=0.5 min loss=0.3", "loss=0.5 sec per step: 0.1"
  return has(".,;|)]}", rest[next]) ||
         (next > 0 && (has("[(-", rest[next]) || (is_letter(rest[next]) && !ambiguous && !rest.substr(next).starts_with("per "))));
}

// The number is a part of a formula or of 1.2 x 10^-3.
bool is_factor(std::string_view rest) { return rest.starts_with(" * ") || rest.starts_with(" x 10") || rest.starts_with(" + "); }

// "100%|", with which tqdm's bars begin after a description.
bool is_bar(std::string_view text) {
  const auto number = text.find_first_not_of(' ');
  const auto end = text.find_first_not_of("0123456789", number);
  return end != std::string_view::npos && end > number && end - number <= 3 && text.substr(end).starts_with("%|");
}

void skip_blanks(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(' '), text.size())); }

bool skip(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::string_view word_before(std::string_view text, std::size_t end) {
  auto start = end;
  while (start > 0 && end - start <= max_name_length && belongs_to_word(text[start - 1])) --start;
  return text.substr(start, end - start);
}

bool starts_with_tensor_repr(std::string_view text) {
  constexpr std::array<std::string_view, 4> shown{"tensor(", "np.", "numpy.", "Array("};
  return std::ranges::any_of(shown, [&](std::string_view begin) { return text.starts_with(begin); });
}

std::size_t threshold_size(std::string_view text) {
  auto rest = text;
  if (!skip(rest, "@")) return 0;
  const bool bracket = skip(rest, "[");
  if (bracket) skip_blanks(rest);
  skip(rest, "IoU=");
  auto from = take_bound(rest);
  if (from.empty()) return 0;
  while (rest.starts_with(':') || rest.starts_with('-')) {
    auto behind = rest.substr(1);
    const auto to = take_bound(behind);
    if (to.empty() || !(bracket || is_range(from, to))) break;
    from = to;
    rest = behind;
  }
  if (bracket) skip_blanks(rest);
  if (bracket && !skip(rest, "]")) return 0;
  return text.size() - rest.size();
}

std::size_t range_end(std::string_view text, std::size_t end) {
  auto from = text.substr(0, end);
  from.remove_prefix(std::min(from.find_last_not_of("0123456789.") + 1, from.size()));
  while (!from.empty() && end < text.size() && text[end] == ':') {
    auto behind = text.substr(end + 1);
    const auto to = take_bound(behind);
    if (to.empty() || !is_range(from, to)) break;
    from = to;
    end = text.size() - behind.size();
  }
  return end;
}

bool is_measured_name(std::string_view name) {
  const auto sign = name.find_first_of("@:");
  if (sign == std::string_view::npos) return is_name(name);
  if (name.size() > max_name_length || !is_name(name.substr(0, sign))) return false;
  return name[sign] == '@' ? threshold_size(name.substr(sign)) == name.size() - sign : range_end(name, sign) == name.size();
}

std::string plain_name(std::string_view name) {
  std::string plain(name);
  if (!has(name, '@')) return plain;
  if (const auto iou = plain.find("IoU=", name.find('@')); iou != std::string::npos) plain.erase(iou, 4);
  std::erase_if(plain, [](char c) { return c == '[' || c == ']' || c == ' '; });
  return plain;
}

void prepend_words(std::string_view words, std::string& name) {
  if (words.empty() || words.size() + name.size() >= max_name_length) return;
  name.insert(0, 1, '_').insert(0, words);
  std::ranges::replace_if(name, is_blank, '_');
}

std::optional<double> take_number(std::string_view& text) {
  auto rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  double value = 0;
  if (!rest.empty() && (is_digit(rest.front()) || rest.front() == '.')) {
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (code == std::errc::invalid_argument) return std::nullopt;
    if (code == std::errc::result_out_of_range) value = std::strtod(std::string(rest.begin(), end).c_str(), nullptr);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  } else if (starts_ignoring_case(rest, "nan")) {
    value = std::numeric_limits<double>::quiet_NaN();
    rest.remove_prefix(3);
  } else if (starts_ignoring_case(rest, "inf")) {
    value = std::numeric_limits<double>::infinity();
    rest.remove_prefix(starts_ignoring_case(rest, "infinity") ? 8 : 3);
  } else {
    return std::nullopt;
  }
  text = rest;
  return negative ? -value : value;
}

// A number, also with thousands separators if it has decimals: "12,345.67". "1,234" may be two numbers.
std::optional<double> take_grouped(std::string_view& text) {
  constexpr std::size_t longest = 40;
  const auto begin = text;
  const auto number = take_number(text);
  if (!number || !text.starts_with(',')) return number;
  std::string digits(begin.substr(0, begin.size() - text.size()));
  if (digits.size() > 4) return number;  // with a sign
  auto rest = text;
  while (rest.size() > 4 && rest.front() == ',' && std::ranges::all_of(rest.substr(1, 3), is_digit) && digits.size() < longest) {
    digits.append(rest.substr(1, 3));
    rest.remove_prefix(4);
  }
  if (!rest.starts_with('.') || rest.size() < 2 || !is_digit(rest[1])) return number;
  const auto decimals = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
  digits.append(rest.substr(0, std::min(decimals, longest)));
  std::string_view whole = digits;
  const auto value = take_number(whole);
  if (!value || !whole.empty()) return number;
  text = rest.substr(decimals);
  return value;
}

std::optional<double> take_scalar(std::string_view& text) {
  auto rest = text;
  const bool numpy = skip(rest, "np.") || skip(rest, "numpy.");
  constexpr std::size_t max_type_length = 10;
  const auto near = rest.substr(0, max_type_length + 1);
  const auto type = near.substr(0, near.find('('));
  const auto letters = type.substr(0, type.find_first_of("0123456789"));
  const bool known = numpy ? letters == "float" || letters == "int" || letters == "uint" : type == "tensor" || type == "Array";
  if (!known || type.size() == near.size()) return take_grouped(text);
  rest.remove_prefix(type.size() + 1);
  const auto value = take_number(rest);
  const auto end = rest.find(')');
  if (!value || end == std::string_view::npos || (end != 0 && (numpy || !rest.starts_with(", ")))) return std::nullopt;
  text = rest.substr(end + 1);
  return value;
}

void skip_to_latest(std::string_view& text, double& value) {
  if (text.size() < 2 || text.front() != ' ') return;
  auto rest = text.substr(1);
  const auto arrow = separator_of(rest);
  if (!skip(rest, arrow.gap == Gap::arrow ? arrow.sign : "=>") || !skip(rest, " ")) return;
  const auto latest = take_number(rest);
  if (!latest) return;
  text = rest;
  value = *latest;
  skip_to_latest(text, value);
}

std::optional<double> take_count(std::string_view& text) {
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > 15) return std::nullopt;
  auto count = text.substr(0, digits);
  text.remove_prefix(digits);
  return take_number(count);
}

std::optional<double> take_long_count(std::string_view& text) {
  auto count = take_count(text);
  for (auto rest = text; count && rest.starts_with(','); text = rest) {
    rest.remove_prefix(1);
    const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const auto group = take_count(rest);
    if (digits != 3 || !group || *count >= 1e12) break;
    *count = *count * 1'000 + *group;
  }
  return count;
}

bool ends_value(std::string_view rest) {
  if (rest.starts_with("%|")) return false;  // a progress bar: "100%|████|"
  if (rest.starts_with('%')) rest.remove_prefix(1);
  skip_deviation(rest);
  if (is_time_unit(rest) || is_factor(rest)) return false;
  if (rest.starts_with(": ")) return is_bar(rest.substr(2));
  if (rest.starts_with('.')) rest.remove_prefix(1);                                 // the end of a sentence
  if (rest.starts_with(',') && rest.size() > 1 && is_digit(rest[1])) return false;  // in 1,234 the number is not 1
  return rest.empty() || std::string_view(" \t,;|)]}").find(rest.front()) != std::string_view::npos;
}

}  // namespace trainstep::result
