// SPDX-License-Identifier: Apache-2.0
#include "result/pod_report.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::result;

namespace {

PodReport example() {
  PodReport report;
  report.attempt = "00ff";
  report.exit_code = 0;
  report.verdict_class = VerdictClass::succeeded;
  report.primary = report.repeated = true;
  report.outputs.push_back(
      {.name = "model", .artifact = true, .present = true, .value = {}, .uri = "s3://b/elsewhere", .metadata = {{"accuracy", 0.9}}});
  report.outputs.push_back({.name = "accuracy", .artifact = false, .present = true, .value = 0.5, .uri = {}});
  report.outputs.push_back({.name = "nothing", .artifact = false, .present = true, .value = Json(nullptr), .uri = {}});
  report.outputs.push_back({.name = "metrics", .artifact = true, .present = true, .value = {}, .uri = {}, .no_file = true});
  report.bytes_in = std::int64_t{5} << 40;
  report.seconds_in = 1.5;
  report.bytes_out = 7;
  report.seconds_out = 0.25;
  return report;
}

PodReport round_trip(const PodReport& report) {
  auto read = read_pod_report(to_text(report));
  REQUIRE(read);
  return *read;
}

}  // namespace

TEST_CASE("a report survives a round trip through its text") {
  const auto report = example();
  const auto read = round_trip(report);
  CHECK(read.attempt == "00ff");
  CHECK(read.exit_code == 0);
  CHECK(read.verdict_class == VerdictClass::succeeded);
  CHECK(read.primary);
  CHECK(read.repeated);
  CHECK_FALSE(read.shortened);
  CHECK(read.message.empty());
  REQUIRE(read.outputs.size() == 4);
  CHECK(read.outputs[0].name == "model");
  CHECK(read.outputs[0].artifact);
  CHECK(read.outputs[0].present);
  CHECK_FALSE(read.outputs[0].value);
  CHECK(read.outputs[0].uri == "s3://b/elsewhere");
  CHECK(to_text(read.outputs[0].metadata) == R"({"accuracy":0.9})");
  CHECK_FALSE(read.outputs[1].artifact);
  CHECK(read.outputs[1].value == Json(0.5));
  CHECK(read.outputs[2].value == Json(nullptr));
  CHECK_FALSE(read.outputs[0].no_file);
  CHECK(read.outputs[3].no_file);
  CHECK(read.bytes_in == std::int64_t{5} << 40);
  CHECK(read.seconds_in == 1.5);
  CHECK(read.bytes_out == 7);
  CHECK(read.seconds_out == 0.25);
}

TEST_CASE("numbers that JSON cannot express survive a round trip at any depth, and equal strings stay strings") {
  auto report = example();
  constexpr auto infinite = std::numeric_limits<double>::infinity();
  report.outputs[1].value = Json{{"NaN", std::nan("")}, {"all", {1, -infinite, "NaN", Json{{"x", infinite}}}}};
  const auto value = round_trip(report).outputs[1].value.value();
  CHECK(std::isnan(value["NaN"].get<double>()));
  CHECK(value["all"] == Json{1, -infinite, "NaN", Json{{"x", infinite}}});
}

TEST_CASE("a failure survives a round trip with its class, code and message") {
  using enum VerdictClass;
  for (const auto verdict_class : {user, input, system, timeout, capacity, interrupted, cancelled}) {
    PodReport report;
    report.verdict_class = verdict_class;
    report.exit_code = 143;
    report.message = "input data: \"quoted\"\nand a second line, é";
    report.shortened = true;
    const auto read = round_trip(report);
    CHECK(read.verdict_class == verdict_class);
    CHECK(read.exit_code == 143);
    CHECK(read.message == report.message);
    CHECK(read.shortened);
    CHECK_FALSE(read.primary);
  }
}

TEST_CASE("other termination messages of programs and the kubelet are not reports") {
  const auto* text =
      GENERATE("", "{", "{}", "[]", "null", "Traceback (most recent call last):\n", R"({"accuracy": 0.9})", R"({"trainstep_report": 1})",
               R"({"trainstep_report": 1, "class": "no such"})", R"({"trainstep_report": true, "class": "user"})",
               R"({"trainstep_report": "1", "class": "user"})", R"({"trainstep_report": 1, "class": "user", "exit_code": 256})",
               R"({"trainstep_report": 1, "class": "user", "outputs": {}})", R"({"trainstep_report": 1, "class": "user", "outputs": ["x"]})",
               R"({"trainstep_report": 1, "class": "user", "outputs": [{"name": "m", "metadata": 3}]})",
               R"({"trainstep_report": 1, "class": "user", "in": 3})", R"(log line {"trainstep_report": 1, "class": "user"})");
  CAPTURE(text);
  CHECK_FALSE(read_pod_report(text));
}

TEST_CASE("a report of another version is ignored; unknown members are ignored") {
  CHECK(read_pod_report(R"({"trainstep_report": 1, "class": "user", "later": [1]})"));
  CHECK_FALSE(read_pod_report(R"({"trainstep_report": 2, "class": "user"})"));
  CHECK_FALSE(read_pod_report(R"({"trainstep_report": 0, "class": "user"})"));
}

TEST_CASE("odd numbers of bytes and seconds do no harm") {
  const auto report = read_pod_report(R"({"trainstep_report": 1, "class": "user", "in": {"bytes": 1e300, "seconds": "x"}, "out": {"bytes": -5}})");
  REQUIRE(report);
  CHECK(report->bytes_in >= 0);
  CHECK(report->bytes_out >= 0);
  CHECK(report->seconds_in == 0);
}

TEST_CASE("a report cut off by the kubelet at 4 KiB is ignored, one that just fits is read") {
  auto report = example();
  report.outputs[1].value = "";
  const auto without = to_text(report).size();
  report.outputs[1].value = std::string(max_termination_message_size - without, 'x');
  const auto whole = to_text(report);
  REQUIRE(whole.size() == max_termination_message_size);
  CHECK(read_pod_report(whole.substr(0, max_termination_message_size)));
  report.outputs[1].value = std::string(max_termination_message_size - without + 1, 'x');
  CHECK_FALSE(read_pod_report(to_text(report).substr(0, max_termination_message_size)));
}

namespace {

PodReport with_curves() {
  auto report = example();
  auto& curves = report.outputs.front().curves;
  curves.push_back({"loss", MetricSeries::Axis::step, {}});
  for (int step = 0; step < 10; ++step) curves.front().points.push_back({step * 1.0, 0.1 * step, Time(std::chrono::seconds(step))});
  curves.push_back({"nan", MetricSeries::Axis::step, {{1e17, std::nan(""), {}}}});
  return report;
}

}  // namespace

TEST_CASE("curves survive a round trip through a report's text") {
  auto report = with_curves();
  report.curves_thinned = true;
  const auto read = round_trip(report);
  CHECK(read.curves_thinned);
  CHECK(read.outputs[1].curves.empty());
  const auto& curves = read.outputs[0].curves;
  REQUIRE(curves.size() == 2);
  CHECK(curves[0].name == "loss");
  CHECK(curves[0].axis == MetricSeries::Axis::step);
  REQUIRE(curves[0].points.size() == 10);
  CHECK(curves[0].points[3].x == 3);
  CHECK(curves[0].points[3].value == 0.1 * 3);
  CHECK(curves[0].points[3].time == Time(std::chrono::seconds(3)));
  CHECK(curves[1].points.front().x == 1e17);
  CHECK(std::isnan(curves[1].points.front().value));
}

TEST_CASE("an invalid curve is ignored, and the report is still used") {
  for (const auto* curves :
       {"1", "[1]", "[{}]", R"([{"name": 1, "points": [[1, 2, 3]]}])", R"([{"name": "x", "points": []}])", R"([{"name": "x", "points": [1]}])",
        R"([{"name": "x", "points": [[1, 2]]}])", R"([{"name": "x", "points": [["1", 2, 3]]}])", R"([{"name": "x", "points": [[1, 2, 3.5]]}])"}) {
    CAPTURE(curves);
    const auto read =
        read_pod_report(std::string(R"({"trainstep_report": 1, "class": "succeeded", "outputs": [{"name": "m", "curves": )") + curves + "}]}");
    REQUIRE(read);
    REQUIRE(read->outputs.size() == 1);
    CHECK(read->outputs[0].curves.empty());
  }
}

TEST_CASE("curves are thinned out to their ends, to their last value, to nothing") {
  auto report = with_curves();
  thin_curves(report, 4);
  CHECK(report.outputs[0].curves[0].points.size() == 4);
  thin_curves(report, 1);
  REQUIRE(report.outputs[0].curves[0].points.size() == 1);
  CHECK(report.outputs[0].curves[0].points[0].x == 9);
  CHECK(report.outputs[0].curves.size() == 2);
  thin_curves(report, 0);
  CHECK(report.outputs[0].curves.empty());
}
