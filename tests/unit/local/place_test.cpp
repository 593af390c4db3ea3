// SPDX-License-Identifier: Apache-2.0
#include "local/place.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "plans.h"
#include "support/catch.h"
#include "support/temp_dir.h"

namespace trainstep::local {
namespace {

namespace fs = std::filesystem;

plan::Plan plan_with_outputs(const std::string& model_dir) {
  plan::Request request;
  request.train_specification = R"(
name: train
inputs: [{name: data, type: Dataset}]
outputs: [{name: model, type: Model}, {name: "odd/name", type: Model}, {name: accuracy, type: Float}]
implementation:
  container:
    image: any
    command: [train, {inputPath: data}, {outputPath: model}, {outputPath: "odd/name"}, {outputPath: accuracy}]
)";
  request.train_parameters = {{"data", "train_dataset_dir"}, {"model", "model_dir"}};
  request.inputs = {{"train_dataset_dir", "relative/data", "", "", Json::object()}};
  request.outputs = {{"model_dir", model_dir, "", "", Json::object()}};
  request.distribution_specification = {{"distribution_type", "PyTorch"}, {"number_of_workers", 2}};
  return make_plan(request);
}

TEST_CASE("only the primary has the real outputs, all have the same inputs") {
  const auto plan = plan_with_outputs("/out/model");
  const auto members = gang(plan);
  const auto master = place_of(plan, "/run", members[0]);
  const auto worker = place_of(plan, "/run", members[1]);
  REQUIRE((master && worker));
  CHECK(master->folder == "/run/master-0");
  CHECK(worker->folder == "/run/worker-0");
  CHECK(master->placement.outputs.at("model") == "/out/model");
  CHECK(master->placement.outputs.at("accuracy") == "/run/outputs/accuracy");
  CHECK(worker->placement.outputs.at("model") == "/run/worker-0/outputs/model");
  CHECK(worker->placement.executor_output_file == "/run/worker-0/executor_output.json");
  CHECK(master->placement.inputs.at("data") == fs::absolute("relative/data"));
  CHECK(worker->placement.inputs.at("data") == fs::absolute("relative/data"));
  CHECK(fs::path(master->placement.outputs.at("odd/name")).parent_path() == "/run/outputs");
}

TEST_CASE("the places of a run in its folder are its mark, its folders and the outputs that have no path of the step") {
  const auto places = own_places(plan_with_outputs("model"), "/run");
  REQUIRE(places);
  const std::set<std::string> names(places->begin(), places->end());
  for (const auto* name : {"/run/.trainstep-run", "/run/bin", "/run/outputs", "/run/master-0", "/run/worker-0", "/run/worker-0/outputs",
                           "/run/outputs/accuracy", "/run/worker-0/outputs/model"})
    CHECK(names.contains(name));
  CHECK_FALSE(names.contains("/run"));
  CHECK_FALSE(names.contains("/run/outputs/model"));
}

TEST_CASE("an output whose path ends in .. is that folder, without a slash") {
  const auto plan = plan_with_outputs("/out/model/checkpoint/..");
  const auto place = place_of(plan, "/run", gang(plan).front());
  REQUIRE(place);
  CHECK(place->placement.outputs.at("model") == "/out/model");
}

TEST_CASE("a path that is not UTF-8 is rejected: the JSON for the program, and results, cannot contain it") {
  const auto refusal = [](const std::string& model_dir, const std::string& run_dir, const std::string& input = "data") {
    auto plan = plan_with_outputs(model_dir);
    for (auto& bound : plan.binding.inputs)
      if (bound.path) bound.path->path = input;
    const auto checked = check_path_texts(plan, run_dir);
    return checked ? std::string() : checked.error().message;
  };
  CHECK(refusal("/out/m\u00f6del", "/run/\u00fc").empty());
  CHECK(refusal("/out/m\xff", "/run") == "model_dir: /out/m\\xff is not valid UTF-8, as required for a path named in results; choose another one");
  CHECK_THAT(refusal("/out/model", "/run\xff"), Catch::Contains("run-dir: /run\\xff is not valid UTF-8"));
  CHECK_THAT(refusal("/out/model", "/run", "/data\xff"), Catch::Contains("train_dataset_dir: /data\\xff is not valid UTF-8"));
}

TEST_CASE("a run folder that is not UTF-8 is accepted if it is not passed to the program") {
  const auto plan = shell_plan("true");
  CHECK(check_path_texts(plan, "/run\xff"));
}

TEST_CASE("the processes of a replica share its files and folders, and each has its own values") {
  auto plan = plan_with_outputs("/out/model");
  plan.processes_per_worker = 2;
  struct Row {
    std::string member, model, odd, accuracy;
  };
  const std::vector<Row> rows{{"master-0.0", "/out/model", "/run/outputs", "/run/outputs/accuracy"},
                              {"master-0.1", "/out/model", "/run/outputs", "/run/master-0.1/outputs/accuracy"},
                              {"worker-0.0", "/run/worker-0.0/outputs/model", "/run/worker-0.0/outputs", "/run/worker-0.0/outputs/accuracy"},
                              {"worker-0.1", "/run/worker-0.0/outputs/model", "/run/worker-0.0/outputs", "/run/worker-0.1/outputs/accuracy"}};
  const auto members = gang(plan);
  REQUIRE(members.size() == rows.size() + 1);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const auto place = place_of(plan, "/run", members[at]);
    REQUIRE(place);
    CHECK(place->folder == "/run/" + rows[at].member);
    CHECK(place->placement.outputs.at("model") == rows[at].model);
    CHECK(fs::path(place->placement.outputs.at("odd/name")).parent_path() == rows[at].odd);
    CHECK(place->placement.outputs.at("accuracy") == rows[at].accuracy);
    CHECK(place->placement.executor_output_file == "/run/" + rows[at].member + "/executor_output.json");
  }
}

TEST_CASE("an address is not a path on this machine, for inputs and outputs") {
  auto plan = plan_with_outputs("/out/model");
  plan.binding.outputs.front().path = plan::StepPath{"model_dir", "", "s3://bucket/model", "", Json::object()};
  const auto place = place_of(plan, "/run", gang(plan).front());
  REQUIRE_FALSE(place);
  CHECK(place.error().kind == ErrorKind::input);
  CHECK(place.error().message == "model: s3://bucket/model is not a path on this machine; a local run writes only files and folders");
}

TEST_CASE("parents of outputs are made, the outputs are not") {
  const TempDir folder;
  const auto plan = plan_with_outputs((folder.path() / "deep/er/model").string());
  const auto place = place_of(plan, folder.path() / "run", gang(plan).front());
  REQUIRE(place.has_value());
  REQUIRE(make_folders(*place).has_value());
  CHECK(fs::is_directory(folder.path() / "deep/er"));
  CHECK_FALSE(fs::exists(folder.path() / "deep/er/model"));
  CHECK(fs::is_directory(folder.path() / "run/master-0"));
}

TEST_CASE("a link in the place of a folder of the run's own is refused, and nothing is made where it leads") {
  const TempDir folder;
  const auto plan = plan_with_outputs((folder.path() / "run/models/new/model").string());
  const auto members = gang(plan);
  fs::create_directories(folder.path() / "theirs");
  fs::create_directories(folder.path() / "run");
  struct Row {
    std::size_t member;
    std::string link;
    bool refused = true;
  };
  for (const auto& [member, link, refused] :
       {Row{0, "outputs"}, Row{0, "master-0"}, Row{1, "worker-0"}, Row{1, "worker-0/outputs"}, Row{0, "worker-0", false}, Row{0, "models", false}}) {
    CAPTURE(member, link);
    const auto path = folder.path() / "run" / link;
    fs::create_directories(path.parent_path());
    fs::create_directory_symlink(folder.path() / "theirs", path);
    const auto place = place_of(plan, folder.path() / "run", members[member]);
    REQUIRE(place.has_value());
    const auto made = make_folders(*place);
    CHECK(made.has_value() != refused);
    if (refused) {
      CHECK(made.error().kind == ErrorKind::input);
      CHECK_THAT(made.error().message, Catch::Matchers::StartsWith("run-dir: " + path.string() + " is a symbolic link"));
      CHECK_FALSE(emptied_places(plan, folder.path() / "run").has_value());
      CHECK(fs::is_empty(folder.path() / "theirs"));
    }
    fs::remove_all(folder.path() / "run");
  }
}

}  // namespace
}  // namespace trainstep::local
