// SPDX-License-Identifier: Apache-2.0
#include "step/report.h"

#include <cstdlib>
#include <limits>

#include "a_summary.h"
#include "base/files.h"
#include "base/text.h"
#include "step/curves.h"
#include "step/html.h"
#include "step/number_text.h"
#include "step/report_parts.h"

namespace trainstep::step {
namespace {

using Catch::Matchers::Contains;

run::MemberReport member(const std::string& name, const std::string& place, int from, int to, follow::Termination ending) {
  return {.name = name, .ran_on = place, .attempts = 1, .ending = std::move(ending), .stopped_by_us = false, .started = at(from), .ended = at(to)};
}

void add_phases(ASummary& a) {
  using result::Phase;
  a.outcome.timeline.entries = {{Phase::queued, at(0)}, {Phase::starting, at(9)}, {Phase::running, at(21)}, {Phase::finishing, at(118)}};
  a.outcome.timeline.end = at(125);
}

void add_plan(ASummary& a) {
  plan::Resources resources;
  resources.cpus = plan::Sourced<plan::Quantity>{{"4", 4}, "cpus"};
  resources.memory = plan::Sourced<plan::Quantity>{{"8Gi", 8589934592.0}, "memory"};
  resources.gpus = {1, "gpus"};
  a.replicas = {{.type = "Master", .count = 1, .resources = resources, .primary = true, .awaited = true},
                {.type = "Worker", .count = 1, .resources = resources, .primary = false, .awaited = false}};
  const auto bound = [](const char* name, Json value, bool given) {
    return plan::BoundInput{.name = name, .value = std::move(value), .path = {}, .given = given};
  };
  a.plan.binding.inputs = {bound("epochs", 8, true), bound("learning_rate", 0.4, false), bound("classes", Json{"0", "<b>"}, true),
                           bound("hub_token", "hf_never", true)};
  a.plan.binding.inputs.push_back(
      {.name = "data", .value = {}, .path = plan::StepPath{"train_dataset_dir", "/minio/mlpipeline/data", "", "", Json::object()}, .given = true});
}

ASummary success() {
  ASummary a;
  add_phases(a);
  add_plan(a);
  a.outcome.members = {member("master-0", "gpu-node-1", 21, 118, {}), member("worker-0", "gpu-node-2", 23, 118, {})};
  a.curve("loss", {0.7481, 0.41, 0.3105, 0.262, 0.2312, 0.21, 0.2004, 0.1963});
  a.curve("val_loss", {0.7, 0.44, 0.36, 0.33, 0.312, 0.305, 0.303, 0.304});
  a.curve("accuracy", {0.9, 0.93, 0.941, 0.95, 0.953, 0.957, 0.959, 0.961});
  a.curve("learning_rate", {0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05});
  a.artifact("model_dir", "/minio/mlpipeline/v2/artifacts/digits/run-1/train/0e2c/model_dir", "model_dir");
  a.value("best_epoch", 7);
  return a;
}

ASummary failure() {
  ASummary a;
  add_phases(a);
  add_plan(a);
  a.outcome.verdict.verdict_class = result::VerdictClass::user;
  a.outcome.verdict.message = "the training program failed";
  a.outcome.verdict.first_failure = result::FirstFailure{
      .replica = "worker-0",
      .exit_code = 1,
      .signal = {},
      .reason = "ValueError: shapes <3> & \"4\" do not match",
      .last_lines = {"epoch=2/8 loss=\x1b[31mnan\x1b[0m", "Traceback (most recent call last):", "  File \"/train.py\", line 7, in <module>",
                     "ValueError: shapes <3> & \"4\" do not match"}};
  auto killed = member("master-0", "gpu-node-1", 21, 118, {.exit_code = 0, .signal = 15, .reason = ""});
  killed.stopped_by_us = true;
  a.outcome.members = {killed, member("worker-0", "gpu-node-2", 23, 116, {.exit_code = 1, .signal = {}, .reason = "Error"})};
  a.outcome.members.push_back({.name = "worker-1", .ran_on = "", .attempts = 0, .ending = {}, .stopped_by_us = false, .started = {}, .ended = {}});
  a.curve("loss", {0.7, std::numeric_limits<double>::quiet_NaN()});
  return a;
}

// TRAINSTEP_UPDATE_GOLDEN=1 writes the files anew; look at them before they are committed.
void check_golden(const std::string& name, std::string page) {
  const auto version = std::string("trainstep ") + TRAINSTEP_VERSION;
  page.replace(page.find(version), version.size(), "trainstep VERSION");
  const auto path = "tests/unit/step/" + name;
  if (std::getenv("TRAINSTEP_UPDATE_GOLDEN") != nullptr) REQUIRE(write_file_atomically(path, page).has_value());
  const auto golden = read_file(path, 1U << 20U);
  REQUIRE(golden.has_value());
  CHECK(page == *golden);
}

TEST_CASE("The report of a success is the golden page") { check_golden("report_success.html", render_report(success().summary())); }

TEST_CASE("The report of a failure is the golden page") { check_golden("report_failure.html", render_report(failure().summary())); }

TEST_CASE("The report needs nothing from outside") {
  for (const auto& page : {render_report(success().summary()), render_report(failure().summary())}) {
    for (const auto* forbidden : {"<script", "http://", "https://", "src=", "@import", "url("}) CHECK_THAT(page, !Contains(forbidden));
  }
}

TEST_CASE("Text of users is text, not markup") {
  ASummary a = failure();
  const std::string evil = "<script>alert('x')</script>";
  a.plan.job_name = evil;
  a.plan.image.value = evil;
  a.outcome.verdict.message = evil;
  a.outcome.members[0].name = a.outcome.members[0].ran_on = evil;
  a.outcome.members[1].ending = follow::Termination{.exit_code = 1, .signal = {}, .reason = evil};
  a.plan.binding.inputs[0].name = evil;
  a.plan.binding.inputs[1].value = evil;
  a.replicas[0].type = evil;
  a.curve(evil, {1, 2});
  a.value(evil, evil);
  a.artifact(evil, evil, evil);
  const auto page = render_report(a.summary());
  CHECK_THAT(page, !Contains("<script") && !Contains("'x'") && Contains("&lt;script&gt;"));
}

TEST_CASE("Escaping leaves only valid text") {
  CHECK(escaped("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK(escaped("\x1b[1;31mred\x1b[0m \x1b]0;title\a!\x01\x7f\tx\n") == "red !\tx\n");
  CHECK(escaped("ä€😀") == "ä€😀");
  CHECK(escaped("\xff\xc3(\xe2\x82\xed\xa0\x80\xc0\xaf") ==
        "\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(escaped("\x1b").empty());
  CHECK(escaped("\x1b[").empty());
  CHECK(shortened("äää", 3) == "ä…");
  CHECK(shortened("abc", 3) == "abc");
}

TEST_CASE("Values whose names sound secret are not shown") {
  CHECK_THAT(render_report(success().summary()), !Contains("hf_never") && Contains("hub_token"));
}

TEST_CASE("An image's address is shown without what lets one in") {
  auto a = success();
  a.plan.image.value = "https://user:hunter2@registry.example/digits";
  CHECK_THAT(render_report(a.summary()), !Contains("hunter2") && Contains("registry.example/digits"));
}

TEST_CASE("A report says how many metrics are omitted") {
  ASummary a;
  auto summary = a.summary();
  for (int i = 0; i < 250; ++i) summary.metrics.push_back({.name = "m" + std::to_string(i), .value = 1, .percentage = false});
  CHECK_THAT(render_report(summary), Contains(">m199<") && !Contains(">m200<") && Contains("and 50 more"));
}

TEST_CASE("In a value that contains a secret only the secret is redacted") {
  ASummary a;
  a.planned = false;
  a.inputs.request.train_parameters = {{"options", "max_tokens=5 password=hunter2"},
                                       {"args", {"--token", "t0p", "--epochs", "3"}},
                                       {"cert", "-----BEGIN PRIVATE KEY-----\nMIIx\n-----END PRIVATE KEY-----\n"}};
  CHECK_THAT(render_report(a.summary()),
             Contains("max_tokens=5 password=[redacted]") && Contains("--epochs") && !Contains("hunter2") && !Contains("t0p") && !Contains("MIIx"));
}

TEST_CASE("A report can be made of nothing but a verdict") {
  ASummary a;
  a.planned = false;
  a.outcome.verdict = {.verdict_class = result::VerdictClass::input,
                       .message = "train_parameters: unknown key \"epoch\"",
                       .first_failure = {},
                       .retry_can_help = false,
                       .signal = 15};
  a.inputs.request.train_parameters = {{"epoch", 3}};
  const auto page = render_report(a.summary());
  CHECK_THAT(page, Contains("Invalid input") && Contains("unknown key &quot;epoch&quot;") && Contains("<td class=\"name\">epoch</td>"));
}

TEST_CASE("For a large gang the first replicas and the failed ones are shown") {
  ASummary a;
  for (int i = 0; i < 1000; ++i) a.outcome.members.push_back(member("worker-" + std::to_string(i), "", 1, 2, {}));
  a.outcome.members[777].ending = follow::Termination{.exit_code = 3, .signal = {}, .reason = ""};
  const auto page = render_report(a.summary());
  CHECK_THAT(page, Contains(">worker-0<") && Contains(">worker-777<") && !Contains(">worker-500<") && Contains("and 939 more"));
}

TEST_CASE("Curves of training and validation share a picture") {
  ASummary a;
  for (const auto* name : {"loss", "val_loss", "train/accuracy", "test/accuracy", "lr", "val_only", "train:error", "validation:error"})
    a.curve(name, {1, 2});
  const auto groups = group_curves(a.outcome.series);
  REQUIRE(groups.size() == 5);
  CHECK(groups[0].title == "loss");
  CHECK(groups[0].lines[0].role == "training");
  CHECK(groups[0].lines[1].role == "validation");
  CHECK(groups[1].title == "accuracy");
  CHECK(groups[1].lines[1].role == "test");
  CHECK(groups[2].lines[0].role.empty());
  CHECK(groups[3].title == "val_only");
  CHECK(groups[4].title == "error");
  CHECK(groups[4].lines[1].role == "validation");
}

TEST_CASE("A picture is drawn for every curve that has one, whatever its values") {
  struct Row {
    std::vector<double> values;
    bool drawn;
  };
  constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
  constexpr auto most = std::numeric_limits<double>::max();
  const auto row = GENERATE(Row{{}, false}, Row{{1}, false}, Row{{1, 1}, true}, Row{{0, 0}, true}, Row{{1, nan, 2}, true}, Row{{nan, nan}, false},
                            Row{{-most, most}, false}, Row{{0, most}, false}, Row{{0, 5e-324}, true}, Row{{1e16, 1e16 + 2}, true},
                            Row{{0, std::numeric_limits<double>::infinity(), 1}, true});
  ASummary a;
  a.curve("loss", row.values);
  const auto svg = draw(group_curves(a.outcome.series).front());
  CHECK(svg.empty() != row.drawn);
  CHECK_THAT(svg, !Contains("nan") && !Contains("inf"));
}

TEST_CASE("A long curve keeps its extremes in a small picture") {
  ASummary a;
  std::vector<double> values(2000, 1.0);
  values[777] = 9;
  a.curve("loss", values);
  const auto svg = draw(group_curves(a.outcome.series).front());
  CHECK(svg.size() < 4000);
  CHECK_THAT(svg, Contains(" 8.0L"));  // the top of the picture
}

TEST_CASE("Numbers are short") {
  CHECK(number_text(0.931111) == "0.9311");
  CHECK(number_text(1.2e-5) == "1.2e-05");
  CHECK(number_text(12345678) == "12345678");
  CHECK(number_text(12345.678) == "12345.7");
  CHECK(number_text(-0.0) == "0");
  CHECK(number_text(std::numeric_limits<double>::quiet_NaN()) == "NaN");
  CHECK(number_text(-std::numeric_limits<double>::infinity()) == "−∞");
}

TEST_CASE("The log ends with the verdict, the failure's lines, metrics and places") {
  auto good = success();
  auto summary = good.summary();
  summary.report_location = "/out/report.html";
  const auto lines = join(closing_lines(summary), "\n");
  CHECK_THAT(lines, Contains("digits-0f3a9c1e22 (PyTorch, 2 workers) after 2 min 05 s: succeeded") &&
                        Contains("metrics: loss=0.1963 val_loss=0.304 accuracy=0.961") && Contains("model_dir: /minio/") &&
                        Contains("report: /out/report.html"));
  good.artifact("model_dir", "/out/other", "");
  good.outcome.outputs.back().present = false;
  CHECK_THAT(join(closing_lines(good.summary()), "\n"), Contains("model_dir: the program wrote nothing"));
  auto held_back = failure();
  held_back.artifact("model_dir", "/out/model", "model_dir");
  CHECK_THAT(join(closing_lines(held_back.summary()), "\n"), Contains("model_dir: /out/model"));
  held_back.outcome.outputs.back().pending = "/out/.model.trainstep/new/model";
  CHECK_THAT(join(closing_lines(held_back.summary()), "\n"), Contains("model_dir: was not written to /out/model"));
  CHECK_THAT(render_report(held_back.summary()), Contains("was not written to</span>"));
  const auto bad = join(closing_lines(failure().summary()), "\n");
  CHECK_THAT(bad, Contains("worker-0 exited with code 1") && Contains("the last lines of worker-0:") && Contains("  | Traceback") &&
                      !Contains("may succeed"));
}

}  // namespace
}  // namespace trainstep::step
