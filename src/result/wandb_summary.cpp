// SPDX-License-Identifier: Apache-2.0
#include "result/wandb_summary.h"

#include <optional>

#include "base/text.h"
#include "result/metric_line.h"
#include "result/metric_text.h"
#include "result/named_value.h"
#include "result/table_columns.h"

namespace trainstep::result {
namespace {

constexpr std::string_view source = "wandb: ";

}  // namespace

bool WandbSummary::read(std::string_view text, MetricLine& line) {
  if (!may_read(text)) return false;  // lines of others may occur in between
  text = trim(text.substr(source.size()));
  if (text.ends_with(':') || text.empty()) {
    m_inside = text == "Run summary:";
    return m_inside;
  }
  const auto blank = text.find(' ');
  if (!m_inside || blank == std::string_view::npos) return false;
  auto rest = trim(text.substr(blank));
  const auto number = take_number(rest);
  const auto name = column_name(text.substr(0, blank));
  if (number && rest.empty() && names_metric(name) && meaning_of(name) == Meaning::metric) line.if_new.push_back({name, *number, false});
  return true;
}

}  // namespace trainstep::result
