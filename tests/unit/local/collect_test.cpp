// SPDX-License-Identifier: Apache-2.0
#include "local/collect.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "plans.h"
#include "support/catch.h"
#include "support/temp_dir.h"
#include "support/without_root.h"

namespace trainstep::local {
namespace {

namespace fs = std::filesystem;

// A program whose outputs are those of `outputs`: v1 component text, values behind ----output-paths, artifacts before.
plan::Plan v1_plan(const std::string& values, const std::string& artifacts = "") {
  plan::Request request;
  std::string declared, words, paths;
  for (const auto& [list, target] : {std::pair(&values, &paths), std::pair(&artifacts, &words)}) {
    for (std::size_t at = 0; at < list->size();) {
      const auto end = list->find(';', at);
      const auto entry = list->substr(at, end - at);
      const auto name = entry.substr(0, entry.find(' '));
      declared += "- {name: " + name + ", type: " + entry.substr(entry.find(' ') + 1) + "}\n";
      *target += ", {outputPath: " + name + "}";
      at = end == std::string::npos ? list->size() : end + 1;
    }
  }
  request.train_specification = "name: t\noutputs:\n" + declared + "implementation:\n  container:\n    image: any\n    command: [train" + words +
                                "]\n" + (paths.empty() ? "" : "    args: [----output-paths" + paths + "]\n");
  return make_plan(request);
}

class Run {
 public:
  explicit Run(const plan::Plan& plan) : m_plan(plan) {
    auto place = place_of(plan, m_folder.path() / "run", gang(plan).front());
    REQUIRE(place.has_value());
    m_place = std::move(*place);
    REQUIRE(make_folders(m_place).has_value());
    m_before = footprints_of(m_place);
  }
  void write(const std::string& output, const std::string& text) { std::ofstream(m_place.placement.outputs.at(output)) << text; }
  void write_executor_output(const std::string& text) { std::ofstream(m_place.placement.executor_output_file) << text; }
  void be_readable() { fs::permissions(m_folder.path(), fs::perms(0755)); }
  void remove_stale() { remove_stale_values(m_plan, m_place, m_before); }
  [[nodiscard]] std::string path(const std::string& output) const { return m_place.placement.outputs.at(output); }
  [[nodiscard]] run::OutputFound only() const {
    auto outputs = collect_outputs(m_plan, m_place, m_before);
    INFO((outputs ? "" : outputs.error().message));
    REQUIRE(outputs.has_value());
    REQUIRE(outputs->size() == 1);
    return outputs->front();
  }
  [[nodiscard]] std::string error() const {
    const auto outputs = collect_outputs(m_plan, m_place, m_before);
    REQUIRE_FALSE(outputs.has_value());
    CHECK(outputs.error().kind == ErrorKind::input);
    return outputs.error().message;
  }

 private:
  const plan::Plan& m_plan;
  TempDir m_folder;
  Place m_place;
  PathSnapshots m_before;
};

TEST_CASE("values are read from their files as the type they were declared with") {
  struct Row {
    const char* type;
    const char* text;
    const char* value;
  };
  const auto row = GENERATE(values<Row>({
      {"Integer", "7", "7"},
      {"Integer", " 7\n", "7"},
      {"Float", "0.25", "0.25"},
      {"Bool", "True", "true"},
      {"Bool", "false\n", "false"},
      {"String", "two words\n", R"("two words\n")"},
      {"JsonArray", "[1, \"a\"]", R"([1,"a"])"},
      {"JsonObject", R"({"a": {"b": null}})", R"({"a":{"b":null}})"},
      {"JsonObject", R"({"loss": NaN, "name": "NaN"})", R"({"loss":"NaN","name":"NaN"})"},
  }));
  CAPTURE(row.type, row.text);
  const auto plan = v1_plan(std::string("value ") + row.type);
  Run run(plan);
  run.write("value", row.text);
  const auto found = run.only();
  CHECK_FALSE(found.artifact);
  CHECK(found.present);
  REQUIRE(found.value.has_value());
  CHECK(to_text(*found.value) == row.value);
}

TEST_CASE("non-finite numbers are values, too") {
  const auto plan = v1_plan("loss Float");
  for (const auto* text : {"nan", "NaN", "-inf", "Infinity\n"}) {
    CAPTURE(text);
    Run run(plan);
    run.write("loss", text);
    CHECK_FALSE(std::isfinite(run.only().value->get<double>()));
  }
}

TEST_CASE("a value that was not written, or is not of its type, is an error that names it") {
  const auto plan = v1_plan("accuracy Float");
  Run run(plan);
  CHECK_THAT(run.error(), Catch::Contains("output accuracy") && Catch::Contains("did not write its value") && Catch::Contains("outputs/accuracy"));
  run.write("accuracy", "very good");
  CHECK_THAT(run.error(), Catch::Contains("output accuracy") && Catch::Contains("very good"));
}

TEST_CASE("a value that is optional may be left out, and the SDK 1.8 writes None for it") {
  const auto type = GENERATE(as<std::string>(), "Float, annotations: {optional: true}", "'typing.Optional[float]'");
  const auto plan = v1_plan("best " + type);
  Run run(plan);
  CHECK_FALSE(run.only().present);
  CHECK_FALSE(run.only().value);
  run.write("best", "None");
  CHECK_FALSE(run.only().present);
  CHECK_FALSE(run.only().value);
  run.write("best", "0.5");
  CHECK(run.only().value == Json(0.5));
  run.write("best", "");
  CHECK_THAT(run.error(), Catch::Contains("output best"));
}

TEST_CASE("None is a text where a text is optional, and nothing where nothing is") {
  const auto text = v1_plan("note String, annotations: {optional: true}");
  Run run(text);
  run.write("note", "None");
  CHECK(run.only().value == Json("None"));
  const auto number = v1_plan("best Float, annotations: {optional: 'no'}");
  Run other(number);
  CHECK_THAT(other.error(), Catch::Contains("did not write its value"));
  other.write("best", "None");
  CHECK_THAT(other.error(), Catch::Contains("got \"None\""));
}

TEST_CASE("a value written before the run is not its result") {
  const TempDir folder;
  auto plan = v1_plan("accuracy Float");
  plan.binding.outputs.front().path = plan::StepPath{"metrics", (folder.path() / "metrics").string(), "", "", Json::object()};
  std::ofstream(folder.path() / "metrics") << "0.99";
  Run run(plan);
  run.remove_stale();
  CHECK(fs::exists(folder.path() / "metrics"));
  CHECK_THAT(run.error(), Catch::Contains("did not write its value"));
  run.write("accuracy", "0.5");
  CHECK(run.only().value->get<double>() == 0.5);
  CHECK(run.only().step_path == "metrics");
}

TEST_CASE("values of an earlier attempt are removed, artifacts stay for those who resume") {
  const auto plan = v1_plan("accuracy Float", "model Model");
  Run run(plan);
  run.write("accuracy", "0.1");
  run.write("model", "checkpoint");
  run.write_executor_output("{}");
  run.remove_stale();
  CHECK_FALSE(fs::exists(run.path("accuracy")));
  CHECK(fs::exists(run.path("model")));
  CHECK_THAT(run.error(), Catch::Contains("accuracy"));
}

TEST_CASE("an artifact is present when it was written") {
  const auto plan = v1_plan("", "model Model");
  Run run(plan);
  CHECK_FALSE(run.only().present);
  fs::create_symlink("/nowhere", run.path("model"));
  CHECK_FALSE(run.only().present);
  fs::remove(run.path("model"));
  run.write("model", "weights");
  CHECK(run.only().present);
  CHECK(run.only().artifact);
  CHECK(run.only().path == run.path("model"));
}

TEST_CASE("an artifact readable only by root is an error, not an absent one") {
  const auto plan = v1_plan("", "model Model");
  Run run(plan);
  run.be_readable();
  const auto path = run.path("model");
  fs::create_directories(path);
  std::ofstream(path + "/weights") << "x";
  fs::permissions(path, fs::perms::none);
  const WithoutRoot other_user;
  CHECK(run.error() == "output model: cannot read " + path + ": Permission denied; the program must leave its output files readable");
}

TEST_CASE("a text that the program writes to a path is its value, whole; other bytes are a file") {
  const auto plan = v1_plan("", "note String");
  Run run(plan);
  const auto text = std::string(5'000, 'x') + "\n";
  run.write("note", text);
  CHECK(run.only().value == Json(text));
  CHECK(run.only().present);
  for (const auto& bytes : {std::string("a\xff"), std::string("a\0b", 3)}) {
    run.write("note", bytes);
    CHECK_FALSE(run.only().value);
    CHECK(run.only().present);
  }
}

TEST_CASE("an empty file is a text that was written, and no other artifact") {
  const auto text = v1_plan("", "note String");
  Run run(text);
  CHECK_FALSE(run.only().value.has_value());
  run.write("note", "");
  CHECK(run.only().value == std::optional<Json>(""));
  CHECK_FALSE(run.only().present);  // as a model
  const auto model = v1_plan("", "note Model");
  Run other(model);
  other.write("note", "");
  CHECK_FALSE(other.only().value.has_value());
}

TEST_CASE("an artifact that is present by its metadata does not make an older file this run's") {
  const TempDir folder;
  auto plan = v1_plan("", "metrics Metrics");
  plan.binding.outputs.front().path = plan::StepPath{"metrics", (folder.path() / "metrics").string(), "", "", Json::object()};
  std::ofstream(folder.path() / "metrics") << R"({"loss": 0.9})";
  Run run(plan);
  CHECK_FALSE(run.only().present);
  run.write_executor_output(R"({"artifacts": {"metrics": {"artifacts": [{"name": "metrics", "metadata": {"accuracy": 0.5}}]}}})");
  CHECK(run.only().present);
  CHECK(run.only().earlier);
  run.write("metrics", R"({"loss": 0.25, "rank": 0})");
  CHECK_FALSE(run.only().earlier);
}

TEST_CASE("the executor output of KFP v2 takes precedence over files") {
  const auto plan = v1_plan("accuracy Float");
  Run run(plan);
  run.write("accuracy", "0.1");
  const auto* key = GENERATE("parameterValues", "parameter_values");
  run.write_executor_output(std::string("{\"") + key + "\": {\"accuracy\": 0.9}}");
  CHECK(run.only().value->get<double>() == 0.9);
  run.write_executor_output(std::string("{\"") + key + "\": {\"accuracy\": NaN}}");
  CHECK(std::isnan(run.only().value->get<double>()));
}

TEST_CASE("an artifact takes its metadata, and a place of its own, from the executor output") {
  const auto plan = v1_plan("", "model Model");
  Run run(plan);
  run.write_executor_output(R"({"artifacts": {"model": {"artifacts": [{"name": "model", "uri": "s3://b/k", "metadata": {"accuracy": 0.9}}]}}})");
  const auto found = run.only();
  CHECK(found.present);
  CHECK(found.path == "s3://b/k");
  CHECK(to_text(found.metadata) == R"({"accuracy":0.9})");
}

TEST_CASE("an artifact is where the program reports it: an existing file, or a complete address") {
  const auto plan = v1_plan("", "model Model");
  Run run(plan);
  const TempDir folder;
  const auto there = (folder.path() / "my model").string(), escaped = (folder.path() / "my%20model").string();
  std::ofstream(there) << "w";
  std::ofstream(folder.path() / "empty");
  const std::vector<std::tuple<std::string, std::string, bool>> rows{
      {there, there, true},
      {"file://" + escaped, there, true},
      {"FILE:" + escaped, there, true},
      {"file://" + (folder.path() / "empty").string(), folder.path() / "empty", false},
      {"file://" + there + "2", there + "2", false},
      {"file://other" + there, "file://other" + there, false},
      {"models:/digits/3", "models:/digits/3", true},
      {"S3://b/k", "s3://b/k", true},
      {"s3://", "s3://", false},
      {"hf://", "hf://", false},
  };
  for (const auto& [place, path, present] : rows) {
    CAPTURE(place);
    run.write_executor_output(R"({"artifacts": {"model": {"artifacts": [{"uri": ")" + place + R"("}]}}})");
    CHECK(run.only().path == path);
    CHECK(run.only().present == present);
  }
}

TEST_CASE("of two reported locations the usable one is taken") {
  const auto plan = v1_plan("", "model Model");
  Run run(plan);
  const auto [uri, path] = GENERATE(table<std::string, std::string>({{"s3://b/k", "/nowhere"}, {"/nowhere", "s3://b/k"}, {"hf://", "s3://b/k"}}));
  run.write_executor_output(R"({"artifacts": {"model": {"artifacts": [{"uri": ")" + uri + R"(", "customPath": ")" + path + R"("}]}}})");
  CHECK(run.only().path == "s3://b/k");
  CHECK(run.only().present);
}

TEST_CASE("an artifact of a metrics type is reported as metrics") {
  const auto [type, metrics] = GENERATE(
      table<std::string, bool>({{"Metrics", true}, {"system.ClassificationMetrics", true}, {"SlicedClassificationMetrics", true}, {"Model", false}}));
  CAPTURE(type);
  const auto plan = v1_plan("", "scores " + type);
  Run run(plan);
  CHECK(run.only().metrics == metrics);
}

TEST_CASE("a value declared as a Float is reported as one, even if it is an integer") {
  const auto [type, floating] = GENERATE(table<std::string, bool>({{"Float", true}, {"Integer", false}, {"String", false}}));
  CAPTURE(type);
  const auto plan = v1_plan("value " + type);
  Run run(plan);
  run.write("value", "1");
  CHECK(run.only().floating == floating);
}

TEST_CASE("what the program wrote to the step's path is the artifact, also where it names a place of its own") {
  auto plan = v1_plan("", "model Model");
  const auto bound = GENERATE(true, false);
  const TempDir folder;
  if (bound) plan.binding.outputs.front().path = plan::StepPath{"model_dir", folder.path() / "model", "", "", Json::object()};
  Run run(plan);
  run.write("model", "w");
  run.write_executor_output(R"({"artifacts": {"model": {"artifacts": [{"name": "model", "uri": "s3://b/k"}]}}})");
  CHECK((run.only().path != "s3://b/k") == bound);
}

TEST_CASE("an executor output that cannot be read is an error, not a success") {
  const auto plan = v1_plan("", "model Model");
  Run run(plan);
  run.write_executor_output("{\"artifacts\": ");
  CHECK_THAT(run.error(), Catch::Contains("executor output"));
  run.write_executor_output("[]");
  CHECK_THAT(run.error(), Catch::Contains("is not an object"));
}

TEST_CASE("the file count in messages includes everything below, except empty files") {
  const TempDir folder;
  const auto put = [&](const std::string& name, std::size_t bytes) {
    fs::create_directories((folder.path() / name).parent_path());
    std::ofstream(folder.path() / name) << std::string(bytes, 'x');
  };
  CHECK(describe_files(folder.path() / "absent").empty());
  put("m/empty", 0);
  CHECK(describe_files(folder.path() / "m").empty());
  put("m/a", 5);
  CHECK(describe_files(folder.path() / "m") == "1 file (5 bytes)");
  CHECK(describe_files(folder.path() / "m/a") == "1 file (5 bytes)");
  put("m/deep/er", 20'480);
  CHECK(describe_files(folder.path() / "m") == "2 files (20 KiB)");
  fs::create_symlink("m/deep", folder.path() / "m/link");
  put("m/large", std::size_t{12} << 20U);
  CHECK(describe_files(folder.path() / "m") == "3 files (12 MiB)");
}

}  // namespace
}  // namespace trainstep::local
