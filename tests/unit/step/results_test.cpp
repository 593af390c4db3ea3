// SPDX-License-Identifier: Apache-2.0
#include "step/results.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/text.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::step;

TEST_CASE("an output holds metrics if its name ends so, in whatever case") {
  for (const auto* name : {"metrics", "Metrics", "METRICS", "mlpipeline_metrics", "MLPipeline Metrics", "eval-metrics"}) {
    CAPTURE(name);
    CHECK(names_metrics(name));
  }
  for (const auto* name : {"", "metric", "metrics_file", "metrics2", "model", "metrics "}) {
    CAPTURE(name);
    CHECK_FALSE(names_metrics(name));
  }
}

TEST_CASE("a Float that a program returns by name is a metric, and takes precedence over its log") {
  run::Outcome outcome;
  const auto add = [&](const std::string& name, Json value) -> auto& {
    auto& output = outcome.outputs.emplace_back();
    output.name = name;
    output.present = true;
    output.value = std::move(value);
    output.floating = true;
    return output;
  };
  add("accuracy", 0.75);
  add("recall", 1);
  add("epochs", 3).floating = false;  // counts something
  add("Output", 0.5);                 // has no name of its own
  add("good", true);
  add("words", "0.5");
  add("sizes", Json::array({1, 2}));
  add("given up", 0.25).present = false;
  add("f1", 0.1);
  add("eval-metrics", Json{{"f1", 0.9}});
  for (const auto* name : {"accuracy", "loss"}) {
    auto& series = outcome.series.emplace_back();
    series.name = name;
    series.points.push_back({1, 0.125, Time{}});
  }
  const auto metrics = final_metrics(outcome, [](const std::string&, std::size_t) -> Result<std::string> { return input_error("no file is read"); });
  CHECK(metrics_object(metrics) == Json{{"f1", 0.9}, {"accuracy", 0.75}, {"loss", 0.125}, {"recall", 1.0}});
}

TEST_CASE("metrics are read from an output of their type, whatever its name") {
  run::Outcome outcome;
  for (const auto* name : {"scores", "model"}) {
    auto& output = outcome.outputs.emplace_back();
    output.name = name;
    output.artifact = output.present = output.earlier = true;
    output.metadata = {{std::string(name) + "-accuracy", 0.5}};
    output.metrics = output.name == "scores";
  }
  CHECK(metrics_object(final_metrics(outcome, [](const std::string&, std::size_t) -> Result<std::string> {
          return input_error("no file is read");
        })) == Json{{"scores-accuracy", 0.5}});
}

TEST_CASE("for a name with several sources the most explicit one is used, as a number or its text") {
  const auto counts = [](const Json& metadata, const std::string& file) {
    run::Outcome outcome;
    auto& series = outcome.series.emplace_back();
    series.name = "accuracy";
    series.points.push_back({1, 0.125, Time{}});
    auto& returned = outcome.outputs.emplace_back();
    returned.name = "accuracy";
    returned.present = returned.floating = true;
    returned.value = 0.5;
    auto& output = outcome.outputs.emplace_back();
    output.name = "metrics";
    output.path = "/m";
    output.artifact = output.present = true;
    output.metadata = metadata;
    return metrics_object(final_metrics(outcome, [&](const std::string&, std::size_t) -> Result<std::string> { return file; }));
  };
  CHECK(counts({{"accuracy", 0.25}}, "") == Json{{"accuracy", 0.25}});
  CHECK(counts({{"accuracy", "0.25"}}, "") == Json{{"accuracy", 0.25}});
  CHECK(counts({{"accuracy", "0.25"}}, R"({"accuracy": "0.75"})") == Json{{"accuracy", 0.75}});
  CHECK(counts({{"accuracy", "high"}, {"ok", true}}, R"({"accuracy": "high"})") == Json{{"accuracy", 0.5}});
}

TEST_CASE("if several outputs have a metric of one name, the step's own file takes precedence, and no value is lost") {
  run::Outcome outcome;
  const auto add = [&](const std::string& name, const std::string& step_path, double value) {
    auto& output = outcome.outputs.emplace_back();
    output.name = name;
    output.step_path = step_path;
    output.present = true;
    output.value = Json{{"acc", value}, {"same", 1}};
  };
  add("train_metrics", "", 0.5);
  add("metrics", "metrics", 0.75);
  add("eval_metrics", "", 0.25);
  const auto metrics = final_metrics(outcome, [](const std::string&, std::size_t) -> Result<std::string> { return input_error("no file is read"); });
  CHECK(metrics_object(metrics) == Json{{"acc", 0.75}, {"same", 1.0}, {"train_metrics/acc", 0.5}, {"eval_metrics/acc", 0.25}});
}

TEST_CASE("metrics of the step's own file that cannot be read are reported") {
  run::Outcome outcome;
  auto& output = outcome.outputs.emplace_back();
  output.name = output.step_path = "metrics";
  output.path = "/m";
  output.present = output.artifact = true;
  const auto told = [&](const std::string& file) {
    return join(unread_metrics(outcome, [&](const std::string&, std::size_t) -> Result<std::string> { return file; }), "; ");
  };
  CHECK(told(R"({"acc": 0.5})").empty());
  CHECK(told(" \n").empty());
  for (const auto* file : {R"({"acc": 0.5)", "acc=0.5", "[0.5]"}) {
    CHECK(told(file).starts_with("metrics: "));
    CHECK(told(file).ends_with("the file is left as the program wrote it, without the metrics from the log"));
  }
  output.name = "eval_metrics", output.step_path.clear();
  CHECK(told("a,b\n1,2\n").empty());  // a table
  output.no_file = true;
  CHECK(told(R"({"acc": 0.5})") == "eval_metrics: what the program wrote is a folder, expected a file; ignoring its metrics");
  CHECK(final_metrics(outcome, [](const std::string&, std::size_t) -> Result<std::string> { return std::string(R"({"acc": 0.5})"); }).empty());
}

TEST_CASE("what is not a number among the program's own metrics is reported by name, and whether it stays in the file") {
  run::Outcome outcome;
  auto& output = outcome.outputs.emplace_back();
  output.name = output.step_path = "metrics";
  output.path = "/m";
  output.present = output.artifact = true;
  const auto told = [&](const std::string& file) {
    return join(other_members(outcome, [&](const std::string&, std::size_t) -> Result<std::string> { return file; }), "; ");
  };
  const std::string own = R"({"a": true, "acc": 0.5, "text": "0.5", "nan": NaN, "split": "test", "none": null, "deep": {"b": 1}})";
  CHECK(told(R"({"acc": 0.5, "text": "0.5", "nan": NaN})").empty());
  CHECK(told(own) ==
        "metrics: a, split, deep are not numbers: in the file, but not among the metrics; metrics: none is not a number: omitted from the file");
  CHECK(told(R"({"metadata": {"acc": 0.5, "ok": true}})") == "metrics: ok is not a number: omitted from the file");
  CHECK(told(R"({"metrics": [{"name": "acc", "numberValue": 0.5}], "by": "me"})") == "metrics: by is not a number: omitted from the file");
  CHECK(told(R"({"acc": 0.5)").empty());  // unread_metrics() reports that
  output.step_path.clear();               // the step does not write it
  CHECK(told(own) == "metrics: a, split, none, deep are not numbers: in the file, but not among the metrics");
  output.name = "evaluation";
  CHECK(told(own).empty());
}

TEST_CASE("values that the program returned as metrics are reported if they are not numbers") {
  run::Outcome outcome;
  auto& output = outcome.outputs.emplace_back();
  output.name = output.step_path = "metrics";
  output.present = true;
  output.value = Json{{"acc", 0.5}, {"converged", true}};
  const auto told = other_members(outcome, [](const std::string&, std::size_t) -> Result<std::string> { return input_error("no file is read"); });
  CHECK(told == std::vector<std::string>{"metrics: converged is not a number: in the file, but not among the metrics"});
}

TEST_CASE("metrics are read from the outputs that are named so, by any spelling, and from no other") {
  run::Outcome outcome;
  const auto add = [&](const std::string& name, double value) {
    auto& output = outcome.outputs.emplace_back();
    output.name = name;
    output.present = true;
    output.value = Json{{"score-" + name, value}};
  };
  add("Eval Metrics", 1);
  add("metrics", 2);
  add("scores", 3);
  outcome.outputs.back().present = true;
  add("other-metrics", 4);
  outcome.outputs.back().present = false;
  const auto metrics = final_metrics(outcome, [](const std::string&, std::size_t) -> Result<std::string> { return input_error("no file is read"); });
  CHECK(metrics_object(metrics) == Json{{"score-Eval Metrics", 1.0}, {"score-metrics", 2.0}});
}

namespace {

result::MetricSeries curve(const std::string& name, const std::vector<double>& values) {
  result::MetricSeries series{.name = name, .axis = result::MetricSeries::Axis::step, .points = {}};
  for (const auto value : values) series.points.push_back({static_cast<double>(series.points.size()), value, {}});
  return series;
}

std::string shown(const std::vector<result::MetricSeries>& curves) {
  std::string all;
  for (const auto& series : curves) {
    all += series.name + ":";
    for (const auto& point : series.points) all += fmt::format(" {}", point.value);
    all += '\n';
  }
  return all;
}

}  // namespace

TEST_CASE("curves are the log's, and those of event files that the log has not") {
  run::Outcome outcome;
  outcome.series = {curve("loss", {3, 2}), curve("acc", {9})};
  outcome.outputs.resize(2);
  outcome.outputs[0].name = "model";
  outcome.outputs[0].curves = {curve("loss", {1, 1}), curve("acc", {7, 8}), curve("lr", {5, 6})};
  outcome.outputs[1].name = "logs";
  outcome.outputs[1].curves = {curve("lr", {0, 0}), curve("logs/lr", {4}), curve("loss", {0})};
  CHECK(shown(curves_of(outcome)) == "loss: 3 2\nacc: 7 8\nlr: 5 6\nlogs/lr: 0 0\nlogs/logs/lr: 4\n");
}

TEST_CASE("the last value of an event file is used if no other source has its name") {
  run::Outcome outcome;
  outcome.series = {curve("loss", {3, 2}), curve("acc", {9})};
  outcome.outputs.resize(2);
  outcome.outputs[0].name = "model";
  outcome.outputs[0].curves = {curve("acc", {7, 8}), curve("lr", {5, 6}), curve("f1", {1}), curve("auc", {std::nan("")})};
  outcome.outputs[1].name = "f1";
  outcome.outputs[1].present = outcome.outputs[1].floating = true;
  outcome.outputs[1].value = 0.5;
  const auto metrics = final_metrics(outcome, [](const std::string&, std::size_t) -> Result<std::string> { return input_error("no file is read"); });
  CHECK(metrics_object(metrics) == Json{{"loss", 2.0}, {"acc", 9.0}, {"f1", 0.5}, {"lr", 6.0}});
  CHECK(std::isnan(metrics.back().value));
}
