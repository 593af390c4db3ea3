// SPDX-License-Identifier: Apache-2.0
#include "result/metrics.h"

#include <fmt/format.h>

#include <cmath>

#include "base/max_line_length.h"
#include "result/metric_line.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::result;

namespace {

std::string show(const std::vector<Metric>& metrics) {
  std::string text;
  for (const auto& metric : metrics)
    text += fmt::format("{}{}={:g}{}", text.empty() ? "" : " ", metric.name, metric.value, metric.percentage ? "%" : "");
  return text;
}

std::string show(const Progress& progress) {
  const auto number = [](const auto& value) { return value ? std::to_string(*value) : std::string("-"); };
  return number(progress.epoch) + "/" + number(progress.epochs);
}

// All that one line says.
std::string said(std::string_view line) {
  MetricReader reader;
  reader.feed(line, Time{});
  return show(reader.latest()) + " @" + show(reader.progress());
}

}  // namespace

TEST_CASE("a long line is read to its end") {
  for (const std::size_t length : {std::size_t{70'000}, max_line_length - 9}) {
    const auto line = "acc=0.9 " + std::string(length, 'y') + " loss=0.2 {";
    CAPTURE(length);
    CHECK(said(line.substr(0, max_line_length)) == (length == 70'000 ? "acc=0.9 loss=0.2 @-/-" : "acc=0.9 @-/-"));
  }
}

TEST_CASE("wherever a line is cut, its metrics are read whole") {
  const std::string end = " acc=0.25 loss=0.125";
  for (std::size_t cut = 0; cut <= end.size(); ++cut) {
    CAPTURE(cut);
    auto piece = "loss=0.9 " + std::string(max_line_length, ' ') + end.substr(0, cut);
    piece.erase(9, piece.size() - max_line_length - 1);
    MetricReader reader;
    reader.feed(piece + "\n", Time{});
    reader.feed(end.substr(cut) + "\n", Time{});
    reader.feed("f1=0.5\n", Time{});
    CHECK(show(reader.latest()) == "loss=0.125 acc=0.25 f1=0.5");
  }
}

TEST_CASE("a rounded value counts only for a metric that the log has not given") {
  MetricReader reader;
  const auto after = [&](const char* line) {
    reader.feed(line, Time{});
    return show(reader.latest());
  };
  after("loss=0.125");
  after("wandb: Run summary:");
  CHECK(after("wandb:     loss 0.13") == "loss=0.125");
  CHECK(after("wandb: accuracy 0.91") == "loss=0.125 accuracy=0.91");
  CHECK(after("wandb: accuracy 0.93") == "loss=0.125 accuracy=0.93");  // of the next run
  CHECK(after("accuracy=0.25") == "loss=0.125 accuracy=0.25");
  CHECK(after("wandb: accuracy 0.26") == "loss=0.125 accuracy=0.25");
}

TEST_CASE("a word longer than any metric is not read where it is split") {
  MetricReader reader;
  reader.feed("loss=0.9 " + std::string(max_line_length - 15, 'y') + " loss=0", Time{});
  CHECK(show(reader.latest()) == "loss=0.9");
  reader.feed(".5", Time{});
  CHECK(show(reader.latest()) == "loss=0.5");
  reader.feed("acc=1 " + std::string(max_line_length, 'y'), Time{});
  reader.feed("s=0.1,f1=0.75", Time{});
  CHECK(show(reader.latest()) == "loss=0.5 acc=1 f1=0.75");
}

TEST_CASE("of a bar that continues after a split the last state is used") {
  MetricReader reader;
  std::string bar = "start";
  while (bar.size() <= max_line_length) bar += "\r 50% loss=0.5";
  bar.resize(max_line_length + 1);
  reader.feed(bar, Time{});
  reader.feed(" 99% loss=0.25\r100% loss=0.1\n", Time{});
  CHECK(show(reader.latest()) == "loss=0.1");
}

TEST_CASE("a line's metrics and progress are found") {
  struct Case {
    const char* line;
    const char* said;
  };
  const Case cases[] = {
      {"epoch=3/10 loss=0.12, accuracy=93%", "loss=0.12 accuracy=93 @3/10"},
      {"epoch=2 loss=1e-3 val/acc=+0.5\n", "loss=0.001 val/acc=0.5 @2/-"},
      {"loss=nan", "loss=nan @-/-"},
      {"loss=-inf acc=NaN x=Infinity", "loss=-inf acc=nan x=inf @-/-"},
      {"loss = 0.3", "loss=0.3 @-/-"},
      {"2026-01-01 10:00:00,123 INFO train: epoch=1 loss=.5.", "loss=0.5 @1/-"},
      {"INFO:root:epoch=1 loss=0.5", "loss=0.5 @1/-"},
      {"[1,0]<stdout>:epoch=1 loss=0.5", "loss=0.5 @1/-"},
      {"[rank0]: loss=0.5", "loss=0.5 @-/-"},
      {"Namespace(lr=0.1, epochs=4, model='x')", " @-/4"},
      {"Epoch 3: 100%|##| 45/45 [00:01<00:00, 30.1it/s, loss=0.25]", "loss=0.25 @3/-"},
      {"Train Epoch: 2 [640/60000 (1%)]\tloss=2.3", "loss=2.3 @2/-"},
      {"Epoch 3/10", " @3/10"},
      {"epoch [4/20]", " @4/20"},
      {"Epoch 5 of 7", " @5/7"},
      {"45/45 [==============================] - 1s 2ms/step - loss: 0.12 - accuracy: 0.93 - val_loss: 1.5e-01",
       "loss=0.12 accuracy=0.93 val_loss=0.15 @-/-"},
      {"45/45 - 1s - loss: 0.12 - 1s/epoch - 22ms/step", "loss=0.12 @-/-"},
      {"\x1b[1m45/45\x1b[0m \x1b[32m━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m1s\x1b[0m 2ms/step - accuracy: 0.93 - loss: 0.12",
       "accuracy=0.93 loss=0.12 @-/-"},
      {"\r 1/45 [.....] - ETA: 3s - loss: 2.0\r45/45 [=====] - 1s 2ms/step - loss: 0.5\r45/45 [=====] - 1s 2ms/step - loss: 0.5 - val_loss: 0.6\r",
       "loss=0.5 val_loss=0.6 @-/-"},
      {"44/45 [===>] - ETA: 0s - loss: 0.2\b\b\b\b\b45/45 [====] - 1s - loss: 0.1", "loss=0.1 @-/-"},
      {"{\"epoch\": 1, \"loss\": 0.3}", "loss=0.3 @1/-"},
      {"{'loss': 0.3, 'learning_rate': 5e-05, 'epoch': 1.5}", "loss=0.3 learning_rate=5e-05 @1/-"},
      {"{\"loss\": NaN, \"step\": 4}", "loss=nan @-/-"},
      {"AUC=0.93 F1=0.8", "AUC=0.93 F1=0.8 @-/-"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.line);
    CHECK(said(c.line) == c.said);
  }
}

TEST_CASE("text that only resembles a metric is ignored") {
  for (const auto* line : {"",
                           "=",
                           "a=",
                           "=1",
                           "https://host/x?a=1",
                           "https://host/x?a=1&b=2",
                           "s3://bucket/lr=0.1/model",
                           "/data/year=2024/x",
                           "data/dt=3/x",
                           "--epochs=4",
                           "python train.py --lr=0.1 -Dx=1",
                           "WORLD_SIZE=4",
                           "RANK=0",
                           "export lr=1",
                           "declare -x lr=1",
                           "numpy==1.26",
                           "n=1,234",
                           "samples=12,000 seen",
                           "shift = 0,5",
                           "x>=1",
                           "x!=1",
                           "x<=1",
                           "version=1.2.3",
                           "time=12:30",
                           "size=10MB",
                           "took=0.3s",
                           "id=0x7f",
                           "date=2026-01-01",
                           "path=/x",
                           "    lr = 0.1",
                           "name='x'",
                           "loss: 0.3",
                           "12:30:45 - loss: 0.3",
                           "{\"level\": \"info\", \"ts\": 1.5}",
                           "{'loss': [1]}",
                           "{\"a\": {\"b\": 1}}",
                           "{\"a\": 1",
                           "{}",
                           "44/45 [==>..] - ETA: 1s - loss: 0.2",
                           "saved after epoch 3",
                           "1_000=1",
                           "<Tensor size=3>",
                           "f(x)=1"}) {
    CAPTURE(line);
    CHECK(said(line) == " @-/-");
  }
}

TEST_CASE("a series knows its axis") {
  const auto axis_of = [](std::initializer_list<const char*> lines) {
    MetricReader reader;
    for (const auto* line : lines) reader.feed(line, Time{});
    const auto series = reader.series();
    REQUIRE(series.size() == 1);
    std::string text = series[0].axis == MetricSeries::Axis::epoch ? "epoch" : series[0].axis == MetricSeries::Axis::step ? "step" : "count";
    for (const auto& point : series[0].points) text += fmt::format(" {:g}:{:g}", point.x, point.value);
    return text;
  };
  CHECK(axis_of({"epoch=1 loss=5", "epoch=2 loss=4", "epoch=2 loss=3"}) == "epoch 1:5 2:3");
  CHECK(axis_of({"step=10 loss=5", "step=20 loss=4"}) == "step 10:5 20:4");
  CHECK(axis_of({"step=10 loss=5", "step=20 loss=4", "step=10 loss=3"}) == "count 1:5 2:4 3:3");
  CHECK(axis_of({"loss=5", "loss=5", "loss=4"}) == "count 1:5 2:5 3:4");
  CHECK(axis_of({"Epoch 1/2", "9/9 - 1s - loss: 5", "Epoch 2/2", "9/9 - 1s - loss: 4"}) == "epoch 1:5 2:4");
}

TEST_CASE("an integer after a word is used if the name was read before") {
  MetricReader reader;
  for (const auto* line : {"epoch 1 accuracy 1", "epoch 1 loss 1.5", "epoch 2 loss 1 accuracy 1", "epoch 3 loss 2.5", "epoch 4 loss nan"})
    reader.feed(line, {});
  const auto latest = reader.latest();
  REQUIRE(latest.size() == 1);
  CHECK(latest.front().name == "loss");
  CHECK(std::isnan(latest.front().value));
  REQUIRE(reader.series().front().points.size() == 4);
  CHECK(reader.series().front().points[1].value == 1);
}

TEST_CASE("points keep their time") {
  MetricReader reader;
  reader.feed("loss=1", Time{Duration{5000}});
  CHECK(reader.series()[0].points[0].time == Time{Duration{5000}});
}

TEST_CASE("memory is bounded: points are thinned out evenly, names are limited, endless words skipped") {
  MetricReader reader;
  for (int i = 1; i <= 100'000; ++i) reader.feed("loss=" + std::to_string(i), Time{});
  const auto points = reader.series()[0].points;
  CHECK(points.size() <= 2000);
  CHECK(points.size() >= 1000);
  CHECK(points.front().x == 1);
  CHECK(points.back().x == 100'000);
  CHECK(points.back().value == 100'000);
  const auto stride = points[1].x - points[0].x;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    REQUIRE(points[i].x == points[i].value);
    if (i + 2 < points.size()) REQUIRE(points[i + 1].x - points[i].x == stride);
  }
  CHECK_FALSE(reader.full());
  for (int i = 0; i < 5000; ++i) reader.feed("name" + std::to_string(i % 2500) + "=" + std::to_string(i), Time{});
  CHECK(reader.full());
  REQUIRE(reader.series().size() == 2000);
  CHECK(reader.series()[199].points.size() == 2);
  CHECK(reader.series()[200].points.size() == 1);  // no curve, but its value
  CHECK(reader.latest()[1999].name == "name1998");
  CHECK(reader.latest()[1999].value == 1998 + 2500);
  MetricReader other;
  other.feed("loss=1 " + std::string(max_line_length, 'x'), Time{});
  for (int i = 0; i < 3; ++i) other.feed(std::string(max_line_length, 'x') + "=1", Time{});
  CHECK(show(other.latest()) == "loss=1");
}

TEST_CASE("the metrics that a program wrote are read in every shape") {
  struct Case {
    const char* text;
    const char* metrics;
  };
  const Case cases[] = {
      {R"({"accuracy": 0.93, "loss": 1, "name": "x", "ok": true, "list": [1]})", "accuracy=0.93 loss=1"},
      {R"({"loss": NaN, "a": Infinity, "b": -Infinity, "text": "a NaN \" NaN"})", "loss=nan a=inf b=-inf"},
      {R"({"metrics": [{"name": "acc", "numberValue": 0.9, "format": "PERCENTAGE"}, {"name": "loss", "numberValue": NaN, "format": "RAW"}]})",
       "acc=0.9% loss=nan"},
      {R"({"metrics": 3})", "metrics=3"},
      {R"({"accuracy": "0.93", "loss": " -1e-3\n", "f1": "nan", "share": "93%", "date": "2026-01-02", "empty": ""})",
       "accuracy=0.93 loss=-0.001 f1=nan"},
      {R"({"metrics": [{"name": "acc", "numberValue": "0.9"}]})", "acc=0.9"},
      {R"({"loss": 123456789012345678901234567890, "steps": 18446744073709551617, "ids": [-100000000000000000000001]})",
       "loss=1.23457e+29 steps=1.84467e+19"},
      {R"({"artifacts": {"metrics": {"artifacts": [{"metadata": {"accuracy": 0.93, "framework": "x"}}]}, "model": {"artifacts": []}}})",
       "accuracy=0.93"},
      {R"({"metadata": {"accuracy": 0.93}})", "accuracy=0.93"},
      {"{}", ""},
  };
  for (const auto& c : cases) {
    const auto metrics = read_metrics(c.text, "it");
    REQUIRE(metrics);
    CHECK(show(*metrics) == c.metrics);
  }
}

TEST_CASE("metrics that cannot be read are an error that names the place") {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"[1]", "it: expected a JSON object of names and numbers, got a list"},
      {R"({"metrics": [{"numberValue": 1}]})", "it: metrics[0] has no name"},
      {R"({"metrics": [{"name": "a", "numberValue": 1}, {"name": "b", "numberValue": "one"}]})", "it: metrics[1] (b): numberValue is not a number"},
      {"{\"a\": 1,}", "it: line 1, column 9: trailing comma before }; remove it"},
  };
  for (const auto& c : cases) {
    const auto metrics = read_metrics(c.text, "it");
    REQUIRE_FALSE(metrics);
    CHECK(metrics.error().message == c.message);
    CHECK(metrics.error().kind == ErrorKind::input);
  }
}
