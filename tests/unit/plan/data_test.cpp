// The ways of the data, as a table: what lies where, and how it gets into the pods and out of them.
// SPDX-License-Identifier: Apache-2.0
#include "plan/data.h"

#include <algorithm>
#include <string>
#include <vector>

#include "job_types/job_type.h"
#include "plan/plan.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;
using Catch::Matchers::Contains;

namespace {

const char* const train = R"(
inputs:
- {name: data, type: Dataset}
outputs:
- {name: model, type: Model}
- {name: accuracy, type: Float}
implementation:
  container:
    image: i
    command: [train, {inputPath: data}, {outputPath: model}, {outputPath: accuracy}]
)";

const StoreAccess minio{"http://seaweedfs.kubeflow:9000", "minio", true, "mlpipeline-minio-artifact", "accesskey", "secretkey"};
const StoreAccess aws{"https://s3.amazonaws.com", "eu-west-1", false, "", "", ""};

StepPath path(std::string name, std::string local, std::string uri = "") {
  return {.name = std::move(name), .path = std::move(local), .uri = std::move(uri), .type = ""};
}

DataFacts facts(std::vector<ClaimMount> claims = {}) {
  DataFacts known;
  known.mounts = std::move(claims);
  known.agent_image = "trainstep:1";
  return known;
}

struct Case {
  Request request;
  DataFacts known = facts();

  Case() {
    request.train_specification = train;
    request.run_id = "run-1";
  }
  Case& input(const StepPath& given) {
    request.inputs.push_back(given);
    request.train_parameters["data"] = given.name;
    return *this;
  }
  Case& output(const std::string& formal, const StepPath& given) {
    request.outputs.push_back(given);
    request.train_parameters[formal] = given.name;
    return *this;
  }
  // An input that every program of this file needs and that no case is about.
  Case& any_input() { return input(path("train_dataset_dir", "/any", "s3://any/data")).store("s3://any/data", aws); }
  Case& claim(std::string name, std::string mount, std::string sub = "") {
    known.mounts.push_back({std::move(name), std::move(mount), std::move(sub)});
    return *this;
  }
  // A folder of a bucket for what has no address.
  Case& folder() {
    known.folder = JobFolder{"s3://jobs/team", minio};
    return *this;
  }
  Case& store(const std::string& uri, const StoreAccess& access) {
    known.stores[uri] = access;
    return *this;
  }

  [[nodiscard]] Plan planned() const {
    auto plan = make_plan(request, job_types::traits());
    if (!plan) FAIL(plan.error().message);
    return std::move(*plan);
  }
  [[nodiscard]] Plan routed() const {
    auto plan = planned();
    if (const auto done = route_data(plan, known); !done) FAIL(done.error().message);
    return plan;
  }
  [[nodiscard]] std::string refusal() const {
    auto plan = planned();
    const auto done = route_data(plan, known);
    REQUIRE_FALSE(done);
    CHECK(done.error().kind == ErrorKind::input);
    return done.error().message;
  }
};

const TaskOutput& output_of(const Plan& plan, const std::string& name) {
  const auto found = std::ranges::find(plan.data.task.outputs, name, &TaskOutput::name);
  REQUIRE(found != plan.data.task.outputs.end());
  return *found;
}

}  // namespace

TEST_CASE("data on a claim that the step has mounted is read there, through a mount of the same sub-path") {
  struct Row {
    std::vector<ClaimMount> mounts;
    const char* path;
    const char* claim;  // "": no way leads there
    const char* sub_path;
    const char* in_pod;
  };
  const auto row = GENERATE(values<Row>({
      {{{"data", "/data", ""}}, "/data/mnist", "data", "", "/mnt/trainstep/0/mnist"},
      {{{"data", "/data", "team/a"}}, "/data/mnist", "data", "team/a", "/mnt/trainstep/0/mnist"},
      {{{"data", "/data/", ""}}, "/data/mnist", "data", "", "/mnt/trainstep/0/mnist"},
      {{{"data", "/data", ""}}, "/data/mnist/", "data", "", "/mnt/trainstep/0/mnist"},
      {{{"data", "/data", ""}}, "/data", "data", "", "/mnt/trainstep/0"},
      {{{"data", "/data", ""}}, "/data/", "data", "", "/mnt/trainstep/0"},
      {{{"root", "/", ""}}, "/data/mnist", "root", "", "/mnt/trainstep/0/data/mnist"},
      // the innermost of the mounts counts, in any order
      {{{"data", "/data", ""}, {"more", "/data/mnist", ""}}, "/data/mnist/x", "more", "", "/mnt/trainstep/0/x"},
      {{{"more", "/data/mnist", ""}, {"data", "/data", ""}}, "/data/mnist/x", "more", "", "/mnt/trainstep/0/x"},
      {{{"more", "/data/mnist", ""}, {"data", "/data", ""}}, "/data/cifar", "data", "", "/mnt/trainstep/0/cifar"},
      // what is mounted below a claim's place, and is no claim, hides what lies on that
      {{{"data", "/data", ""}, {"", "/data/scratch", ""}}, "/data/scratch/mnist", "", "", ""},
      {{{"data", "/data", ""}, {"", "/data/scratch", ""}}, "/data/mnist", "data", "", "/mnt/trainstep/0/mnist"},
      {{{"data", "/data", ""}, {"", "/data/mnist/labels", ""}}, "/data/mnist", "", "", ""},
      {{{"data", "/data", ""}, {"more", "/data/mnist/labels", ""}}, "/data/mnist", "", "", ""},
      // names that only begin alike
      {{{"data", "/data", ""}}, "/database/mnist", "", "", ""},
      {{{"data", "/data", ""}}, "/dat", "", "", ""},
      {{{"data", "/data/mnist", ""}}, "/data", "", "", ""},
      {{{"data", "/data", ""}}, "/data/../etc/passwd", "", "", ""},
      {{{"data", "/data", ""}}, "/tmp/../data/mnist", "data", "", "/mnt/trainstep/0/mnist"},
      {{}, "/data/mnist", "", "", ""},
  }));
  CAPTURE(row.path, row.in_pod);
  Case given;
  given.input(path("train_dataset_dir", row.path));
  given.known.mounts = row.mounts;
  if (std::string_view(row.claim).empty()) {
    CHECK_THAT(given.refusal(), Contains("train_dataset_dir"));
    return;
  }
  const auto plan = given.routed();
  CHECK(plan.data.placement.inputs.at("data") == row.in_pod);
  REQUIRE(plan.data.claims.size() == 1);
  CHECK(plan.data.claims.front().claim == row.claim);
  CHECK(plan.data.claims.front().sub_path == row.sub_path);
  CHECK(plan.data.claims.front().mount_path == "/mnt/trainstep/0");
  CHECK(plan.data.task.inputs.empty());  // nothing to fetch
}

TEST_CASE("a claim is mounted once for each of its sub-paths") {
  auto given = Case().input(path("train_dataset_dir", "/in/mnist")).output("model", path("model_dir", "/out/model"));
  SECTION("the same") { given.claim("disk", "/in", "a").claim("disk", "/out", "a"); }
  SECTION("another") { given.claim("disk", "/in", "a").claim("disk", "/out", "b"); }
  const bool same = given.known.mounts[0].sub_path == given.known.mounts[1].sub_path;
  const auto plan = given.routed();
  REQUIRE(plan.data.claims.size() == (same ? 1U : 2U));
  CHECK(output_of(plan, "model").folder_is == (same ? "/mnt/trainstep/0" : "/mnt/trainstep/1"));
}

TEST_CASE("what the step may only read is read there, and nothing is written to it") {
  auto given = Case().input(path("train_dataset_dir", "/in/mnist")).claim("disk", "/in");
  given.known.mounts.front().read_only = true;
  CHECK(given.routed().data.claims.front().read_only);
  given.output("model", path("model_dir", "/in/model"));
  CHECK_THAT(given.refusal(), Contains("model_dir") && Contains("is not on a PersistentVolumeClaim that the step may write to"));
}

TEST_CASE("a claim takes precedence over an address") {
  const auto plan = Case()
                        .input(path("train_dataset_dir", "/kfp-workspace/.artifacts/data", "minio://mlpipeline/data"))
                        .claim("workspace", "/kfp-workspace")
                        .store("minio://mlpipeline/data", minio)
                        .routed();
  CHECK(plan.data.task.inputs.empty());
  CHECK(plan.data.task.stores.empty());
  CHECK(plan.data.claims.size() == 1);
}

TEST_CASE("what has an address in an object store is fetched from there, with the keys that belong to it") {
  const auto plan =
      Case().input(path("train_dataset_dir", "/minio/mlpipeline/data", "minio://mlpipeline/data")).store("minio://mlpipeline/data", minio).routed();
  REQUIRE(plan.data.task.inputs.size() == 1);
  const auto& input = plan.data.task.inputs.front();
  CHECK(input.name == "data");
  CHECK(input.path == "/train/inputs/data");
  CHECK(input.from.uri == "minio://mlpipeline/data");
  CHECK(plan.data.placement.inputs.at("data") == input.path);
  REQUIRE(plan.data.task.stores.size() == 1);
  const auto& store = plan.data.task.stores.at(input.from.store);
  CHECK(store.endpoint == minio.endpoint);
  CHECK(store.region == "minio");
  CHECK(store.path_style);
  CHECK(store.access_key_file == "/trainstep/keys/0/access_key");
  CHECK(store.secret_key_file == "/trainstep/keys/0/secret_key");
  REQUIRE(plan.data.secrets.size() == 1);
  CHECK(plan.data.secrets.front() == minio);
}

TEST_CASE("a store whose Secret has signing keys has no file with a secret key") {
  auto derived = minio;
  derived.secret_key_key.clear();
  derived.signing_keys_key = "signing-keys";
  const auto plan =
      Case().input(path("train_dataset_dir", "/minio/mlpipeline/data", "minio://mlpipeline/data")).store("minio://mlpipeline/data", derived).routed();
  const auto& store = plan.data.task.stores.front();
  CHECK(store.access_key_file == "/trainstep/keys/0/access_key");
  CHECK(store.secret_key_file.empty());
  CHECK(store.signing_keys_file == "/trainstep/keys/0/signing_keys");
}

TEST_CASE("a store whose keys are in the pods' environment has no key files") {
  const auto plan = Case().any_input().routed();
  const auto& store = plan.data.task.stores.front();
  CHECK(store.access_key_file.empty());
  CHECK(store.secret_key_file.empty());
  CHECK_FALSE(store.path_style);
}

TEST_CASE("an input that is only known by its address needs no path in the step") {
  const auto plan = Case().input(path("train_dataset_dir", "", "s3://any/data")).store("s3://any/data", aws).claim("root", "/").routed();
  CHECK(plan.data.task.inputs.size() == 1);
}

TEST_CASE("fetched data is below train_mount; on the job's claim below the job's name") {
  auto given = Case().any_input();
  given.request.train_mount = "/mnt/t";
  CHECK(given.routed().data.placement.inputs.at("data") == "/mnt/t/inputs/data");
  given.request.pvc_name = "shared";
  const auto plan = given.routed();
  CHECK(plan.data.placement.inputs.at("data") == "/mnt/t/" + plan.job_name + "/inputs/data");
}

TEST_CASE("an input that cannot be transferred is rejected with its names and a remedy") {
  CHECK_THAT(Case().input(path("train_dataset_dir", "/tmp/data")).claim("data", "/data").refusal(),
             Contains("train_parameters: data: train_dataset_dir (/tmp/data)") && Contains("PersistentVolumeClaim") && Contains("object store"));
  CHECK_THAT(Case().input(path("train_dataset_dir", "", "https://example.com/data")).refusal(),
             Contains("train_dataset_dir (https://example.com/data)"));
}

TEST_CASE("an artifact goes to its own address, a value comes back in the record") {
  const auto plan = Case()
                        .any_input()
                        .output("model", path("model_dir", "/s3/b/model", "s3://bucket/run/task/model"))
                        .output("accuracy", path("metrics", "/tmp/outputs/accuracy"))
                        .store("s3://bucket/run/task/model", aws)
                        .routed();
  const auto& model = output_of(plan, "model");
  CHECK(model.type == spec::Type::artifact);
  CHECK(model.path == "/trainstep/outputs/model/data");
  CHECK(model.to.uri == "s3://bucket/run/task/model");
  CHECK(model.folder_is.empty());
  CHECK(plan.data.placement.outputs.at("model") == model.path);
  const auto& accuracy = output_of(plan, "accuracy");
  CHECK(accuracy.type == spec::Type::number);
  CHECK(accuracy.declared == "Float");
  CHECK_FALSE(accuracy.to.somewhere());
  CHECK(plan.data.task.executor_output_file == "/trainstep/outputs/executor_output.json");
  CHECK(plan.data.placement.executor_output_file == plan.data.task.executor_output_file);
}

TEST_CASE("an artifact without a way is refused, as its training would be for nothing") {
  CHECK_THAT(Case().any_input().output("model", path("model_dir", "/tmp/model")).refusal(),
             Contains("train_parameters: model: model_dir (/tmp/model)") && Contains("write to"));
}

TEST_CASE("an artifact that would be a whole bucket is rejected: its other objects would be removed") {
  for (const auto* uri : {"s3://bucket", "s3://bucket/", "s3://bucket?region=x/y"}) {
    CAPTURE(uri);
    CHECK_THAT(Case().any_input().output("model", path("model_dir", "", uri)).store(uri, aws).refusal(), Contains(uri) && Contains("whole bucket"));
  }
}

TEST_CASE("unrequested outputs stay in the pod, except for values") {
  const auto plan = Case().any_input().routed();
  CHECK(output_of(plan, "model").path == "/trainstep/outputs/model/data");
  CHECK_FALSE(output_of(plan, "model").to.somewhere());
  CHECK(output_of(plan, "model").folder_is.empty());
  CHECK(output_of(plan, "accuracy").path == "/trainstep/outputs/accuracy/data");
  CHECK_FALSE(plan.data.task.record.somewhere());
}

TEST_CASE("an output on a claim keeps its name, and its folder leads to the claim") {
  const auto plan = Case().any_input().output("model", path("model_dir", "/disk/run/model")).claim("disk", "/disk").routed();
  const auto& model = output_of(plan, "model");
  CHECK(model.path == "/trainstep/outputs/model/model");
  CHECK(model.folder_is == "/mnt/trainstep/0/run");
  CHECK_FALSE(model.to.somewhere());
}

TEST_CASE("only where the step writes as well is an output a file") {
  constexpr auto* two = R"(
outputs:
- {name: model, type: Model}
- {name: scores, type: Metrics}
implementation:
  container:
    image: i
    command: [train, {outputPath: model}, {outputPath: scores}]
)";
  Case made;
  made.request.train_specification = two;
  made.output("model", path("model_dir", "/disk/model")).claim("disk", "/disk");
  CHECK_FALSE(output_of(made.routed(), "scores").file);
  const auto* name = GENERATE("metrics", "mlpipeline_metrics", "mlpipeline_ui_metadata");
  made.output("scores", path(name, "/disk/scores"));
  CHECK(output_of(made.routed(), "scores").file);
  CHECK_FALSE(output_of(made.routed(), "model").file);
}

TEST_CASE("the record is next to the first output that outlives the pods, never inside it") {
  struct Row {
    StepPath model;
    const char* uri;     // of the record
    const char* folder;  // of the record, on a claim
  };
  const auto row = GENERATE(values<Row>({
      {path("model_dir", "", "s3://bucket/run/task/model"), "s3://bucket/run/task/.trainstep/{}/finished.json", ""},
      {path("model_dir", "", "s3://bucket/run/task/model/"), "s3://bucket/run/task/.trainstep/{}/finished.json", ""},
      {path("model_dir", "", "s3://bucket/model"), "s3://bucket/.trainstep/{}/finished.json", ""},
      {path("model_dir", "", "s3://bucket/run/model?endpoint=http://minio:9000/&region=x"), "s3://bucket/run/.trainstep/{}/finished.json", ""},
      {path("model_dir", "/disk/run/model"), "", "/mnt/trainstep/0/run/.trainstep-{}.json"},
      {path("model_dir", "/disk/run/model/"), "", "/mnt/trainstep/0/run/.trainstep-{}.json"},
      {path("model_dir", "/disk/model"), "", "/mnt/trainstep/0/.trainstep-{}.json"},
      // beside a whole claim nothing outlives the pods
      {path("model_dir", "/disk"), "", ""},
      {path("model_dir", "/disk/"), "", ""},
  }));
  CAPTURE(row.model.path, row.model.uri);
  auto given = Case().any_input().output("model", row.model).claim("disk", "/disk");
  if (!row.model.uri.empty()) given.store(row.model.uri, minio);
  const auto plan = given.routed();
  const auto filled = [&](std::string text) {
    if (const auto at = text.find("{}"); at != std::string::npos) text.replace(at, 2, plan.job_name);
    return text;
  };
  const auto& record = plan.data.task.record;
  CHECK(record.uri == filled(row.uri));
  CHECK(record.path == filled(row.folder));
  if (record.in_store()) CHECK(record.store == output_of(plan, "model").to.store);
  // The program's place ends in a name, so that it can be made, renamed and replaced.
  CHECK_FALSE(output_of(plan, "model").path.ends_with('/'));
}

TEST_CASE("if the first output is a whole claim, the record is next to the second") {
  const auto plan = Case()
                        .any_input()
                        .output("model", path("model_dir", "/disk"))
                        .output("accuracy", path("metrics", "/results/accuracy"))
                        .claim("disk", "/disk")
                        .claim("results", "/results")
                        .routed();
  CHECK(plan.data.task.record.path == "/mnt/trainstep/1/.trainstep-" + plan.job_name + ".json");
}

TEST_CASE("all locations in one store share its entry and its credentials") {
  auto given = Case()
                   .input(path("train_dataset_dir", "", "minio://mlpipeline/data"))
                   .output("model", path("model_dir", "", "minio://mlpipeline/model"))
                   .store("minio://mlpipeline/data", minio)
                   .store("minio://mlpipeline/model", minio);
  SECTION("one store") {
    const auto plan = given.routed();
    CHECK(plan.data.task.stores.size() == 1);
    CHECK(plan.data.secrets.size() == 1);
    CHECK(plan.data.task.inputs.front().from.store == output_of(plan, "model").to.store);
  }
  SECTION("the same store with other keys is another") {
    auto other = minio;
    other.secret = "team-keys";
    const auto plan = given.store("minio://mlpipeline/model", other).routed();
    CHECK(plan.data.task.stores.size() == 2);
    CHECK(output_of(plan, "model").to.store == 1);
    CHECK(plan.data.task.stores[1].access_key_file == "/trainstep/keys/1/access_key");
    CHECK(plan.data.secrets[1].secret == "team-keys");
  }
}

TEST_CASE("parameters with names that are not valid file names get generated paths") {
  auto given = Case().any_input();
  given.request.train_specification =
      "inputs: [{name: data}]\noutputs: [{name: 'odd/name'}]\nimplementation: {container: {image: i, command: [t, {inputPath: "
      "data}, {outputPath: odd/name}]}}";
  CHECK(output_of(given.routed(), "odd/name").path == "/trainstep/outputs/odd_name/data");
}

TEST_CASE("without paths and outputs there is no agent") {
  Case given;
  given.request.train_specification = R"({"image": "i", "command": ["train"]})";
  CHECK_FALSE(given.routed().data.has_agent());
}

TEST_CASE("without an image that holds the agent, paths are refused with the option's name, other outputs are left alone") {
  auto given = Case().any_input();
  given.known.agent_image.clear();
  CHECK_THAT(given.refusal(), Contains("train_dataset_dir") && Contains("job_options.agent_image"));
  Case no_paths;
  no_paths.request.train_specification = "outputs: [{name: model}]\nimplementation: {container: {image: i, command: [t, {outputPath: model}]}}";
  no_paths.known.agent_image.clear();
  CHECK_FALSE(no_paths.routed().data.has_agent());
}

TEST_CASE("job_options.agent_image takes precedence over the step's own image") {
  auto given = Case().any_input();
  CHECK(given.routed().data.agent_image == "trainstep:1");
  given.request.job_options["agent_image"] = "mine:2";
  CHECK(given.routed().data.agent_image == "mine:2");
  given.known.agent_image.clear();
  CHECK(given.routed().data.agent_image == "mine:2");
}

TEST_CASE("a program that starts mpirun itself cannot use files of the step, as they are not copied to its ranks") {
  Case given;
  given.request.distribution_specification = {{"distribution_type", "MPI"}};
  SECTION("with a path") {
    given.any_input();
    given.request.train_specification = "inputs: [{name: data}]\nimplementation: {container: {image: i, command: [mpirun, t, {inputPath: data}]}}";
    CHECK_THAT(given.refusal(), Contains("mpirun") && Contains("train_dataset_dir") && Contains("job_options.volumes"));
  }
  SECTION("without one") {
    given.request.train_specification =
        "outputs: [{name: model}]\nimplementation: {container: {image: i, command: [mpirun, t, {outputPath: model}]}}";
    CHECK_FALSE(given.routed().data.has_agent());
  }
  SECTION("other kinds do not care") {
    given.any_input();
    given.request.distribution_specification = {{"distribution_type", "Job"}};
    given.request.train_specification = "inputs: [{name: data}]\nimplementation: {container: {image: i, command: [mpirun, t, {inputPath: data}]}}";
    CHECK(given.routed().data.has_agent());
  }
}

TEST_CASE("the finishing limit of job_options is that of the delivery") {
  auto given = Case().any_input();
  CHECK(given.routed().data.task.finishing_limit == std::chrono::minutes(30));
  given.request.job_options = {{"limits", {{"finishing", "90s"}}}};
  CHECK(given.routed().data.task.finishing_limit == std::chrono::seconds(90));
}

TEST_CASE("with an agent a pod's placement is that of the routes, in the primary and elsewhere") {
  const auto plan = Case().any_input().routed();
  for (const bool primary : {true, false}) {
    const auto placement = pod_placement(plan, primary);
    CHECK(placement.inputs.at("data") == "/train/inputs/data");
    CHECK(placement.outputs.at("model") == "/trainstep/outputs/model/data");
  }
}

TEST_CASE("what only the step has goes through the job's own part of a bucket, if there is one") {
  const auto plan = Case()
                        .input(path("train_dataset_dir", "/tmp/data"))
                        .output("model", path("model_dir", "/tmp/model"))
                        .output("accuracy", path("metrics", "/tmp/m"))
                        .folder()
                        .routed();
  const auto prefix = "s3://jobs/team/" + plan.job_name;
  CHECK(plan.data.prefix.uri == prefix);
  REQUIRE(plan.data.uploads.size() == 1);
  CHECK(plan.data.uploads.front().name == "data");
  CHECK(plan.data.uploads.front().path == "/tmp/data");
  CHECK(plan.data.uploads.front().at.uri == prefix + "/inputs/data");
  REQUIRE(plan.data.task.inputs.size() == 1);
  CHECK(plan.data.task.inputs.front().from.uri == prefix + "/inputs/data");
  CHECK(plan.data.placement.inputs.at("data") == "/train/inputs/data");
  CHECK(output_of(plan, "model").to.uri == prefix + "/outputs/model");
  REQUIRE(plan.data.downloads.size() == 1);  // values come back in the record
  CHECK(plan.data.downloads.front().name == "model");
  CHECK(plan.data.downloads.front().path == "/tmp/model");
  CHECK(plan.data.downloads.front().at.uri == prefix + "/outputs/model");
  CHECK(plan.data.task.stores.size() == 1);
  CHECK(plan.data.secrets.front() == minio);
  CHECK(plan.data.task.record.uri.starts_with(prefix + "/"));
  CHECK_FALSE(plan.data.task.record.uri.starts_with(prefix + "/outputs/model"));
}

TEST_CASE("claims and addresses take precedence over the job's prefix in a bucket") {
  const auto plan = Case().any_input().output("model", path("model_dir", "/disk/model")).claim("disk", "/disk").folder().routed();
  CHECK(plan.data.uploads.empty());
  CHECK(plan.data.downloads.empty());
  CHECK_FALSE(plan.data.prefix.somewhere());
}

TEST_CASE("with a TensorBoard address the program gets the bucket's server in TensorFlow's variables, and its credentials by reference") {
  Case c;
  c.folder().any_input();
  c.request.tensorboard_s3_address = "s3://logs/run";
  c.request.job_options = {{"environment", {{"AWS_REGION", "my-own"}}}};
  const auto plan = c.routed();
  const auto value = [&](std::string_view name) {
    const auto found = std::ranges::find(plan.environment, name, &EnvironmentVariable::name);
    return found == plan.environment.end() ? Json() : found->value;
  };
  CHECK(value("TENSORBOARD_S3_ADDRESS") == "s3://logs/run");
  CHECK(value("S3_ENDPOINT") == "seaweedfs.kubeflow:9000");
  CHECK(value("S3_USE_HTTPS") == "0");
  CHECK(value("AWS_REGION") == "my-own");
  CHECK(value("AWS_SECRET_ACCESS_KEY") == Json{{"secret", "mlpipeline-minio-artifact"}, {"key", "secretkey"}});
  c.request.tensorboard_s3_address.clear();
  const auto silent = c.routed();
  CHECK(std::ranges::none_of(silent.environment, [](const auto& variable) { return variable.name == "S3_ENDPOINT"; }));
}

TEST_CASE("checkpoints are kept below the job's prefix, unless they are on the claim; without a bucket that is an error") {
  Case c;
  c.any_input();
  c.request.job_options = {{"checkpoint_dir", "/train/saved"}};
  CHECK_THAT(c.refusal(), Contains("job_options.checkpoint_dir"));
  c.request.pvc_name = "scratch";
  CHECK(c.routed().data.task.checkpoints.path.empty());
  c.request.job_options["checkpoint_dir"] = "/training";
  c.folder();
  const auto plan = c.routed();
  CHECK(plan.data.task.checkpoints.path == "/training");
  CHECK(plan.data.task.checkpoints.to.uri == "s3://jobs/team/" + plan.job_name + "/checkpoints");
  c.known.agent_image.clear();
  CHECK_FALSE(c.refusal().empty());
}

TEST_CASE("checkpoints overlapping inputs, outputs or this program's folder in the pods are rejected") {
  const auto refused = [](const std::string& folder, const std::string& train_mount = "/train") {
    Case c;
    c.folder().any_input().claim("models", "/models").output("model", path("model_dir", "/models/run/m"));
    c.request.train_mount = train_mount;
    c.request.job_options = {{"checkpoint_dir", folder}};
    auto plan = make_plan(c.request, job_types::traits());
    REQUIRE(plan);
    const auto routed = route_data(*plan, c.known);
    if (!routed) CHECK(routed.error().kind == ErrorKind::input);
    return routed ? std::string() : routed.error().message;
  };
  CHECK_THAT(refused("/train"), Contains("job_options.checkpoint_dir: /train contains train_dataset_dir (/train/inputs/data)"));
  CHECK_THAT(refused("/"), Contains("contains"));
  CHECK_THAT(refused("/work/./inputs/", "/work/"), Contains("contains train_dataset_dir"));
  CHECK_THAT(refused("/train/inputs/data"), Contains("is also train_dataset_dir"));
  CHECK_THAT(refused("/train/inputs/data/saved"), Contains("is in train_dataset_dir"));
  CHECK_THAT(refused("/trainstep/outputs/model/m/saved"), Contains("is in model_dir (/trainstep/outputs/model/m)"));
  CHECK_THAT(refused("/trainstep/outputs/accuracy"), Contains("contains accuracy (/trainstep/outputs/accuracy/data)"));
  CHECK_THAT(refused("/mnt/trainstep/0/run"), Contains("contains model_dir (/mnt/trainstep/0/run/m)"));
  CHECK_THAT(refused("/trainstep/saved"), Contains("is in trainstep's own folder (/trainstep)"));
  CHECK(refused("/train/saved").empty());
  CHECK(refused("/train", "/work").empty());
  CHECK(refused("/train/inputs/data2").empty());
}

TEST_CASE("an output address overlapping an input's or the job's own folder is rejected") {
  const auto refused = [](const std::string& data, const std::string& model, const StoreAccess& of_model = minio) {
    Case made;
    made.folder().input(path("train_dataset_dir", "", data)).output("model", path("model_dir", "", model)).store(data, minio).store(model, of_model);
    auto plan = make_plan(made.request, job_types::traits());
    REQUIRE(plan);
    const auto routed = route_data(*plan, made.known);
    return routed ? std::string() : routed.error().message;
  };
  CHECK_THAT(refused("s3://b/run/data", "s3://b/run"), Contains("model_dir: s3://b/run contains train_dataset_dir (s3://b/run/data)"));
  CHECK_THAT(refused("s3://b/run/data", "minio://b/run/data/"), Contains("is also"));
  CHECK_THAT(refused("s3://b", "s3://b/run"), Contains("is in"));
  CHECK(refused("s3://b/run/data", "s3://b/run/model").empty());
  CHECK(refused("s3://b/run/data", "s3://b/run", aws).empty());  // another store
}

TEST_CASE("an output overlapping an input on a claim that is mounted twice is rejected") {
  const auto refused = [](const std::string& model, const std::string& claim = "team", bool is_read_only = false) {
    Case made;
    made.claim("team", "/in", "proj/data").claim(claim, "/ws", "");
    made.known.mounts.front().read_only = is_read_only;
    made.input(path("train_dataset_dir", "/in")).output("model", path("model_dir", model));
    auto plan = make_plan(made.request, job_types::traits());
    REQUIRE(plan);
    const auto routed = route_data(*plan, made.known);
    return routed ? std::string() : routed.error().message;
  };
  CHECK_THAT(refused("/ws/proj"), Contains("model_dir: /ws/proj contains train_dataset_dir (/in)"));
  CHECK_THAT(refused("/ws/proj", "team", true), Contains("contains"));
  CHECK_THAT(refused("/ws/proj/data"), Contains("is also"));
  CHECK_THAT(refused("/ws/proj/data/out"), Contains("is in"));
  CHECK(refused("/ws/proj/model").empty());
  CHECK(refused("/ws/proj", "other").empty());
}

namespace {

// A job from the address `data` to the address `model`, or by the step's own paths.
Case moved(const StepPath& data, const StepPath& model, const StoreAccess& access = minio) {
  Case c;
  c.folder().claim("team", "/team", "a").input(data).output("model", model).store("s3://b/data?X=1", access).store("minio://b/data/", access);
  c.store("s3://b/data", access).store("s3://b/other", access);
  return c;
}

}  // namespace

TEST_CASE("the spec hash changes with each place that the pods read or write, however it is reached") {
  const auto data = path("train_dataset_dir", "", "s3://b/data");
  const auto model = path("model_dir", "/team/m");
  const auto before = moved(data, model).routed().spec_hash;
  CHECK(moved(data, model).routed().spec_hash == before);
  CHECK(moved(path("train_dataset_dir", "", "s3://b/other"), model).routed().spec_hash != before);
  CHECK(moved(data, model, aws).routed().spec_hash != before);
  CHECK(moved(path("train_dataset_dir", "/team/d"), model).routed().spec_hash != before);
  CHECK(moved(path("train_dataset_dir", "/team/d"), model).routed().spec_hash !=
        moved(path("train_dataset_dir", "/team/e"), model).routed().spec_hash);
  CHECK(moved(data, path("model_dir", "/team/m2")).routed().spec_hash != before);
  CHECK(moved(data, path("model_dir", "", "s3://b/other")).routed().spec_hash != before);
  auto shown = moved(data, model);
  shown.request.tensorboard_s3_address = "s3://logs/run";
  CHECK(shown.routed().spec_hash != before);
}

TEST_CASE("the spec hash is the same for two attempts whose own paths, queries or mounts differ") {
  const auto data = path("train_dataset_dir", "", "s3://b/data");
  const auto model = path("model_dir", "/team/m");
  const auto before = moved(data, model).routed().spec_hash;
  CHECK(moved(path("train_dataset_dir", "/tmp/x", "s3://b/data?X=1"), model).routed().spec_hash == before);
  CHECK(moved(path("train_dataset_dir", "", "minio://b/data/"), model).routed().spec_hash == before);
  auto elsewhere = moved(data, path("model_dir", "/else/m"));
  elsewhere.known.mounts = {{"scratch", "/scratch", ""}, {"team", "/else", "a/"}};
  CHECK(elsewhere.routed().spec_hash == before);
  auto whole = moved(data, path("model_dir", "/whole/a/m"));
  whole.known.mounts = {{"team", "/whole", ""}};
  CHECK(whole.routed().spec_hash == before);
  auto other_keys = moved(data, model, StoreAccess{minio.endpoint, minio.region, true, "renewed", "a", "s"});
  CHECK(other_keys.routed().spec_hash == before);
  const auto carried = moved(path("train_dataset_dir", "/tmp/1/d"), path("model_dir", "/tmp/1/m"));
  auto again = moved(path("train_dataset_dir", "/tmp/2/d"), path("model_dir", "/tmp/2/m"));
  again.known.folder->uri = "s3://jobs/renamed";
  CHECK(again.routed().spec_hash == carried.routed().spec_hash);
  CHECK(carried.routed().spec_hash == carried.planned().spec_hash);
}

TEST_CASE("a job that nothing would delete has a Lease, half an hour by default, if its pods have an agent") {
  using namespace std::chrono_literals;
  auto given = Case().any_input();
  CHECK_FALSE(given.routed().data.task.lease.wanted());
  CHECK(given.routed().options.run_policy.ttl_after_finished == Duration(168h));
  given.known.unowned = true;
  CHECK(given.routed().data.task.lease.length == 30min);
  CHECK(given.routed().data.task.lease.inputs.uri.empty());  // they are in the step's own bucket
  CHECK(given.routed().options.run_policy.ttl_after_finished == Duration(1h));
  given.request.job_options = {{"lease", "2h"}, {"run_policy", {{"stop_grace", "7s"}}}};
  CHECK(given.routed().data.task.lease.length == 2h);
  CHECK(given.routed().options.run_policy.ttl_after_finished == Duration(2h));
  CHECK(given.routed().data.task.lease.grace == 7s);
  given.request.job_options["run_policy"]["ttl_after_finished"] = "3d";
  CHECK(given.routed().options.run_policy.ttl_after_finished == Duration(72h));
  given.request.job_options["run_policy"].erase("ttl_after_finished");
  given.request.job_options["lease"] = "off";
  CHECK_FALSE(given.routed().data.task.lease.wanted());
}

TEST_CASE("a Lease that is asked for gives a job without data an agent, and requires its image") {
  Case given;
  given.request.train_specification = R"({"image": "i", "command": ["train"]})";
  given.known.unowned = true;
  CHECK_FALSE(given.routed().data.has_agent());
  given.request.job_options["lease"] = "1h";
  CHECK(given.routed().data.has_agent());
  given.known.agent_image.clear();
  CHECK(given.refusal() == "job_options.lease: the pods require an image with trainstep; set job_options.agent_image");
  given.known.unowned = false;
  CHECK_FALSE(given.routed().data.has_agent());
}
