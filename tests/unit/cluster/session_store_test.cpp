// Where the data of a step's job go when nothing names a bucket.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "unit/cluster/store_step.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using objectstore::test::FakeTransport;

namespace {

using Step = test::StoreStep;

}  // namespace

TEST_CASE_METHOD(Step, "a step that may not read the credentials of its outputs' store fails before the job is created") {
  with_model_only();
  may_read_keys = false;
  run();
  REQUIRE(verdict);
  CHECK(verdict->message ==
        "credentials of the object store: get secrets/mlpipeline-minio-artifact: no right; the step needs this permission in namespace team: "
        "\"trainstep check\" prints a Role");
  CHECK_FALSE(created);
  CHECK(std::ranges::count_if(transport.asked(), [](const auto& one) { return one.request.method == "POST"; }) == 0);
}

TEST_CASE_METHOD(Step, "a step whose credentials may not read from its outputs' store fails before the job is created") {
  with_model_only();
  fault = [otherwise = fault](const FakeTransport::Asked& asked) {
    return asked.line().starts_with("GET /mlpipeline/") ? std::optional(refusal(403, "AccessDenied")) : otherwise(asked);
  };
  run();
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::input);
  CHECK_THAT(verdict->message, Contains("these credentials do not permit this"));
  CHECK_FALSE(created);
}

TEST_CASE_METHOD(Step, "the credentials of its outputs' store are read once, before the job is created") {
  with_model_only();
  run();
  REQUIRE(created);
  const auto is_secret = [](const auto& one) { return one.request.url.path.ends_with("/secrets/mlpipeline-minio-artifact"); };
  const auto creates = [](const auto& one) { return one.request.method == "POST" && one.request.url.path.ends_with("/jobs"); };
  CHECK(std::ranges::count_if(transport.asked(), is_secret) == 1);
  CHECK(std::ranges::find_if(transport.asked(), is_secret) < std::ranges::find_if(transport.asked(), creates));
}

TEST_CASE_METHOD(Step, "a job of an earlier attempt is followed though the credentials of its outputs' store may not be read any more") {
  with_model_only();
  run();
  REQUIRE(created);
  may_read_keys = false;
  ++options.seed;  // another process
  told.text.clear();
  run();
  CHECK_THAT(told.text, Contains("adopted Job " + created->at("metadata").at("name").get<std::string>()));
}

TEST_CASE_METHOD(Step, "data without another route goes through Kubeflow's store if there is one, and the log says so") {
  run();
  CHECK(brought().starts_with("jobs/my-model-"));
  CHECK_THAT(told.text, Contains("goes through the object store of Kubeflow Pipelines: minio://mlpipeline/jobs at http://seaweedfs.kubeflow:9000"));
  REQUIRE(created);
  CHECK(variable("S3_ENDPOINT").is_null());
  CHECK(owned.size() == 1);
}

TEST_CASE_METHOD(Step, "the credentials in a Secret that the step reads are hidden by all listeners, wherever the job is") {
  const bool configures = GENERATE(true, false);
  const bool elsewhere = configures && GENERATE(true, false);
  if (configures)
    configured({{"minio-url", "https://store.example"}, {"minio-bucket", "bucket"}, {"minio-accesskey", "key"}, {"minio-secretkey", "secret"}});
  if (elsewhere) configuration.insert({{"remote-host", "https://remote"}, {"remote-token", "token-1234"}});
  run();
  REQUIRE(created);
  CHECK(std::ranges::find(told.hidden, "secret") != told.hidden.end());
  CHECK((std::ranges::find(told.hidden, "token-1234") != told.hidden.end()) == elsewhere);
  CHECK(std::ranges::find(told.hidden, "bucket") == told.hidden.end());
}

TEST_CASE_METHOD(Step, "a key that a program without an agent gets with a line break is reported") {
  const bool ends = GENERATE(true, false);
  configured({{"minio-url", "https://store.example"},
              {"minio-bucket", "bucket"},
              {"minio-accesskey", "key"},
              {"minio-secretkey", ends ? "secret\n" : "secret"}});
  request.train_specification = R"({"image": "i", "command": ["train"]})";
  request.inputs.clear();
  request.train_parameters = Json::object();
  request.job_options = {{"environment", {{"TENSORBOARD_S3_ADDRESS", "s3://bucket/logs"}}}};
  run();
  REQUIRE(created);
  CHECK(variable("AWS_SECRET_ACCESS_KEY") == Json{{"name", "training"}, {"key", "minio-secretkey"}});
  CHECK(told.count("Secret training, minio-secretkey: a blank or line break surrounds the value") == (ends ? 1 : 0));
}

TEST_CASE_METHOD(Step, "without such a store they are refused as before") {
  answers = false;
  run();
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::input);
  CHECK_THAT(verdict->message, Contains("the job's pods cannot reach"));
  CHECK_FALSE(created);
}

TEST_CASE_METHOD(Step, "no store is searched for if none is needed") {
  mount = folder.path();
  run();
  REQUIRE(created);
  CHECK(told.count("Kubeflow") == 0);
}

TEST_CASE_METHOD(Step, "pods go to the node where the step has a claim that only one node can have") {
  mount = folder.path();
  disk = {{"metadata", {{"name", "disk"}}}, {"spec", {{"accessModes", {"ReadWriteOnce"}}}}};
  run();
  REQUIRE(created);
  CHECK_THAT(to_text(*created), Contains(R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["node-1"]}]})"));
  CHECK_THAT(told.text, Contains("claim disk (ReadWriteOnce): all pods are scheduled on node node-1, where this step uses it"));
}

TEST_CASE_METHOD(Step, "a claim that many nodes can mount binds no pod, and one that may not be read is reported") {
  mount = folder.path();
  const bool readable = GENERATE(true, false);
  if (readable) disk = {{"metadata", {{"name", "disk"}}}, {"spec", {{"accessModes", {"ReadWriteMany"}}}}};
  run();
  REQUIRE(created);
  CHECK_THAT(to_text(*created), !Contains("affinity"));
  CHECK(told.count("no permission to read claim disk: if only one node can mount it, pods on other nodes wait") == (readable ? 0 : 1));
}

TEST_CASE_METHOD(Step, "a claim that only the step's own pod can have is refused before there is a job") {
  mount = folder.path();
  disk = {{"metadata", {{"name", "disk"}}}, {"spec", {{"accessModes", {"ReadWriteOncePod"}}}}};
  run();
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::input);
  CHECK_THAT(verdict->message, Contains("claim disk is ReadWriteOncePod, and this step's own pod uses it"));
  CHECK_FALSE(created);
}

TEST_CASE_METHOD(Step, "a call of Train model job has the store's variables in its containers, also where its data need no store") {
  as_train_model_job();
  const bool needs = GENERATE(true, false);
  if (!needs) mount = folder.path();
  run();
  CHECK(variable("S3_ENDPOINT") == "http://seaweedfs.kubeflow:9000");
  CHECK(variable("AWS_S3_SIGNATURE_VERSION") == "s3v4");
  CHECK(variable("TENSORBOARD_S3_ADDRESS") == "");
  CHECK(variable("S3_USE_HTTPS") == "0");
  CHECK(variable("AWS_ACCESS_KEY_ID") == Json{{"name", "mlpipeline-minio-artifact"}, {"key", "accesskey"}});
  CHECK(variable("AWS_SECRET_ACCESS_KEY") == Json{{"name", "mlpipeline-minio-artifact"}, {"key", "secretkey"}});
}

TEST_CASE_METHOD(Step, "its data is on a claim of pvc_size that the job owns") {
  as_train_model_job();
  request.pvc_size = "20Gi";
  run();
  REQUIRE(created);
  const auto name = created->at("metadata").at("name").get<std::string>() + "-data";
  REQUIRE(owned.contains(name));
  const auto& claim = owned.at(name);
  CHECK(claim.at("spec").at("resources").at("requests").at("storage") == "20Gi");
  CHECK(claim.at("spec").at("accessModes") == Json{"ReadWriteMany"});
  CHECK(claim.at("metadata").at("ownerReferences").at(0).at("uid") == created->at("metadata").at("uid"));
  CHECK_THAT(to_text(*created), Contains(R"("persistentVolumeClaim":{"claimName":")" + name + "\"}"));
}

TEST_CASE_METHOD(Step, "data on the step's own claim, or a claim that is named, are not put on another one") {
  as_train_model_job();
  const bool named = GENERATE(true, false);
  if (named)
    request.pvc_name = "mine";
  else
    mount = folder.path();
  run();
  REQUIRE(created);
  CHECK_FALSE(owned.contains(created->at("metadata").at("name").get<std::string>() + "-data"));
}

TEST_CASE_METHOD(Step, "what a half-filled Secret lacks is completed for its calls: in this cluster by the store that is found") {
  as_train_model_job();
  configured({{"minio-job-folder", "mine"}, {"access-mode", "ReadWriteOnce"}});
  run();
  CHECK(brought().starts_with("mine/my-model-"));
  CHECK_THAT(told.text, Contains("goes through the object store of Kubeflow Pipelines: s3://mlpipeline/mine at http://seaweedfs.kubeflow:9000, "
                                 "credentials from Secret mlpipeline-minio-artifact"));
  CHECK(variable("S3_ENDPOINT") == "http://seaweedfs.kubeflow:9000");
  CHECK(owned.at(created->at("metadata").at("name").get<std::string>() + "-data").at("spec").at("accessModes") == Json{"ReadWriteOnce"});
}

TEST_CASE_METHOD(Step, "the log names the keys of a Secret that has no more, and both keys or none are wanted") {
  as_train_model_job();
  SECTION("both") {
    configured({{"minio-accesskey", "a"}, {"minio-secretkey", "s"}, {"minio-url", ""}, {"remote-host", ""}});
    run();
    CHECK(brought().starts_with("jobs/my-model-"));
    CHECK_THAT(told.text, Contains("minio://mlpipeline/jobs at http://seaweedfs.kubeflow:9000, credentials from Secret training"));
  }
  SECTION("one") {
    configured({{"minio-accesskey", "a"}});
    run();
    REQUIRE(verdict);
    CHECK_THAT(verdict->message, Contains("minio-secretkey: is missing, but minio-accesskey is set"));
  }
}

TEST_CASE_METHOD(Step, "a Secret that names neither a cluster nor a store is reported") {
  configured({{"minio-bucket", "b"}});
  run();
  REQUIRE(verdict);
  CHECK_THAT(verdict->message, Contains("Secret training: requires remote-host or kubeconfig (another cluster), or minio-url"));
}

TEST_CASE_METHOD(Step, "for another cluster by bucket, folder and keys of this one, which the job takes along") {
  as_train_model_job();
  configured({{"remote-host", "https://remote"}, {"remote-token", "t"}, {"minio-url", "https://store.example"}});
  run();
  CHECK(brought().starts_with("jobs/my-model-"));
  REQUIRE(created);
  const auto keys = created->at("metadata").at("name").get<std::string>() + "-keys";
  REQUIRE(owned.contains(keys));
  CHECK(owned.at(keys).at("stringData") == Json{{"minio-accesskey", "key"}, {"minio-secretkey", "secret"}});
  CHECK(variable("S3_ENDPOINT") == "https://store.example");
  CHECK(variable("AWS_ACCESS_KEY_ID") == Json{{"name", keys}, {"key", "minio-accesskey"}});
  CHECK(created->at("metadata").at("namespace") == "default");
}

TEST_CASE_METHOD(Step, "an incomplete Secret of other callers is an error, as before") {
  configured({{"minio-url", "https://store.example"}});
  run();
  REQUIRE(verdict);
  CHECK_THAT(verdict->message, Contains("minio-bucket: is missing, but minio-url is set"));
}
