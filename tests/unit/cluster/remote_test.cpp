// What the Secret of cluster_configuration_secret says.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/remote.h"

#include "data/digest.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::cluster;

namespace {

Json secret(const Json& texts) {
  Json data = Json::object();
  for (const auto& [key, text] : texts.items()) data[key] = encode_base64(text.get<std::string>());
  return {{"metadata", {{"name", "training"}}}, {"data", data}};
}

const Json minio = {{"minio-url", "minio.example.com:9000"},
                    {"minio-bucket", "models"},
                    {"minio-job-folder", "/jobs/"},
                    {"minio-accesskey", "who"},
                    {"minio-secretkey", "secret-of-minio"}};

Json without(const char* key) {
  auto texts = minio;
  texts.erase(key);
  return texts;
}

}  // namespace

TEST_CASE("the bucket for the data of jobs, and its credentials, are in the Secret") {
  const auto store = job_store(secret(minio));
  REQUIRE((store && *store));
  const auto& [folder, keys, whole_keys] = **store;
  CHECK_FALSE(whole_keys);
  REQUIRE(keys);
  CHECK(folder.uri == "s3://models/jobs");
  CHECK(folder.store.endpoint == "http://minio.example.com:9000");
  CHECK(folder.store.secret == "training");
  CHECK(folder.store.secret_key_key == "minio-secretkey");
  CHECK(keys->secret_key == "secret-of-minio");
  CHECK_FALSE(names_a_cluster(secret(minio)));
}

TEST_CASE("an address says whether it is encrypted; a bucket without a folder is used from its root") {
  auto texts = without("minio-job-folder");
  texts["minio-url"] = "https://s3.example.com";
  const auto store = job_store(secret(texts));
  REQUIRE((store && *store));
  CHECK((*store)->folder.store.endpoint == "https://s3.example.com");
  CHECK((*store)->folder.uri == "s3://models");
}

TEST_CASE("the Secret may name the region of its bucket") {
  auto texts = minio;
  CHECK((*job_store(secret(texts)))->folder.store.region == "us-east-1");
  texts["minio-region"] = "eu-central-1";
  CHECK((*job_store(secret(texts)))->folder.store.region == "eu-central-1");
  texts["minio-region"] = "eu\nx";
  CHECK(job_store(secret(texts)).error().message == "Secret training, minio-region: not a valid name of a region");
}

TEST_CASE("the Secret says whether pods in another cluster get its secret key") {
  const auto with = [](const char* word) {
    auto texts = minio;
    texts["minio-pod-keys"] = word;
    return texts;
  };
  CHECK((*job_store(secret(with("secret"))))->whole_keys);
  CHECK_FALSE((*job_store(secret(with("signing"))))->whole_keys);
  CHECK_FALSE((*job_store(secret(with(""))))->whole_keys);
  CHECK(job_store(secret(with("presigned"))).error().message == "Secret training, minio-pod-keys: expected signing or secret");
  CHECK(read_configuration(secret(with("secret")), false).error().message ==
        "Secret training, minio-pod-keys: no cluster is configured; add remote-host or kubeconfig, or remove this key");
}

TEST_CASE("a Secret without a bucket is one of another cluster") {
  const auto store = job_store(secret({{"remote-host", "https://api.example.com"}, {"remote-token", "t"}, {"access-mode", "ReadWriteOnce"}}));
  REQUIRE(store);
  CHECK_FALSE(*store);
  CHECK(names_a_cluster(secret({{"remote-host", "x"}})));
  CHECK(names_a_cluster(secret({{"kubeconfig", "x"}})));
  CHECK(access_mode(secret({{"access-mode", "ReadWriteOnce"}})).value() == "ReadWriteOnce");
  CHECK(access_mode(secret(Json::object())).value().empty());
}

TEST_CASE("a key that is unknown is refused; for calls of train-model-job, if it resembles a known one") {
  const auto refused = [](const std::string& key, bool as_train_model_job) {
    auto texts = minio;
    texts[key] = "x";
    const auto read = read_configuration(secret(texts), as_train_model_job);
    return read ? std::string() : read.error().message;
  };
  for (const bool as_train_model_job : {false, true})
    CHECK(refused("remote_host", as_train_model_job) == "Secret training: unknown key remote_host; did you mean remote-host?");
  CHECK(refused("comment", false) == "Secret training: unknown key comment");
  CHECK(refused("comment", true).empty());
}

TEST_CASE("insecure-skip-tls-verify is true or false") {
  const auto read = [](const char* word) {
    return remote_credentials(secret({{"remote-host", "x"}, {"remote-token", "t"}, {"insecure-skip-tls-verify", word}}));
  };
  CHECK_FALSE(read("True")->endpoint->verify);
  CHECK(read("false")->endpoint->verify);
  CHECK(read("")->endpoint->verify);
  REQUIRE_FALSE(read("yes"));
  CHECK(read("yes").error().message == "Secret training, insecure-skip-tls-verify: expected true or false");
}

TEST_CASE("an access mode that Kubernetes does not have is refused") {
  for (const auto* mode : {"", "ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod"})
    CHECK(access_mode(secret({{"access-mode", mode}})).value() == mode);
  for (const auto* mode : {"readwriteonce", "RWX", "ReadWriteMany,ReadWriteOnce", "ReadWrite"}) {
    const auto refused = access_mode(secret({{"access-mode", mode}}));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::input);
    CHECK(refused.error().message.find("Secret training, access-mode: expected ReadWriteMany, ReadWriteOnce") == 0);
  }
}

TEST_CASE("keys missing in addition to minio-url are named, and no value is shown") {
  for (const auto* key : {"minio-bucket", "minio-accesskey", "minio-secretkey"}) {
    const auto store = job_store(secret(without(key)));
    REQUIRE_FALSE(store);
    CHECK(store.error().kind == ErrorKind::input);
    CHECK(store.error().message.starts_with(std::string("Secret training, ") + key));
    CHECK(store.error().message.find("secret-of-minio") == std::string::npos);
  }
}

TEST_CASE("a control character in a key of the store is an error that names Secret and key") {
  const std::string key = GENERATE("minio-accesskey", "minio-secretkey");
  auto texts = minio;
  texts[key] = GENERATE(as<std::string>(), "who\r\nX-Evil: 1", "who\x7F", "who\x01") + "end";
  const auto store = job_store(secret(texts));
  REQUIRE_FALSE(store);
  CHECK(store.error().kind == ErrorKind::input);
  CHECK(store.error().message == "Secret training, " + key + ": contains a control character");
}

TEST_CASE("what a half-filled Secret lacks of a store is completed key by key, the two keys together") {
  const auto completed = [](Json texts) {
    auto store = job_store(secret(texts), usual_folder());
    REQUIRE((store && *store));
    return std::move(**store);
  };
  const auto alone = completed({{"minio-url", "minio.example.com:9000"}});
  CHECK(alone.folder.uri == "s3://mlpipeline/jobs");
  CHECK(alone.folder.store.endpoint == "http://minio.example.com:9000");
  CHECK(alone.folder.store.secret == "mlpipeline-minio-artifact");
  CHECK(alone.folder.store.access_key_key == "accesskey");
  CHECK_FALSE(alone.keys);
  CHECK(completed(without("minio-bucket")).folder.uri == "s3://mlpipeline/jobs");
  CHECK(completed({{"minio-url", "m:1"}, {"minio-job-folder", "mine"}}).folder.uri == "s3://mlpipeline/mine");
  CHECK(completed(without("minio-job-folder")).folder.uri == "s3://models/jobs");
  const auto whole = completed(minio);
  CHECK(whole.folder.uri == "s3://models/jobs");
  CHECK(whole.folder.store.secret == "training");
  CHECK(whole.keys->access_key == "who");
  const auto half = job_store(secret(without("minio-secretkey")), usual_folder());
  REQUIRE_FALSE(half);
  CHECK(half.error().message.starts_with("Secret training, minio-secretkey"));
}

TEST_CASE("a Secret without an address is completed by a store that was found, and by none if there is none") {
  auto found = usual_folder();
  found.uri = "minio://artifacts/team/jobs";
  found.store.endpoint = "http://seaweedfs.kubeflow:9000";
  const auto store = job_store(secret({{"minio-job-folder", "mine"}}), found);
  REQUIRE((store && *store));
  CHECK((*store)->folder.uri == "s3://artifacts/mine");
  CHECK((*store)->folder.store.endpoint == "http://seaweedfs.kubeflow:9000");
  CHECK((*job_store(secret(Json::object()), found))->folder.uri == "minio://artifacts/team/jobs");
  CHECK_FALSE(*job_store(secret({{"minio-job-folder", "mine"}}), usual_folder()));
}

TEST_CASE("a namespace in a Secret that no cluster could have is rejected without its value") {
  for (const auto* name_space : {"Team", "team/a", "eyJhbGciOi.J", "-team"}) {
    const auto refused = remote_credentials(secret({{"remote-host", "https://gpu"}, {"remote-token", "t"}, {"remote-namespace", name_space}}));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "Secret training, remote-namespace: not a valid name of a namespace");
    CHECK(refused.error().kind == ErrorKind::input);
  }
}

TEST_CASE("settings in a Secret for a cluster or store that it does not name are rejected") {
  for (const auto* key : {"remote-namespace", "remote-token", "remote-context", "remote-ca"})
    for (const bool completes : {false, true}) {
      auto texts = minio;
      texts[key] = "there";
      const auto refused = read_configuration(secret(texts), completes);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().message ==
            std::string("Secret training, ") + key + ": no cluster is configured; add remote-host or kubeconfig, or remove this key");
      CHECK(refused.error().kind == ErrorKind::input);
      texts["remote-host"] = "https://gpu";
      CHECK(read_configuration(secret(texts), completes));
    }
  for (const auto* key : {"minio-bucket", "minio-job-folder", "minio-accesskey", "minio-secretkey", "minio-region"}) {
    const auto elsewhere = secret({{"remote-host", "https://gpu"}, {"remote-token", "t"}, {key, "b"}});
    const auto refused = read_configuration(elsewhere, false);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == std::string("Secret training, minio-url: is missing, but ") + key + " is set");
    CHECK(read_configuration(elsewhere, true));  // to be completed
  }
}

TEST_CASE("a Secret must name a cluster or a store, but for calls that complete it") {
  const auto bucket = secret({{"minio-bucket", "b"}, {"access-mode", "ReadWriteOnce"}});
  const auto refused = read_configuration(bucket, false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("Secret training: requires remote-host or kubeconfig") == 0);
  const auto completed = read_configuration(bucket, true);
  REQUIRE(completed);
  CHECK_FALSE(completed->store);  // until one is found
  CHECK(completed->access_mode == "ReadWriteOnce");
  CHECK_FALSE(completed->other_cluster);
  const auto usual = read_configuration(secret({{"minio-url", "minio.example.com:9000"}}), true);
  REQUIRE((usual && usual->store));
  CHECK(usual->store->folder.uri == usual_folder().uri);
  CHECK_FALSE(read_configuration(secret({{"minio-url", "minio.example.com:9000"}}), false));
  CHECK(read_configuration(secret({{"remote-host", "x"}, {"remote-token", "t"}}), false)->other_cluster);
}
