// Metrics that regular expressions of the user find in the lines of a log (job_options.metrics).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace trainstep::result {

struct MetricLine;

struct MetricDefinition {
  std::string name;
  std::string regex;  // RE2's syntax, UTF-8; its first group in parentheses is the value
  bool operator==(const MetricDefinition&) const = default;
};

inline constexpr std::size_t most_definitions = 40;  // as SageMaker has it
inline constexpr std::size_t longest_regex = 1000;

// Errors (input), without the place where they stand: what no metric can be called; a pattern that RE2 refuses, that has no group, or is larger
// than what is kept for one (128 KB).
Result<void> check_metric_name(std::string_view name);
Result<void> check_regex(std::string_view regex);
// All of it: each of them, their number, no name twice. "[1].regex: missing ): …", ": at most 40 …".
Result<void> check_definitions(const std::vector<MetricDefinition>& definitions);

// The definitions, compiled, and what they have found. A search takes time in proportion to the line, whatever the pattern.
class MetricPatterns {
 public:
  // What the checks refuse finds nothing.
  explicit MetricPatterns(const std::vector<MetricDefinition>& definitions);
  ~MetricPatterns();
  MetricPatterns(const MetricPatterns&) = delete;
  MetricPatterns& operator=(const MetricPatterns&) = delete;

  // What the definitions find in the text of a line takes the place of what `line` says under their names, and it is of the epoch and the step that
  // the text names. Of several matches the last with a number counts; in a line of more than 1000 bytes those behind the tenth are looked for in its
  // last 1000, from a blank on.
  void read(std::string_view text, MetricLine& line);

  // In all lines so far, by the definition's place: no_number where it has matched, but its group was none.
  enum class Found { nothing, no_number, number };
  [[nodiscard]] Found found(std::size_t definition) const;

 private:
  struct Pattern;
  std::vector<std::unique_ptr<Pattern>> m_patterns;  // by the definition's place; null: refused
};

}  // namespace trainstep::result
