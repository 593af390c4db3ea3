// SPDX-License-Identifier: Apache-2.0
#include "result/metric_sentence.h"

#include <algorithm>
#include <utility>

#include "result/metric_position.h"
#include "result/metric_words.h"
#include "result/repeated_names.h"
#include "result/sentence_reader.h"

namespace trainstep::result {
namespace {

// An uncertain value is accepted next to a certain one, next to another one of its kind, or in a line with an epoch or step.
bool take_values(SentenceReader& reader, MetricLine& line) {
  auto& values = reader.values();
  const bool placed = reader.has_position() || line.epoch || line.step;
  const auto count = [&](MetricKind kind, bool sure) {
    return std::ranges::count_if(values, [&](const SentenceValue& each) { return each.kind >= kind && (sure ? each.sure : !each.whole); });
  };
  const bool trusted = placed || count(MetricKind::usual, true) > 0 || count(MetricKind::usual, false) > 1;
  const auto before = line.metrics.size();
  for (auto& each : values)
    if (each.if_known && (trusted || each.kind == MetricKind::result))
      line.if_known.push_back(std::move(each.metric));
    else if (!each.if_known && (trusted || each.sure))
      line.metrics.push_back(std::move(each.metric)), line.pairs.push_back(each.place);
  if (line.metrics.empty() && line.if_known.empty()) return false;
  if (!line.step) line.step = reader.step();
  return line.metrics.size() > before || !line.if_known.empty();
}

}  // namespace

void name_pairs(std::string_view text, MetricLine& line) {
  if (line.pairs.empty()) return;
  SentenceReader(text, line).walk();
  tell_apart(text, line);
}

bool read_sentence(std::string_view text, MetricLine& line) {
  MetricLine place;
  read_bracketed_position(text, place);
  MetricLine found = line;
  if (!found.epoch) found.epoch = place.epoch;
  if (!found.step) found.step = place.step;
  SentenceReader reader(text, found);
  reader.walk();
  const bool any = take_values(reader, found);
  if (found.metrics.empty() && found.if_known.empty()) return line.metrics.clear(), line.pairs.clear(), any;
  tell_apart(text, found);
  line = std::move(found);
  return any;
}

}  // namespace trainstep::result
