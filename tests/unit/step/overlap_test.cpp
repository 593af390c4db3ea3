// SPDX-License-Identifier: Apache-2.0
#include "step/overlap.h"

#include <filesystem>
#include <fstream>

#include "support/catch.h"
#include "support/temp_dir.h"
#include "unit/step/support.h"

using namespace trainstep;
using namespace trainstep::step;
namespace fs = std::filesystem;

namespace {

Result<void> checked(const std::string& data, const std::string& model, const std::string& metrics = "") {
  plan::Request request;
  request.inputs.push_back({.name = "train_dataset_dir", .path = data, .uri = "", .type = ""});
  request.outputs.push_back({.name = "model_dir", .path = model, .uri = "", .type = ""});
  if (!metrics.empty()) request.outputs.push_back({.name = "metrics", .path = metrics, .uri = "", .type = ""});
  return check_no_overlap(request);
}

}  // namespace

TEST_CASE("paths of a step that overlap are found however they are written") {
  const TempDir here;
  const auto root = here.path().string();
  fs::create_directories(here.path() / "run/data");
  fs::create_directory_symlink(here.path() / "run", here.path() / "link");
  CHECK_FALSE(checked(root + "/run/data", root + "/run"));
  CHECK_FALSE(checked(root + "/run/data", root + "/run/./data/"));
  CHECK_FALSE(checked(root + "/run/data", root + "/link/data/model"));
  CHECK_FALSE(checked(root + "/run/data", root + "/run/data/../../run"));
  CHECK_FALSE(checked(root + "/run/data", root + "/model", root + "/model/metrics.json"));
  CHECK(checked(root + "/run/data", root + "/run/model", root + "/run/metrics.json"));
  CHECK(checked("data", "model"));
  CHECK_FALSE(checked("data", "./data"));
}

TEST_CASE("devices may be named more than once") { CHECK(checked("/dev/null", "/dev/null", "/dev/null")); }

TEST_CASE("inputs that overlap are refused when they are read") {
  const auto error = refused({{"train-specification", "image: x"}, {"train-dataset-dir", "/nowhere/run/data"}, {"model-dir", "/nowhere/run"}});
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.message ==
        "model_dir: /nowhere/run contains train_dataset_dir (/nowhere/run/data); each output requires a separate location, apart from inputs and "
        "other outputs");
}
