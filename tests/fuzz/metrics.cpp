// Any bytes as the log of a program and as the metrics that it wrote; its first lines also as patterns of the user.
// SPDX-License-Identifier: Apache-2.0
#include "result/metrics.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "result/metric_patterns.h"
#include "result/mpirun.h"
#include "result/tail.h"
#include "result/traceback.h"

using namespace trainstep;

namespace {

void check(const result::MetricReader& reader) {
  for (const auto& series : reader.series()) {
    if (series.points.empty() || series.points.size() > 2000 || series.name.empty()) __builtin_trap();
    for (std::size_t i = 1; i < series.points.size(); ++i)
      if (series.points[i].time < series.points[i - 1].time) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  result::MetricReader reader;
  result::Tail tail(100, 4096);
  std::int64_t time = 0;
  for (const auto line : split(text, '\n')) {
    reader.feed(line, Time{Duration{++time}});
    tail.push(line);
  }
  check(reader);
  const auto lines_of_text = split(text, '\n');
  std::vector<result::MetricDefinition> definitions;
  for (const auto* name : {"loss", "epoch", "step"})
    if (definitions.size() < lines_of_text.size()) definitions.push_back({name, std::string(lines_of_text[definitions.size()])});
  if (const auto checked = result::check_definitions(definitions); !checked && checked.error().message.empty()) __builtin_trap();
  result::MetricReader defined(std::make_shared<result::MetricPatterns>(definitions));
  for (const auto line : lines_of_text) defined.feed(line, Time{Duration{++time}});
  check(defined);
  const auto lines = tail.lines();
  if (const auto found = result::find_traceback(lines); found && (found->error.empty() || found->lines.empty())) __builtin_trap();
  if (const auto found = result::find_mpi_failure(lines); found && !found->exit_code && !found->signal) __builtin_trap();
  const auto written = result::read_metrics(text, "it");
  if (!written && written.error().kind != ErrorKind::input) __builtin_trap();
  return 0;
}
