// A step whose job may go to one of several clusters.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <map>
#include <string>

#include "unit/cluster/store_step.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using kube::test::absent;
using objectstore::test::FakeTransport;
using test::Reply;

namespace {

// The clusters gpu-a and gpu-b, with a Secret of that name each. Its input goes through a bucket.
struct Clusters : test::StoreStep {
  struct Cluster {
    std::optional<Json> job;
    int made = 0;
    Json quotas = Json::array();
    Json nodes;                 // null: they may not be listed
    std::optional<Reply> only;  // the answer to everything
    std::string lacking;        // a permission: "create jobs"
    bool known = true;          // there is such a Secret
    std::string token = "t";
  };
  std::map<std::string, Cluster> clusters{{"gpu-a", {}}, {"gpu-b", {}}};
  Cluster& a = clusters["gpu-a"];
  Cluster& b = clusters["gpu-b"];
  std::string node_name = "wf(0).train(0)";  // of the Workflow, for our pod

  Clusters() {
    options.seed = 1;
    options.configuration_secrets = {"gpu-a", "gpu-b"};
    trouble = [this](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      const auto& [host, path] = std::pair(asked.request.url.host, asked.request.url.path);
      for (auto& [name, cluster] : clusters) {
        if (host == name) return of_cluster(cluster, asked);
        if (host == "api" && path.ends_with("/secrets/" + name)) return cluster.known ? secret_of(name, cluster) : absent(name);
      }
      if (host == "api" && asked.request.method == "GET" && path.ends_with("/pods")) return test::list_of(Json::array());
      if (!path.ends_with("/pods/step-1")) return std::nullopt;
      auto pod = own_pod();
      if (!node_name.empty()) pod["metadata"]["annotations"]["workflows.argoproj.io/node-name"] = node_name;
      return Reply::text(to_text(pod));
    };
  }
  static Reply secret_of(const std::string& name, const Cluster& cluster) {
    return test::secret(name, {{"minio-url", "http://store:9000"},
                               {"minio-bucket", "bkt"},
                               {"minio-job-folder", "jobs"},
                               {"minio-accesskey", "key"},
                               {"minio-secretkey", "secret"},
                               {"remote-host", "https://" + name},
                               {"remote-token", cluster.token},
                               {"remote-namespace", "there"}});
  }
  static Reply of_cluster(Cluster& cluster, const FakeTransport::Asked& asked) {
    if (cluster.only) return *cluster.only;
    const auto& method = asked.request.method;
    const auto& path = asked.request.url.path;
    if (path == "/apis/batch/v1") return test::serves_jobs();
    if (path == "/apis/authorization.k8s.io/v1") return Reply::text(R"({"kind": "APIResourceList", "resources": []})");
    if (path.ends_with("reviews")) return reviewed(cluster, asked);
    if (asked.query("watch") == "true") return Reply{.end = Reply::End::open};
    if (path.ends_with("/resourcequotas")) return test::list_of(cluster.quotas);
    if (path.ends_with("/nodes")) return cluster.nodes.is_null() ? kube::test::refusal(403, "Forbidden", "no right") : test::list_of(cluster.nodes);
    if (method == "GET" && (path.ends_with("/pods") || path.ends_with("/events"))) return test::list_of(Json::array());
    if (method == "GET" && path.ends_with("/jobs")) return test::list_of(cluster.job ? Json::array({*cluster.job}) : Json::array());
    const auto name = path.substr(path.rfind('/') + 1);
    if (method == "POST" && !asked.query("dryRun").empty()) return Reply::text(asked.request.body, 201);
    if (method == "POST") return made(cluster, asked);
    if (!cluster.job || cluster.job->at("metadata").at("name") != name) return absent(name);
    if (method == "DELETE") cluster.job.reset();
    return cluster.job ? Reply::text(to_text(*cluster.job)) : Reply::text(R"({"kind": "Status", "status": "Success"})");
  }
  static Reply reviewed(const Cluster& cluster, const FakeTransport::Asked& asked) {
    if (asked.request.url.path.ends_with("/selfsubjectreviews")) return Reply::text(R"({"status": {"userInfo": {"username": "user"}}})", 201);
    const auto attributes = Json::parse(asked.request.body)["spec"]["resourceAttributes"];
    const bool allowed = attributes.value("verb", "") + " " + attributes.value("resource", "") != cluster.lacking;
    return Reply::text(to_text(Json{{"status", {{"allowed", allowed}}}}), 201);
  }
  static Reply made(Cluster& cluster, const FakeTransport::Asked& asked) {
    auto object = test::made(asked.request.body, "u-" + std::to_string(++cluster.made));
    if (asked.request.url.path.ends_with("/jobs")) cluster.job = object;
    return Reply::text(to_text(object), 201);
  }
  static Json full_quota() {
    return Json::array({{{"metadata", {{"name", "team"}}}, {"status", {{"hard", {{"pods", "0"}}}, {"used", {{"pods", "0"}}}}}}});
  }
  void live(Duration time = 60s) {
    ++options.seed;
    verdict.reset();
    told.text.clear();
    session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{&told});
    session->begin([this](const cluster::Session::Done& done) { verdict = done.outcome.verdict; });
    loop.run(time);
    UNSCOPED_INFO(told.text);
    if (verdict) UNSCOPED_INFO(verdict->message);
  }
};

}  // namespace

TEST_CASE_METHOD(Clusters, "the first of several clusters that can take the job gets it") {
  live();
  CHECK_FALSE(verdict);
  CHECK(a.job);
  CHECK(b.made == 0);
  CHECK(told.count("using the cluster of Secret gpu-a (https://gpu-a)\n") == 1);
}

TEST_CASE_METHOD(Clusters, "a cluster that cannot take the job is passed over, with the reason") {
  std::string why;
  SECTION("its quota is used up") {
    a.quotas = full_quota();
    why = "Secret gpu-a: the job would wait: quota team: ";
  }
  SECTION("its nodes are too small") {
    a.nodes = Json::array({{{"metadata", {{"name", "n"}}}, {"status", {{"allocatable", {{"cpu", "1"}, {"memory", "1Gi"}, {"pods", "10"}}}}}}});
    request.cpus = "96";
    why = "Secret gpu-a: the job would wait: no node is large enough";
  }
  SECTION("nothing responds") {
    a.only = GENERATE(Reply::silent(), Reply::lost());
    why = "Secret gpu-a: ";
  }
  SECTION("its token is not accepted") {
    a.only = Reply::text("Unauthorized", 401);
    why = "put a valid token into the Secret";
  }
  SECTION("there is no such Secret") {
    a.known = false;
    why = "gpu-a";
  }
  SECTION("a permission is missing") {
    a.lacking = "create jobs";
    why = "no permission to create jobs.batch in namespace there of https://gpu-a";
  }
  live();
  CHECK_FALSE(verdict);
  CHECK(a.made == 0);
  CHECK(b.job);
  CHECK(told.count(why) >= 1);
  CHECK(told.count("using the cluster of Secret gpu-b (https://gpu-b)\n") == 1);
  if (a.known) CHECK(std::ranges::find(told.left, "https://gpu-a") != told.left.end());  // it is not waited for any more
}

TEST_CASE_METHOD(Clusters, "if the job would wait in all clusters, it waits in the first that can take it") {
  b.quotas = full_quota();
  SECTION("the preferred one") {
    a.quotas = full_quota();
    live();
    CHECK(a.job);
    CHECK(b.made == 0);
    CHECK(told.count("using the cluster of Secret gpu-a (https://gpu-a); the job will wait: quota team: ") == 1);
  }
  SECTION("the only one left") {
    a.lacking = "create jobs";
    live();
    CHECK(a.made == 0);
    CHECK(b.job);
  }
}

TEST_CASE_METHOD(Clusters, "if no cluster can take the job, the step ends with all reasons and nothing staged") {
  a.lacking = "create jobs";
  SECTION("for good") {
    b.lacking = "delete jobs";
    live();
    REQUIRE(verdict);
    CHECK(verdict->verdict_class == result::VerdictClass::input);
    CHECK_THAT(verdict->message, Contains("no permission to delete jobs.batch"));
  }
  SECTION("perhaps later") {
    b.only = Reply::lost();
    live();
    REQUIRE(verdict);
    CHECK(verdict->verdict_class == result::VerdictClass::system);
    CHECK_THAT(verdict->message, Contains("Secret gpu-b"));
  }
  CHECK_THAT(verdict->message, Contains("no cluster can take the job: ") && Contains("no permission to create jobs.batch"));
  CHECK(a.made + b.made == 0);
  CHECK(objects.empty());
}

TEST_CASE_METHOD(Clusters, "what a cluster answers instead of the job of an earlier attempt is reported with a remedy") {
  node_name = "wf(0).train(1)";
  const auto [answer, remedy] = GENERATE(std::pair(Reply::text("Unauthorized", 401), "put a valid token into the Secret"),
                                         std::pair(Reply::text("<html>welcome</html>"), "is this the address of an API server?"));
  a.only = answer;
  live(10min);
  REQUIRE(verdict);
  CHECK_THAT(verdict->message, Contains("cannot tell whether a job of this run exists: Secret gpu-a: ") && Contains(remedy));
}

TEST_CASE_METHOD(Clusters, "a later attempt finds its job where it is, whatever the order says now") {
  SECTION("another order") {
    options.configuration_secrets = {"gpu-b", "gpu-a"};
    live();
    REQUIRE(b.job);
    options.configuration_secrets = {"gpu-a", "gpu-b"};
  }
  SECTION("the preferred one had no room") {
    a.quotas = full_quota();
    live();
    REQUIRE(b.job);
    a.quotas = Json::array();
  }
  SECTION("the preferred one does not respond") {
    a.only = Reply::silent();
    live();
    REQUIRE(b.job);
  }
  live();
  CHECK_FALSE(verdict);
  CHECK(a.made == 0);
  CHECK(told.count("adopted Job") == 1);
}

TEST_CASE_METHOD(Clusters, "a later attempt creates no job while that of an earlier one may be in a cluster that does not respond") {
  node_name = GENERATE("wf(0).train(1)", "");  // "": whether it is a later one is unknown
  a.only = Reply::lost();
  SECTION("a step in a pod waits") {
    live(10min);
    CHECK_FALSE(verdict);
    CHECK(told.count("looking for a job of this run: https://gpu-a: ") == 1);
    CHECK(b.made == 0);
    a.only.reset();
    loop.run(10min);
    CHECK(a.job);
  }
  SECTION("a step at a shell fails after some minutes") {
    options.pod.name.clear();
    options.facts.emplace();
    options.facts->image = "trainstep:1";
    live(10min);
    REQUIRE(verdict);
    CHECK(verdict->verdict_class == result::VerdictClass::system);
    CHECK_THAT(verdict->message, Contains("cannot tell whether a job of this run exists: "));
  }
  CHECK(b.made == 0);
}

TEST_CASE_METHOD(Clusters, "a new run asks all clusters at once whether they answer, but looks for no earlier job") {
  request.run_id.clear();
  const auto plan = options.make_plan;
  options.make_plan = [plan](const Facts& facts, const std::string& name_space) {
    auto made = plan(facts, name_space);
    if (made) made->fresh_run = true;
    return made;
  };
  std::size_t at_b = 0;
  const auto before = trouble;
  trouble = [&, before](const FakeTransport::Asked& asked) {
    if (asked.request.url.host == "gpu-b") ++at_b;
    return before(asked);
  };
  live();
  CHECK(a.job);
  CHECK(at_b == 1);
}

TEST_CASE_METHOD(Clusters, "a later attempt whose clusters say that they have no job of it looks once, and creates one at once") {
  node_name = "wf(0).train(1)";
  int looks_at_b = 0;
  const auto before = trouble;
  trouble = [&, before](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    const auto& [host, path] = std::pair(asked.request.url.host, asked.request.url.path);
    if (!a.job && asked.request.method == "GET" && path.find("/jobs/") != std::string::npos) looks_at_b += host == "gpu-b" ? 1 : 0;
    if (asked.request.method == "GET" && path.find("/jobs/") != std::string::npos && clusters.contains(host) && !clusters[host].job) {
      const auto name = path.substr(path.rfind('/') + 1);
      return kube::test::refusal(404, "NotFound", "jobs.batch \"" + name + "\" not found", {{"name", name}, {"group", "batch"}, {"kind", "jobs"}});
    }
    return before(asked);
  };
  live(5s);
  CHECK(a.job);
  CHECK(looks_at_b == 1);
}

TEST_CASE_METHOD(Clusters, "a later attempt creates no job elsewhere because a cluster does not know its resources for a while") {
  options.configuration_secrets = {"gpu-a", "gpu-b"};
  live();
  REQUIRE(a.job);
  node_name = "wf(0).train(1)";
  options.configuration_secrets = {"gpu-b", "gpu-a"};
  const auto now = loop.now();
  const auto* text =
      GENERATE("404 page not found", R"({"kind": "Status", "code": 404, "message": "the server could not find the requested resource"})");
  const auto before = trouble;
  trouble = [&, before](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    const bool starting = asked.request.url.host == "gpu-a" && asked.at < now + 8s;
    if (starting && asked.request.url.path.find("/jobs") != std::string::npos) return Reply::text(text, 404);
    return before(asked);
  };
  live();
  INFO(told.text << (verdict ? verdict->message : ""));
  CHECK(b.made == 0);
  CHECK(told.count("adopted Job") == 1);
}

TEST_CASE_METHOD(Clusters, "clusters that do not answer cost a new run five seconds in all") {
  for (const auto* name : {"gpu-c", "gpu-d", "gpu-e"}) clusters[name].only = Reply::silent();
  a.only = Reply::silent();
  options.configuration_secrets = {"gpu-a", "gpu-c", "gpu-d", "gpu-e", "gpu-b"};
  const auto plan = options.make_plan;
  options.make_plan = [plan](const Facts& facts, const std::string& name_space) {
    auto made = plan(facts, name_space);
    if (made) made->fresh_run = true;
    return made;
  };
  live(7s);
  CHECK(b.job);
}

TEST_CASE_METHOD(Clusters, "a stop ends a search in clusters that do not answer after some seconds, and says what may be left") {
  options.pod.name.clear();
  options.facts.emplace();
  options.facts->image = "trainstep:1";
  a.only = Reply::silent();
  session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{&told});
  session->begin([this](const cluster::Session::Done& done) { verdict = done.outcome.verdict; });
  loop.after(2s, [this] { session->request_stop(SIGINT); });
  loop.run(20s);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::cancelled);
  CHECK(told.count("SIGINT (2) received: looking for a job of this run") == 1);
  CHECK_THAT(verdict->message, Contains("a job of an earlier attempt may still exist"));
}

TEST_CASE_METHOD(Clusters, "a stop finds the job of an earlier attempt in whichever cluster it is") {
  options.configuration_secrets = {"gpu-b", "gpu-a"};
  live();
  REQUIRE(b.job);
  options.configuration_secrets = {"gpu-a", "gpu-b"};
  ++options.seed;
  const auto at = GENERATE(0ms, 1ms, 2ms, 3ms, 5ms, 8ms, 12ms);
  CAPTURE(at.count());
  session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{&told});
  session->begin([this](const cluster::Session::Done& done) { verdict = done.outcome.verdict; });
  loop.after(at, [this] { session->request_stop(SIGINT); });
  loop.run(60s);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::cancelled);
  CHECK_FALSE(b.job);
  CHECK(a.made == 0);
}

TEST_CASE_METHOD(Clusters, "a stop while clusters are being tried leaves nothing") {
  a.quotas = full_quota();
  const auto at = GENERATE(0ms, 1ms, 2ms, 4ms, 8ms, 16ms, 24ms, 32ms, 40ms, 60ms, 100ms);
  CAPTURE(at.count());
  session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{&told});
  session->begin([this](const cluster::Session::Done& done) { verdict = done.outcome.verdict; });
  loop.after(at, [this] { session->request_stop(SIGINT); });
  loop.run(60s);
  UNSCOPED_INFO(told.text);
  REQUIRE(verdict);
  CHECK(verdict->verdict_class == result::VerdictClass::cancelled);
  CHECK_FALSE(a.job);
  CHECK_FALSE(b.job);
}
