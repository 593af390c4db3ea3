// SPDX-License-Identifier: Apache-2.0
#include "objectstore/signature.h"

#include "data/digest.h"
#include "objectstore/store.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::objectstore;

namespace {

// The examples of the Amazon S3 API Reference ("Signature Calculations for the Authorization Header", "Using Query Parameters").
const Credentials keys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
const Time then = from_rfc3339("2013-05-24T00:00:00Z").value();
const std::string empty_hash = sha256_hex("");

http::Request request(const std::string& method, const std::string& path, http::Query query, std::vector<http::Header> headers = {}) {
  http::Request result;
  result.method = method;
  result.url = {"https", "examplebucket.s3.amazonaws.com", 0, path, std::move(query)};
  result.headers = std::move(headers);
  return result;
}

std::string header(const http::Request& request, std::string_view name) {
  for (const auto& [key, value] : request.headers)
    if (key == name) return value;
  return "";
}

std::string authorization(std::string_view signed_headers, std::string_view signature) {
  return "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=" + std::string(signed_headers) +
         ",Signature=" + std::string(signature);
}

}  // namespace

TEST_CASE("requests are signed as the S3 API Reference shows") {
  struct Example {
    const char* name;
    http::Request request;
    std::string payload;
    const char* signed_headers;
    const char* signature;
  };
  const std::string text = "Welcome to Amazon S3.";
  const Example examples[] = {
      {"get an object", request("GET", "/test.txt", {}, {{"Range", "bytes=0-9"}}), empty_hash, "host;range;x-amz-content-sha256;x-amz-date",
       "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
      {"put an object",
       request("PUT", "/test%24file.text", {}, {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}}),
       sha256_hex(text), "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
       "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
      {"a query without a value", request("GET", "/", {{"lifecycle", ""}}), empty_hash, "host;x-amz-content-sha256;x-amz-date",
       "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
      {"list objects", request("GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}), empty_hash, "host;x-amz-content-sha256;x-amz-date",
       "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
  };
  for (const auto& example : examples) {
    INFO(example.name);
    auto signed_request = example.request;
    REQUIRE(sign(signed_request, keys, "us-east-1", example.payload, then));
    CHECK(header(signed_request, "Authorization") == authorization(example.signed_headers, example.signature));
    CHECK(header(signed_request, "X-Amz-Content-Sha256") == example.payload);
  }
}

TEST_CASE("temporary keys send their token along, signed") {
  auto with_token = request("GET", "/", {});
  REQUIRE(sign(with_token, {"a", "b", "the token"}, "us-east-1", empty_hash, then));
  CHECK(header(with_token, "X-Amz-Security-Token") == "the token");
  CHECK(header(with_token, "Authorization").find("x-amz-security-token,") != std::string::npos);
}

TEST_CASE("the port is part of the host unless it is the scheme's own") {
  struct Row {
    http::Url url;
    const char* host;
  };
  const Row rows[] = {
      {{"http", "seaweedfs.kubeflow", 9000, "/", {}}, "seaweedfs.kubeflow:9000"},
      {{"http", "s3", 80, "/", {}}, "s3"},
      {{"https", "s3", 443, "/", {}}, "s3"},
      {{"https", "s3", 80, "/", {}}, "s3:80"},
      {{"http", "fd00::1", 9000, "/", {}}, "[fd00::1]:9000"},
  };
  for (const auto& row : rows) {
    http::Request asked;
    asked.url = row.url;
    REQUIRE(sign(asked, keys, "us-east-1", empty_hash, then));
    CHECK(header(asked, "Host") == row.host);
  }
}

TEST_CASE("keys are encoded segment by segment, exactly as they are") {
  const Store path_style{{"http", "store", 9000, "/base/", {}}};
  CHECK(url_of(path_style, "b", "").text() == "http://store:9000/base/b");
  CHECK(url_of(path_style, "b", "a b/ü+=%/..//x").text() == "http://store:9000/base/b/a%20b/%C3%BC%2B%3D%25/..//x");
  const Store virtual_style{{"https", "s3.eu-central-1.amazonaws.com", 0, "", {}}, "eu-central-1", false};
  CHECK(url_of(virtual_style, "b", "").text() == "https://b.s3.eu-central-1.amazonaws.com/");
  CHECK(url_of(virtual_style, "b", "k", {{"uploads", ""}}).text() == "https://b.s3.eu-central-1.amazonaws.com/k?uploads=");
}

TEST_CASE("a signing key signs like the secret key that it is derived from, on its day and in its region") {
  const Credentials derived{keys.access_key, "", "", signing_keys(keys.secret_key, {"us-east-1", "eu-west-1"}, then, 1)};
  for (const auto* region : {"us-east-1", "eu-west-1"})
    for (const auto hours : {-24, 0, 24, 47}) {
      INFO(region << ' ' << hours);
      auto with_secret = request("GET", "/a", {}), with_derived = with_secret;
      REQUIRE(sign(with_secret, keys, region, empty_hash, then + std::chrono::hours(hours)));
      REQUIRE(sign(with_derived, derived, region, empty_hash, then + std::chrono::hours(hours)));
      CHECK(header(with_derived, "Authorization") == header(with_secret, "Authorization"));
    }
}

TEST_CASE("without a signing key for the day a request has to wait, without one for the region it is an error") {
  const Credentials derived{keys.access_key, "", "", signing_keys(keys.secret_key, {"us-east-1"}, then, 1)};
  auto asked = request("GET", "/a", {});
  for (const auto hours : {-25, 48}) {
    const auto late = sign(asked, derived, "us-east-1", empty_hash, then + std::chrono::hours(hours));
    REQUIRE_FALSE(late);
    CHECK(late.error().kind == ErrorKind::unavailable);
    CHECK(late.error().message.find("there is no signing key for 201305") == 0);
  }
  const auto elsewhere = sign(asked, derived, "east-1", empty_hash, then);
  REQUIRE_FALSE(elsewhere);
  CHECK(elsewhere.error().kind == ErrorKind::input);
  CHECK(elsewhere.error().message == "there is no signing key for region east-1; set minio-region in the Secret of cluster_configuration_secret");
  CHECK(asked.headers.empty());
}

TEST_CASE("signing keys are written as JSON without the secret key, and read again") {
  const auto made = signing_keys(keys.secret_key, {"us-east-1"}, then, 7);
  CHECK(made.size() == 9);
  CHECK(made.begin()->first == "20130523/us-east-1");
  const auto text = to_text(made);
  CHECK(text.find(keys.secret_key) == std::string::npos);
  CHECK(read_signing_keys(text, "file").value() == made);
  for (const auto* odd : {"", "[]", "x", R"({"20130524/us-east-1": 1})", R"({"20130524/us-east-1": "abc"})", R"({"20130524/us-east-1": ""})"}) {
    INFO(odd);
    const auto read = read_signing_keys(odd, "file");
    REQUIRE_FALSE(read);
    CHECK(read.error().message == "file: expected an object with signing keys");
  }
}
