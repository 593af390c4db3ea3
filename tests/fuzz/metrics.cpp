// Any bytes as the log of a program and as the metrics that it wrote.
// SPDX-License-Identifier: Apache-2.0
#include "result/metrics.h"

#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "result/mpirun.h"
#include "result/tail.h"
#include "result/traceback.h"

using namespace trainstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  result::MetricReader reader;
  result::Tail tail(100, 4096);
  std::int64_t time = 0;
  for (const auto line : split(text, '\n')) {
    reader.feed(line, Time{Duration{++time}});
    tail.push(line);
  }
  for (const auto& series : reader.series()) {
    if (series.points.empty() || series.points.size() > 2000 || series.name.empty()) __builtin_trap();
    for (std::size_t i = 1; i < series.points.size(); ++i)
      if (series.points[i].time < series.points[i - 1].time) __builtin_trap();
  }
  const auto lines = tail.lines();
  if (const auto found = result::find_traceback(lines); found && (found->error.empty() || found->lines.empty())) __builtin_trap();
  if (const auto found = result::find_mpi_failure(lines); found && !found->exit_code && !found->signal) __builtin_trap();
  const auto written = result::read_metrics(text, "it");
  if (!written && written.error().kind != ErrorKind::input) __builtin_trap();
  return 0;
}
