// SPDX-License-Identifier: Apache-2.0
#include "result/metric_phrase.h"

#include "result/metric_text.h"
#include "result/metric_words.h"

namespace trainstep::result {

void Phrase::add(std::string_view word) {
  if (m_joined && m_data.empty() && names_data(word)) m_data = word;
  m_joined = m_joined || (m_count > 0 && joins(word));
  if (m_count < m_words.size()) m_words[m_count] = word;
  ++m_count;
  m_size += word.size() + 1;
}

std::size_t Phrase::name_before_of() const {
  for (std::size_t i = 1; i < std::min(m_count, most_words); ++i)
    if (joins(m_words[i])) return metric_kind(m_words[i - 1]) != MetricKind::none && (i == 1 || names_data(m_words[0])) ? i : 0;
  return 0;
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
