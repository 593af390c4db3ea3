// SPDX-License-Identifier: Apache-2.0
#include "result/value_brackets.h"

#include <algorithm>

#include "result/metric_text.h"
#include "result/metric_words.h"

namespace trainstep::result {
namespace {

constexpr std::size_t max_value_length = 60;  // with its deviation, and the parts of a BLEU score

bool opens(char c) { return c == '(' || c == '[' || c == '{'; }
bool closes(char c) { return c == ')' || c == ']' || c == '}'; }

void drop_blanks(std::string_view& text) { text = text.substr(0, text.find_last_not_of(" \t") + 1); }

// Removes the last word from the end of `text`.
std::string_view take_last_word(std::string_view& text) {
  drop_blanks(text);
  auto start = text.size();
  while (start > 0 && text.size() - start < max_name_length && (belongs_to_name(text[start - 1]) || text[start - 1] == '@')) --start;
  const auto word = text.substr(start);
  text = text.substr(0, start);
  return word;
}

// "0.5", "93%", "58.1/33.0/21.1/13.9", "'0.5'", "tensor(0.5, device='cuda:0')", and the signs of a deviation.
bool is_numeric(std::string_view word) {
  if (word == "%" || word == "+/-" || word == "+-" || word == "\u00B1") return true;
  if (word.starts_with('\'') || word.starts_with('"')) word.remove_prefix(1);
  return take_scalar(word) && word.find_first_not_of("0123456789./%+-e'\"\u00B1") == std::string_view::npos;
}

// The number, or several, at the end of `text`, from which it is removed. Empty: there is none.
std::string_view take_value(std::string_view& text) {
  std::string_view value;
  const auto end = text.size();
  for (auto rest = text; end - rest.size() <= max_value_length;) {
    drop_blanks(rest);
    const auto bracket = rest.ends_with(')') ? rest.rfind('(') : std::string_view::npos;
    const auto start = rest.substr(0, bracket).find_last_of(" \t:=|,;([{") + 1;
    const auto word = rest.substr(start);
    if (word.empty() || !is_numeric(word)) break;
    value = word;
    text = rest = rest.substr(0, start);
    if (start == 0 || !has(" \t", text.back())) break;
  }
  return value;
}

}  // namespace

std::size_t ValueBrackets::end_of(std::size_t open) const {
  int depth = 0;
  for (auto at = open; at < m_text.size(); ++at) {
    if (opens(m_text[at])) ++depth;
    if (closes(m_text[at]) && --depth == 0) return at;
  }
  return m_text.size();
}

ValueBrackets::Reads ValueBrackets::after_what(std::size_t open) const {
  auto text = m_text.substr(0, open);
  const auto value = take_value(text);
  const bool whole = !has(value, '.');
  if (m_text[open] == '[' && whole && has(value, '/')) return Reads::all;  // a progress bar
  const bool clock = text.ends_with(':');
  drop_blanks(text);
  if (!value.empty() && !text.empty() && has(":=|", text.back())) text.remove_suffix(1);
  auto last = take_last_word(text);
  if (last == "is") last = take_last_word(text);
  if (same_ignoring_case(last, "epoch") || names_step(last) || (clock && !last.empty() && is_digit(last.front()))) return Reads::all;
  const bool metric = metric_kind(take_last_word(text), last) >= MetricKind::usual;
  if (!value.empty()) return metric ? Reads::best : whole ? Reads::all : Reads::metrics;
  if (!metric) return Reads::all;
  // "F1 (threshold=0.5): 0.91"
  const auto close = m_text.substr(open, max_name_length).find_first_of(")]}");
  if (close == std::string_view::npos) return Reads::all;
  auto behind = m_text.substr(open + close + 1);
  const auto gap = behind.substr(0, behind.find_first_not_of(" :="));
  behind.remove_prefix(gap.size());
  return (has(gap, ':') || has(gap, '=')) && take_scalar(behind) ? Reads::best : Reads::all;
}

ValueBrackets::Reads ValueBrackets::at(std::size_t position) {
  for (; m_at < position && m_at < m_text.size(); ++m_at) {
    if (m_at >= m_close) m_reads = Reads::all;
    if (m_reads != Reads::all || !opens(m_text[m_at])) continue;
    m_reads = after_what(m_at);
    m_open = m_at;
    m_close = m_reads == Reads::all ? m_at : end_of(m_at);
  }
  return position > m_close ? Reads::all : m_reads;
}

}  // namespace trainstep::result
