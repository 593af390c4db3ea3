// Walks a line whose values are named by words: the inside of metric_sentence.h.
//
// The reader goes through the line once, from left to right. Words are added to the phrase (metric_phrase.h) until a number or a sign follows; the
// signs after the phrase are the gap (sentence_separators.h). A number after a phrase and a gap is the position in the training if the phrase ends in
// "epoch", "step" and the like, and a value if it ends in a metric's word (metric_words.h). Either ends the phrase. So does any other sign; a phrase
// without a value is kept as what it says about the next ones: the data ("Test set: …"), a label ("Best: …"), a heading (sentence_heading.h). What is
// neither word, number nor sign, as a time or an address, is skipped up to the next blank. A pair ("loss=0.1", found before by
// metric_pairs.h) is not read again; the words before it only complete its name. Whether an uncertain value counts is decided after the walk, by what
// else the line has (metric_sentence.cpp).
//
// "Test set: Average loss: 0.05": the data are "Test"; the phrase "Average loss", the gap ":", the value 0.05 → Test_Average_loss=0.05.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "result/metric_line.h"
#include "result/metric_phrase.h"
#include "result/metric_words.h"
#include "result/sentence_heading.h"
#include "result/sentence_separators.h"
#include "result/value_brackets.h"

namespace trainstep::result {

struct SentenceValue {
  Metric metric;
  MetricLine::Place place;
  MetricKind kind = MetricKind::none;
  bool sure = false;      // a metric even without others nearby
  bool whole = false;     // 3, not 3.0
  bool if_known = false;  // "loss 1": used only if an earlier line has a loss
};

class SentenceReader {
 public:
  SentenceReader(std::string_view text, MetricLine& line);
  // Completes the names of line.pairs, and removes pairs that the words before them exclude: "target accuracy=0.95". Changes nothing else in the
  // line.
  void walk();
  // What the walk has found.
  [[nodiscard]] std::vector<SentenceValue>& values() { return m_values; }
  [[nodiscard]] std::optional<double> step() const { return m_step; }
  [[nodiscard]] bool has_position() const { return m_has_position; }  // the line has the position in the training

 private:
  // What stands at m_at: each consumes it.
  void read_word();
  void read_number();
  void read_sign();
  void read_pair(std::size_t number);
  void skip_token();
  bool skip_remark();
  [[nodiscard]] bool begins_number() const;

  // A number, and what belongs to it, at the front of `rest`; false, and `rest` is undefined: it is not one.
  bool read_position(std::string_view& rest);
  bool read_value(std::string_view& rest);
  bool store(std::string name, MetricKind kind, double number, bool whole, std::string_view data);
  bool store_of_data(double number, bool whole);

  // The phrase, and what remains of it.
  void begin_phrase();
  void end_phrase(bool may_be_heading = true);
  void take_data(std::string_view word, bool not_for_pairs = false);
  [[nodiscard]] std::string_view label() const;
  [[nodiscard]] bool extends(std::string_view name) const;
  [[nodiscard]] bool tells_only_best(std::size_t number) const;
  std::string_view data_behind(std::string_view& rest) const;

  // The line.
  std::string_view m_text;
  MetricLine& m_line;
  ValueBrackets m_brackets;
  std::size_t m_at = 0;
  std::size_t m_next_pair = 0;

  // The current phrase; begin_phrase() resets these.
  Phrase m_phrase;
  Gap m_gap = Gap::none;
  bool m_level = false;    // a log level precedes it
  bool m_counted = false;  // a number precedes it: "8 train, 8 val images"
  // The end of its last word.
  std::size_t m_gap_from = 0;

  // What earlier phrases of the line have said.
  std::string_view m_data;            // "Test" in "Test set: …"
  bool m_data_not_for_pairs = false;  // m_data does not apply to pairs: "INFO train: loss=0.5" names a logger, "Train Epoch: 1 … loss=0.5" the epoch
  std::string_view m_measured;        // "loss" in "loss train: 2.4, val: 1.5"
  std::string_view m_label;           // the last words that have no value: "Best" in "Best: loss=0.2 acc=0.9"
  bool m_counts_label = false;        // the label belongs to a count, as in "best epoch 3"
  bool m_partial = false;             // the line has the position within an epoch or a test: "[10/196]"
  SentenceHeading m_heading;

  // What has been found.
  std::vector<SentenceValue> m_values;
  std::optional<double> m_step;
  bool m_has_position = false;
  bool m_if_known = false;  // the value being read counts only for a known name
  bool m_dropped = false;   // the name of a pair is empty: it does not count
};

}  // namespace trainstep::result
