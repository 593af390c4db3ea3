// SPDX-License-Identifier: Apache-2.0
#include "step/targets.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

#include "base/fd.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace trainstep::step {
namespace {

using Catch::Matchers::Contains;

OutputTarget file(const std::string& name, const std::filesystem::path& path) {
  return {.name = name, .kind = OutputTarget::Kind::file, .path = path, .uri = {}, .type = {}};
}

struct Places {
  TempDir temp;
  std::filesystem::path folder = temp.path();
  Places() {
    std::filesystem::create_directory(folder / "old");
    std::ofstream(folder / "note") << "x";
    std::filesystem::create_symlink("/none/there", folder / "nowhere");
    REQUIRE(::mknod((folder / "fifo").c_str(), S_IFIFO | 0600, 0) == 0);
    REQUIRE(::mknod((folder / "socket").c_str(), S_IFSOCK | 0600, 0) == 0);
  }
};

std::filesystem::path deep_path() {
  std::filesystem::path path;
  for (int i = 0; i < 40; ++i) path /= std::string(100, 'a');
  return path;
}

TEST_CASE("Outputs may go to new paths, existing files, existing models and devices") {
  const Places places;
  const auto& folder = places.folder;
  CHECK(check_targets({}).has_value());
  CHECK(check_targets({file("report", folder / "a/b/report.html"), file("metrics", folder / "note"), file("model_dir", folder / "old")}).has_value());
  CHECK(check_targets({file("model_dir", folder / "note"), file("report", "/dev/null"), file("metrics", "/dev/null")}).has_value());
  CHECK(check_targets({file("report", folder / "fifo")}).has_value());
  CHECK(check_targets({file("report", "report.html"), file("model_dir", "")}).has_value());
  CHECK(check_targets({file("report", folder / std::string(240, 'a')), file("model_dir", folder / std::string(240, 'b'))}).has_value());
  const Fd open(::open((folder / "note").c_str(), O_WRONLY | O_CLOEXEC));
  const auto descriptor = "/dev/fd/" + std::to_string(open.get());
  CHECK(check_targets({file("report", descriptor), file("metrics", descriptor)}).has_value());
  const Fd read_only(::open((folder / "note").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(check_targets({file("report", "/dev/fd/" + std::to_string(read_only.get()))}));
  CHECK_FALSE(check_targets({file("report", "/dev/fd/999")}));
  CHECK_FALSE(check_targets({file("model_dir", descriptor)}));
  std::filesystem::create_symlink("new/report.html", folder / "link");
  CHECK(check_targets({file("report", folder / "link")}).has_value());
  CHECK(check_folder("run-dir", folder / "run/1").has_value());
  CHECK(check_folder("run-dir", folder).has_value());
}

TEST_CASE("Paths that cannot hold an output are rejected with the output's name") {
  const Places places;
  const auto& folder = places.folder;
  struct Row {
    std::vector<OutputTarget> targets;
    std::string text;
    ErrorKind kind;
  };
  const std::vector<Row> rows{
      {{file("report", folder / "old")}, "report: " + (folder / "old").string() + " is a folder", ErrorKind::input},
      {{file("report", folder / "note/report.html")}, "report: " + (folder / "note").string() + " is not a folder", ErrorKind::input},
      {{file("model_dir", folder / "note/model")}, "model_dir: " + (folder / "note").string() + " is not a folder", ErrorKind::input},
      {{file("report", folder / "nowhere/report.html")}, (folder / "nowhere").string() + " is a broken symbolic link", ErrorKind::input},
      {{file("model_dir", folder / "nowhere/model")}, "is a broken symbolic link", ErrorKind::input},
      {{file("report", folder / std::string(250, 'a'))}, "a name can have 255 bytes here", ErrorKind::input},
      {{file("model_dir", folder / std::string(250, 'a'))}, "a name can have 255 bytes here", ErrorKind::input},
      {{file("model_dir", folder / std::string(256, 'a'))}, "a name can have 255 bytes here", ErrorKind::input},
      {{file("metrics", folder / std::string(256, 'a') / "m")}, "a name can have 255 bytes here", ErrorKind::input},
      {{file("metrics", folder / deep_path())}, "the path is too long", ErrorKind::input},
      {{file("metrics", folder / "socket")}, "metrics: " + (folder / "socket").string() + " is a socket, but a file is written", ErrorKind::input},
      {{file("model_dir", folder / "fifo")},
       "model_dir: " + (folder / "fifo").string() + " is a FIFO, but a file or folder is written",
       ErrorKind::input},
      {{file("model_dir", "/dev/null")}, "model_dir: /dev/null is a device, but a file or folder is written", ErrorKind::input},
      {{file("metrics", "/proc/metrics")}, "/proc", ErrorKind::input},
      {{file("model_dir", "/proc/model")}, "/proc", ErrorKind::input},
      {{file("report", "s3://bucket/report.html")}, "report: s3://bucket/report.html is an address", ErrorKind::usage},
      {{file("report", folder / "x"), file("metrics", folder / "old/../x")}, "report and metrics: both name", ErrorKind::usage},
      {{file("model_dir", folder / "old"), file("metrics", folder / "old/x/metrics.json")}, "metrics: ", ErrorKind::usage},
  };
  for (const auto& row : rows) {
    const auto checked = check_targets(row.targets);
    REQUIRE_FALSE(checked.has_value());
    CHECK_THAT(checked.error().message, Contains(row.text));
    CHECK(checked.error().kind == row.kind);
  }
  const auto checked = check_folder("run-dir", folder / "note");
  REQUIRE_FALSE(checked.has_value());
  CHECK_THAT(checked.error().message, Contains("run-dir: ") && Contains("is not a folder"));
}

TEST_CASE("A model never replaces the working directory, an input, or a folder that contains one of them") {
  const Places places;
  const auto& folder = places.folder;
  Inputs inputs;
  inputs.request.inputs.push_back({"train_dataset_dir", (folder / "old/data").string(), "", "", Json::object()});
  const auto with_model = [&](const std::filesystem::path& path) {
    inputs.targets = {file("model_dir", path)};
    return check_model_place(inputs, {{"run-dir", (folder / "runs/1").string()}});
  };
  for (const auto& taken :
       {folder, folder / "old", folder / "old/data", folder / "runs", std::filesystem::current_path(), std::filesystem::path("/")}) {
    const auto checked = with_model(taken);
    REQUIRE_FALSE(checked.has_value());
    CHECK_THAT(checked.error().message, Contains("model_dir: ") && Contains("is or contains "));
  }
  CHECK(with_model(folder / "old/data/model").has_value());
  CHECK(with_model(folder / "runs/1/model").has_value());
  CHECK(with_model(folder / "old/da").has_value());
  CHECK(with_model(folder / std::string(256, 'a')).has_value());  // that the name is too long is checked elsewhere
}

TEST_CASE("A model to which no output of the program is bound is reported before the training") {
  Inputs inputs;
  plan::Plan plan;
  CHECK_FALSE(unbound_model(inputs, plan));
  inputs.targets = {file("model_dir", "model")};
  CHECK_THAT(unbound_model(inputs, plan).value(), Contains("model_dir: the program has no outputs, so the step has no model"));
  plan.program.outputs = {{"weights", spec::Type::artifact, ""}, {"loss", spec::Type::number, "Float"}};
  plan.binding.outputs = {{"weights", std::nullopt}, {"loss", std::nullopt}};
  CHECK_THAT(unbound_model(inputs, plan).value(), Contains("model_dir: the program has no output of this name (it has weights)"));
  plan.binding.outputs[0].path = plan::StepPath{"model_dir", "model", "", "", {}};
  CHECK_FALSE(unbound_model(inputs, plan));
  plan.program.outputs = {{"loss", spec::Type::number, "Float"}};
  plan.binding.outputs = {{"loss", std::nullopt}};
  CHECK(unbound_model(inputs, plan) == "model_dir: the program has no file or folder output, so the step has no model; add an output of this name");
  plan.program.outputs = {{"model_dir", spec::Type::string, "String"}};
  plan.binding.outputs = {{"model_dir", std::nullopt}};
  CHECK_THAT(unbound_model(inputs, plan).value(),
             Contains("model_dir: the program returns a value of this name, which goes to results and is not a model, so the step has no model"));
}

TEST_CASE("A value that may be None is rejected as a pipeline parameter, which always has a value") {
  Inputs inputs;
  plan::Plan plan;
  plan.program.outputs = {{"best", spec::Type::number, "Optional[Float]"}, {"last", spec::Type::number, "Float"}};
  for (const auto* name : {"best", "last", "absent"}) {
    INFO(name);
    inputs.targets = {{.name = name, .kind = OutputTarget::Kind::parameter, .path = "out", .uri = {}, .type = {}}};
    CHECK(check_parameters(inputs, plan).has_value() == (std::string_view(name) != "best"));
  }
  inputs.targets = {file("best", "best")};
  CHECK(check_parameters(inputs, plan));
}

TEST_CASE("A record or an exit code never overwrites an input or another output") {
  const Places places;
  const auto& folder = places.folder;
  Inputs inputs;
  inputs.request.inputs.push_back({"train_dataset_dir", (folder / "old").string(), "", "", Json::object()});
  inputs.targets = {file("metrics", folder / "metrics.json")};
  std::filesystem::create_symlink("metrics.json", folder / "link");
  for (const std::string name : {"record", "exit-code-file"}) {
    INFO(name);
    const auto refusal = [&](const std::filesystem::path& place) {
      const auto checked = name == "record" ? check_outputs(inputs, place.string(), "") : check_outputs(inputs, "", place.string());
      return checked ? std::string() : checked.error().message;
    };
    CHECK_THAT(refusal(folder / "old"), Contains(name + ": ") && Contains("train_dataset_dir"));
    CHECK_THAT(refusal(folder / "old/a"), Contains("train_dataset_dir"));
    CHECK_THAT(refusal(folder / "metrics.json"), Contains("metrics and " + name + ": both"));
    CHECK_THAT(refusal(folder / "metrics.json/a"), Contains("is below"));
    CHECK_THAT(refusal(folder / "link"), Contains("both resolve to"));
    CHECK(refusal(folder / "other").empty());
    CHECK(refusal("").empty());
  }
  CHECK_FALSE(check_outputs(inputs, (folder / "other").string(), (folder / "other").string()));
  CHECK(check_outputs(inputs, "", "/proc/self/fd/1"));  // an inherited descriptor
}

TEST_CASE("The executor output file is checked like all others") {
  const Places places;
  const auto& folder = places.folder;
  Inputs inputs;
  inputs.targets = {file("results", folder / "results.json")};
  const auto refusal = [&](const std::filesystem::path& place) {
    inputs.executor_output_file = place.string();
    const auto checked = check_outputs(inputs, "", "");
    return checked ? std::string() : checked.error().message;
  };
  CHECK_THAT(refusal(folder / "old"), Contains("outputs.outputFile: ") && Contains("folder"));
  CHECK_THAT(refusal(folder / "results.json"), Contains("results and outputs.outputFile: both"));
  CHECK(refusal(folder / "deep/executor_output.json").empty());
  CHECK(refusal("").empty());
}

TEST_CASE("The step's own files never overwrite an input, whatever their names and wherever a link leads") {
  const Places places;
  const auto& folder = places.folder;
  Inputs inputs;
  inputs.request.inputs.push_back({"train_dataset_dir", (folder / "old/a").string(), "", "", Json::object()});
  std::filesystem::create_symlink("old/a", folder / "link");
  for (const auto* name : {"report", "results", "job_name_file", "metrics", "mlpipeline_ui_metadata"})
    for (const auto* path : {"old/a", "link", "old/../link"}) {
      inputs.targets = {file(name, folder / path)};
      const auto checked = check_outputs(inputs, "", "");
      REQUIRE_FALSE(checked);
      CHECK_THAT(checked.error().message, Contains(std::string(name) + ": ") && Contains("is the same as or inside train_dataset_dir"));
    }
  inputs.targets = {file("report", folder / "old/b")};
  CHECK(check_outputs(inputs, "", ""));
}

TEST_CASE("A descriptor that a flag was read from does not count as a file: its number may have been reused") {
  const Places places;
  const auto folder = std::filesystem::canonical(places.folder);
  const Fd fd(::open(folder.c_str(), O_DIRECTORY | O_CLOEXEC));
  const auto path = "/proc/self/fd/" + std::to_string(fd.get());
  Inputs inputs;
  inputs.targets = {file("metrics", folder / "metrics.json")};
  CHECK(check_outputs(inputs, "", "", {{"base-image", '@' + path}}));
  CHECK(check_not_emptied(inputs, {(folder / "bin").string()}, {{"base-image", '@' + path}}));
  CHECK(check_beside("exit-code-file", (folder / "code").string(), {{"base-image", path}}));
  CHECK_FALSE(check_outputs(inputs, "", "", {{"base-image", '@' + (folder / "metrics.json").string()}}));
}

TEST_CASE("Nothing that the step writes may be in the place of a file or folder of the run, or above one; next to them and in them it may") {
  const Places places;
  const auto& folder = places.folder;
  const std::vector<std::string> own{folder / "run/.trainstep-run", folder / "run/main"};
  std::filesystem::create_directory(folder / "run");
  std::filesystem::create_directory_symlink(folder / "run", folder / "link");
  for (const auto* name : {"run/main", "run/.trainstep-run", "run", "link/main", "run/x/../main/", "run/.trainstep-run/report.html"}) {
    CAPTURE(name);
    Inputs inputs;
    inputs.targets = {file("report", folder / name)};
    const auto refused = check_not_of_run(inputs, "", "", own);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().kind == ErrorKind::input);
    CHECK_THAT(refused.error().message, Contains("report: ") && Contains("which the run itself uses; choose another path"));
    CHECK_FALSE(check_not_of_run({}, folder / name, "", own));
    CHECK_FALSE(check_not_of_run({}, "", folder / name, own));
  }
  for (const auto* name : {"run/main/report.html", "run/report.html", "run/main-1"}) CHECK(check_not_of_run({}, folder / name, "", own));
}

TEST_CASE("Checking creates nothing") {
  const Places places;
  REQUIRE(check_targets({file("report", places.folder / "new/report.html")}).has_value());
  REQUIRE(check_targets({file("model_dir", places.folder / "old")}).has_value());
  CHECK_FALSE(std::filesystem::exists(places.folder / "new"));
  CHECK(std::filesystem::is_empty(places.folder / "old"));
}

}  // namespace
}  // namespace trainstep::step
