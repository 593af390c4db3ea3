// What a check tells of the keys to object stores: as a run would find them before it makes its job.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/preflight.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "cluster/data.h"
#include "data/yaml.h"
#include "support/catch.h"
#include "unit/cluster/session_support.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;
using Catch::Matchers::Contains;

namespace {

// Of a step that fetches its model through a folder in a store.
struct Check {
  Harness h;
  Facts facts;
  DataContext data;
  std::string refused;    // the resource that may not be read …
  std::string undecided;  // … or of which that cannot be told, and why
  Reply keys = trainstep::test::secret("team-keys", {{"ak", "key"}, {"sk", "secret"}});
  std::vector<std::string> found;  // "error: …"
  std::optional<Result<Diagnosis>> done;
  Reply store = Reply::text("<Error><Code>NoSuchKey</Code></Error>", 404);
  int readings = 0;
  Reply of_pods = Reply::text(R"({"status": {"allowed": true}})", 201);  // whether their account may look at the Lease
  std::string roles;
  Json quotas = Json::array();
  std::string pvc_name;
  Reply dry_run = Reply::text("");  // of the job, if it has a status other than 200

  Check() {
    facts.name_space = "team";
    facts.image = "trainstep:1";
    facts.folder = plan::JobFolder{"s3://bkt/jobs", {"http://store:9000", "us-east-1", true, "team-keys", "ak", "sk"}};
    h.server.serve([this](const FakeTransport::Asked& asked) { return answer(asked); });
  }
  Reply answer(const FakeTransport::Asked& asked) {
    const auto& path = asked.request.url.path;
    if (path.ends_with("/batch/v1")) return trainstep::test::serves_jobs();
    if (path.ends_with("/selfsubjectaccessreviews")) {
      const auto resource = Json::parse(asked.request.body)["spec"]["resourceAttributes"].value("resource", "");
      Json status = {{"allowed", resource != refused}};
      if (resource == refused && !undecided.empty()) status["evaluationError"] = undecided;
      return Reply::text(to_text({{"status", std::move(status)}}), 201);
    }
    if (path.ends_with("/namespaces/team/localsubjectaccessreviews")) {
      CHECK(Json::parse(asked.request.body)["spec"]["user"] == "system:serviceaccount:team:default");
      return of_pods;
    }
    if (path.ends_with("/secrets/team-keys")) {
      ++readings;
      return keys;
    }
    if (path.ends_with("/selfsubjectreviews")) return absent("selfsubjectreviews");  // a server before 1.28
    if (asked.request.url.host == "store") return store;
    if (path.ends_with("/resourcequotas")) return trainstep::test::list_of(quotas);
    if (path.ends_with("/jobs") && dry_run.status != 200) return dry_run;
    if (asked.request.method != "POST") return absent(path.substr(path.rfind('/') + 1));
    CHECK(asked.query("dryRun") == "All");
    return Reply::text(asked.request.body, 201);
  }
  void run(bool fetches = true) {
    plan::Request request;
    request.run_id = "r";
    request.pvc_name = pvc_name;
    request.train_specification =
        "outputs: [{name: model, type: Model}]\nimplementation: {container: {image: i, command: [train, {outputPath: model}]}}";
    if (fetches) {
      request.outputs = {{.name = "model_dir", .path = "/step/model", .uri = "", .type = "", .metadata = Json::object()}};
      request.train_parameters = {{"model", "model_dir"}};
    }
    auto plan = plan::make_plan(request, trainstep::test::all_kinds);
    REQUIRE(plan.has_value());
    REQUIRE(route_data(*plan, facts));
    const auto hear = [&](const Finding& finding) {
      using enum Finding::Severity;
      found.push_back((finding.severity == ok ? "ok: " : finding.severity == error ? "error: " : "warning: ") + finding.text);
    };
    const Side side{*h.client, "team", "context team"};
    const Preflight preflight({h.server, *plan, facts, facts, data, side, side, {}},
                              {hear, [&](Result<Diagnosis> result) { done = std::move(result); }});
    h.loop.run(2min);
    REQUIRE(done);
    if (*done) roles = (*done)->missing.yaml(side, side);
  }
  [[nodiscard]] std::vector<std::string> errors() const {
    std::vector<std::string> errors;
    for (const auto& line : found)
      if (line.starts_with("error: ")) errors.push_back(line);
    return errors;
  }
};

}  // namespace

TEST_CASE_METHOD(Check, "a permission on which the authorizer could not decide is not taken for a missing one") {
  refused = "jobs";
  undecided = "webhook: context deadline exceeded";
  run();
  REQUIRE(*done);
  CHECK_FALSE((*done)->failed());
  CHECK((*done)->missing.empty());
  const std::string line =
      "warning: cannot tell whether there is a permission to create jobs.batch in namespace team: webhook: context deadline exceeded";
  CHECK(std::ranges::find(found, line) != found.end());
}

TEST_CASE_METHOD(Check, "permissions are asked for all at once") {
  const auto respond = [this](const FakeTransport::Asked& asked) { return answer(asked); };
  std::vector<Time> reviews;
  h.server.serve([&](const FakeTransport::Asked& asked) {
    auto reply = respond(asked);
    if (!asked.request.url.path.ends_with("/selfsubjectaccessreviews")) return reply;
    reviews.push_back(asked.at);
    reply.pieces.front().after = 1s;
    return reply;
  });
  run();
  REQUIRE(*done);
  REQUIRE_FALSE(reviews.empty());
  CHECK(std::ranges::count(reviews, reviews.front()) > 5);
}

TEST_CASE_METHOD(Check, "a check reads the credentials that a run needs, and reports only missing ones") {
  run();
  REQUIRE(*done);
  CHECK_FALSE((*done)->failed());
  CHECK(readings == 1);
  CHECK(errors().empty());
}

TEST_CASE_METHOD(Check, "a check reports a missing Secret or key with a run's message, and continues") {
  const auto [answer, said] = GENERATE(
      std::pair(refusal(404, "NotFound", "secrets \"team-keys\" not found", {{"name", "team-keys"}, {"kind", "secrets"}}),
                "error: credentials of the object store: "),
      std::pair(trainstep::test::secret("team-keys", {{"ak", "key"}}), "error: credentials of the object store: Secret team-keys: no key sk"),
      std::pair(refusal(403, "Forbidden", "secrets \"team-keys\" is forbidden"), "error: credentials of the object store: "));
  keys = answer;
  run();
  REQUIRE(*done);
  CHECK((*done)->failed());
  REQUIRE(errors().size() == 1);
  CHECK_THAT(errors()[0], Contains(said) && Contains("team-keys"));
  CHECK_THAT(found.back(), Contains("no quota"));
}

TEST_CASE_METHOD(Check, "a missing permission is reported once, and the credentials are not requested") {
  refused = "secrets";
  run();
  REQUIRE(*done);
  CHECK(errors() == std::vector<std::string>{"error: no permission to get secrets team-keys in namespace team"});
  CHECK(readings == 0);
}

TEST_CASE_METHOD(Check, "keys of the environment are missed by a check as by a run") {
  facts.folder->store = {"http://store:9000", "us-east-1", true, "", "", ""};
  const bool there = GENERATE(true, false);
  if (there) data.environment = {{"AWS_ACCESS_KEY_ID", "key"}, {"AWS_SECRET_ACCESS_KEY", "secret"}};
  run();
  REQUIRE(*done);
  CHECK((*done)->failed() != there);
  CHECK(readings == 0);
}

TEST_CASE_METHOD(Check, "a check fails where a run's keys cannot work, and doubts where their store does not answer") {
  std::string line = "error: ";
  SECTION("a token that is not there") {
    facts.folder->store = {"http://store:9000", "us-east-1", true, "", "", ""};
    data.environment = {{"AWS_WEB_IDENTITY_TOKEN_FILE", "/no/such/token"}, {"AWS_ROLE_ARN", "arn"}};
    line += "credentials of the object store: credentials for AWS_ROLE_ARN: cannot read /no/such/token";
  }
  SECTION("keys that the store does not know") {
    store = Reply::text("<Error><Code>InvalidAccessKeyId</Code></Error>", 403);
    line += "the outputs could not be fetched: get s3://bkt/jobs/";
  }
  SECTION("a store that only the pods reach") {
    store = Reply::silent();
    line = "warning: cannot tell whether the outputs can be fetched: http://store:9000 does not answer";
  }
  run();
  REQUIRE(*done);
  CHECK((*done)->failed() == line.starts_with("error"));
  CHECK(std::ranges::any_of(found, [&](const auto& one) { return one.starts_with(line); }));
}

TEST_CASE_METHOD(Check, "a check of a step that fetches nothing reads no keys") {
  run(false);
  REQUIRE(*done);
  CHECK_FALSE((*done)->failed());
  CHECK(readings == 0);
}

namespace {

Json used_up(const std::string& name) {
  return Json::array({{{"metadata", {{"name", "team"}}}, {"status", {{"hard", {{name, "3"}}}, {"used", {{name, "3"}}}}}}});
}

}  // namespace

TEST_CASE_METHOD(Check, "a quota without room for an object that the step creates is an error") {
  const auto* const full = GENERATE("count/jobs.batch", "persistentvolumeclaims", "count/persistentvolumeclaims", "requests.storage");
  quotas = used_up(full);
  pvc_name = "data";
  run(false);
  REQUIRE(*done);
  CHECK((*done)->failed());
  REQUIRE(errors().size() == 1);
  CHECK_THAT(errors()[0], Contains(fmt::format("quota team: {}: requested ", full)) && Contains(" left; the step would fail"));
  CHECK(std::ranges::find(found, "ok: the quotas are sufficient") == found.end());
}

TEST_CASE_METHOD(Check, "a quota without room for the pods, or for the Lease, is a doubt") {
  const auto [full, sentence] =
      GENERATE(std::pair("count/pods", "requested 1, 0 of 3 left; the job would wait"),
               std::pair("count/leases.coordination.k8s.io", "requested 1, 0 of 3 left; if the step vanishes, nothing ends its job"));
  quotas = used_up(full);
  run();
  REQUIRE(*done);
  CHECK_FALSE((*done)->failed());
  CHECK(std::ranges::find(found, fmt::format("warning: quota team: {}: {}", full, sentence)) != found.end());
  CHECK(std::ranges::find(found, "ok: the quotas are sufficient") == found.end());
}

TEST_CASE_METHOD(Check, "quotas are sufficient if they count nothing of the job") {
  quotas = used_up("count/cronjobs.batch");
  run();
  CHECK_FALSE((*done)->failed());
  CHECK(std::ranges::find(found, "ok: the quotas are sufficient") != found.end());
}

TEST_CASE_METHOD(Check, "a job that exceeds a quota is reported once, and no quota is sufficient then") {
  quotas = used_up("count/jobs.batch");
  dry_run = refusal(403, "Forbidden", "jobs.batch \"j\" is forbidden: exceeded quota: team, requested: count/jobs.batch=1, used: count/jobs.batch=3");
  run();
  CHECK((*done)->failed());
  REQUIRE(errors().size() == 1);
  CHECK_THAT(errors()[0], Contains("exceeded quota: team"));
  CHECK(std::ranges::find(found, "ok: the quotas are sufficient") == found.end());
}

TEST_CASE_METHOD(Check, "the permission of the pods to look at their Lease is a doubt, and their Role is printed") {
  const bool known = GENERATE(true, false);
  of_pods = known ? Reply::text(R"({"status": {"allowed": false}})", 201) : refusal(403, "Forbidden", "no right");
  run();
  CHECK_FALSE((*done)->failed());
  const auto line = fmt::format("warning: {} to get leases.coordination.k8s.io in namespace team for the service account default of the pods: ",
                                known ? "no permission" : "perhaps no permission");
  CHECK(std::ranges::any_of(found, [&](const auto& one) { return one.starts_with(line); }));
  const auto documents = parse_yaml_documents(roles, "");
  REQUIRE(documents);
  REQUIRE(documents->size() == 2);
  CHECK((*documents)[0]["rules"] == Json::array({{{"apiGroups", {"coordination.k8s.io"}}, {"resources", {"leases"}}, {"verbs", {"get"}}}}));
  CHECK((*documents)[1]["subjects"] == Json::array({{{"kind", "ServiceAccount"}, {"namespace", "team"}, {"name", "default"}}}));
  CHECK((*documents)[1]["roleRef"]["name"] == "trainstep-pods");
}

TEST_CASE_METHOD(Check, "an API server that does not give the keys in time leaves the check without an answer") {
  keys = Reply::text("", 503);
  run();
  REQUIRE_FALSE(*done);
  CHECK(done->error().kind == ErrorKind::unavailable);
}

namespace {

// Its job is to be in another cluster.
struct CheckOfTwo : Check {
  std::vector<std::string> asked;  // "HOST VERB RESOURCE"
  std::vector<std::string> denied;
  std::string user = "system:serviceaccount:other:trainstep";
  std::optional<MissingRoles> missing;
  Json nodes;  // null: they may not be listed

  void run_apart() {
    const auto before = [this](const FakeTransport::Asked& one) { return answer(one); };
    h.server.serve([this, before](const FakeTransport::Asked& one) {
      const auto& path = one.request.url.path;
      if (path.ends_with("/selfsubjectreviews")) return Reply::text(to_text({{"status", {{"userInfo", {{"username", user}}}}}}), 201);
      if (path.ends_with("/nodes") && !nodes.is_null()) return trainstep::test::list_of(nodes);
      if (!path.ends_with("/selfsubjectaccessreviews")) return before(one);
      const auto attributes = Json::parse(one.request.body)["spec"]["resourceAttributes"];
      asked.push_back(one.request.url.host + " " + attributes.value("namespace", "") + " " + attributes.value("verb", "") + " " +
                      attributes.value("resource", "") + (attributes.contains("subresource") ? "/log" : ""));
      return Reply::text(to_text({{"status", {{"allowed", std::ranges::find(denied, asked.back()) == denied.end()}}}}), 201);
    });
    auto credentials = std::make_shared<kube::Credentials>();
    credentials->server = {"https", "remote", 6443, "", {}};
    credentials->token = std::make_unique<CountingTokens>();
    kube::Client remote(h.loop, h.server, credentials, 1);
    plan::Request request;
    request.run_id = "r";
    request.train_specification = R"({"image": "i", "command": ["t"]})";
    request.cpus = "2";
    auto plan = plan::make_plan(request, trainstep::test::all_kinds);
    REQUIRE(plan.has_value());
    facts.pod = "step-1";
    data.configuration_secret = "training";
    data.keys_copy = "job-keys";
    const Facts there;
    const Side home{*h.client, "team", "in-cluster"};
    const Side other{remote, "there", "https://remote"};
    const Preflight preflight({h.server, *plan, facts, there, data, home, other, {}}, {[&](const Finding& finding) { found.push_back(finding.text); },
                                                                                       [&](Result<Diagnosis> result) {
                                                                                         if (result) missing = result->missing;
                                                                                         done = std::move(result);
                                                                                       }});
    h.loop.run(2min);
    REQUIRE(done);
    REQUIRE(*done);
    if (missing) roles = missing->yaml(home, other);
  }
  [[nodiscard]] bool was_asked(const std::string& what) const { return std::ranges::find(asked, what) != asked.end(); }
  [[nodiscard]] bool was_found(const std::string& what) const { return std::ranges::find(found, what) != found.end(); }
};

}  // namespace

TEST_CASE_METHOD(CheckOfTwo, "permissions are asked for where they are needed: in the cluster of the step, or in that of the job") {
  run_apart();
  CHECK(was_asked("api team get pods"));
  CHECK(was_asked("api team get secrets"));
  CHECK_FALSE(was_asked("remote there get pods"));
  CHECK(was_asked("remote there create jobs"));
  CHECK(was_asked("remote there create secrets"));
  CHECK_FALSE(was_asked("api team create jobs"));
  CHECK(was_found("all 2 permissions in namespace team of in-cluster"));
  CHECK(roles.empty());
}

TEST_CASE_METHOD(CheckOfTwo, "what is missing on each side is a Role and a RoleBinding for that side") {
  denied = {"api team get secrets", "remote there create jobs", "remote there list events"};
  run_apart();
  CHECK((*done)->failed());
  CHECK(was_found("no permission to get secrets training in namespace team of in-cluster"));
  CHECK(was_found("no permission to create jobs.batch in namespace there of https://remote"));
  const auto own = roles.find("# Missing permissions in namespace team (in-cluster):\n");
  const auto there = roles.find("# Missing permissions in namespace there (https://remote):\n");
  REQUIRE(own < there);
  REQUIRE(there != std::string::npos);
  const auto of_step = parse_yaml_documents(roles.substr(own, there - own), "");
  const auto of_job = parse_yaml_documents(roles.substr(there), "");
  REQUIRE(of_step);
  REQUIRE(of_job);
  CHECK((*of_step)[0]["rules"] ==
        Json::array({{{"apiGroups", {""}}, {"resources", {"secrets"}}, {"verbs", {"get"}}, {"resourceNames", {"training"}}}}));
  CHECK((*of_job)[0]["metadata"]["namespace"] == "there");
  CHECK((*of_job)[0]["rules"].size() == 2);
  CHECK((*of_job)[1]["kind"] == "RoleBinding");
  CHECK((*of_job)[1]["roleRef"]["name"] == (*of_job)[0]["metadata"]["name"]);
  CHECK((*of_job)[1]["subjects"] == Json::array({{{"kind", "ServiceAccount"}, {"namespace", "other"}, {"name", "trainstep"}}}));
}

TEST_CASE_METHOD(CheckOfTwo, "an account that is not a service account is bound as a user, an unknown one not at all") {
  denied = {"remote there create jobs"};
  user = GENERATE("jane@example.com", "");
  run_apart();
  if (user.empty()) CHECK_THAT(roles, Contains("; bind this Role to the account that is used there:\n") && !Contains("RoleBinding"));
  if (!user.empty()) CHECK_THAT(roles, Contains("kind: User") && Contains("jane@example.com"));
}

TEST_CASE_METHOD(CheckOfTwo, "a quota without room for the Secret of a job in another cluster is an error") {
  quotas = used_up("secrets");
  run_apart();
  CHECK((*done)->failed());
  CHECK(was_found("quota team: secrets: requested 1, 0 of 3 left; the step would fail"));
}

TEST_CASE_METHOD(CheckOfTwo, "pods that no node has room for are a doubt, if nodes may be listed") {
  const auto node = [](const std::string& cpu) { return Json{{"metadata", {{"name", "n"}}}, {"status", {{"allocatable", {{"cpu", cpu}}}}}}; };
  SECTION("large enough") {
    nodes = {node("1"), node("2")};
    run_apart();
    CHECK(was_found("each pod fits on a node"));
  }
  SECTION("too small") {
    nodes = {node("1"), node("1500m")};
    run_apart();
    CHECK(was_found("no node is large enough for a pod of Main: cpu 2; the job would wait"));
    CHECK_FALSE((*done)->failed());
  }
  SECTION("unknown") {
    run_apart();
    CHECK(std::ranges::none_of(found, [](const auto& text) { return text.find("node") != std::string::npos; }));
  }
}
