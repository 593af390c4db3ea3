// What a job is left to the next attempt with.
#include "cluster/lease.h"

#include "kinds/kind.h"
#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

const auto now = *from_rfc3339("2026-11-21T08:00:00Z");

struct Kept {
  Harness h;
  std::vector<std::string> asked;
  Json launcher = {{"metadata", {{"uid", "l"}, {"ownerReferences", Json::array({{{"uid", "u"}}})}}}};
  std::optional<std::optional<kube::ApiError>> done;

  Lease::Done take() {
    h.server.serve([this](const FakeTransport::Asked& request) {
      const auto& path = request.request.url.path;
      asked.push_back(request.request.method + " " + path.substr(path.rfind('/') + 1) + " " + request.request.body);
      if (request.request.method == "GET" && launcher.is_null()) return absent("train-1-launcher");
      return Reply::text(to_text(launcher.is_null() ? Json::object() : launcher));
    });
    return [this](const std::optional<kube::ApiError>& problem) { done = problem; };
  }
  static Lease::Job job(const std::string& group_version, const std::string& plural) {
    return {{group_version == "batch/v1"          ? "batch/v1"
             : group_version == "kubeflow.org/v1" ? "kubeflow.org/v1"
                                                  : "kubeflow.org/v2beta1",
             "", plural == "jobs" ? "jobs" : "mpijobs"},
            "ns",
            "train-1",
            "u"};
  }
};

}  // namespace

TEST_CASE("the deadline counts from the job's start, and the user's own counts if it is earlier") {
  CHECK(deadline_seconds(now, std::nullopt, 1h, std::nullopt) == 3600);
  CHECK(deadline_seconds(now, now - std::chrono::minutes(30), 1h, std::nullopt) == 5400);
  CHECK(deadline_seconds(now, now - std::chrono::milliseconds(1500), 1h, std::nullopt) == 3602);
  CHECK(deadline_seconds(now, now + std::chrono::hours(2), 1h, std::nullopt) == 3600);  // a clock that is slow ends nothing
  CHECK(deadline_seconds(now, now - std::chrono::minutes(30), 1h, Duration(40min)) == 2400);
  CHECK(deadline_seconds(now, now - std::chrono::minutes(30), 1h, Duration(5h)) == 5400);
}

TEST_CASE("a job is cut short by its keeping if that deadline is the earlier one") {
  const auto& kind = kinds::find("Job");
  Json job = {{"metadata", {{"annotations", {{"trainstep.dev/kept-until", "2026-11-21T09:00:00Z"}}}}}, {"spec", {{"activeDeadlineSeconds", 3600}}}};
  job["status"]["conditions"] = Json::array({{{"type", "Failed"}, {"status", "True"}, {"reason", "DeadlineExceeded"}}});
  CHECK(has_lapsed(job, kind, std::nullopt));
  CHECK(has_lapsed(job, kind, Duration(5h)));
  CHECK_FALSE(has_lapsed(job, kind, Duration(1h)));
  CHECK_FALSE(has_lapsed(job, kind, Duration(3'599'500)));
  job["spec"] = {{"runPolicy", {{"activeDeadlineSeconds", 3600}}}};
  CHECK(has_lapsed(job, kind, Duration(5h)));
  CHECK_FALSE(has_lapsed(job, kind, Duration(20min)));
  job["spec"] = Json::object();
  CHECK_FALSE(has_lapsed(job, kind, Duration(20min)));
  job["metadata"].erase("annotations");
  CHECK_FALSE(has_lapsed(job, kind, std::nullopt));
}

TEST_CASE_METHOD(Kept, "a Job is given its deadline in its spec") {
  Lease lease(*h.client, job("batch/v1", "jobs"), std::nullopt);
  lease.set(now, std::nullopt, 1h, "", {}, take());
  h.loop.run(1s);
  REQUIRE(done);
  CHECK_FALSE(*done);
  REQUIRE(asked.size() == 1);
  CHECK(asked[0] == R"(PATCH train-1 {"metadata":{"uid":"u","annotations":{"trainstep.dev/kept-until":"2026-11-21T09:00:00Z"}},)"
                    R"("spec":{"activeDeadlineSeconds":3600}})");
}

TEST_CASE_METHOD(Kept, "an operator's resource is given it in its run policy, and of an MPIJob v2beta1 the launcher's Job as well") {
  SECTION("v1") {
    Lease lease(*h.client, job("kubeflow.org/v1", "mpijobs"), std::nullopt);
    lease.set(now, std::nullopt, 1h, "", {}, take());
    h.loop.run(1s);
    REQUIRE(asked.size() == 1);
  }
  SECTION("v2beta1") {
    Lease lease(*h.client, job("kubeflow.org/v2beta1", "mpijobs"), std::nullopt);
    lease.set(now, std::nullopt, 1h, "", {}, take());
    h.loop.run(1s);
    REQUIRE(asked.size() == 3);
    CHECK(asked[1] == "GET train-1-launcher ");
    CHECK(asked[2] == R"(PATCH train-1-launcher {"metadata":{"uid":"l"},"spec":{"activeDeadlineSeconds":3600}})");
  }
  SECTION("whose launcher is not there yet") {
    launcher = nullptr;
    Lease lease(*h.client, job("kubeflow.org/v2beta1", "mpijobs"), std::nullopt);
    lease.set(now, std::nullopt, 1h, "", {}, take());
    h.loop.run(1s);
    REQUIRE(asked.size() == 2);
  }
  SECTION("or whose launcher's name is another's") {
    launcher["metadata"]["ownerReferences"][0]["uid"] = "other";
    Lease lease(*h.client, job("kubeflow.org/v2beta1", "mpijobs"), std::nullopt);
    lease.set(now, std::nullopt, 1h, "", {}, take());
    h.loop.run(1s);
    REQUIRE(asked.size() == 2);
  }
  REQUIRE(done);
  CHECK_FALSE(*done);
  CHECK(asked[0].find(R"("spec":{"runPolicy":{"activeDeadlineSeconds":3600}})") != std::string::npos);
}
