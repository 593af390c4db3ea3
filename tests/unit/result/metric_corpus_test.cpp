// Lines that real programs print, each with what must be read in it. `tests/unit/result/metrics/*.log`: the head (#) says where the lines come from,
// ## stands before a part; below a line, behind =>, is what it says. A line without that says nothing. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "result/metric_filter.h"
#include "result/metric_line.h"
#include "result/metric_table.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::result;

namespace {

const std::filesystem::path folder = "tests/unit/result/metrics";
constexpr std::string_view mark = "   =>";

struct Entry {
  std::size_t number = 0;  // of the line
  std::string text;
  std::string said;
};

std::vector<Entry> entries_of(const std::filesystem::path& path) {
  const auto text = read_file(path, 1U << 20U);
  REQUIRE(text);
  std::vector<Entry> entries;
  std::size_t number = 0;
  for (const auto line : split(trim(*text), '\n')) {
    ++number;
    if (line.starts_with(mark) && !entries.empty())
      entries.back().said = line.substr(mark.size());
    else if (!line.starts_with("# ") && !line.starts_with("## "))
      entries.push_back({number, std::string(line), ""});
  }
  return entries;
}

std::string show(const MetricLine& line) {
  std::string text;
  for (const auto& metric : line.metrics) text += fmt::format(" {}={:.9g}", metric.name, metric.value);
  if (line.epoch) text += fmt::format(" @epoch={:g}", *line.epoch);
  if (line.progress.epochs) text += fmt::format("/{}", *line.progress.epochs);
  if (line.step) text += fmt::format(" @step={:g}", *line.step);
  if (line.of_epoch) text += " @of-epoch";
  return text;
}

// As a log's reader does.
MetricLine read(std::string_view line, MetricTable& table) {
  const auto hints = look_for_metrics(line);
  return hints.any() || table.open() ? read_metric_line(line, hints, table) : MetricLine();
}

std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

TEST_CASE("what real programs print is read as it is meant") {
  const auto files = corpus();
  REQUIRE(files.size() > 10);
  for (const auto& path : files) {
    MetricTable table;
    std::size_t found = 0;
    for (const auto& entry : entries_of(path)) {
      CAPTURE(path.string(), entry.number, entry.text);
      CHECK(show(read(entry.text, table)) == entry.said);
      found += entry.said.empty() ? 0 : 1;
    }
    CAPTURE(path.string());
    if (path.filename() != "ordinary.log") CHECK(found > 0);
  }
}

TEST_CASE("ordinary lines of logs have no metric") {
  MetricTable table;
  for (const auto& entry : entries_of(folder / "ordinary.log")) {
    CAPTURE(entry.number, entry.text);
    CHECK(read(entry.text, table).metrics.empty());
    CHECK(entry.said.find('=') == entry.said.find("@epoch=") + (entry.said.empty() ? 0 : 6));
  }
}

TEST_CASE("the first look at a line finds a word wherever it stands, and nothing where none is") {
  for (std::size_t before = 0; before < 70; ++before)
    for (std::size_t behind = 0; behind < 40; ++behind) {
      CAPTURE(before, behind);
      const auto line = [&](std::string_view word) { return std::string(before, '.') + std::string(word) + std::string(behind, '.'); };
      CHECK(look_for_metrics(line(" loss: 0.5")).has(Hint::words));
      CHECK(look_for_metrics(line(" Acc 93%")).has(Hint::words));
      CHECK(look_for_metrics(line("Epoch")).has(Hint::words));
      CHECK(look_for_metrics(line("NaN")).has(Hint::words));
      CHECK(look_for_metrics(line("=")).has(Hint::pairs));
      CHECK(look_for_metrics(line(" - /:")).has(Hint::keras));
      CHECK(look_for_metrics(line("{:")).has(Hint::object));
      CHECK_FALSE(look_for_metrics(line(" [rank 0] 10:00:00.5: took 12.5")).any());
    }
}

TEST_CASE("a rank's mark, colours and a clock before a line change nothing") {
  for (const std::string_view before : {"[rank0]: ", "[1,0]<stdout>:", "[default3]:", "INFO:root:", "\x1b[32m", "2026-05-01 10:00:00,123 - INFO - ",
                                        "[2026-05-01 10:00:00] ", "I0501 10:00:00.123456  4711 train.py:96] ", "0:\r100%\r"}) {
    CAPTURE(before);
    MetricTable table;
    CHECK(show(read(std::string(before) + "Epoch 1/5, Loss: 0.5432, Acc: 91.2%", table)) == " loss=0.5432 acc=91.2 @epoch=1/5");
  }
}

TEST_CASE("a table ends, and what follows it is read as ever") {
  MetricTable table;
  const auto said = [&](std::string_view line) { return show(read(line, table)); };
  CHECK(said("epoch     train_loss  valid_loss  time").empty());
  CHECK(said("0         0.5         0.6         00:01") == " train_loss=0.5 valid_loss=0.6 @epoch=0");
  for (int i = 0; i < 30; ++i) CHECK(said("other").empty());
  CHECK_FALSE(table.open());
  CHECK(said("1         0.5         0.6         00:01").empty());
  CHECK(said("***** eval metrics *****").empty());
  CHECK(said("  eval_loss = 0.3") == " eval_loss=0.3 @of-epoch");
  CHECK(said("done").empty());
  CHECK(said("  eval_loss = 0.3").empty());
}
