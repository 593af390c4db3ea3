// SPDX-License-Identifier: Apache-2.0
#include "result/metric_line.h"

#include <string>

#include "base/text.h"
#include "result/boosting_rounds.h"
#include "result/clean_line.h"
#include "result/excluded_lines.h"
#include "result/keras_progress.h"
#include "result/metric_object.h"
#include "result/metric_pairs.h"
#include "result/metric_position.h"
#include "result/metric_sentence.h"
#include "result/metric_sentence_precheck.h"
#include "result/metric_table.h"
#include "result/metric_text.h"
#include "result/named_value.h"

namespace trainstep::result {

bool may_have_metrics(std::string_view line) {
  if (has(line, '=') || names_epoch(line) || may_have_rounds(line) || may_be_sentence(line)) return true;
  // A flat object starts with a brace; a Keras line contains a count "45/45", however its bar is drawn.
  return has(line, ':') && (has(line, '{') || (has(line, '/') && line.find(" - ") != std::string_view::npos));
}

MetricLine read_metric_line(std::string_view raw, MetricTable& table) {
  MetricLine line;
  std::string storage;
  const auto text = without_process(without_level(clean_line(raw, storage)));
  if (is_command(text) || tells_of_loading(text) || is_rich_traceback(text)) return line;
  for (const auto form : {read_flat_object, read_object_behind, read_keras, read_rounds})
    if (form(text, line)) return line;
  if (table.read(text, line)) return line;
  read_pairs(text, line);
  const bool shown_half = begins_with_count(trim(text));  // within an epoch: values are not final
  const bool in_words = !shown_half && (may_be_sentence(text) || !line.metrics.empty()) && read_sentence(text, line);
  if (shown_half) name_pairs(text, line);
  if (in_words && line.epoch && !line.progress.epoch) line.progress.epoch = whole(*line.epoch);
  if (!line.epoch) read_epoch(text, line, in_words);
  return line;
}

}  // namespace trainstep::result
