// SPDX-License-Identifier: Apache-2.0
#include "result/metric_number.h"

#include <algorithm>

#include "result/metric_line.h"

namespace trainstep::result {
namespace {

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

// " (98%)", " ( 7.0)" behind a number. What is in other brackets is left for who reads on.
void read_brackets(std::string_view text, std::size_t& at, ShownNumber& number) {
  auto rest = without_blanks(text.substr(at));
  if (!rest.starts_with('(')) return;
  rest = without_blanks(rest.substr(1));
  const auto begin = rest;
  const auto inner = take_number(rest);
  if (!inner) return;
  const bool fraction = begin.substr(0, begin.size() - rest.size()).find('.') != std::string_view::npos;
  if (number.of && (rest.starts_with("%)") || rest.starts_with(" %)"))) number.percent = true;
  if (!number.of && number.exact && fraction && rest.starts_with(')')) number.value = *inner;
  if (const auto close = rest.find(')'); close <= 2) at = text.size() - rest.size() + close + 1;
}

}  // namespace

std::optional<double> read_digits(std::string_view text, std::size_t& at) {
  auto rest = text.substr(at);
  if (rest.empty() || rest.front() < '0' || rest.front() > '9') return {};
  const auto value = take_number(rest);
  at = text.size() - rest.size();
  return value;
}

std::optional<ShownNumber> read_shown_number(std::string_view text, std::size_t& at) {
  auto rest = text.substr(at);
  const auto value = take_number(rest);
  if (!value) return {};
  ShownNumber number;
  number.value = *value;
  number.exact = text.substr(at, text.size() - at - rest.size()).find_first_of(".eEnN") != std::string_view::npos;
  at = text.size() - rest.size();
  if (rest.starts_with('%')) {
    ++at;
    number.percent = true;
    return number;
  }
  if (rest.starts_with('/')) {
    auto behind = text.size() - without_blanks(rest.substr(1)).size();
    number.of = read_digits(text, behind);
    if (number.of) at = behind;
  }
  read_brackets(text, at, number);
  return number;
}

}  // namespace trainstep::result
