// What becomes of the events of several runs.
// SPDX-License-Identifier: Apache-2.0
#include "result/tensorboard_curves.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::result;

namespace {

using Value = TensorboardEvent::Value;

TensorboardEvent event(std::int64_t step, std::vector<Value> values, double at = 1'700'000'000) { return {at, step, false, std::move(values)}; }
TensorboardEvent restart(std::int64_t step) { return {1'700'000'000, step, true, {}}; }
Value simple(const std::string& tag, double number) { return {tag, number, "", false}; }
Value tensor(const std::string& tag, double number, const std::string& plugin) { return {tag, number, plugin, true}; }

// "name: step=value …", a line for each curve.
std::string said(const TensorboardCurves& curves) {
  std::string all;
  for (const auto& series : curves.series()) {
    CHECK(series.axis == MetricSeries::Axis::step);
    all += series.name + ":";
    for (const auto& point : series.points) all += fmt::format(" {}={}", point.x, point.value);
    all += '\n';
  }
  return all;
}

std::string names(const std::vector<std::string>& runs) {
  TensorboardCurves curves;
  for (const auto& run : runs) curves.add(run, event(1, {simple("loss", 1)}));
  std::string all;
  for (const auto& series : curves.series()) all += (all.empty() ? "" : " ") + series.name;
  return all;
}

}  // namespace

TEST_CASE("values of a tag are a curve over its steps") {
  TensorboardCurves curves;
  curves.add("", event(1, {simple("Loss/train", 0.5), simple("acc", 1)}));
  curves.add("", event(2, {simple("Loss/train", 0.25)}));
  CHECK(said(curves) == "Loss/train: 1=0.5 2=0.25\nacc: 1=1\n");
  CHECK(curves.series().front().points.front().time == Time(Duration(1'700'000'000'000)));
}

TEST_CASE("Lightning's placeholder for a hyperparameter metric is ignored") {
  TensorboardCurves curves;
  curves.add("", event(0, {simple("hp_metric", -1), simple("loss", -1)}));
  CHECK(said(curves) == "loss: 0=-1\n");
  curves.add("", event(1, {simple("hp_metric", 0.5)}));
  CHECK(said(curves) == "loss: 0=-1\nhp_metric: 1=0.5\n");
}

TEST_CASE("a tensor is a scalar if its tag is of the plugin scalars, which its first value may say for all") {
  TensorboardCurves curves;
  curves.add("", event(1, {tensor("loss", 1, "scalars"), tensor("histogram", 1, "histograms"), tensor("nobodys", 1, "")}));
  curves.add("", event(2, {tensor("loss", 2, ""), tensor("histogram", 2, "")}));
  CHECK(said(curves) == "loss: 1=1 2=2\n");
}

TEST_CASE("a value takes those of its own and of later steps back") {
  TensorboardCurves curves;
  for (const int step : {0, 10, 20, 30}) curves.add("", event(step, {simple("loss", step), simple("other", step)}));
  curves.add("", event(20, {simple("loss", -1)}));
  curves.add("", event(25, {simple("loss", -2)}));
  curves.add("", event(25, {simple("loss", -3)}));
  CHECK(said(curves) == "loss: 0=0 10=10 20=-1 25=-3\nother: 0=0 10=10 20=20 30=30\n");
}

TEST_CASE("a restart takes what all tags of its run had from its step on") {
  TensorboardCurves curves;
  for (const int step : {0, 10, 20})
    for (const auto* run : {"a", "b"}) curves.add(run, event(step, {simple("loss", step), simple("other", step)}));
  curves.add("a", restart(10));
  curves.add("a", event(15, {simple("loss", -1)}));
  CHECK(said(curves) == "a/loss: 0=0 15=-1\na/other: 0=0\nb/loss: 0=0 10=10 20=20\nb/other: 0=0 10=10 20=20\n");
  curves.add("a", restart(-1));
  CHECK(said(curves) == "b/loss: 0=0 10=10 20=20\nb/other: 0=0 10=10 20=20\n");
}

TEST_CASE("a name is run and tag, as seen from the deepest folder that holds all runs") {
  CHECK(names({""}) == "loss");
  CHECK(names({"lightning_logs/version_0"}) == "loss");
  CHECK(names({"logs/train", "logs/validation"}) == "train/loss validation/loss");
  CHECK(names({"", "trial"}) == "loss trial/loss");
  CHECK(names({"a/x", "a/xy"}) == "x/loss xy/loss");
  CHECK(names({"a", "ab/c"}) == "a/loss ab/c/loss");
  CHECK(names({"a/b", "a/b/c"}) == "loss c/loss");
}

TEST_CASE("a part of the data keeps its name where it is the only run") {
  CHECK(names({"logs/train"}) == "train/loss");
  CHECK(names({"validation"}) == "validation/loss");
  CHECK(names({"trains"}) == "loss");
}

TEST_CASE("a run without a value still affects the names of the others") {
  TensorboardCurves curves;
  curves.add_run("logs/train");
  curves.add("logs/other", event(1, {simple("loss", 1)}));
  CHECK(said(curves) == "other/loss: 1=1\n");
}

TEST_CASE("two curves of one name are two") {
  TensorboardCurves curves;
  curves.add("", event(1, {simple("train/loss", 1)}));
  curves.add("train", event(1, {simple("loss", 2)}));
  CHECK(said(curves) == "train/loss: 1=1\ntrain/loss (2): 1=2\n");
}

TEST_CASE("a name is shown without what it could do to a terminal or a page") {
  TensorboardCurves curves;
  curves.add("", event(1, {simple("lo\x1b[31mss\n", 1), simple("\xff", 2), simple("größe", 3)}));
  CHECK(said(curves) == "lo\\x1b[31mss\\n: 1=1\n\\xff: 1=2\ngröße: 1=3\n");
}

TEST_CASE("what is older than the training is not taken") {
  TensorboardCurves curves(Time(Duration(2'000'000)));
  curves.add("", event(1, {simple("loss", 1)}, 1'999.9));
  curves.add("", event(2, {simple("loss", 2)}, 2'000));
  curves.add("", event(3, {simple("loss", 3)}, std::nan("")));
  CHECK(said(curves) == "loss: 2=2\n");
  CHECK(curves.older() == 2);
}

TEST_CASE("long curves are thinned out, their first and last points stay") {
  TensorboardCurves curves;
  constexpr int count = 100'001;
  for (int step = 0; step < count; ++step) curves.add("", event(step, {simple("loss", step)}));
  const auto all = curves.series();
  REQUIRE(all.size() == 1);
  const auto& points = all.front().points;
  CHECK(points.size() > 1000);
  CHECK(points.size() <= 2001);
  CHECK(points.front().x == 0);
  CHECK(points.back().x == count - 1);
  for (std::size_t i = 2; i + 1 < points.size(); ++i) CHECK(points[i].x - points[i - 1].x == points[1].x - points[0].x);
}

TEST_CASE("a long curve continues after removed points") {
  TensorboardCurves curves;
  for (int step = 0; step < 10'000; ++step) curves.add("", event(step, {simple("loss", 1)}));
  for (int step = 5'000; step < 10'000; ++step) curves.add("", event(step, {simple("loss", 2)}));
  const auto all = curves.series();
  double last = -1;
  for (const auto& point : all.front().points) {
    CHECK(point.x > last);
    CHECK(point.value == (point.x < 5'000 ? 1 : 2));
    last = point.x;
  }
  CHECK(last == 9'999);
}

TEST_CASE("the first 200 tags have curves, up to 2000 have last values") {
  TensorboardCurves curves;
  for (int tag = 0; tag < 2'000; ++tag)
    for (int step = 0; step < 2; ++step) curves.add("", event(step, {simple(fmt::format("t{}", tag), step)}));
  CHECK_FALSE(curves.full());
  curves.add("", event(0, {simple("one more", 0)}));
  CHECK(curves.full());
  const auto all = curves.series();
  REQUIRE(all.size() == 2'000);
  CHECK(all[199].points.size() == 2);
  CHECK(all[200].points.size() == 1);
  CHECK(all[200].points.front().value == 1);
}

TEST_CASE("names of any length are not kept") {
  TensorboardCurves curves;
  curves.add("", event(0, {simple(std::string(201, 'x'), 0), simple(std::string(200, 'y'), 0)}));
  REQUIRE(curves.series().size() == 1);
  CHECK(curves.series().front().name.front() == 'y');
}

TEST_CASE("points are thinned out to a number") {
  std::vector<MetricPoint> points;
  for (int i = 0; i < 100; ++i) points.push_back({static_cast<double>(i), 0, {}});
  auto few = points;
  thin_out(few, 4);
  REQUIRE(few.size() == 4);
  CHECK(few[0].x == 0);
  CHECK(few[1].x == 33);
  CHECK(few[3].x == 99);
  few = points;
  thin_out(few, 0);
  CHECK(few.size() == 2);
  thin_out(few, 10);
  CHECK(few.size() == 2);
}
