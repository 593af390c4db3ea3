// SPDX-License-Identifier: Apache-2.0
#include "result/sentence_heading.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/sentence_words.h"

namespace trainstep::result {

void SentenceHeading::take(const Phrase& phrase, Gap gap, bool level, bool counted) {
  if (phrase.count() == 0) return;
  m_kind = Kind::none;
  m_all = gap == Gap::colon || gap == Gap::bracket;
  const auto of = phrase.name_before_of();
  const auto last = phrase.last();
  const bool logger = level && phrase.count() == 1 && gap == Gap::colon;
  const bool unit = counted && names_time_unit(phrase.first());  // "12.3 ms loss"
  if (unit || logger || (of == 0 && !phrase.fits()) || phrase.any(belongs_to_sentence) || phrase.any(holds_reference)) return;
  const bool per = phrase.count() > 2 && phrase.word(1) == "per" && metric_kind(phrase.first()) >= MetricKind::usual;  // "IoU per class"
  const auto kind = metric_kind(phrase.before_last(), last);
  if (!per && (phrase.any(names_setting) || (of == 0 && phrase.any(counts_others))))
    m_kind = phrase.any(names_goal) ? Kind::goal : Kind::setting;
  else if (per || of != 0 || kind != MetricKind::none || last == "AP" || last == "AR")
    m_kind = Kind::metric;
  else if (m_all && !names_data(last) && !names_step(last) && !same_ignoring_case(last, "epoch"))
    m_kind = Kind::other;
  m_all = m_all && !starts_ignoring_case(last, "err");  // "error: code=5"
  m_title = phrase.name(of != 0 ? of : std::min(phrase.count(), max_words));
}

bool SentenceHeading::complete(std::string& name, std::string_view printed) {
  const bool of_data = holds_data(name);
  const bool metric = metric_kind(name) != MetricKind::none;
  if (m_kind == Kind::goal ? metric || of_data : m_kind == Kind::setting && !metric && of_data) return name.clear(), true;
  const bool headed = m_kind == Kind::metric && (of_data || (m_all && (!holds_setting(name) || name == "min")));
  m_all = m_all && headed && !metric;
  if (metric || !(headed || (m_kind == Kind::other && of_data && !holds_setting(name))) || m_title.size() + name.size() >= max_name_length)
    return false;
  if (m_kind == Kind::other && !has(printed, '.'))
    name.clear();  // "Samples: train=60000"
  else if (of_data)
    name.append("_").append(m_title);
  else
    name.insert(0, 1, '_').insert(0, m_title);
  return true;
}

}  // namespace trainstep::result
