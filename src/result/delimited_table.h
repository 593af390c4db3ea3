// Parses tables whose cells are separated by signs: CSV and Markdown.
//   epoch,train_loss,val_loss    | epoch | train_loss |    | Metric   | Value |    |  AP   | AP50  |
//   1,0.52,0.61                  |------:|-----------:|    |----------|-------|    |:-----:|:-----:|
//                                |     1 |       0.52 |    | accuracy |  0.93 |    | 40.21 | 61.00 |
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainstep::result {

struct MetricLine;

// A header has names only: one of them is epoch or step, at least one other a metric (metric_words.h). Or, in Markdown, the first says that metrics
// are below it, and the others that their values are, or the data that they were measured on: "| Metric | Train | Val |"; or all are average
// precisions, as in detectron2's single row, whose names begin with what it evaluates: bbox_AP50. A row has as many cells. Tables of anything else,
// such as models that are compared, are not read.
class DelimitedTable {
 public:
  // Whether the line is part of such a table. `text` is clean. A header replaces the previous one.
  bool read(std::string_view text, MetricLine& line);
  // Cheap pre-check.
  [[nodiscard]] bool may_read(std::string_view line) const;

 private:
  using Cells = std::vector<std::string_view>;
  bool read_header(const Cells& labels);
  bool read_names(const Cells& labels);
  bool read_cells(const Cells& cells, MetricLine& line);
  bool read_row(const Cells& cells, MetricLine& line) const;
  bool read_precisions(const Cells& labels);
  bool read_named(const Cells& cells, MetricLine& line) const;
  bool read_single(const Cells& cells, MetricLine& line);

  char m_sign = ',';                   // what separates the cells below the current header
  std::vector<std::string> m_columns;  // empty: no header yet; below names: the data; "": not a metric
  // named: the first column has the names. settings: the same, not of metrics.
  enum class Rows { epochs, named, single, settings } m_rows = Rows::epochs;
  std::string m_evaluated;                     // "bbox"
  std::optional<std::size_t> m_epoch, m_step;  // columns
};

}  // namespace trainstep::result
