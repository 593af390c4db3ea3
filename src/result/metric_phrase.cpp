// SPDX-License-Identifier: Apache-2.0
#include "result/metric_phrase.h"

#include "result/metric_text.h"
#include "result/metric_words.h"

namespace trainstep::result {

void Phrase::add(std::string_view word) {
  if (m_joined && m_data.empty() && names_data(word)) m_data = word;
  m_joined = m_joined || (m_count > 0 ? joins(word) : word == "On");
  if (m_count < m_words.size()) m_words[m_count] = word;
  ++m_count;
  m_size += word.size() + 1;
}

std::size_t Phrase::name_before_of() const {
  for (std::size_t i = 1; i < std::min(m_count, max_words); ++i) {
    if (!joins(m_words[i])) continue;
    const bool of_class = i + 1 < std::min(m_count, max_words) && m_words[i + 1] == "class";
    return !of_class && metric_kind(m_words[i - 1]) != MetricKind::none && (i == 1 || names_data(m_words[0])) ? i : 0;
  }
  return 0;
}

bool Phrase::belongs_to_part(std::size_t words) const {
  constexpr std::array<std::string_view, 7> wholes{"model", "network", "net", "classifier", "ensemble", "baseline", "system"};
  if (m_count != words + 2 || m_count > max_words || m_has_number || m_words[words] != "of") return false;
  const auto word = m_words[words + 1];
  return !is_upper(word.front()) && !names_data(word) && std::ranges::find(wholes, word) == wholes.end();
}

std::string_view Phrase::data_behind() const {
  return names_data(first()) || (m_has_number && same_ignoring_case(m_data, "test")) ? std::string_view() : m_data;
}

std::string Phrase::name(std::size_t words) const {
  std::string name;
  for (std::size_t i = m_words[0] == "the" || m_words[0] == "The" ? 1 : 0; i < words; ++i)
    name.append(name.empty() ? "" : "_").append(plain_name(without_dot(m_words[i])));
  return name;
}

}  // namespace trainstep::result
