// What a step in a cluster knows of its data's ways, and what comes back of the pods' words.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/data.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>

#include "base/files.h"
#include "cluster/claim_links.h"
#include "job_types/job_type.h"
#include "support/catch.h"
#include "support/temp_dir.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using Catch::Matchers::Contains;
using kube::test::Harness;
using kube::test::refusal;
using trainstep::test::Reply;

namespace {

const char* const providers = R"(
minio:
  default:
    endpoint: minio-service.team-a:9000
    region: minio
    disableSSL: true
    forcePathStyle: true
    credentials:
      fromEnv: false
      secretRef: {secretName: team-keys, accessKeyKey: ak, secretKeyKey: sk}
s3:
  default:
    region: eu-west-1
    credentials: {fromEnv: true}
)";

const char* const session =
    R"({"Provider": "minio", "Params": {"endpoint": "elsewhere:9000", "region": "r", "disableSSL": "true", "forcePathStyle": "true",
  "fromEnv": "false", "secretName": "session-keys", "accessKeyKey": "a", "secretKeyKey": "s"}})";

plan::StepPath path(std::string name, std::string local, std::string uri, Json metadata = Json::object()) {
  return {.name = std::move(name), .path = std::move(local), .uri = std::move(uri), .type = "", .metadata = std::move(metadata)};
}

plan::Request request() {
  plan::Request request;
  request.run_id = "run-1";
  request.train_specification = R"(
inputs: [{name: data}]
outputs: [{name: model, type: Model}, {name: loss, type: Float}, {name: note, type: String}]
implementation:
  container: {image: i, command: [t, {inputPath: data}, {outputPath: model}], args: [----output-paths, {outputPath: loss}, {outputPath: note}]}
)";
  request.train_parameters = {{"data", "train_dataset_dir"}, {"model", "model_dir"}};
  return request;
}

plan::Plan plan_of(const plan::StepPath& data, const plan::StepPath& model) {
  auto wanted = request();
  wanted.inputs = {data};
  wanted.outputs = {model};
  auto plan = plan::make_plan(wanted, job_types::traits());
  if (!plan) FAIL(plan.error().message);
  return std::move(*plan);
}

plan::Plan artifacts(const Json& metadata = Json::object()) {
  return plan_of(path("train_dataset_dir", "/minio/m/data", "minio://mlpipeline/data", metadata),
                 path("model_dir", "/s3/b/model", "s3://bucket/run/model"));
}

plan::DataFacts facts_of(const plan::Plan& plan, const std::string& stores) {
  Facts facts;
  facts.stores = stores;
  facts.image = "trainstep:1";
  auto known = data_facts(plan, facts);
  if (!known) FAIL(known.error().message);
  return std::move(*known);
}

result::PodReport report() {
  result::PodReport made;
  made.primary = true;
  made.outputs.push_back({.name = "model", .artifact = true, .present = true, .value = {}, .uri = {}, .metadata = {{"a", 1}}});
  made.outputs.push_back({.name = "loss", .artifact = false, .present = true, .value = 0.5, .uri = {}});
  made.outputs.push_back({.name = "note", .artifact = false, .present = true, .value = "NaN", .uri = {}});
  return made;
}

std::vector<run::OutputFound> found(const plan::Plan& plan, const result::PodReport& made) {
  auto outputs = outputs_of(plan, made);
  if (!outputs) FAIL(outputs.error().message);
  return std::move(*outputs);
}

}  // namespace

TEST_CASE("an address leads to the store that the launcher's ConfigMap names") {
  const auto known = facts_of(artifacts(), providers);
  CHECK(known.agent_image == "trainstep:1");
  REQUIRE(known.stores.size() == 2);
  CHECK(known.stores.at("minio://mlpipeline/data") == plan::StoreAccess{"http://minio-service.team-a:9000", "minio", true, "team-keys", "ak", "sk"});
  const auto& aws = known.stores.at("s3://bucket/run/model");
  CHECK_THAT(aws.endpoint, Contains("https://s3.eu-west-1.amazonaws.com"));
  CHECK_FALSE(aws.path_style);
  CHECK(aws.secret.empty());
}

TEST_CASE("without a configuration it is KFP's own store") {
  const auto known = facts_of(artifacts(), "");
  const auto& own = known.stores.at("minio://mlpipeline/data");
  CHECK(own == plan::StoreAccess{"http://seaweedfs.kubeflow:9000", "minio", true, "mlpipeline-minio-artifact", "accesskey", "secretkey"});
}

TEST_CASE("the store of the artifact takes precedence over the configuration") {
  const auto known = facts_of(artifacts({{"store_session_info", session}}), providers);
  CHECK(known.stores.at("minio://mlpipeline/data") == plan::StoreAccess{"http://elsewhere:9000", "r", true, "session-keys", "a", "s"});
}

TEST_CASE("paths without an address, or with one of another kind, need no store") {
  const auto known = facts_of(plan_of(path("train_dataset_dir", "/data", ""), path("model_dir", "", "https://example.com/model")), providers);
  CHECK(known.stores.empty());
}

TEST_CASE("a configuration that cannot be understood is refused with the name of the path") {
  Facts facts;
  facts.stores = "minio: {default: {disableSSL: perhaps}}";
  const auto known = data_facts(artifacts(), facts);
  REQUIRE_FALSE(known);
  CHECK(known.error().kind == ErrorKind::input);
  CHECK_THAT(known.error().message, Contains("train_dataset_dir") && Contains("disableSSL"));
}

TEST_CASE("the facts of the step's pod lead the plan's data: claims, image, stores") {
  auto plan = plan_of(path("train_dataset_dir", "/data/mnist", ""), path("model_dir", "/s3/b/model", "s3://bucket/run/model"));
  Facts facts;
  facts.image = "trainstep:1";
  facts.mounts = {{"datasets", "/data", "team-a"}};
  REQUIRE(route_data(plan, facts));
  CHECK(plan.data.agent_image == "trainstep:1");
  CHECK(plan.data.placement.inputs.at("data") == "/mnt/trainstep/0/mnist");
  CHECK(plan.data.task.outputs.front().to.uri == "s3://bucket/run/model");
  facts.mounts.clear();
  CHECK_FALSE(route_data(plan, facts));
}

TEST_CASE("a link on a claim leads the pods where it leads the step, or nowhere") {
  const TempDir folder;
  const auto claim = std::filesystem::canonical(folder.path()) / "claim";
  REQUIRE(write_file_atomically(claim / "v3/a", "1"));
  std::filesystem::create_symlink(claim / "v3", claim / "current");
  std::filesystem::create_symlink("/tmp", claim / "away");
  std::filesystem::create_symlink(claim, folder.path() / "data");
  Facts facts;
  facts.image = "trainstep:1";
  facts.mounts = {{"datasets", claim.string(), ""}};
  const auto routed = [&](const std::filesystem::path& data, const std::filesystem::path& model) {
    auto plan = plan_of(path("train_dataset_dir", data, ""), path("model_dir", model, ""));
    const auto done = route_data(plan, facts);
    return done ? plan.data.placement.inputs.at("data") : done.error().message;
  };
  CHECK(routed(claim / "current", claim / "model") == "/mnt/trainstep/0/v3");
  CHECK(routed(folder.path() / "data/current", claim / "model") == "/mnt/trainstep/0/v3");
  CHECK_THAT(routed(claim / "v3", claim / "away/model"), Contains("is not on a PersistentVolumeClaim"));
  facts.mounts = {{"datasets", (folder.path() / "data").string(), ""}};
  CHECK(routed(claim / "current", folder.path() / "data/model") == "/mnt/trainstep/0/v3");
}

TEST_CASE("an output that is a link to what is not there yet goes where the link leads, or nowhere") {
  const TempDir folder;
  const auto claim = std::filesystem::canonical(folder.path()) / "claim";
  REQUIRE(write_file_atomically(claim / "data/a", "1"));
  std::filesystem::create_symlink("new", claim / "relative");
  std::filesystem::create_symlink(claim / "deep/new", claim / "absolute");
  std::filesystem::create_symlink(claim / "relative", claim / "twice");
  std::filesystem::create_symlink("/elsewhere/new", claim / "away");
  std::filesystem::create_symlink("round", claim / "round");
  Facts facts;
  facts.image = "trainstep:1";
  facts.mounts = {{"models", claim.string(), ""}};
  const auto routed = [&](const std::string& model) -> std::string {
    auto plan = plan_of(path("train_dataset_dir", claim / "data", ""), path("model_dir", claim / model, ""));
    const auto done = route_data(plan, facts);
    if (!done) return done.error().message;
    const auto& output = plan.data.task.outputs.front();
    return fmt::format("{}/{} {}", output.folder_is, std::filesystem::path(output.path).filename().string(),
                       std::filesystem::path(plan.data.record_in_step).lexically_relative(claim).parent_path().string());
  };
  CHECK(routed("relative") == "/mnt/trainstep/0/new ");
  CHECK(routed("twice") == "/mnt/trainstep/0/new ");
  CHECK(routed("absolute") == "/mnt/trainstep/0/deep/new deep");
  CHECK_THAT(routed("away"), Contains("is not on a PersistentVolumeClaim"));
  CHECK_FALSE(routed("round").empty());
}

TEST_CASE("links at the top of a folder on a claim that lead the pods elsewhere are named") {
  namespace fs = std::filesystem;
  const TempDir folder;
  const auto claim = fs::canonical(folder.path()) / "claim";
  REQUIRE(write_file_atomically(claim / "raw/a", "1"));
  REQUIRE(write_file_atomically(claim / "set/b", "1"));
  Facts facts;
  facts.image = "trainstep:1";
  facts.mounts = {{"datasets", claim.string(), ""}};
  const auto said = [&] {
    auto plan = plan_of(path("train_dataset_dir", claim / "set", ""), path("model_dir", claim / "model", ""));
    REQUIRE(route_data(plan, facts));
    return links_astray(plan);
  };
  fs::path target;
  SECTION("within it") {
    fs::create_symlink("../raw/a", claim / "set/a");
    fs::create_symlink("b", claim / "set/c");
    fs::create_symlink("nowhere", claim / "set/d");
  }
  SECTION("absolute, to the claim") { target = claim / "raw/a"; }
  SECTION("absolute, to something else") { target = "/etc/hostname"; }
  SECTION("out of it") { target = "../../outside"; }
  SECTION("to a sibling folder whose name has the same prefix") { target = "../../0x"; }
  if (target.empty()) {
    CHECK(said().empty());
    return;
  }
  fs::create_symlink(target, claim / "set/a");
  const auto lines = said();
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0],
             Contains("train_dataset_dir: " + (claim / "set/a").string() + " is a link to " + target.string()) && Contains("claim datasets"));
  facts.mounts = {{"other", folder.path().string(), ""}};
  if (target.is_relative()) CHECK(said().empty());  // more of it is mounted
}

TEST_CASE("outputs are found where they were asked for, values as their types") {
  const auto outputs = found(artifacts(), report());
  REQUIRE(outputs.size() == 3);
  CHECK_FALSE(outputs[0].floating);
  CHECK(outputs[1].floating);
  CHECK(outputs[0].name == "model");
  CHECK(outputs[0].artifact);
  CHECK(outputs[0].present);
  CHECK(outputs[0].step_path == "model_dir");
  CHECK(outputs[0].path == "s3://bucket/run/model");
  CHECK(to_text(outputs[0].metadata) == R"({"a":1})");
  CHECK(outputs[1].value == Json(0.5));
  CHECK(outputs[1].step_path.empty());
  CHECK(outputs[2].value == Json("NaN"));  // a text
}

TEST_CASE("NaN and infinity, which are passed as text, become numbers again") {
  auto made = report();
  made.outputs[1].value = "NaN";
  CHECK(std::isnan(found(artifacts(), made)[1].value->get<double>()));
  made.outputs[1].value = "-Infinity";
  CHECK(found(artifacts(), made)[1].value->get<double>() == -HUGE_VAL);
}

TEST_CASE("a path on a claim that is not UTF-8 is rejected: no manifest can contain it") {
  const TempDir folder;
  Facts facts;
  facts.mounts = {{"datasets", folder.path().string(), ""}};
  facts.image = "agent";
  const bool output = GENERATE(true, false);
  const auto odd = (folder.path() / "m\xff").string();
  std::filesystem::create_directory(odd);
  auto plan = plan_of(path("train_dataset_dir", output ? (folder.path() / "data").string() : odd, ""),
                      path("model_dir", output ? odd : (folder.path() / "m").string(), ""));
  const auto routed = route_data(plan, facts);
  REQUIRE_FALSE(routed);
  CHECK(routed.error().kind == ErrorKind::input);
  CHECK_THAT(routed.error().message, Contains("is not valid UTF-8") && !Contains("\xff"));
}

TEST_CASE("an output on a claim has the step's own path, one that the program put elsewhere has its address") {
  const auto plan = plan_of(path("train_dataset_dir", "/data", ""), path("model_dir", "/data/model", ""));
  CHECK(found(plan, report())[0].path == "/data/model");
  auto made = report();
  CHECK_FALSE(found(plan, made)[0].metrics);
  made.outputs[0].uri = "s3://elsewhere/model";
  CHECK(found(plan, made)[0].path == "s3://elsewhere/model");
}

TEST_CASE("for an artifact with only metadata, the file at the step's path is an older one") {
  auto made = report();
  CHECK_FALSE(found(artifacts(), made)[0].earlier);
  made.outputs[0].present = false;
  CHECK(found(artifacts(), made)[0].present);
  CHECK(found(artifacts(), made)[0].earlier);
  made.outputs[0].metadata.clear();
  CHECK_FALSE(found(artifacts(), made)[0].present);
}

TEST_CASE("a folder in the place of a file is known as such") {
  auto made = report();
  CHECK_FALSE(found(artifacts(), made)[0].no_file);
  made.outputs[0].no_file = true;
  CHECK(found(artifacts(), made)[0].no_file);
}

TEST_CASE("a report that does not fit the program is an error") {
  auto made = report();
  SECTION("another type") {
    made.outputs[1].value = "much";
    const auto outputs = outputs_of(artifacts(), made);
    REQUIRE_FALSE(outputs);
    CHECK(outputs.error().kind == ErrorKind::input);
    CHECK_THAT(outputs.error().message, Contains("output loss"));
  }
  SECTION("what it does not mention is not there") {
    made.outputs.erase(made.outputs.begin());
    CHECK(found(artifacts(), made).size() == 2);
  }
}

TEST_CASE("only for addresses is the configuration worth a request") {
  plan::Request request;
  CHECK_FALSE(has_addresses(request));
  request.inputs = {path("a", "/a", ""), path("b", "", "https://example.com")};
  CHECK_FALSE(has_addresses(request));
  request.outputs = {path("c", "", "gs://bucket/x")};
  CHECK(has_addresses(request));
  request.outputs.clear();
  request.train_parameters = {{"epochs", 3}, {"data", "train_dataset_dir"}};
  CHECK_FALSE(has_addresses(request));
  request.train_parameters["data"] = "s3://bucket/digits";
  CHECK(has_addresses(request));
}

TEST_CASE("the launcher's ConfigMap is read; if it is missing or forbidden, defaults apply; other errors are reported") {
  Harness kube;
  std::optional<Result<std::string>> stores;
  std::string told;
  const auto find = [&](const Reply& reply) {
    stores.reset();
    told.clear();
    kube.server.serve([reply](const auto&) { return reply; });
    find_stores(
        *kube.client, "team-a", [&](const std::string& line) { told = line; }, [&](Result<std::string> answer) { stores = std::move(answer); });
    kube.loop.run();
    REQUIRE(stores);
  };
  find(Reply::text(R"({"metadata": {"name": "kfp-launcher"}, "data": {"providers": "minio: {}", "defaultPipelineRoot": "minio://x"}})"));
  CHECK(**stores == "minio: {}");
  CHECK_THAT(kube.server.asked().front().line(), Contains("GET /base/api/v1/namespaces/team-a/configmaps/kfp-launcher"));
  find(Reply::text(R"({"metadata": {"name": "kfp-launcher"}, "data": {"defaultPipelineRoot": "minio://x"}})"));
  CHECK(stores->value().empty());
  find(kube::test::named("kfp-launcher"));
  CHECK(stores->value().empty());
  CHECK(told.empty());
  find(kube::test::absent("kfp-launcher"));
  CHECK(stores->value().empty());
  CHECK_THAT(told, Contains("defaults for object stores apply in namespace team-a: get configmaps/kfp-launcher: "));
  find(refusal(403, "Forbidden", "no"));
  CHECK(stores->value().empty());
  CHECK_FALSE(told.empty());
  const auto asked = kube.server.asked().size();
  find(kube::test::gateways_404());
  CHECK_FALSE(*stores);
  CHECK(kube.server.asked().size() - asked > 4);
  find(refusal(422, "Invalid", "no"));
  CHECK_FALSE(*stores);
}
