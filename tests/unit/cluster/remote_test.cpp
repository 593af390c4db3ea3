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

TEST_CASE("a bucket for the data of jobs stands in the Secret, and its keys are the Secret's") {
  const auto store = job_store(secret(minio));
  REQUIRE((store && *store));
  const auto& [folder, keys] = **store;
  CHECK(folder.uri == "s3://models/jobs");
  CHECK(folder.store.endpoint == "http://minio.example.com:9000");
  CHECK(folder.store.secret == "training");
  CHECK(folder.store.secret_key_key == "minio-secretkey");
  CHECK(keys.secret_key == "secret-of-minio");
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

TEST_CASE("what is missing beside minio-url is named, and no value is shown") {
  for (const auto* key : {"minio-bucket", "minio-accesskey", "minio-secretkey"}) {
    const auto store = job_store(secret(without(key)));
    REQUIRE_FALSE(store);
    CHECK(store.error().kind == ErrorKind::input);
    CHECK(store.error().message.starts_with(std::string("Secret training, ") + key));
    CHECK(store.error().message.find("secret-of-minio") == std::string::npos);
  }
}
