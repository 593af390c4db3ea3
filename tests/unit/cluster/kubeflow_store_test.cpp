// Kubeflow Pipelines' own object store, looked for in the cluster.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/kubeflow_store.h"

#include "support/catch.h"
#include "unit/cluster/session_support.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;
using test::FakeTransport;
using test::Reply;

namespace {

struct Search {
  test::VirtualLoop loop;
  FakeTransport transport{loop};
  kube::Client home{loop, transport, test::credentials(), 1};
  Reply config = kube::test::absent("kfp-launcher");
  std::string answers = "minio-service.kubeflow";  // "": none does
  std::string told;
  std::optional<Result<std::optional<plan::JobFolder>>> result;
  std::optional<KubeflowStore> store;

  void run() {
    transport.serve([this](const FakeTransport::Asked& asked) {
      const auto& url = asked.request.url;
      if (url.path.ends_with("/namespaces/team/configmaps/kfp-launcher")) return config;
      return url.host == answers ? Reply::text("<Error><Code>AccessDenied</Code></Error>", 403) : Reply::lost();
    });
    store.emplace(KubeflowStore::Context{home, transport, "team", [this](const std::string& line) { told += line + '\n'; }},
                  [this](auto found) { result = std::move(found); });
    loop.run(1min);
    REQUIRE(result);
  }
  const plan::JobFolder& folder() {
    run();
    REQUIRE(*result);
    REQUIRE(**result);
    return ***result;
  }
  std::size_t count(const std::string& host) const {
    return static_cast<std::size_t>(std::ranges::count(transport.asked(), host, [](const auto& asked) { return asked.request.url.host; }));
  }
};

Reply config_map(const Json& data) { return Reply::text(to_text(Json{{"metadata", {{"name", "kfp-launcher"}}}, {"data", data}})); }

}  // namespace

TEST_CASE_METHOD(
    Search,
    "without a ConfigMap the first server that responds is used, with its default bucket and the namespace's credentials, and the log says so") {
  const auto& found = folder();
  CHECK(found.uri == "minio://mlpipeline/jobs");
  CHECK(found.store.endpoint == "http://minio-service.kubeflow:9000");
  CHECK(found.store.secret == "mlpipeline-minio-artifact");
  CHECK(found.store.access_key_key == "accesskey");
  CHECK_THAT(told, Catch::Matchers::Contains("defaults for object stores apply in namespace team: "));
  CHECK_THAT(
      told, Catch::Matchers::Contains(
                "this job's data goes through the object store of Kubeflow Pipelines: minio://mlpipeline/jobs at http://minio-service.kubeflow:9000, "
                "credentials from Secret mlpipeline-minio-artifact\n"));
}

TEST_CASE_METHOD(Search, "the newer of two servers is used") {
  answers = "seaweedfs.kubeflow";
  CHECK(folder().store.endpoint == "http://seaweedfs.kubeflow:9000");
  CHECK(count("minio-service.kubeflow") == 0);
}

TEST_CASE_METHOD(Search, "the folder of the namespace's artifacts is the ConfigMap's") {
  config = config_map({{"defaultPipelineRoot", "minio://mlpipeline/private-artifacts/team/v2/artifacts"}});
  CHECK(folder().uri == "minio://mlpipeline/private-artifacts/team/v2/artifacts/jobs");
}

TEST_CASE_METHOD(Search, "a server named by the ConfigMap is used without checking") {
  config = config_map({{"defaultPipelineRoot", "s3://models/team"},
                       {"providers",
                        "s3: {default: {endpoint: store.example, region: eu-1, credentials: {secretRef: {secretName: keys, accessKeyKey: a, "
                        "secretKeyKey: b}}}}"}});
  const auto& found = folder();
  CHECK(found.uri == "s3://models/team/jobs");
  CHECK(found.store.endpoint == "https://store.example");
  CHECK(found.store.secret == "keys");
  CHECK(found.store.secret_key_key == "b");
  CHECK(count("seaweedfs.kubeflow") == 0);
}

TEST_CASE_METHOD(Search, "where none answers for ten seconds there is none, and both are named") {
  answers = "";
  run();
  REQUIRE(*result);
  CHECK_FALSE(**result);
  CHECK_THAT(told, Catch::Matchers::Contains("no object store of Kubeflow Pipelines answers: "));
  CHECK(count("seaweedfs.kubeflow") == count("minio-service.kubeflow"));
  CHECK(count("seaweedfs.kubeflow") > 5);
  CHECK(count("seaweedfs.kubeflow") < 12);
}

TEST_CASE_METHOD(Search, "an invalid address in the ConfigMap is an error that names it") {
  config = config_map({{"defaultPipelineRoot", "ftp://x"}});
  run();
  REQUIRE_FALSE(*result);
  CHECK(result->error().message.starts_with("kfp-launcher: defaultPipelineRoot"));
}
