// SPDX-License-Identifier: Apache-2.0
#include "objectstore/provider.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::objectstore;

namespace {

// "http://store:9000 region path secret(access,secret)"
std::string words(const Result<Provider>& provider) {
  if (!provider) return provider.error().message;
  const auto& keys = provider->keys;
  return provider->store.endpoint.text() + " " + provider->store.region + (provider->store.path_style ? " path " : " host ") +
         (keys.secret.empty() ? "environment" : keys.secret + "(" + keys.access_key_key + "," + keys.secret_key_key + ")");
}

std::string launcher(const std::string& address, std::string_view providers = "") {
  return words(provider_of_launcher(providers, Address::parse(address).value()));
}

constexpr std::string_view providers = R"(
minio:
  default:
    endpoint: minio.team:9000
    region: home
    disableSSL: true
    credentials:
      secretRef: {secretName: team, accessKeyKey: user, secretKeyKey: password}
s3:
  default:
    endpoint: s3.eu-west-1.amazonaws.com
    region: eu-west-1
    maxRetries: 3
    credentials: {fromEnv: true}
  overrides:
  - bucketName: other
    keyPrefix: /a/b/
    endpoint: https://store.example:8443
    forcePathStyle: false
    credentials:
      secretRef: {secretName: s, accessKeyKey: a, secretKeyKey: k}
  - {bucketName: other, keyPrefix: a, endpoint: wide}
gs:
  default:
    credentials:
      secretRef: {secretName: g, tokenKey: token}
)";

}  // namespace

TEST_CASE("without a configuration KFP's own store and the credentials of the environment are used") {
  CHECK(launcher("minio://mlpipeline/v2") == "http://seaweedfs.kubeflow:9000 minio path mlpipeline-minio-artifact(accesskey,secretkey)");
  CHECK(launcher("s3://bucket/x") == "https://s3.amazonaws.com us-east-1 host environment");
  CHECK(launcher("gs://bucket/x") == "https://storage.googleapis.com auto path environment");
}

TEST_CASE("the launcher's configuration is read as KFP reads it") {
  CHECK(launcher("minio://mlpipeline/v2", providers) == "http://minio.team:9000 home path team(user,password)");
  CHECK(launcher("s3://bucket/x", providers) == "https://s3.eu-west-1.amazonaws.com eu-west-1 host environment");
  CHECK(launcher("s3://other/a/b/c", providers) == "https://store.example:8443 eu-west-1 host s(a,k)");
  CHECK(launcher("s3://other/ab/c", providers) == "https://s3.eu-west-1.amazonaws.com eu-west-1 host environment");
  CHECK(launcher("s3://other/a/c", providers) == "https://wide eu-west-1 path environment");
  CHECK(launcher("s3://my.bucket/x", providers) == "https://s3.eu-west-1.amazonaws.com eu-west-1 path environment");
  CHECK(launcher("s3://other/z", providers) == "https://s3.eu-west-1.amazonaws.com eu-west-1 host environment");
  CHECK(launcher("gs://bucket/x", providers).find("HMAC keys") != std::string::npos);
}

TEST_CASE("a pipeline root's query takes precedence over the configuration") {
  CHECK(launcher("s3://bucket/x?region=eu-central-1&endpoint=store:9000&disableSSL=true&s3ForcePathStyle=true", providers) ==
        "http://store:9000 eu-central-1 path environment");
}

TEST_CASE("the environment's region is that of S3 where nothing else names one") {
  const auto in_region = [](const std::string& address) { return words(provider_of_launcher("", Address::parse(address).value(), "eu-central-1")); };
  CHECK(in_region("s3://data/x") == "https://s3.eu-central-1.amazonaws.com eu-central-1 host environment");
  CHECK(in_region("s3://data/x?region=eu-west-1") == "https://s3.eu-west-1.amazonaws.com eu-west-1 host environment");
  CHECK(in_region("minio://data/x").find(" minio ") != std::string::npos);
}

TEST_CASE("an input artifact names its own store") {
  const auto address = Address::parse("minio://mlpipeline/v2/x").value();
  CHECK(words(provider_of_session(
            R"({"Provider":"minio","Params":{"fromEnv":"false","secretName":"mine","accessKeyKey":"a","secretKeyKey":"k",)"
            R"("region":"minio","endpoint":"seaweedfs.kubeflow:9000","disableSSL":"true","forcePathStyle":"true","maxRetries":"5"}})",
            address)) == "http://seaweedfs.kubeflow:9000 minio path mine(a,k)");
  CHECK(words(provider_of_session(R"({"Provider":"s3","Params":{"fromEnv":"true"}})", Address::parse("s3://bucket/x").value())) ==
        "https://s3.amazonaws.com us-east-1 host environment");
}

TEST_CASE("an invalid configuration is reported with its key; keys of later versions are ignored") {
  CHECK(launcher("s3://bucket/x", "s3: {default: {endpoint: [x]}}").starts_with("kfp-launcher: providers.s3.default.endpoint: "));
  CHECK(launcher("s3://bucket/x", "s3: {default: {disableSSL: maybe}}").starts_with("kfp-launcher: providers.s3.default.disableSSL: "));
  CHECK(launcher("s3://bucket/x", "s3: {default: {new: x}}") == "https://s3.amazonaws.com us-east-1 host environment");
  CHECK(launcher("s3://bucket/x", "s3: {default: {endpoint: 'ftp://x'}}").starts_with("endpoint: the address must begin with"));
  CHECK(launcher("s3://bucket/x", "s3: [").starts_with("kfp-launcher: providers: line 1"));
}
