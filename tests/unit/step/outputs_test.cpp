// SPDX-License-Identifier: Apache-2.0
#include "step/outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <regex>
#include <set>

#include "a_summary.h"
#include "base/fd.h"
#include "base/files.h"
#include "step/kfp_v1.h"
#include "step/report.h"

namespace trainstep::step {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

constexpr auto not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr auto infinite = std::numeric_limits<double>::infinity();
constexpr auto parameter = OutputTarget::Kind::parameter;
constexpr auto artifact = OutputTarget::Kind::artifact;

std::string content(const Rendered& rendered, const std::string& path) {
  for (const auto& file : rendered.files)
    if (file.path == path) return file.content;
  FAIL("no file " + path);
  return {};
}

Json json(const Rendered& rendered, const std::string& path) {
  auto result = parse_json(content(rendered, path), path);
  if (!result) FAIL(result.error().message);
  return *result;
}

// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    auto name = (std::filesystem::temp_directory_path() / "trainstep-step-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    m_path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(m_path); }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (m_path / name).string(); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(m_path)) names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::filesystem::path m_path;
};

Result<std::string> from_disk(const std::string& path, std::size_t limit) { return read_file(path, limit); }

TEST_CASE("Plain files hold metrics, results, the job's name and the report") {
  ASummary a;
  a.target("metrics", "m");
  a.target("results", "r");
  a.target("job_name", "j");
  a.target("report", "h");
  a.curve("loss", {0.5, 0.25});
  a.curve("accuracy", {0.8, 0.9});
  a.value("epochs", 3);
  a.value("note", "done");
  const auto rendered = render_outputs(a.summary(), files({}), "<html>");
  CHECK(json(rendered, "m") == Json{{"loss", 0.25}, {"accuracy", 0.9}});
  CHECK(json(rendered, "r") == Json{{"epochs", 3}, {"note", "done"}});
  CHECK(content(rendered, "j") == "digits-0f3a9c1e22");
  CHECK(content(rendered, "h") == "<html>");
  CHECK(rendered.missing.empty());
}

TEST_CASE("Values written by the program take precedence over its log") {
  ASummary a;
  a.curve("accuracy", {0.8, 0.9});
  a.curve("loss", {0.1});
  a.artifact("eval_metrics", "/w/eval", "", {{"f1", 0.7}, {"kind", "test"}});
  a.artifact("mlpipeline_metrics", "/w/v1", "");
  const auto reader = files({{"/w/v1", R"({"metrics": [{"name": "accuracy", "numberValue": 0.95, "format": "PERCENTAGE"}]})"}});
  const auto metrics = final_metrics(a.outcome, reader);
  CHECK(metrics_object(metrics) == Json{{"f1", 0.7}, {"accuracy", 0.95}, {"loss", 0.1}});
  CHECK(metrics[1].percentage);
}

TEST_CASE("Non-finite values are not written to machine-readable files") {
  ASummary a;
  a.target("metrics", "m");
  a.target("mlpipeline_metrics", "v1");
  a.curve("loss", {1, not_a_number});
  a.curve("peak", {infinite});
  a.curve("fine", {2});
  const auto rendered = render_outputs(a.summary(), files({}), "");
  CHECK(json(rendered, "m") == Json{{"fine", 2.0}});
  CHECK(json(rendered, "v1")["metrics"].size() == 1);
  CHECK(left_out_metrics(a.summary()) == "metrics: loss=NaN, peak=∞ are omitted from the file: not valid JSON numbers");
}

TEST_CASE("A metric that JSON cannot express is reported where a file omits it, in the report too") {
  ASummary a;
  a.curve("fine", {2});
  a.target("metrics", "m");
  CHECK_FALSE(left_out_metrics(a.summary()));
  a.curve("loss", {1, not_a_number});
  const std::string sentence = "metrics: loss=NaN is omitted from the file: not a valid JSON number";
  CHECK(left_out_metrics(a.summary()) == sentence);
  CHECK_THAT(render_report(a.summary()), Contains(sentence));
  a.inputs.python_json = true;
  CHECK_FALSE(left_out_metrics(a.summary()));
  CHECK_THAT(render_report(a.summary()), !Contains("omitted"));
  a.target("mlpipeline_metrics", "v1");
  CHECK(left_out_metrics(a.summary()) == sentence);
  a.inputs.targets.clear();
  CHECK_FALSE(left_out_metrics(a.summary()));
  a.target("metrics", "m");
  a.inputs.python_json = false;
  for (int i = 0; i < 13; ++i) a.curve("x" + std::to_string(i), {infinite});
  CHECK_THAT(left_out_metrics(a.summary()).value(), Contains("x10=∞ and 2 more are omitted"));
}

TEST_CASE("A parameter with the name of a metric that is not a number gets it as text, like a returned one") {
  ASummary a;
  a.inputs.executor_output_file = "out.json";
  a.target("loss", "p", parameter);
  a.curve("loss", {not_a_number});
  const auto rendered = render_outputs(a.summary(), files({}), "");
  CHECK(rendered.missing.empty());
  CHECK(json(rendered, "out.json")["parameterValues"] == Json{{"loss", "NaN"}});
  CHECK(content(rendered, "p") == "NaN");
}

TEST_CASE("In results that Python reads they are numbers, and texts of the same words stay texts") {
  ASummary a;
  a.target("results", "r");
  a.target("best", "p", parameter);
  a.value("best", not_a_number);
  a.value("history", Json{1, -infinite, "NaN", Json{{"x", infinite}}});
  CHECK(json(render_outputs(a.summary(), files({}), ""), "r") ==
        Json{{"best", "NaN"}, {"history", {1, "-Infinity", "NaN", Json{{"x", "Infinity"}}}}});
  a.inputs.python_json = true;
  const auto rendered = render_outputs(a.summary(), files({}), "");
  CHECK(content(rendered, "r") == R"({"best":NaN,"history":[1,-Infinity,"NaN",{"x":Infinity}]})"
                                  "\n");
  CHECK(content(rendered, "p") == "NaN");
}

TEST_CASE("In metrics that Python reads they are numbers, too") {
  ASummary a;
  a.target("metrics", "m");
  a.curve("loss", {not_a_number});
  a.curve("fine", {2});
  a.inputs.python_json = true;
  CHECK(content(render_outputs(a.summary(), files({}), ""), "m") == "{\"loss\":NaN,\"fine\":2.0}\n");
}

TEST_CASE("KFP v1 metrics have names that its server accepts, each once, at most 50") {
  const std::regex allowed("[a-zA-Z]([-_a-zA-Z0-9]{0,62}[a-zA-Z0-9])?");
  for (const auto& name : {std::string("val/acc uracy"), std::string("1st"), std::string("___"), std::string(""), std::string("é"),
                           std::string(100, 'x'), std::string(63, 'y') + "__z", std::string("ok_name-1")})
    CHECK(std::regex_match(v1_metric_name(name), allowed));
  CHECK(v1_metric_name("ok_name-1") == "ok_name-1");
  CHECK(v1_metric_name("validation:accuracy") == "validation-accuracy");
  std::vector<result::Metric> metrics;
  metrics.reserve(60);
  for (int i = 0; i < 60; ++i) metrics.push_back({.name = "a.b" + std::string(i % 2 == 0 ? "." : "/"), .value = 1.0 * i, .percentage = i == 0});
  const auto list = v1_metrics(metrics)["metrics"];
  REQUIRE(list.size() == 50);
  std::set<std::string> names;
  for (const auto& metric : list) {
    CHECK(std::regex_match(metric["name"].get<std::string>(), allowed));
    names.insert(metric["name"].get<std::string>());
  }
  CHECK(names.size() == 50);
  CHECK(list[0]["format"] == "PERCENTAGE");
  CHECK(list[1]["format"] == "RAW");
}

TEST_CASE("a metric whose name KFP v1 accepts keeps it even if other names become equal to it") {
  const auto list = v1_metrics({{"Acc@1", 0.7, false}, {"Acc/1", 0.6, false}, {"Acc-1", 0.5, false}})["metrics"];
  REQUIRE(list.size() == 3);
  CHECK(list[0]["name"] == "Acc-1-2");
  CHECK(list[1]["name"] == "Acc-1-3");
  CHECK(list[2]["name"] == "Acc-1");
}

TEST_CASE("KFP v1 UI metadata keep the program's own entries and add metrics and report") {
  ASummary a;
  a.target("mlpipeline_ui_metadata", "/o/ui");
  a.artifact("mlpipeline_ui_metadata", "/o/ui", "mlpipeline_ui_metadata");
  a.curve("loss \"x\"", {not_a_number});
  const auto reader = files({{"/o/ui", R"({"version": 1, "outputs": [{"type": "confusion_matrix"}]})"}});
  const auto ui = json(render_outputs(a.summary(), reader, "<html>"), "/o/ui");
  REQUIRE(ui["outputs"].size() == 3);
  CHECK(ui["outputs"][0]["type"] == "confusion_matrix");
  CHECK(ui["outputs"][1]["source"] == "\"loss \"\"x\"\"\",NaN\n");
  CHECK(ui["outputs"][2]["source"] == "<html>");
  CHECK(ui["version"] == 1);
}

TEST_CASE("A metrics file of the program that holds something else stays as it is") {
  ASummary a;
  a.target("metrics", "/o/m");
  a.artifact("metrics", "/o/m", "metrics");
  CHECK(render_outputs(a.summary(), files({{"/o/m", "epoch,loss\n1,0.5\n"}}), "").files.empty());
  CHECK(render_outputs(a.summary(), files({{"/o/m", R"({"loss": 0.5})"}}), "").files.size() == 1);
  CHECK(render_outputs(a.summary(), files({}), "").files.size() == 1);
}

// As in a pipeline: the program's file was delivered to its address, the launcher will upload what lies at the path over it.
struct Delivered : ASummary {
  std::map<std::string, std::string> contents;  // of addresses: what the step has read there

  Delivered() {
    target("metrics", "/minio/b/metrics", OutputTarget::Kind::artifact, "minio://b/metrics");
    target("mlpipeline_metrics", "/minio/b/v1", OutputTarget::Kind::artifact, "minio://b/v1");
    target("mlpipeline_ui_metadata", "/minio/b/ui", OutputTarget::Kind::artifact, "minio://b/ui");
    curve("loss", {0.5, 0.25});
  }
  void deliver(const std::string& formal, const std::string& step_path, const std::string& uri, const std::string& content) {
    ASummary::artifact(formal, uri, step_path);
    contents[uri] = content;
  }
  [[nodiscard]] FileReader reader() const {
    return [there = files(contents)](const std::string& path, std::size_t limit) -> Result<std::string> {
      auto text = there(path, limit);
      if (!text && path.starts_with("minio://") && text.error().kind == ErrorKind::not_found) return Error{ErrorKind::denied, path + " was not read"};
      return text;
    };
  }
  [[nodiscard]] Rendered rendered() const { return render_outputs(summary(reader()), reader(), "<html>"); }
  [[nodiscard]] std::vector<std::string> written() const {
    std::vector<std::string> paths;
    for (const auto& file : rendered().files) paths.push_back(file.path);
    return paths;
  }
};

TEST_CASE_METHOD(Delivered, "Metrics that the program delivered to their address are merged with its log's") {
  deliver("evaluation", "metrics", "minio://b/metrics", R"({"score": 0.75, "loss": NaN, "split": "test", "none": null})");
  inputs.executor_output_file = "out.json";
  const auto strange = rendered();
  CHECK(json(strange, "/minio/b/metrics") == Json{{"score", 0.75}, {"split", "test"}});
  CHECK(json(strange, "/minio/b/v1")["metrics"].size() == 1);
  CHECK(json(strange, "out.json")["artifacts"]["metrics"]["artifacts"][0]["metadata"] == Json{{"score", 0.75}, {"loss", "NaN"}});
  contents["minio://b/metrics"] = R"({"score": 0.75})";
  CHECK(json(rendered(), "/minio/b/metrics") == Json{{"score", 0.75}, {"loss", 0.25}});
  contents["minio://b/metrics"] = R"({"score": "0.75"})";  // a number, and left as it was written
  CHECK(json(rendered(), "/minio/b/metrics") == Json{{"score", "0.75"}, {"loss", 0.25}});
  CHECK(json(rendered(), "/minio/b/v1")["metrics"][0]["numberValue"] == 0.75);
}

TEST_CASE_METHOD(Delivered, "What was delivered and cannot be read is not written over") {
  deliver("metrics", "metrics", "minio://b/metrics", "");
  deliver("v1", "mlpipeline_metrics", "minio://b/v1", "");
  deliver("ui", "mlpipeline_ui_metadata", "minio://b/ui", "");
  contents.clear();
  CHECK(written().empty());
}

TEST_CASE_METHOD(Delivered, "What was delivered and is of another sort is not written over") {
  deliver("metrics", "metrics", "minio://b/metrics", "epoch,loss\n1,0.5\n");
  deliver("v1", "mlpipeline_metrics", "minio://b/v1", "<table>");
  deliver("ui", "mlpipeline_ui_metadata", "minio://b/ui", R"({"outputs": "none"})");
  CHECK(written().empty());
}

TEST_CASE_METHOD(Delivered, "UI metadata that were delivered keep their entries") {
  deliver("ui", "mlpipeline_ui_metadata", "minio://b/ui", R"({"outputs": [{"type": "roc"}]})");
  const auto ui = json(rendered(), "/minio/b/ui");
  CHECK(ui["outputs"].size() == 3);
  CHECK(ui["outputs"][0]["type"] == "roc");
}

TEST_CASE_METHOD(Delivered, "Metadata alone, and a file elsewhere, leave the paths to the step") {
  ASummary::artifact("metrics", "minio://b/metrics", "metrics", {{"score", 0.5}});
  outcome.outputs.back().earlier = true;
  ASummary::artifact("v1", "https://elsewhere/v1", "mlpipeline_metrics");
  CHECK(written().size() == 3);
  CHECK(json(rendered(), "/minio/b/metrics") == Json{{"score", 0.5}, {"loss", 0.25}});
}

TEST_CASE("A file of metrics that is too long to be read stays as it is") {
  ASummary a;
  a.target("metrics", "/o/m");
  a.artifact("metrics", "/o/m", "metrics");
  a.curve("loss", {0.5});
  const auto padded = [](std::size_t size) { return R"({"score": 0.75})" + std::string(size, ' '); };
  const auto reader = files({{"/o/m", padded(std::size_t{2} << 20U)}});
  CHECK(json(render_outputs(a.summary(reader), reader, ""), "/o/m") == Json{{"score", 0.75}, {"loss", 0.5}});
  const auto too_long = files({{"/o/m", padded(max_metrics_file_size)}});
  CHECK(render_outputs(a.summary(too_long), too_long, "").files.empty());
}

TEST_CASE("Metrics files of an earlier run are ignored") {
  ASummary a;
  a.target("metrics", "/o/m");
  a.curve("loss", {0.5, 0.25});
  a.artifact("metrics", "/o/m", "metrics", {{"accuracy", 0.8}});
  a.outcome.outputs.back().earlier = true;
  for (const auto* left : {R"({"loss": 0.9, "old": 1})", "epoch,loss\n1,0.9\n"}) {
    const auto reader = files({{"/o/m", left}});
    CHECK(json(render_outputs(a.summary(reader), reader, ""), "/o/m") == Json{{"accuracy", 0.8}, {"loss", 0.25}});
  }
}

TEST_CASE("Small text outputs are in the results, large ones and mapped ones by their address") {
  ASummary a;
  a.target("model_dir", "/minio/b/model", artifact, "minio://b/model");
  a.artifact("model", "/minio/b/model", "model_dir");
  a.artifact("notes", "/w/notes", "");
  a.artifact("weights", "/w/weights", "");
  a.artifact("latin", "/w/latin", "");
  a.artifact("long", "/w/long", "");
  a.outcome.outputs.push_back({.name = "gone", .artifact = true, .path = "/w/gone", .present = false, .value = {}, .metadata = {}, .step_path = {}});
  const auto reader =
      files({{"/w/notes", "good\nrun"}, {"/w/weights", std::string("\x00\x01", 2)}, {"/w/latin", "caf\xE9"}, {"/w/long", std::string(5000, 'x')}});
  CHECK(results_object(a.outcome, a.inputs, reader) == Json{{"model", "minio://b/model"},
                                                            {"notes", "good\nrun"},
                                                            {"weights", "/w/weights"},
                                                            {"latin", "/w/latin"},
                                                            {"long", "/w/long"},
                                                            {"gone", nullptr}});
}

TEST_CASE("The KFP v2 executor output has the launcher's strict form") {
  ASummary a;
  a.inputs.executor_output_file = "out.json";
  a.target("model_dir", "/minio/b/model", artifact, "minio://b/model");
  a.target("metrics", "/minio/b/metrics", artifact, "minio://b/metrics");
  a.target("report", "/minio/b/report", artifact, "minio://b/report");
  a.target("job_name", "job_name", parameter);
  a.target("results", "results", parameter);
  a.target("accuracy", "accuracy", parameter);
  a.target("flag", "flag", parameter);
  a.curve("accuracy", {0.5, 0.9});
  a.curve("loss", {not_a_number});
  a.value("flag", true);
  a.value("nothing", nullptr);
  a.artifact("model", "/minio/b/model", "model_dir", {{"framework", "pytorch"}, {"nothing", nullptr}, {"display_name", "x"}});
  const auto rendered = render_outputs(a.summary(), files({}), "<html>");
  CHECK(rendered.files.back().path == "out.json");
  const auto output = json(rendered, "out.json");
  CHECK(output["parameterValues"] == Json{{"accuracy", 0.9},
                                          {"flag", true},
                                          {"job_name", "digits-0f3a9c1e22"},
                                          {"results", {{"flag", true}, {"nothing", nullptr}, {"model", "minio://b/model"}}}});
  CHECK(output["artifacts"]["metrics"]["artifacts"][0]["metadata"] == Json{{"accuracy", 0.9}, {"loss", "NaN"}});
  CHECK(output["artifacts"]["model_dir"]["artifacts"][0]["metadata"] ==
        Json{{"job_name", "digits-0f3a9c1e22"}, {"distribution_type", "PyTorch"}, {"number_of_workers", 2}, {"framework", "pytorch"}});
  CHECK_FALSE(output["artifacts"].contains("report"));
  CHECK(output.size() == 2);
  // The same values in the parameters' files, as the launcher would read them.
  CHECK(content(rendered, "accuracy") == "0.9");
  CHECK(content(rendered, "flag") == "true");
  CHECK(content(rendered, "job_name") == "digits-0f3a9c1e22");
  CHECK(json(rendered, "results").is_object());
}

TEST_CASE("What the program returned reaches KFP v2 as it is, with its nulls") {
  ASummary a;
  a.inputs.executor_output_file = "out.json";
  a.target("results", "results", parameter);
  a.target("history", "history", parameter);
  const Json history{1, nullptr, Json::array(), {{"best", nullptr}, {"losses", {nullptr, 0.5, nullptr}}}, -infinite};
  const Json written{1, nullptr, Json::array(), {{"best", nullptr}, {"losses", {nullptr, 0.5, nullptr}}}, "-Infinity"};
  a.value("history", history);
  a.value("none", nullptr);
  const auto rendered = render_outputs(a.summary(), files({}), "");
  const Json wanted{{"history", written}, {"results", {{"history", written}, {"none", nullptr}}}};
  CHECK(json(rendered, "out.json")["parameterValues"] == wanted);
  CHECK(json(rendered, "history") == wanted["history"]);
  CHECK(json(rendered, "results") == wanted["results"]);
}

TEST_CASE("Null members of an artifact's metadata are omitted for KFP v2, which does not accept them") {
  ASummary a;
  a.inputs.executor_output_file = "out.json";
  a.target("model_dir", "/minio/b/model", artifact, "minio://b/model");
  a.artifact("model", "/minio/b/model", "model_dir", {{"note", nullptr}, {"losses", {nullptr, 0.5}}, {"best", {{"epoch", nullptr}}}});
  const auto metadata = json(render_outputs(a.summary(), files({}), ""), "out.json")["artifacts"]["model_dir"]["artifacts"][0]["metadata"];
  CHECK(metadata["losses"] == Json{nullptr, 0.5});
  CHECK(metadata["best"] == Json{{"epoch", nullptr}});
  CHECK_FALSE(metadata.contains("note"));
}

TEST_CASE("After a failure what is true is written, but no results and no executor output") {
  ASummary a;
  a.outcome.verdict.verdict_class = result::VerdictClass::user;
  a.inputs.executor_output_file = "out.json";
  a.target("report", "report");
  a.target("results", "results");
  a.target("metrics", "metrics");
  a.target("job_name", "name");
  a.target("accuracy", "accuracy", parameter);
  a.curve("loss", {0.5});
  const auto rendered = render_outputs(a.summary(), files({}), "<html>");
  std::vector<std::string> paths;
  paths.reserve(rendered.files.size());
  for (const auto& file : rendered.files) paths.push_back(file.path);
  CHECK(paths == std::vector<std::string>{"report", "metrics", "name"});
  CHECK(rendered.missing.empty());
}

TEST_CASE("A KFP v2 parameter without a value is an error that lists the existing values, as does the report") {
  const Folder folder;
  ASummary a;
  a.inputs.executor_output_file = folder / "out.json";
  a.target("report", folder / "report");
  a.target("results", folder / "results");
  a.target("f1", folder / "f1", parameter);
  a.value("accuracy", 0.5);
  const auto written = write_outputs(a.summary(), from_disk);
  REQUIRE_FALSE(written.has_value());
  CHECK_THAT(written.error().message, Contains("output f1: ") && Contains("the program returned accuracy"));
  CHECK(folder.names() == std::vector<std::string>{"report"});
  const auto report = *read_file(folder / "report", 1U << 20U);
  CHECK_THAT(report, Contains("its outputs are incomplete") && Contains("output f1: ") && !Contains("Succeeded"));
}

TEST_CASE("All outputs are written, with their folders and nothing else") {
  const Folder folder;
  ASummary a;
  a.inputs.executor_output_file = folder / "deep/er/out.json";
  a.target("report", folder / "report.html");
  a.target("metrics", folder / "metrics.json");
  a.target("model_dir", folder / "model");
  REQUIRE(write_outputs(a.summary(), from_disk).has_value());
  auto names = folder.names();
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"deep", "metrics.json", "model", "report.html"});
  CHECK(std::filesystem::is_directory(folder / "model"));
  CHECK_THAT(*read_file(folder / "report.html", 1U << 20U), Contains("digits-0f3a9c1e22"));
}

TEST_CASE("A file of the step is written where a link leads, and the link stays") {
  const Folder folder;
  ASummary a;
  a.target("metrics", folder / "link");
  a.curve("loss", {0.5});
  std::filesystem::create_symlink("deep/metrics.json", folder / "link");
  REQUIRE(write_outputs(a.summary(), from_disk).has_value());
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK_THAT(*read_file(folder / "deep/metrics.json", 1U << 20U), Contains("0.5"));
}

TEST_CASE("A declared text that the program did not write fails the step") {
  const Folder folder;
  ASummary a;
  a.target("report", folder / "report");
  a.artifact("note", folder / "note", "");
  a.outcome.outputs.back().present = false;
  CHECK(write_outputs(a.summary(), from_disk).has_value());  // of no declared type
  a.plan.program.outputs.push_back({"note", spec::Type::artifact, "String"});
  const auto written = write_outputs(a.summary(), from_disk);
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().kind == ErrorKind::input);
  CHECK_THAT(written.error().message, Contains("output note: the program succeeded, but did not write it"));
  CHECK_THAT(*read_file(folder / "report", 1U << 20U), Contains("did not write it") && !Contains("Succeeded"));
  a.outcome.outputs.back().step_path = "metrics";  // which the step writes itself, when the program does not
  CHECK(write_outputs(a.summary(), from_disk).has_value());
}

TEST_CASE("No declared file or folder may be missing, whatever its type, but metrics") {
  const Folder folder;
  ASummary a;
  a.artifact("data", folder / "data", "");
  auto& found = a.outcome.outputs.back();
  a.plan.program.outputs.push_back({"data", spec::Type::artifact, ""});
  auto& declared = a.plan.program.outputs.back();
  const auto is_success = [&] { return write_outputs(a.summary(), from_disk).has_value(); };
  CHECK(is_success());
  found.present = GENERATE(false, true);
  found.earlier = found.present;  // only metadata are this run's
  for (const auto* type : {"", "Dataset", "system.Dataset", "Model", "system.Artifact", "HTML"}) {
    CAPTURE(type);
    declared.declared = type;
    CHECK_FALSE(is_success());
  }
  for (const auto* type : {"Metrics", "system.Metrics", "system.ClassificationMetrics"}) {
    CAPTURE(type);
    declared.declared = type;
    CHECK(is_success());
  }
}

TEST_CASE("A model that the program did not write fails the step, even if an older one exists") {
  const Folder folder;
  ASummary a;
  a.target("report", folder / "report");
  a.target("model_dir", folder / "model");
  a.artifact("model", folder / "model", "model_dir");
  a.outcome.outputs.back().present = false;
  std::filesystem::create_directory(folder / "model");
  const auto written = write_outputs(a.summary(), from_disk);
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().kind == ErrorKind::input);
  CHECK_THAT(written.error().message, Contains("model_dir: the program wrote nothing to "));
  CHECK_THAT(*read_file(folder / "report", 1U << 20U), Contains("the program wrote nothing to") && !Contains("Succeeded"));
}

TEST_CASE("The program's own outputs are committed last, and not when the step fails") {
  const Folder folder;
  ASummary a;
  a.target("job_name", folder / "name");
  bool seen = false;
  int commits = 0;
  const auto commit = [&]() -> Result<void> {
    ++commits;
    seen = std::filesystem::exists(folder / "name");
    return {};
  };
  SECTION("after a success") {
    REQUIRE(write_outputs(a.summary(), from_disk, commit).has_value());
    CHECK(commits == 1);
    CHECK_FALSE(seen);
  }
  SECTION("when it fails, nothing else appears") {
    const auto written = write_outputs(a.summary(), from_disk, [] { return Result<void>(internal_error("no")); });
    REQUIRE_FALSE(written.has_value());
    CHECK(folder.names().empty());
  }
  SECTION("if it cannot be committed because of its type, the files report it") {
    a.target("report", folder / "report");
    const auto written = write_outputs(a.summary(), from_disk, [] { return Result<void>(input_error("the model is a file")); });
    REQUIRE_FALSE(written.has_value());
    CHECK(written.error().kind == ErrorKind::input);
    CHECK_THAT(*read_file(folder / "report", 1U << 20U), Contains("the model is a file") && !Contains("Succeeded"));
  }
  SECTION("when another file cannot be written") {
    std::filesystem::create_directory(folder / "report");
    a.target("report", folder / "report");
    const auto written = write_outputs(a.summary(), from_disk, commit);
    REQUIRE_FALSE(written.has_value());
    CHECK(written.error().kind == ErrorKind::internal);  // no file tells of it
    CHECK(commits == 0);
  }
  SECTION("after a failure") {
    a.outcome.verdict.verdict_class = result::VerdictClass::user;
    REQUIRE(write_outputs(a.summary(), from_disk, commit).has_value());
    CHECK(commits == 0);
  }
}

TEST_CASE("Metadata without a file is not a model: the step fails, and reports no model to KFP") {
  const Folder folder;
  ASummary a;
  a.inputs.executor_output_file = folder / "out.json";
  a.target("model_dir", folder / "model", artifact, "minio://b/model");
  a.artifact("model", "minio://b/model", "model_dir", {{"framework", "pytorch"}});
  a.outcome.outputs.back().earlier = true;
  const auto written = write_outputs(a.summary(), from_disk);
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().kind == ErrorKind::input);
  CHECK_THAT(written.error().message, Contains("model_dir: the program wrote nothing to minio://b/model, it only set metadata"));
  CHECK(folder.names().empty());
}

TEST_CASE("A model whose address the program names is handed on where KFP registers it, and fails the step elsewhere") {
  const auto [wanted, named, registered] = GENERATE(table<std::string, std::string, bool>({
      {"minio://b/v2/p/run/task/1d2e/model_dir", "hf://models/digits", true},
      {"minio://b/v2/p/run/task/1d2e/model_dir", "https://host/model", true},
      {"minio://b/v2/p/run/task/1d2e/model_dir", "models:/digits/3", true},
      {"minio://b/v2/p/run/task/1d2e/model_dir", "oci://registry/model:1", true},
      {"minio://b/v2/p/run/task/1d2e/model_dir", "minio://b/v2/p/run/task/1d2e/model_dir/best", true},
      {"minio://b/v2/p/run/task/1d2e/model_dir", "minio://b/v2/p/run/task/best", true},
      {"minio://b/v2/p/run/task/1d2e/model_dir", "minio://b/v2/p/run/task-2/1d2e/model_dir", false},
      {"minio://b/v2/p/run/task/1d2e/model_dir", "s3://b/v2/p/run/task/1d2e/model_dir", false},
      {"minio://b/v2/p/run/task/1d2e/model_dir", "s3://own/model", false},
      {"minio://b/v2/p/run/task/1d2e/model_dir", "gs://own/model", false},
      {"minio://b/v2/p/run/task/1d2e/model_dir", "/elsewhere/model", false},
      {"minio://b/m", "minio://own/model", false},
  }));
  CAPTURE(wanted, named);
  const Folder folder;
  ASummary a;
  a.inputs.executor_output_file = folder / "out.json";
  a.target("model_dir", folder / "model", artifact, wanted);
  a.target("results", folder / "results", parameter);
  a.artifact("model", named, "model_dir");
  const auto written = write_outputs(a.summary(), from_disk);
  REQUIRE(written.has_value() == registered);
  if (!registered) {
    CHECK(written.error().kind == ErrorKind::input);
    CHECK_THAT(written.error().message, Contains("its model at " + named));
    CHECK(folder.names().empty());
    return;
  }
  const auto told = parse_json(*read_file(folder / "out.json", 1U << 20U), "out").value();
  CHECK(told["artifacts"]["model_dir"]["artifacts"][0]["uri"] == named);
  CHECK(told["parameterValues"]["results"]["model"] == named);
}

TEST_CASE("An invalid address is not a model, and the problem is reported") {
  ASummary a;
  a.target("model_dir", "model");
  a.artifact("model", "hf://", "model_dir");
  a.outcome.outputs.back().present = false;
  const auto written = write_outputs(a.summary(), from_disk);
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().kind == ErrorKind::input);
  CHECK(written.error().message == "model_dir: the program reported its model at hf://, which has no name after hf://");
  a.plan.program.outputs = {{"data", spec::Type::artifact, "Dataset"}};
  a.outcome.outputs.back().name = "data";
  a.outcome.outputs.back().step_path.clear();
  CHECK(write_outputs(a.summary(), from_disk).error().message == "output data: the program reported it at hf://, which has no name after hf://");
}

TEST_CASE("Outside of KFP the program may name any address for its model") {
  const Folder folder;
  ASummary a;
  a.target("model_dir", folder / "model");
  a.artifact("model", "s3://own/model", "model_dir");
  CHECK(write_outputs(a.summary(), from_disk).has_value());
  CHECK(results_object(a.outcome, a.inputs, from_disk) == Json{{"model", "s3://own/model"}});
}

TEST_CASE("The text of an output is in the results if the step has no path for it") {
  ASummary a;
  a.artifact("confusion", GENERATE("/w/confusion", ""), "", {{"matrix", {1, nullptr, 2}}, {"none", nullptr}});  // without a place: in a pod
  a.outcome.outputs.back().earlier = true;
  a.artifact("metrics", "/o/m", "metrics", {{"accuracy", 0.5}});
  a.outcome.outputs.back().earlier = true;
  CHECK(results_object(a.outcome, a.inputs, files({})) == Json{{"confusion", {{"matrix", {1, nullptr, 2}}, {"none", nullptr}}}, {"metrics", "/o/m"}});
}

TEST_CASE("For a program without a model KFP gets only the model's path") {
  ASummary a;
  a.inputs.executor_output_file = "out.json";
  a.target("model_dir", "/minio/b/model", artifact, "minio://b/model");
  CHECK_FALSE(json(render_outputs(a.summary(), files({}), ""), "out.json").contains("artifacts"));
}

TEST_CASE("A value is not an artifact, whatever its name: it is in the results") {
  const Folder folder;
  const auto* const name = GENERATE("model_dir", "metrics", "mlpipeline_metrics", "mlpipeline_ui_metadata", "report");
  CAPTURE(name);
  ASummary a;
  a.inputs.executor_output_file = folder / "out.json";
  a.target(name, folder / name, artifact, std::string("minio://b/") + name);
  a.target("results", folder / "results", parameter);
  a.value(name, 0.5);
  if (a.outcome.outputs.back().name != "model_dir") {
    a.outcome.outputs.back().step_path = name;
    a.outcome.outputs.back().path = folder / name;
    std::ofstream(folder / name) << "0.5";
  }
  REQUIRE(write_outputs(a.summary(), from_disk).has_value());
  const auto told = parse_json(*read_file(folder / "out.json", 1U << 20U), "out").value();
  CHECK(told == Json{{"parameterValues", {{"results", {{name, 0.5}}}}}});
  const std::string what = std::filesystem::is_directory(folder / name) ? "" : *read_file(folder / name, 1U << 20U);
  CHECK(what != "0.5");
}

TEST_CASE("A value that is metrics is merged with the log's, in any of their shapes, wherever it was read from") {
  ASummary a;
  a.target("metrics", "m");
  a.curve("loss", {0.25});
  a.value("metrics", GENERATE(Json{{"accuracy", 0.5}, {"split", "test"}}, Json(R"({"accuracy": 0.5, "split": "test"})")));
  a.outcome.outputs.back().step_path = "metrics";
  CHECK(json(render_outputs(a.summary(), files({}), ""), "m") == Json{{"accuracy", 0.5}, {"loss", 0.25}, {"split", "test"}});
  a.outcome.outputs.clear();
  a.value("eval_metrics", Json{{"metrics", {{{"name", "f1"}, {"numberValue", 0.7}}}}});
  CHECK(json(render_outputs(a.summary(), files({}), ""), "m") == Json{{"f1", 0.7}, {"loss", 0.25}});
}

TEST_CASE("The path of a model that was delivered to its address is an empty folder, of which a launcher uploads nothing") {
  const Folder folder;
  ASummary a;
  a.target("model_dir", folder / "model", artifact, "minio://b/model");
  a.artifact("model", "minio://b/model", "model_dir");
  REQUIRE(write_outputs(a.summary(), from_disk).has_value());
  CHECK(std::filesystem::is_directory(folder / "model"));
  CHECK(std::filesystem::is_empty(folder / "model"));
  a.inputs.targets[0].path = "/proc/none/model";  // what only quietens a warning fails no step
  CHECK(write_outputs(a.summary(), from_disk).has_value());
}

TEST_CASE("A failed run makes no model folder") {
  const Folder folder;
  ASummary a;
  a.outcome.verdict.verdict_class = result::VerdictClass::user;
  a.target("model_dir", folder / "model");
  REQUIRE(write_outputs(a.summary(), from_disk).has_value());
  CHECK(folder.names().empty());
}

TEST_CASE("A path that has become a folder is not blamed on the program, and is in the report") {
  const Folder folder;
  std::filesystem::create_directory(folder / "results.json");
  ASummary a;
  a.target("results", folder / "results.json");
  a.target("report", folder / "report.html");
  const auto written = write_outputs(a.summary(), from_disk);
  REQUIRE_FALSE(written.has_value());
  CHECK(result::lost_outputs(written.error()).verdict_class == result::VerdictClass::system);
  CHECK_THAT(*read_file(folder / "report.html", 1 << 20), Contains("it is now a folder"));
}

TEST_CASE("A parent folder that has become a file is not blamed on the program, whatever was to be written there") {
  const std::string target = GENERATE("results", "model_dir");
  CAPTURE(target);
  const Folder folder;
  std::ofstream(folder / "sub") << "somebody's";
  ASummary a;
  a.target(target, folder / "sub/deep/place");
  a.target("report", folder / "report.html");
  const auto written = write_outputs(a.summary(), from_disk);
  REQUIRE_FALSE(written.has_value());
  CHECK(result::lost_outputs(written.error()).verdict_class == result::VerdictClass::system);
  CHECK_THAT(written.error().message, Contains(folder / "sub/deep"));
  if (target == "results") CHECK_THAT(*read_file(folder / "report.html", 1 << 20), Contains("Not a directory"));
}

TEST_CASE("A file whose folder was renamed is not written, and the other files report it") {
  const bool succeeded = GENERATE(true, false);
  const std::string way = GENERATE("sub/deep", "link", "linked/file");
  CAPTURE(succeeded, way);
  const Folder folder;
  std::filesystem::create_directories(folder / "sub/linked");
  std::filesystem::create_directory_symlink("sub", folder / "link");
  std::filesystem::create_directory(folder / "linked");
  std::filesystem::create_symlink(folder / "sub/linked/file", folder / "linked/file");
  const auto place = way == "linked/file" ? folder / way : folder / (way + "/m.json");
  ASummary a;
  if (!succeeded) a.outcome.verdict = {result::VerdictClass::user, "it failed", std::nullopt, false, SIGTERM};
  a.target("metrics", place);
  a.target("report", folder / "report.html");
  const HeldFolders held(a.inputs);
  auto summary = a.summary();
  summary.folders = &held;
  std::filesystem::rename(folder / "sub", folder / "renamed");
  std::filesystem::create_directories(folder / "sub/linked");
  const auto written = write_outputs(summary, from_disk);
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().kind == ErrorKind::conflict);
  CHECK_THAT(written.error().message, StartsWith("cannot write " + place + ": its folder was renamed or replaced") && Contains(folder / "renamed"));
  CHECK_THAT(*read_file(folder / "report.html", 1 << 20), Contains(succeeded ? "renamed or replaced" : "it failed"));
  CHECK(std::filesystem::is_empty(folder / "sub/linked"));
  CHECK_FALSE(std::filesystem::exists(place));
}

TEST_CASE("A file whose folder was removed, or created since, is not written to another one") {
  const Folder folder;
  ASummary a;
  a.target("metrics", folder / "sub/deep/m.json");
  a.target("report", folder / "new/report.html");
  std::filesystem::create_directories(folder / "sub/deep");
  const HeldFolders held(a.inputs);
  auto summary = a.summary();
  summary.folders = &held;
  std::filesystem::remove_all(folder / "sub");
  std::filesystem::create_directories(folder / "sub/deep");
  std::filesystem::create_directory(folder / "new");
  REQUIRE(write_outputs(summary, from_disk).has_value());
  CHECK(std::filesystem::exists(folder / "sub/deep/m.json"));
  CHECK(std::filesystem::exists(folder / "new/report.html"));
}

TEST_CASE("When one file cannot be written none appears") {
  const Folder folder;
  std::filesystem::create_directory(folder / "folder");
  const auto written = write_together({{folder / "a", "1"}, {folder / "folder", "2"}});
  REQUIRE_FALSE(written.has_value());
  CHECK_THAT(written.error().message, Contains("it is now a folder"));
  CHECK(folder.names() == std::vector<std::string>{"folder"});
  CHECK_FALSE(write_together({{folder / "a", "1"}, {"/proc/none/x", "2"}}).has_value());
  CHECK(folder.names() == std::vector<std::string>{"folder"});
}

TEST_CASE("What a killed run has left unfinished goes with the next one, what others have there stays") {
  const Folder folder;
  std::filesystem::create_directory(folder / "a.7.tstep");
  const std::vector<std::string> others{"a.1.tmp", "a.2024", "a.tstep", "a..tstep", "a.x1.tstep", "b.2.tstep", "ba.2.tstep"};
  for (const std::string name : {"a.2.tstep", "a.4194304.tstep", "a.3.tstep"}) std::ofstream(folder / name) << "x";
  for (const auto& name : others) std::ofstream(folder / name) << "x";
  std::filesystem::create_symlink(folder / "a.2024", folder / "a.8.tstep");
  Fd at_work(::open((folder / "a.3.tstep").c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(::flock(at_work.get(), LOCK_EX) == 0);
  std::vector<std::string> stay{"a.3.tstep", "a.7.tstep", "a.8.tstep"};
  stay.insert(stay.end(), others.begin(), others.end());
  const auto names = [&] {
    auto there = folder.names();
    std::ranges::sort(there);
    return there;
  };
  std::ranges::sort(stay);
  REQUIRE(write_together({{folder / "a", "1"}}, [&]() -> Result<void> {
    auto now = stay;
    now.push_back(fmt::format("a.{}.tstep", ::getpid()));
    std::ranges::sort(now);
    CHECK(names() == now);
    return {};
  }));
  stay.insert(stay.begin(), "a");
  std::ranges::sort(stay);
  CHECK(names() == stay);
  at_work.close();
  REQUIRE(write_together({{folder / "a", "2"}}));
  std::erase(stay, "a.3.tstep");
  CHECK(names() == stay);
}

TEST_CASE("A file that is already open is written at its current position, and neither truncated nor replaced") {
  const Folder folder;
  const auto log = folder / "log";
  REQUIRE(write_file_atomically(log, "before\n"));
  const bool appends = GENERATE(true, false);
  const Fd open(::open(log.c_str(), O_WRONLY | O_CLOEXEC | (appends ? O_APPEND : 0)));
  REQUIRE(open);
  if (!appends) REQUIRE(::lseek(open.get(), 0, SEEK_END) == 7);
  const auto number = std::to_string(open.get());
  std::filesystem::create_symlink("/proc/self/fd/" + number, folder / "link");
  const std::string large(100'000, 'x');
  REQUIRE(write_together({{"/dev/fd/" + number, "1\n"}, {"/proc/self/fd/" + number, "2\n"}, {folder / "link", large}}));
  CHECK(*read_file(log, 200'000) == "before\n1\n2\n" + large);
  CHECK_FALSE(write_together({{"/dev/fd/999", "1"}}));
}

TEST_CASE("The later of two contents for one path is used, and devices are written to, not replaced") {
  const Folder folder;
  REQUIRE(write_together({{folder / "a", "1"}, {folder / "a", "2"}, {"/dev/null", "3"}}).has_value());
  CHECK(*read_file(folder / "a", 10) == "2");
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace trainstep::step
