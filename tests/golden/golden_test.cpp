// tests/golden/NAME/: request.json → manifest.yaml and explain.yaml. UPDATE_GOLDEN=1 writes them anew; read the difference before you commit it.
// request.json holds members of plan::Request, with `train_specification` as an object or as the path of a file ("@…"), `api_version`, and `facts`:
// what is known of claims, object stores and the agent's image. A path of the step that is an address is an artifact's. SPDX-License-Identifier:
// Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/yaml.h"
#include "job_types/render.h"
#include "plan/plan.h"
#include "support/catch.h"

using namespace trainstep;

namespace {

namespace fs = std::filesystem;

const fs::path folder = "tests/golden";

std::string contents(const fs::path& path) {
  auto text = read_file(path, 1U << 20U);
  if (!text) FAIL(text.error().message);
  return *text;
}

std::vector<plan::StepPath> step_paths(const Json& names) {
  std::vector<plan::StepPath> paths;
  for (const auto& [name, path] : names.items()) {
    auto& added = paths.emplace_back();
    added.name = name;
    const auto place = path.get<std::string>();
    (place.find("://") == std::string::npos ? added.path : added.uri) = place;
  }
  return paths;
}

plan::DataFacts read_facts(const Json& json) {
  plan::DataFacts facts;
  facts.agent_image = json.at("agent_image");
  for (const auto& claim : json.at("claims")) facts.mounts.push_back({claim.at("claim"), claim.at("mount_path"), claim.value("sub_path", "")});
  for (const auto& [uri, store] : json.at("stores").items())
    facts.stores[uri] = {store.at("endpoint"),
                         store.at("region"),
                         store.at("path_style"),
                         store.value("secret", ""),
                         store.value("access_key_key", ""),
                         store.value("secret_key_key", "")};
  return facts;
}

std::string specification(const Json& value) {
  const auto text = value.is_string() ? value.get<std::string>() : to_text(value);
  return text.starts_with('@') ? contents(text.substr(1)) : text;
}

plan::Request read_request(Json json) {
  plan::Request request;
  const auto take = [&](const char* key, auto& member) {
    if (json.contains(key)) member = json[key].get<std::decay_t<decltype(member)>>();
    json.erase(key);
  };
  request.train_specification = specification(json.at("train_specification"));
  request.inputs = step_paths(json.value("inputs", Json::object()));
  request.outputs = step_paths(json.value("outputs", Json::object()));
  for (const auto* key : {"train_specification", "inputs", "outputs"}) json.erase(key);
  take("train_parameters", request.train_parameters);
  take("distribution_specification", request.distribution_specification);
  take("job_options", request.job_options);
  take("environment", request.environment);
  take("node_selector", request.node_selector);
  take("train_mount", request.train_mount);
  take("model_name", request.model_name);
  take("base_image", request.base_image);
  take("pvc_name", request.pvc_name);
  take("cpus", request.cpus);
  take("memory", request.memory);
  take("gpus", request.gpus);
  take("tensorboard_s3_address", request.tensorboard_s3_address);
  take("run_id", request.run_id);
  take("name_space", request.name_space);
  INFO("unknown members: " << to_text(json));
  REQUIRE(json.empty());
  return request;
}

void compare(const fs::path& path, const std::string& text) {
  CAPTURE(path.string());
  const auto* update = std::getenv("UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    REQUIRE(write_file_atomically(path, text));
    return;
  }
  REQUIRE(fs::exists(path));
  CHECK(contents(path) == text);
}

std::vector<fs::path> cases() {
  std::vector<fs::path> result;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

TEST_CASE("a request gives exactly its manifest, and every value its explanation") {
  REQUIRE(cases().size() >= 12);
  for (const auto& path : cases()) {
    CAPTURE(path.string());
    auto json = parse_json(contents(path / "request.json"), "request.json");
    if (!json) FAIL(json.error().message);
    const auto version = json->value("api_version", "");
    const auto facts = json->value("facts", Json());
    for (const auto* key : {"api_version", "facts"}) json->erase(key);
    auto plan = plan::make_plan(read_request(std::move(*json)), job_types::traits());
    if (!plan) FAIL(plan.error().message);
    if (!facts.is_null())
      if (const auto routed = plan::route_data(*plan, read_facts(facts)); !routed) FAIL(routed.error().message);
    const auto manifest = job_types::render(*plan, version);
    if (!manifest) FAIL(manifest.error().message);
    compare(path / "manifest.yaml", job_types::to_yaml(*manifest));
    compare(path / "explain.yaml", job_types::to_yaml_explained(*manifest));
  }
}

TEST_CASE("the YAML of a manifest, explained or not, reads back as the manifest") {
  for (const auto& path : cases()) {
    CAPTURE(path.string());
    const auto plain = parse_yaml(contents(path / "manifest.yaml"), "manifest.yaml");
    const auto explained = parse_yaml(contents(path / "explain.yaml"), "explain.yaml");
    REQUIRE(plain);
    REQUIRE(explained);
    CHECK(*plain == *explained);
  }
}
