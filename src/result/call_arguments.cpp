// SPDX-License-Identifier: Apache-2.0
#include "result/call_arguments.h"

#include <algorithm>

#include "base/text.h"
#include "result/metric_text.h"
#include "result/metric_words.h"

namespace trainstep::result {
namespace {

// An optimizer and its settings, in the parenthesis at `open`: "Adam (lr=0.001, eps=1e-8)". Not "Epoch 3 (lr=0.1)", "train (loss=0.5, lr=0.1)".
bool opens_settings(std::string_view text, std::size_t open) {
  constexpr std::size_t longest = 200;
  if (open < 2 || text[open - 1] != ' ') return false;
  const auto word = word_before(text, open - 1);
  if (word.empty() || !is_letter(word.front()) || same_ignoring_case(word, "epoch") || names_step(word) || names_data(word) || holds_outcome(word))
    return false;
  const auto inside = text.substr(open + 1, std::min(longest, text.find(')', open) - open));
  for (const std::string_view rate : {"lr=", "learning_rate="})
    for (auto at = inside.find(rate); at != std::string_view::npos; at = inside.find(rate, at + 1))
      if (at == 0 || has(" ,", inside[at - 1])) return true;
  return false;
}

}  // namespace

bool CallArguments::hold(std::size_t at) {
  constexpr int deepest = 64;
  for (; m_at < at && m_at < m_text.size(); ++m_at) {
    const char c = m_text[m_at];
    if (c == ')' && m_depth > 0) m_calls >>= 1U, --m_depth;
    if (c != '(' || m_depth >= deepest) continue;
    const char before = m_at > 0 ? m_text[m_at - 1] : ' ';
    m_calls = m_calls << 1U | static_cast<std::uint64_t>(belongs_to_name(before) || before == ']' || opens_settings(m_text, m_at));
    ++m_depth;
  }
  return m_depth > 0 && (m_calls & 1U) != 0;
}

bool is_indented_code(std::string_view text) {
  constexpr std::size_t indentation = 4;
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos || (begin < indentation && !has(text.substr(0, begin), '\t'))) return false;
  const auto code = trim(text);
  if (code.ends_with(',')) return true;
  int open = 0;
  bool call = false;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] == '(') ++open, call = call || (i > 0 && belongs_to_name(code[i - 1]));
    if (code[i] == ')' && --open < 0) return true;
  }
  return call;
}

}  // namespace trainstep::result
