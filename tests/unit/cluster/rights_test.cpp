#include "cluster/rights.h"

#include <algorithm>

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::cluster;

namespace {

constexpr kinds::Resource pytorch{"kubeflow.org/v1", "PyTorchJob", "pytorchjobs"};

bool asks_for(const std::vector<Right>& rights, const std::string& verb, const std::string& resource) {
  return std::ranges::any_of(rights, [&](const Right& right) { return right.verb == verb && right.resource == resource; });
}

}  // namespace

TEST_CASE("a step in a Workflow looks at it; one in a pod looks at that") {
  Facts facts;
  CHECK_FALSE(asks_for(rights_of(pytorch, facts), "watch", "workflows"));
  const auto needs_pod = [&] {
    return std::ranges::any_of(rights_of(pytorch, facts),
                               [](const Right& right) { return right.needed && right.verb == "get" && right.resource == "pods"; });
  };
  CHECK_FALSE(needs_pod());
  facts.pod = "step";
  CHECK(needs_pod());
  facts.workflow = Workflow{"argoproj.io/v1alpha1", "flow", "uid"};
  CHECK(asks_for(rights_of(pytorch, facts), "watch", "workflows"));
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
