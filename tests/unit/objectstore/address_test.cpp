// SPDX-License-Identifier: Apache-2.0
#include "objectstore/address.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::objectstore;

TEST_CASE("a user and a password in an address are refused, and not shown") {
  for (const auto* text : {"s3://AKIA:passwordXYZ@bucket/x", "minio://user@bucket"}) {
    const auto address = Address::parse(text);
    REQUIRE_FALSE(address);
    CHECK(address.error().kind == ErrorKind::input);
    CHECK(address.error().message.find("cannot contain a user name or password") != std::string::npos);
    CHECK(address.error().message.find("bucket") == std::string::npos);
  }
}

TEST_CASE("an address has a scheme, a bucket and a key") {
  struct Row {
    const char* text;
    const char* scheme;
    const char* bucket;
    const char* key;
  };
  const Row rows[] = {
      {"s3://bucket/a/b.txt", "s3", "bucket", "a/b.txt"},
      {"minio://mlpipeline/v2/artifacts/", "minio", "mlpipeline", "v2/artifacts"},
      {"gs://my_bucket.x", "gs", "my_bucket.x", ""},
      {"s3://bucket//a//b", "s3", "bucket", "a//b"},
      {"s3://bucket/a%20b/ü #1", "s3", "bucket", "a%20b/ü #1"},
  };
  for (const auto& row : rows) {
    INFO(row.text);
    const auto address = Address::parse(row.text);
    REQUIRE(address);
    CHECK(address->scheme == row.scheme);
    CHECK(address->bucket == row.bucket);
    CHECK(address->key == row.key);
    CHECK(Address::parse(address->text())->key == address->key);
  }
}

TEST_CASE("a pipeline root's query is read and does not belong to the key") {
  const auto address = Address::parse("s3://bucket/root?region=eu-central-1&endpoint=https%3A%2F%2Fstore");
  REQUIRE(address);
  CHECK(address->text() == "s3://bucket/root");
  CHECK(address->query == http::Query{{"region", "eu-central-1"}, {"endpoint", "https://store"}});
}

TEST_CASE("an invalid address is rejected") {
  for (const auto* text : {"", "bucket/key", "/path", "http://bucket/key", "s3:/bucket", "s3://", "s3:///key", "s3://b", "s3://a b/key",
                           "s3://a..b/key", "S3://bucket/key"}) {
    INFO(text);
    const auto address = Address::parse(text);
    REQUIRE_FALSE(address);
    CHECK(address.error().kind == ErrorKind::input);
  }
}

TEST_CASE("a child is below its address") {
  CHECK(Address::parse("s3://bucket")->child("a").text() == "s3://bucket/a");
  CHECK(Address::parse("s3://bucket/a")->child("b/c").text() == "s3://bucket/a/b/c");
}
