// SPDX-License-Identifier: Apache-2.0
#include "plan/overlap.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;

TEST_CASE("an output that equals, contains or is inside another location is rejected, and the message names both") {
  struct Row {
    const char* output;
    const char* other;
    bool written;
    const char* relation;  // null: they are apart
  };
  const Row rows[] = {
      {"/b/run", "/b/run/data", false, "contains"},
      {"/b/run/model", "/b/run", false, "is in"},
      {"/b/run", "/b/run", false, "is also"},
      {"/b/run", "/b/run2", false, nullptr},
      {"/b/run", "/b/run/other", true, "contains"},
      {"/b", "/b/x", false, "contains"},
      {"/b/a", "/b/b", true, nullptr},
      {"/", "/b", false, "contains"},
  };
  for (const auto& row : rows) {
    INFO(row.output << ' ' << row.other);
    const auto checked = check_no_overlap({{"train", row.other, row.other, row.written}, {"model", row.output, row.output, true}});
    CHECK(checked.has_value() == (row.relation == nullptr));
    if (checked || row.written) continue;
    CHECK(checked.error().kind == ErrorKind::input);
    CHECK_THAT(checked.error().message, Catch::StartsWith(std::string("model: ") + row.output + " " + row.relation + " train (" + row.other + ")"));
  }
  CHECK(check_no_overlap({{"train", "/a", "/a"}, {"validation", "/a/b", "/a/b"}}));  // both are only read
}

TEST_CASE("one place of a store is the same, however it is written") {
  const auto place = canonical_address("http://minio.kubeflow:9000", "s3://bucket/run/model");
  for (const auto& [endpoint, uri] : {std::pair("http://MINIO.kubeflow:9000/", "minio://bucket/run/model/"),
                                      {"http://minio.kubeflow.svc:9000", "s3://bucket//run/model"},
                                      {"http://minio.kubeflow.svc.cluster.local:9000", "s3://bucket/run/model?region=x"}})
    CHECK(canonical_address(endpoint, uri) == place);
  for (const auto& [endpoint, uri] : {std::pair("http://minio.kubeflow:9001", "s3://bucket/run/model"),
                                      {"http://minio.other:9000", "s3://bucket/run/model"},
                                      {"http://minio.kubeflow:9000", "s3://bucket2/run/model"},
                                      {"http://minio.kubeflow:9000", "s3://bucket/run/Model"}})
    CHECK(canonical_address(endpoint, uri) != place);
  CHECK(canonical_address("https://s3.amazonaws.com:443", "s3://b") == canonical_address("https://s3.amazonaws.com", "s3://b/"));
  CHECK(lies_in(canonical_address("http://[::1]:9000", "s3://b/a/c"), canonical_address("http://[::1]:9000", "s3://b/a")));
}
