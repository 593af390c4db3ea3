// Metrics in tables: the names stand in one line, the numbers in those below it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainstep::result {

struct MetricLine;

// Reads, line by line:
//   "epoch  train_loss  valid_loss  accuracy  time"        and rows below (fastai; scikit-learn's "Iter  Train Loss …"; Ultralytics' "Epoch  GPU_mem
//   …") "Class  Images  Instances  Box(P  R  mAP50  mAP50-95)" and the row "all" (Ultralytics) "Test metric  DataLoader 0" and "test_loss  0.3"
//   (Lightning), with or without lines drawn around
//   "***** eval metrics *****"                             and "  eval_loss = 0.3" (Hugging Face)
// A table ends with the first few lines that are none of its rows.
class MetricTable {
 public:
  // Whether lines without any hint must be shown to read().
  [[nodiscard]] bool open() const { return m_kind != Kind::none; }
  // `text` as for read_pairs(). True if the line belongs to a table: nothing else is to be read in it.
  bool read(std::string_view text, MetricLine& line);

 private:
  enum class Kind { none, rows, classes, values, pairs };
  bool open_with(std::string_view text);
  bool read_row(std::string_view text, MetricLine& line) const;
  bool read_class(std::string_view text, MetricLine& line) const;
  static bool read_value(std::string_view text, MetricLine& line);
  static bool read_pair(std::string_view text, MetricLine& line);

  Kind m_kind = Kind::none;
  std::vector<std::string> m_columns;  // by which the numbers are called; empty: not wanted
  int m_patience = 0;                  // lines that may still come between its rows
};

}  // namespace trainstep::result
