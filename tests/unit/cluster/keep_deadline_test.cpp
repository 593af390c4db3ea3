// What a job is left to the next attempt with.
#include "cluster/keep_deadline.h"

#include <fmt/format.h>

#include "job_types/job_type.h"
#include "job_types/render.h"
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
  Json launcher = {{"metadata", {{"name", "train-1-launcher"}, {"uid", "l"}, {"ownerReferences", Json::array({{{"uid", "u"}}})}}}};
  std::optional<std::optional<kube::ApiError>> done;

  KeepDeadline::Done take() {
    h.server.serve([this](const FakeTransport::Asked& request) {
      const auto& path = request.request.url.path;
      asked.push_back(request.request.method + " " + path.substr(path.rfind('/') + 1) + " " + request.request.body);
      if (launcher.is_null()) return request.request.method == "GET" ? absent("train-1-launcher") : named("train-1");
      auto shown = launcher;
      const auto name = shown["metadata"].emplace("name", "train-1-launcher").first->get<std::string>();
      return path.ends_with("/" + name) ? Reply::text(to_text(shown)) : named("train-1");
    });
    return [this](const std::optional<kube::ApiError>& problem) { done = problem; };
  }
  static KeepDeadline::Job job(const std::string& group_version, const std::string& plural) {
    return {*job_types::choose_resource(job_types::find(plural == "jobs" ? "Job" : "MPI"), group_version), "ns", "train-1", "u"};
  }
};

}  // namespace

TEST_CASE("the deadline is relative to the job's start, and the user's own applies if it is earlier") {
  CHECK(deadline_seconds(now, std::nullopt, 1h, std::nullopt) == 3600);
  CHECK(deadline_seconds(now, now - std::chrono::minutes(30), 1h, std::nullopt) == 5400);
  CHECK(deadline_seconds(now, now - std::chrono::milliseconds(1500), 1h, std::nullopt) == 3602);
  CHECK(deadline_seconds(now, now + std::chrono::hours(2), 1h, std::nullopt) == 3600);  // a clock that is slow ends nothing
  CHECK(deadline_seconds(now, now - std::chrono::minutes(30), 1h, Duration(40min)) == 2400);
  CHECK(deadline_seconds(now, now - std::chrono::minutes(30), 1h, Duration(5h)) == 5400);
}

TEST_CASE("a job is cut short by its keeping if that deadline is the earlier one") {
  const auto& kind = job_types::find("Job");
  Json job = {{"metadata", {{"annotations", {{"trainstep.dev/kept-until", "2026-11-21T09:00:00Z"}}}}}, {"spec", {{"activeDeadlineSeconds", 3600}}}};
  job["status"]["conditions"] = Json::array({{{"type", "Failed"}, {"status", "True"}, {"reason", "DeadlineExceeded"}}});
  CHECK(has_expired(job, kind, std::nullopt));
  CHECK(has_expired(job, kind, Duration(5h)));
  CHECK_FALSE(has_expired(job, kind, Duration(1h)));
  CHECK_FALSE(has_expired(job, kind, Duration(3'599'500)));
  job["spec"] = {{"runPolicy", {{"activeDeadlineSeconds", 3600}}}};
  CHECK(has_expired(job, kind, Duration(5h)));
  CHECK_FALSE(has_expired(job, kind, Duration(20min)));
  job["spec"] = Json::object();
  CHECK_FALSE(has_expired(job, kind, Duration(20min)));
  job["metadata"].erase("annotations");
  CHECK_FALSE(has_expired(job, kind, std::nullopt));
}

TEST_CASE("a job's own deadline is in its spec, and in an annotation while the job is kept") {
  const auto planned = GENERATE(std::optional<Duration>(), std::optional<Duration>(20min));
  const bool is_job = GENERATE(true, false);
  Json job = {{"metadata", {{"annotations", Json::object()}}}, {"spec", Json::object()}};
  if (!is_job) job["spec"]["runPolicy"] = Json::object();
  auto& spec = is_job ? job["spec"] : job["spec"]["runPolicy"];
  auto& annotations = job["metadata"]["annotations"];
  CHECK_FALSE(own_deadline(job, planned));
  spec["activeDeadlineSeconds"] = 86400;
  CHECK(own_deadline(job, planned) == Duration(24h));
  annotations["trainstep.dev/kept-until"] = "2026-11-21T09:00:00Z";
  CHECK(own_deadline(job, planned) == planned);  // by one that wrote no more
  annotations["trainstep.dev/own-deadline"] = "7200";
  CHECK(own_deadline(job, planned) == Duration(2h));
  CHECK_FALSE(is_cut_short(job, planned));
  spec["activeDeadlineSeconds"] = 3632;
  CHECK(is_cut_short(job, planned));
  for (const auto* odd : {"", "-1", "2h", "99999999999999999999", " 7200"}) {
    annotations["trainstep.dev/own-deadline"] = odd;
    CHECK(own_deadline(job, planned) == planned);
  }
  annotations["trainstep.dev/own-deadline"] = "9223372036854775807";
  CHECK(own_deadline(job, planned) > Duration(24h));
}

TEST_CASE_METHOD(Kept, "a deadline that a job had is noted on it, and written back") {
  const bool sets = GENERATE(true, false);
  KeepDeadline deadline(*h.client, job("batch/v1", "jobs"), Duration(24h));
  sets ? deadline.set(now, now - std::chrono::minutes(1), 1h, "", {}, take()) : deadline.lift("", {}, take());
  h.loop.run(1s);
  REQUIRE(done);
  CHECK_FALSE(*done);
  REQUIRE(asked.size() == 1);
  CHECK(asked[0] == (sets ? R"(PATCH train-1 {"metadata":{"uid":"u","annotations":{"trainstep.dev/kept-until":"2026-11-21T09:00:00Z",)"
                            R"("trainstep.dev/own-deadline":"86400"}},"spec":{"activeDeadlineSeconds":3660}})"
                          : R"(PATCH train-1 {"metadata":{"uid":"u","annotations":{"trainstep.dev/kept-until":null,)"
                            R"("trainstep.dev/own-deadline":null}},"spec":{"activeDeadlineSeconds":86400}})"));
}

TEST_CASE_METHOD(Kept, "a deadline is reverted if it, or its annotation, is not stored") {
  const auto own = GENERATE(std::optional<Duration>(), std::optional<Duration>(24h));
  Json annotations = {{"trainstep.dev/kept-until", "2026-11-21T09:00:00Z"}}, spec = {{"activeDeadlineSeconds", 3600}};
  SECTION("the annotation") { annotations = {{"example.com/other", "x"}}; }
  SECTION("the deadline") { spec = Json::object(); }
  SECTION("a later deadline is set there") { spec = {{"activeDeadlineSeconds", 86'400}}; }
  launcher = {{"metadata", {{"name", "train-1"}, {"uid", "u"}, {"annotations", annotations}}}, {"spec", spec}};
  KeepDeadline deadline(*h.client, job("batch/v1", "jobs"), own);
  deadline.set(now, std::nullopt, 1h, "7", {}, take());
  h.loop.run(1s);
  REQUIRE(done);
  REQUIRE(*done);
  CHECK((*done)->error.message == "patch jobs/train-1: the deadline or its annotation was dropped");
  REQUIRE(asked.size() == 2);
  const bool had = asked[0].find("own-deadline") != std::string::npos;
  const auto* marks = R"("annotations":{"trainstep.dev/kept-until":null,"trainstep.dev/own-deadline":null})";
  CHECK(asked[1] ==
        fmt::format(R"(PATCH train-1 {{"metadata":{{"uid":"u",{}}},"spec":{{"activeDeadlineSeconds":{}}}}})", marks, had ? "86400" : "null"));
}

TEST_CASE_METHOD(Kept, "a Job is given its deadline in its spec") {
  KeepDeadline deadline(*h.client, job("batch/v1", "jobs"), std::nullopt);
  deadline.set(now, std::nullopt, 1h, "", {}, take());
  h.loop.run(1s);
  REQUIRE(done);
  CHECK_FALSE(*done);
  REQUIRE(asked.size() == 1);
  CHECK(asked[0] == R"(PATCH train-1 {"metadata":{"uid":"u","annotations":{"trainstep.dev/kept-until":"2026-11-21T09:00:00Z"}},)"
                    R"("spec":{"activeDeadlineSeconds":3600}})");
}

TEST_CASE_METHOD(Kept, "an operator's resource is given it in its run policy, and of an MPIJob v2beta1 the launcher's Job as well") {
  SECTION("v1") {
    KeepDeadline deadline(*h.client, job("kubeflow.org/v1", "mpijobs"), std::nullopt);
    deadline.set(now, std::nullopt, 1h, "", {}, take());
    h.loop.run(1s);
    REQUIRE(asked.size() == 1);
  }
  SECTION("v2beta1") {
    KeepDeadline deadline(*h.client, job("kubeflow.org/v2beta1", "mpijobs"), std::nullopt);
    deadline.set(now, std::nullopt, 1h, "", {}, take());
    h.loop.run(1s);
    REQUIRE(asked.size() == 3);
    CHECK(asked[1] == "GET train-1-launcher ");
    CHECK(asked[2] == R"(PATCH train-1-launcher {"metadata":{"uid":"l"},"spec":{"activeDeadlineSeconds":3600}})");
  }
  SECTION("whose launcher is not there yet") {
    launcher = nullptr;
    KeepDeadline deadline(*h.client, job("kubeflow.org/v2beta1", "mpijobs"), std::nullopt);
    deadline.set(now, std::nullopt, 1h, "", {}, take());
    h.loop.run(1s);
    REQUIRE(asked.size() == 2);
  }
  SECTION("or whose launcher's name is another's") {
    launcher["metadata"]["ownerReferences"][0]["uid"] = "other";
    KeepDeadline deadline(*h.client, job("kubeflow.org/v2beta1", "mpijobs"), std::nullopt);
    deadline.set(now, std::nullopt, 1h, "", {}, take());
    h.loop.run(1s);
    REQUIRE(asked.size() == 2);
  }
  REQUIRE(done);
  CHECK_FALSE(*done);
  CHECK(asked[0].find(R"("spec":{"runPolicy":{"activeDeadlineSeconds":3600}})") != std::string::npos);
}

TEST_CASE_METHOD(Kept, "adopting an MPIJob without a deadline also checks its launcher") {
  std::size_t requests = 2;
  auto of = job("kubeflow.org/v2beta1", "mpijobs");
  SECTION("the attempt that removed it was lost before it reached the launcher") {
    launcher["spec"] = {{"activeDeadlineSeconds", 3600}};
    requests = 3;
  }
  SECTION("the launcher has none either") {}
  SECTION("there is no launcher yet") { launcher = Json(); }
  SECTION("the launcher is another's") {
    launcher["spec"] = {{"activeDeadlineSeconds", 3600}};
    launcher["metadata"]["ownerReferences"] = Json::array({{{"uid", "another"}}});
  }
  SECTION("an operator that makes no launcher's Job") {
    of = job("kubeflow.org/v1", "mpijobs");
    requests = 1;
  }
  KeepDeadline deadline(*h.client, of, std::nullopt);
  deadline.mark("", {}, take());
  h.loop.run(1s);
  REQUIRE(done);
  CHECK_FALSE(*done);
  REQUIRE(asked.size() == requests);
  if (requests == 3) CHECK(asked[2] == R"(PATCH train-1-launcher {"metadata":{"uid":"l"},"spec":{"activeDeadlineSeconds":null}})");
}
