// SPDX-License-Identifier: Apache-2.0
#include "step/identity.h"

#include "support/catch.h"

namespace trainstep::step {
namespace {

TEST_CASE("An artifact's address and the local output file name the same folder") {
  CHECK(shared_folder("minio://bucket/v2/p/run/task/uuid/model") == "bucket/v2/p/run/task/uuid");
  CHECK(shared_folder("/minio/bucket/v2/p/run/task/uuid/output_metadata.json") == "bucket/v2/p/run/task/uuid");
  CHECK(shared_folder("s3://bucket/p/run/task/uuid/executor-logs-1?region=x") == "bucket/p/run/task/uuid");
  CHECK(shared_folder("gs://b/t/model/") == "b/t");
}

TEST_CASE("Paths outside an object store name no folder") {
  for (const auto* path : {"/tmp/kfp_outputs/output_metadata.json", "", "model", "minio://bucket", "s3:///x", "/minio/"})
    CHECK(shared_folder(path).empty());
}

TEST_CASE("The number of the attempt does not count in a node's name") {
  CHECK(identity("uid", "wf(0).root(0).train(1).executor(12)") == "uid#wf.root.train.executor");
  CHECK(identity("uid", "wf.loop(0:a)") == "uid#wf.loop(0:a)");
  CHECK(identity("uid", "") == "uid");
  CHECK(identity("", "").empty());
  CHECK(identity("uid", "a(") == "uid#a(");
}

}  // namespace
}  // namespace trainstep::step
