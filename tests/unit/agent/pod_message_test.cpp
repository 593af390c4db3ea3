// What the kubelet gets to see of a report.
// SPDX-License-Identifier: Apache-2.0
#include "agent/pod_message.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::agent;
using Catch::Matchers::Contains;
using result::PodReport;
using result::VerdictClass;

namespace {

// As the kubelet makes it: an empty file.
struct Log {
  TempDir folder;
  std::string path = (folder.path() / "termination-log").string();
  Log() { std::ofstream{path}; }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] PodReport report() const {
    CHECK(text().size() <= result::max_termination_message_size);
    auto read = result::read_pod_report(text());
    REQUIRE(read);
    return *read;
  }
};

PodReport success() {
  PodReport report;
  report.attempt = "00ff";
  report.verdict_class = VerdictClass::succeeded;
  report.primary = true;
  return report;
}

}  // namespace

TEST_CASE("a success reports the returned values") {
  const Log log;
  auto report = success();
  report.outputs.push_back({.name = "accuracy", .artifact = false, .present = true, .value = 0.5, .uri = {}});
  write_termination_message(report, log.path);
  CHECK(log.report().outputs.front().value == Json(0.5));
  CHECK_FALSE(log.report().shortened);
}

TEST_CASE("secrets in the container's environment that a store quotes are redacted") {
  const Log log;
  ::setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMIK7MDENG", 1);
  PodReport report;
  report.verdict_class = VerdictClass::input;
  report.message = "the store answered 403 (no key wJalrXUtnFEMIK7MDENG here)";
  write_termination_message(report, log.path);
  leave_report(report, log.folder.path().string());
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  CHECK(log.report().message == "the store answered 403 (no key [redacted] here)");
  std::ifstream left(log.folder.path() / "report.json");
  const std::string text{std::istreambuf_iterator<char>(left), {}};
  CHECK_THAT(text, Contains("[redacted]") && !Contains("wJalr"));
}

TEST_CASE("values that do not fit are omitted, and this is reported") {
  const Log log;
  auto report = success();
  report.outputs.push_back({.name = "text", .artifact = false, .present = true, .value = std::string(5'000, 'x'), .uri = {}});
  report.outputs.push_back({.name = "model", .artifact = true, .present = true, .value = {}, .uri = {}, .metadata = {{"a", 1}}});
  write_termination_message(report, log.path);
  const auto told = log.report();
  CHECK(told.shortened);
  CHECK(told.attempt == "00ff");
  REQUIRE(told.outputs.size() == 2);
  CHECK_FALSE(told.outputs[0].value);
  CHECK(told.outputs[0].present);
  CHECK(told.outputs[1].metadata.empty());
}

TEST_CASE("more outputs than there is room for are left out altogether") {
  const Log log;
  auto report = success();
  for (int i = 0; i < 200; ++i)
    report.outputs.push_back({.name = "output_" + std::to_string(i), .artifact = true, .present = true, .value = {}, .uri = {}});
  write_termination_message(report, log.path);
  CHECK(log.report().shortened);
  CHECK(log.report().primary);
}

TEST_CASE("a message of any length and kind leaves a report that can be read") {
  const auto message = GENERATE(
      std::string(4'000, 'x'), std::string(100'000, 'x'), "input data: " + std::string(50'000, '\x1b'), "input data: " + std::string(50'000, '"'),
      "x" + [] {
        std::string text;
        for (int i = 0; i < 3'000; ++i) text += "é";
        return text;
      }());
  const Log log;
  PodReport report;
  report.verdict_class = VerdictClass::system;
  report.exit_code = 3;
  report.message = message;
  write_termination_message(report, log.path);
  const auto told = log.report();
  CHECK(told.verdict_class == VerdictClass::system);
  CHECK(told.exit_code == 3);
  CHECK(told.message.substr(0, 300) == message.substr(0, 300));
  CHECK(told.message.find("\xEF\xBF\xBD") == std::string::npos);  // no character was cut in two
}

TEST_CASE("a program that has failed by itself leaves the message to its log's last lines") {
  const Log log;
  PodReport report;
  report.verdict_class = VerdictClass::user;
  report.exit_code = 1;
  write_termination_message(report, log.path);
  CHECK(log.text().empty());
  report.message = "output accuracy: the program succeeded, but did not write its value";
  write_termination_message(report, log.path);
  CHECK(log.report().message == report.message);
}

TEST_CASE("a later report replaces an earlier one, whatever their lengths") {
  const Log log;
  auto report = success();
  report.outputs.push_back({.name = std::string(100, 'n'), .artifact = true, .present = true, .value = {}, .uri = {}});
  write_termination_message(report, log.path);
  write_termination_message(success(), log.path);
  CHECK(log.report().outputs.empty());
}

TEST_CASE("outside a pod there is no termination log, and none is made") {
  const TempDir folder;
  const auto path = (folder.path() / "termination-log").string();
  write_termination_message(success(), path);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("an error before the task was read is reported with its class") {
  const Log log;
  report_error(input_error("task: no object"), log.path);
  CHECK(log.report().verdict_class == VerdictClass::input);
  CHECK(log.report().exit_code == 2);
  CHECK(log.report().message == "task: no object");
}

TEST_CASE("curves are included only if there is room after everything else") {
  const Log log;
  auto report = success();
  report.outputs.push_back({.name = "model", .artifact = true, .present = true, .value = {}, .uri = {}});
  report.outputs.push_back({.name = "text", .artifact = false, .present = true, .value = std::string(600, 'x'), .uri = {}});
  auto& curves = report.outputs.front().curves;
  const auto add = [&](const std::string& name, int points) {
    curves.push_back({name, result::MetricSeries::Axis::step, {}});
    for (int step = 0; step < points; ++step) curves.back().points.push_back({step * 1.0, step * 1.0, {}});
  };
  add("loss", 2);
  write_termination_message(report, log.path);
  CHECK_FALSE(log.report().curves_thinned);
  CHECK(log.report().outputs[0].curves.front().points.size() == 2);

  add("long", 1000);
  write_termination_message(report, log.path);
  CHECK(log.text().size() <= 1024);
  CHECK(log.report().curves_thinned);
  CHECK(log.report().outputs[0].curves.back().points.back().x == 999);
  CHECK(log.report().outputs[1].value->get<std::string>().size() == 600);

  for (int i = 0; i < 100; ++i) add("c" + std::to_string(i), 1);
  write_termination_message(report, log.path);
  CHECK(log.report().curves_thinned);
  CHECK(log.report().outputs[0].curves.empty());
  CHECK_FALSE(log.report().shortened);
  CHECK(log.report().outputs[1].value->get<std::string>().size() == 600);
}
