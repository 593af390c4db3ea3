#include "cluster/permissions.h"

#include <algorithm>

#include "job_types/render.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::cluster;

namespace {

constexpr job_types::Resource pytorch{"kubeflow.org/v1", "PyTorchJob", "pytorchjobs"};

bool asks_for(const std::vector<Permission>& rights, const std::string& verb, const std::string& resource) {
  return std::ranges::any_of(rights, [&](const Permission& right) { return right.verb == verb && right.resource == resource; });
}

}  // namespace

TEST_CASE("a step in a Workflow looks at it; one in a pod looks at that") {
  Facts facts;
  CHECK_FALSE(asks_for(permissions_of(pytorch, facts), "watch", "workflows"));
  const auto needs_pod = [&] {
    return std::ranges::any_of(permissions_of(pytorch, facts),
                               [](const Permission& right) { return right.needed && right.verb == "get" && right.resource == "pods"; });
  };
  CHECK_FALSE(needs_pod());
  facts.pod = "step";
  CHECK(needs_pod());
  facts.workflow = Workflow{"argoproj.io/v1alpha1", "flow", "uid"};
  CHECK(asks_for(permissions_of(pytorch, facts), "watch", "workflows"));
  CHECK(asks_for(permissions_of(pytorch, facts), "get", "workflows"));
}

TEST_CASE("reading the launcher Job of an MPIJob distinguishes its events; the permission is optional") {
  for (const auto* version : {"kubeflow.org/v2beta1", "kubeflow.org/v1"}) {
    const auto rights = permissions_of(*job_types::choose_resource(job_types::find("MPI"), version), Facts{});
    const auto found = std::ranges::find_if(rights, [](const Permission& right) { return right.group == "batch" && right.resource == "jobs"; });
    REQUIRE((found != rights.end()) == (version == std::string_view("kubeflow.org/v2beta1")));
    if (found != rights.end()) CHECK_FALSE(found->needed);
  }
}

TEST_CASE("a review names group, resource, subresource and verb apart") {
  const auto review = access_review({"", "pods/log", "get"}, "team-a");
  const Json expected = {{"namespace", "team-a"}, {"verb", "get"}, {"group", ""}, {"resource", "pods"}, {"subresource", "log"}};
  CHECK(review["spec"]["resourceAttributes"] == expected);
  CHECK(allowed({{"status", {{"allowed", true}}}}));
  for (const auto& answer :
       {Json{{"status", {{"allowed", false}}}}, Json{{"status", {{"allowed", "yes"}}}}, Json{{"status", 1}}, Json(), Json::array()})
    CHECK_FALSE(allowed(answer));
}

TEST_CASE("a Role has one rule for each resource") {
  const auto made = role({{"kubeflow.org", "pytorchjobs", "create"}, {"kubeflow.org", "pytorchjobs", "delete"}, {"", "pods", "list"}}, "team-a");
  CHECK(made["metadata"]["namespace"] == "team-a");
  REQUIRE(made["rules"].size() == 2);
  CHECK(made["rules"][0] == Json{{"apiGroups", {"kubeflow.org"}}, {"resources", {"pytorchjobs"}}, {"verbs", {"create", "delete"}}});
  CHECK(made["rules"][1] == Json{{"apiGroups", {""}}, {"resources", {"pods"}}, {"verbs", {"list"}}});
}

TEST_CASE("a right to one object is reviewed and given by its name, apart from those to any") {
  const Permission named{"", "secrets", "get", true, "team-keys"};
  CHECK(describe(named) == "get secrets team-keys");
  CHECK(describe({"kubeflow.org", "pytorchjobs", "create"}) == "create pytorchjobs.kubeflow.org");
  CHECK(access_review(named, "team-a")["spec"]["resourceAttributes"]["name"] == "team-keys");
  const auto made = role({named, {"", "secrets", "create"}, {"", "secrets", "get", true, "training"}, {"", "secrets", "list"}}, "team-a");
  const auto rule = [](Json verbs, Json names) {
    Json one{{"apiGroups", {""}}, {"resources", {"secrets"}}, {"verbs", std::move(verbs)}};
    if (!names.is_null()) one["resourceNames"] = std::move(names);
    return one;
  };
  CHECK(made["rules"] == Json::array({rule({"get"}, {"team-keys"}), rule({"create", "list"}, nullptr), rule({"get"}, {"training"})}));
}

namespace {

// "get secrets team-keys", with "!" in front where it is needed
std::vector<std::string> for_data(plan::Plan plan, const DataContext& surroundings) {
  plan.job_type = "Job";
  std::vector<std::string> texts;
  for (const auto& right : data_permissions_of(plan, surroundings)) texts.push_back((right.needed ? "!" : "") + describe(right));
  return texts;
}

plan::StoreAccess keys(std::string secret) { return {"http://store", "r", true, std::move(secret), "a", "s"}; }

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a step without data needs no rights for them") { CHECK(for_data({}, {}).empty()); }

TEST_CASE("inputs that only the pods fetch need the configuration's ConfigMap, and no Secret") {
  plan::Plan plan;
  plan.data.secrets = {keys("team-keys")};
  CHECK(for_data(plan, {.has_addresses = true, .configuration_secret = ""}) == Texts{"get configmaps kfp-launcher"});
}

TEST_CASE("a record in a bucket is read and removed with its Secret's keys, but the step runs without") {
  plan::Plan plan;
  plan.data.secrets = {keys("team-keys"), keys(""), keys("team-keys")};
  plan.data.prefix.uri = "s3://bucket/.trainstep/job";
  CHECK(for_data(plan, {}) == Texts{"get secrets team-keys"});
  plan.data.prefix.uri.clear();
  plan.data.task.record.uri = "s3://bucket/.trainstep/job/finished.json";
  CHECK(for_data(plan, {}) == Texts{"get secrets team-keys"});
}

TEST_CASE("what goes through the job's prefix needs all keys, and those of the configuration Secret but once") {
  plan::Plan plan;
  plan.data.secrets = {keys("training"), keys("team-keys")};
  plan.data.prefix.uri = "s3://bucket/jobs/job";
  const bool up = GENERATE(true, false);
  (up ? plan.data.uploads : plan.data.downloads).push_back({"data", "/data", {"s3://bucket/jobs/job/data", 0, ""}});
  CHECK(for_data(plan, {.has_addresses = false, .configuration_secret = "training"}) == Texts{"!get secrets training", "!get secrets team-keys"});
}

TEST_CASE("a claim that is there needs no right to make one; one that is not does; and what may not be seen is a doubt") {
  plan::Plan plan;
  plan.pvc_name = "scratch";
  const auto rights = [&](std::optional<bool> there, bool of_jobs = false) {
    return for_data(plan, {.claim_is_there = there, .claim_is_of_jobs = of_jobs});
  };
  CHECK(rights(true) == Texts{"get persistentvolumeclaims scratch"});
  CHECK(rights(true, true) == Texts{"get persistentvolumeclaims scratch", "patch persistentvolumeclaims scratch"});
  CHECK(rights(false) == Texts{"!get persistentvolumeclaims scratch", "!create persistentvolumeclaims", "patch persistentvolumeclaims scratch"});
  CHECK(rights(std::nullopt) == Texts{"get persistentvolumeclaims scratch", "create persistentvolumeclaims", "patch persistentvolumeclaims scratch"});
}

TEST_CASE("claims that pods mount are read for their access modes, unless nothing would follow from those") {
  plan::Plan plan;
  plan.pvc_name = "scratch";
  plan.options.all.volumes = Json::array({{{"mount_path", "/a"}, {"claim", "sets"}}});
  CHECK(for_data(plan, {.claim_is_there = true}) == Texts{"get persistentvolumeclaims sets", "get persistentvolumeclaims scratch"});
  plan.options.single_node = false;
  CHECK(for_data(plan, {.claim_is_there = true}) == Texts{"get persistentvolumeclaims scratch"});
}
