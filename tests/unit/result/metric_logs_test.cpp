// Lines as real programs print them, in data/logs/*.txt, and below each, after "   -> ", what is read from it; a line without one must stay unread.
// "# " begins a log. To have another line read, see result/metric_line.h.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "result/metric_line.h"
#include "result/metric_table.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::result;

namespace {

constexpr auto folder = "tests/unit/result/data/logs";
constexpr std::string_view beside = "   -> ";

struct Printed {
  std::string line;    // in the file, with \t, \r, \e, \b for what they stand for
  std::string said;    // "loss=0.3 epoch 1 of 5 step 100"; empty: nothing
  bool first = false;  // of a log
};

std::vector<std::filesystem::path> logs() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::vector<Printed> read_log(const std::filesystem::path& path) {
  std::vector<Printed> all;
  std::ifstream file(path);
  bool first = true;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("# ")) {
      first = true;
    } else if (line.starts_with(beside)) {
      all.back().said = line.substr(beside.size());
    } else {
      all.push_back({line, {}, std::exchange(first, false)});
    }
  }
  return all;
}

std::string unescaped(const std::string& line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto kind = line[i] == '\\' && i + 1 < line.size() ? std::string_view("treb\\").find(line[i + 1]) : std::string_view::npos;
    if (kind == std::string_view::npos) {
      text += line[i];
    } else {
      text += "\t\r\x1B\b\\"[kind];
      ++i;
    }
  }
  return text;
}

std::string show(const MetricLine& line) {
  std::vector<std::string> words;
  for (const auto& metric : line.metrics) words.push_back(fmt::format("{}={:g}", metric.name, metric.value));
  for (const auto& metric : line.if_new) words.push_back(fmt::format("{}^{:g}", metric.name, metric.value));
  for (const auto& metric : line.if_known) words.push_back(fmt::format("{}~{:g}", metric.name, metric.value));
  if (line.epoch) words.push_back(fmt::format("epoch {:g}", *line.epoch));
  if (line.progress.epochs) words.push_back(fmt::format("of {}", *line.progress.epochs));
  if (line.step) words.push_back(fmt::format("step {:g}", *line.step));
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

TEST_CASE("output of real programs is read") {
  REQUIRE(logs().size() >= 16);
  for (const auto& path : logs()) {
    CAPTURE(path.filename().string());
    const auto printed = read_log(path);
    REQUIRE(printed.size() > 3);
    MetricTable table;
    for (const auto& each : printed) {
      CAPTURE(each.line);
      if (each.first) table = {};
      const auto line = unescaped(each.line);
      const bool looked_at = may_have_metrics(line) || table.may_read(line);
      const auto said = show(read_metric_line(line, table));
      CHECK(said == each.said);
      CHECK((looked_at || said.empty()));  // what is cheap hides nothing
    }
  }
}

TEST_CASE("nothing is read from ordinary lines") {
  const auto printed = read_log(std::filesystem::path(folder) / "ordinary.txt");
  REQUIRE(printed.size() > 100);
  CHECK(std::ranges::all_of(printed, [](const Printed& each) { return each.said.empty(); }));
}
