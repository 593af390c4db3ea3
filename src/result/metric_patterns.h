// Finds metrics in the lines of a log by the user's regular expressions (job_options.metrics).
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
  std::string regex;  // RE2 syntax, UTF-8; the first capturing group is the value
  bool operator==(const MetricDefinition&) const = default;
};

inline constexpr std::size_t max_definitions = 40;  // the limit of SageMaker
inline constexpr std::size_t max_regex_length = 1000;

// Errors (input), without the location: an invalid metric name; a pattern that RE2 refuses, that has no group, or that exceeds the memory limit of
// one pattern (128 KB).
Result<void> check_metric_name(std::string_view name);
Result<void> check_regex(std::string_view regex);
// Checks everything: each definition, their number, duplicate names. "[1].regex: missing ): …", ": at most 40 …".
Result<void> check_definitions(const std::vector<MetricDefinition>& definitions);

// The compiled definitions, and what they have found. A search takes time linear in the length of the line, whatever the pattern; of a line of more
// than 16 KiB the first and last 8 KiB are read, down to 1000 bytes for a very large pattern.
class MetricPatterns {
 public:
  // Definitions that the checks refuse find nothing.
  explicit MetricPatterns(const std::vector<MetricDefinition>& definitions);
  ~MetricPatterns();
  MetricPatterns(const MetricPatterns&) = delete;
  MetricPatterns& operator=(const MetricPatterns&) = delete;

  // What the definitions find in a line replaces what `line` contains under their names, and belongs to the epoch and the step named in the text. If
  // there are several matches, the last one with a number is used; in a line of more than 1000 bytes with more than ten matches the last one in its
  // last 1000 bytes, or, if there is none, the last one.
  void read(std::string_view text, MetricLine& line);

  // Over all lines so far, by index of the definition; no_number: it has matched, but its group was not a number.
  enum class Found { nothing, no_number, number };
  [[nodiscard]] Found found(std::size_t definition) const;

 private:
  struct Pattern;
  std::vector<std::unique_ptr<Pattern>> m_patterns;  // by index of the definition; null: refused
};

}  // namespace trainstep::result
