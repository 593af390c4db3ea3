// Parses metrics that a program prints as a table: a line of names, and below it a line of numbers for each epoch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "result/coco_summary.h"
#include "result/delimited_table.h"
#include "result/wandb_summary.h"

namespace trainstep::result {

struct MetricLine;

// fastai        epoch     train_loss  valid_loss  accuracy  time
// scikit-learn        Iter       Train Loss   Remaining Time
// spaCy         E    #       LOSS TEXTCAT  CATS_SCORE  SCORE
// Ultralytics         Epoch    GPU_mem   box_loss   cls_loss  Instances       Size
// and        Class     Images  Instances      Box(P          R      mAP50  mAP50-95)
//
// Stable-Baselines3, a box whose groups end in a slash:
// | train/                  |               |
// |    value_loss           | 89            |
//
// CSV and Markdown are read by delimited_table.h, a run's summary by wandb_summary.h. Rows printed by pycocotools (coco_summary.h) need no header.
//
// The first name in a header is one of these, and at least one other names a metric (metric_words.h). A row has as many words, the first of which is
// a count, or "all" below Class; its values below names of metrics are read. Other lines may occur in between.
class MetricTable {
 public:
  // Whether the line is part of a table. `text` is clean. A header replaces the previous one.
  bool read(std::string_view text, MetricLine& line);
  // Cheap pre-check: whether the line could be a header, or a row below the current one.
  [[nodiscard]] bool may_read(std::string_view line) const;

 private:
  bool read_box(std::string_view text, MetricLine& line);
  bool read_header(std::string_view text);
  bool read_row(std::string_view text, MetricLine& line) const;

  std::vector<std::string> m_columns;  // empty: no header yet; "": not a metric
  bool m_in_box = false;               // below the name of a group
  CocoSummary m_coco;
  WandbSummary m_wandb;
  DelimitedTable m_delimited;
  bool m_of_steps = false;
  bool m_of_classes = false;
  std::optional<std::size_t> m_step_column{};
  std::optional<std::size_t> m_mark_column{};  // skorch's "cp", which is empty in most rows
};

}  // namespace trainstep::result
