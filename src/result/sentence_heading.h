// Words before several values of a line that are part of the name of each.
//   AUC: train=0.95, valid=0.93    train_AUC=0.95 valid_AUC=0.93
//   F1 (macro=0.8, micro=0.9)      F1_macro=0.8 F1_micro=0.9
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "result/metric_phrase.h"
#include "result/sentence_separators.h"

namespace trainstep::result {

class SentenceHeading {
 public:
  // A phrase without a value of its own replaces the heading; `gap` follows it. `level`: a log level precedes it; `counted`: a number does.
  void take(const Phrase& phrase, Gap gap, bool level, bool counted);
  // A value that does not belong to a heading ends it.
  void end() { m_kind = Kind::none; }
  // From here on it applies only to names of data: "F1 (macro=0.8) train=0.9".
  void narrow() { m_all = false; }
  // Completes the name of a value below the heading: train_AUC, F1_micro. False: the name stays. It is empty if the value is not a metric. `printed`:
  // the name with its value.
  bool complete(std::string& name, std::string_view printed);

 private:
  enum class Kind { none, metric, setting, goal, other };
  Kind m_kind = Kind::none;
  std::string m_title;  // "AUC" in "AUC: train=0.95, valid=0.93"
  bool m_all = false;   // it applies to all names, not only to those of data
};

}  // namespace trainstep::result
