// The Lease of a job without an owner, as its step keeps it.
// SPDX-License-Identifier: Apache-2.0
#include "cluster/step_lease.h"

#include <string>
#include <vector>

#include "cluster/data.h"
#include "cluster/permissions.h"
#include "unit/cluster/store_step.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using objectstore::test::FakeTransport;
using test::Reply;

namespace {

// A step in a pod that belongs to no Workflow.
struct Leased : test::StoreStep {
  std::vector<Json> renewals;
  std::vector<Time> at;
  std::optional<Reply> instead;

  Leased() {
    trouble = [this](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      const auto& path = asked.request.url.path;
      if (path.find("/leases/") != std::string::npos) {
        CHECK(asked.request.method == "PATCH");
        renewals.push_back(Json::parse(asked.request.body));
        at.push_back(asked.at);
        return instead.value_or(Reply::text(asked.request.body));
      }
      const bool jobs = path.ends_with("/jobs");
      if (asked.request.method == "PATCH" && created) return Reply::text(to_text(*created));
      if (asked.request.method != "GET" || !(jobs || path.ends_with("/pods") || path.ends_with("/events"))) return std::nullopt;
      if (asked.query("watch") == "true") return Reply{.end = Reply::End::open};
      if (!jobs || !created) return test::list_of(Json::array());
      auto job = *created;
      job["status"] = {{"startTime", job["metadata"]["creationTimestamp"]}, {"active", 1}, {"ready", 1}};
      return test::list_of(Json::array({job}));
    };
  }
};

}  // namespace

TEST_CASE_METHOD(Leased, "a job without an owner has a Lease that it owns, with its name, renewed every five minutes") {
  run();
  REQUIRE(created);
  loop.run(60min);
  REQUIRE(renewals.size() >= 12);
  CHECK(renewals.size() <= 14);
  const auto& lease = renewals.back();
  const auto& job = *created;
  CHECK(lease["metadata"]["name"] == job["metadata"]["name"]);
  CHECK(lease["metadata"]["ownerReferences"] ==
        Json::array({{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", job["metadata"]["name"]}, {"uid", job["metadata"]["uid"]}}}));
  CHECK(lease["spec"]["leaseDurationSeconds"] == 1800);
  const auto renewed = lease["spec"]["renewTime"].get<std::string>();
  CHECK_THAT(renewed, Catch::Matchers::EndsWith(".000000Z"));  // as metav1.MicroTime is read
  CHECK(from_rfc3339(renewed) >= at.back() - 1s);
  const auto task = Json::parse(variable("TRAINSTEP_TASK").get<std::string>());
  CHECK(task["lease"] ==
        Json{{"length", 1800}, {"grace", 30}, {"uri", "minio://mlpipeline/jobs/my-model-4e65d3fbe8/inputs"}, {"store", 0}, {"expected", true}});
}

TEST_CASE_METHOD(Leased, "pods do not expect a Lease that the step may not create") {
  lacking = {GENERATE("api create leases", "api patch leases")};
  run();
  REQUIRE(created);
  CHECK_FALSE(Json::parse(variable("TRAINSTEP_TASK").get<std::string>()).at("lease").contains("expected"));
}

TEST_CASE_METHOD(Leased, "another attempt renews the Lease of the job that it adopts") {
  run();
  REQUIRE(created);
  const auto first = renewals.back()["spec"]["holderIdentity"];
  ++options.seed;
  run();
  CHECK(told.count("adopted Job") == 1);
  CHECK(renewals.back()["spec"]["holderIdentity"] != first);
}

TEST_CASE_METHOD(Leased, "a job that belongs to a Workflow, or whose lease is off, has none") {
  if (GENERATE(true, false)) {
    request.job_options["lease"] = "off";
  } else {
    const auto before = trouble;
    trouble = [this, before](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      if (asked.request.url.path.find("/workflows") != std::string::npos) return Reply::silent();
      if (!test::is_of_own_pod(asked)) return before(asked);
      auto pod = own_pod();
      pod["metadata"]["ownerReferences"] =
          Json::array({{{"apiVersion", "argoproj.io/v1alpha1"}, {"kind", "Workflow"}, {"name", "wf"}, {"uid", "w"}}});
      return Reply::text(to_text(pod));
    };
  }
  run();
  loop.run(10min);
  CHECK(created);
  CHECK(renewals.empty());
}

TEST_CASE_METHOD(Leased, "if another attempt may follow, the Lease holds for as long as the job is kept for it") {
  const auto before = trouble;
  trouble = [this, before](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (!test::is_of_own_pod(asked)) return before(asked);
    auto pod = own_pod();
    pod["metadata"]["annotations"]["workflows.argoproj.io/node-name"] = "wf(0).train(0)";
    pod["spec"]["containers"][0]["env"] = {{{"name", "ARGO_TEMPLATE"}, {"value", R"({"retryStrategy": {"retryPolicy": "Always"}})"}}};
    return Reply::text(to_text(pod));
  };
  run();
  REQUIRE_FALSE(renewals.empty());
  CHECK(renewals.back()["spec"]["leaseDurationSeconds"] == 3600);
}

TEST_CASE_METHOD(Leased, "a Lease that cannot be renewed is reported once and tried again, and the job is followed all the same") {
  const bool forbidden = GENERATE(true, false);
  instead = forbidden ? kube::test::refusal(403, "Forbidden", "no right") : Reply::text("not ready", 503);
  run();
  loop.run(30min);
  CHECK_FALSE(verdict);
  CHECK(told.count(forbidden ? "if this step vanishes, nothing ends its job" : "cannot renew the job's Lease, whose end would end the job") == 1);
  instead.reset();
  loop.run(10min);
  CHECK(told.count("the job's Lease is renewed again") == 1);
}

TEST_CASE_METHOD(Leased, "the permissions for a Lease are only wanted with one") {
  const auto asks = [this] {
    auto plan = *plan::make_plan(request, test::all_kinds);
    Facts facts;
    facts.image = "trainstep:1";
    facts.folder = plan::JobFolder{"s3://bkt/jobs", {"http://store:9000", "us-east-1", true, "team-keys", "ak", "sk"}};
    REQUIRE(route_data(plan, facts));
    return std::ranges::any_of(data_permissions_of(plan, {}), [](const Permission& right) { return right.resource == "leases" && !right.needed; });
  };
  CHECK(asks());
  request.job_options["lease"] = 0;
  CHECK_FALSE(asks());
}
