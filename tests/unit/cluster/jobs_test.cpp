// The jobs of a namespace, found again for people at a shell.
#include "cluster/jobs.h"

#include "job_types/render.h"
#include "support/catch.h"
#include "unit/job_types/example.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;
using Catch::Matchers::Contains;

namespace {

Json job(const std::string& name, const std::string& run, const std::string& uid) {
  return {{"metadata", {{"name", name}, {"uid", uid}, {"labels", {{"trainstep.dev/run", run}}}}}};
}

struct Cluster {
  Harness h;
  std::map<std::string, Reply> answers;  // by the end of the path; all others: 404

  Cluster() {
    h.server.serve([this](const FakeTransport::Asked& request) {
      const auto& path = request.request.url.path;
      for (const auto& [end, reply] : answers)
        if (path.ends_with(end)) return reply;
      return refusal(404, "NotFound", "the server could not find the requested resource");
    });
  }
  void serves(const std::string& path, const std::vector<Json>& items) {
    answers[path] = Reply::text(to_text(Json{{"kind", "List"}, {"metadata", {{"resourceVersion", "1"}}}, {"items", items}}));
  }
  void hides(const std::string& path) { answers[path] = refusal(403, "Forbidden", path + R"( is forbidden: User "me" cannot list resource)"); }
  Result<Found> find() {
    Result<Found> found = internal_error("no answer");
    find_jobs(*h.client, "ns", [&](Result<Found> result) { found = std::move(result); });
    h.loop.run(5min);
    return found;
  }
};

std::vector<std::string> names(const Found& found) {
  std::vector<std::string> names;
  for (const auto& one : found.jobs)
    names.push_back(std::string(one.resource.group_version) + " " + one.object.at("metadata").at("name").get<std::string>());
  return names;
}

using Words = std::vector<std::string>;

Result<std::vector<result::MetricDefinition>> metrics_written(Json annotation) {
  auto object = job("digits-1", "r", "u1");
  object["metadata"]["annotations"]["trainstep.dev/metrics"] = std::move(annotation);
  return metrics_of({job_types::all().front().resources.front(), object, true});
}

}  // namespace

TEST_CASE("the metrics of a job use the definitions of its step") {
  auto plan = job_types::test::example("Job", 1);
  const auto none = job_types::render(plan)->json();
  CHECK_FALSE(none["metadata"]["annotations"].contains("trainstep.dev/metrics"));
  CHECK(metrics_of({job_types::all().front().resources.front(), none, true}).value().empty());
  plan.options.metrics = {{"loss", "loss is \"([0-9.]+)\""}, {"acc", "größe (\\d+)"}};
  for (const auto* kind : {"Job", "PyTorch", "MPI", "TF"}) {
    auto of_kind = job_types::test::example(kind, 1);
    of_kind.options.metrics = plan.options.metrics;
    const auto metrics = metrics_of({job_types::find(kind).resources.front(), job_types::render(of_kind)->json(), true});
    REQUIRE(metrics);
    CHECK(*metrics == plan.options.metrics);
  }
}

TEST_CASE("invalid metric definitions on a job are an error that names the location") {
  for (const auto* text : {"x", "{}", R"([{"name": "loss", "regex": "("}])", R"([{"name": "loss"}])"}) {
    CAPTURE(text);
    const auto metrics = metrics_written(text);
    REQUIRE_FALSE(metrics);
    CHECK_THAT(metrics.error().message, Contains("its annotation trainstep.dev/metrics"));
  }
  CHECK(metrics_written("").value().empty());
  CHECK(metrics_written(3).value().empty());
}

TEST_CASE_METHOD(Cluster, "a job served in two versions is listed once, in the preferred version") {
  serves("kubeflow.org/v2beta1/namespaces/ns/mpijobs", {job("digits-1", "r", "u1")});
  serves("kubeflow.org/v1/namespaces/ns/mpijobs", {job("digits-1", "r", "u1"), job("digits-2", "r2", "u2")});
  const auto found = find();
  REQUIRE(found);
  CHECK(names(*found) == Words{"kubeflow.org/v2beta1 digits-1", "kubeflow.org/v1 digits-2"});
  CHECK(choose(*found, "r", "ns"));
}

TEST_CASE_METHOD(Cluster, "with permissions on one job type only, its jobs are found, and the others are reported once") {
  serves("batch/v1/namespaces/ns/jobs", {job("digits-1", "r", "u1")});
  for (const auto* plural : {"pytorchjobs", "tfjobs", "v1/namespaces/ns/mpijobs", "v2beta1/namespaces/ns/mpijobs"}) hides(plural);
  const auto found = find();
  REQUIRE(found);
  CHECK(names(*found) == Words{"batch/v1 digits-1"});
  CHECK_THAT(found->what_is_hidden(), Contains("pytorchjobs") && Contains("tfjobs"));
  CHECK(choose(*found, "digits-1", "ns"));
  const auto other = choose(*found, "other", "ns");
  REQUIRE_FALSE(other);
  CHECK(other.error().kind == ErrorKind::denied);  // it may be one of those
  CHECK_THAT(other.error().message, Contains("no job of run \"other\" in namespace ns; cannot list all job types"));
  const auto elsewhere = choose({}, "other", "ns");
  CHECK(elsewhere.error().message ==
        "no job of run \"other\" in namespace ns; see trainstep list; if the job is in another namespace or cluster, pass its --namespace and "
        "--context");
}

TEST_CASE_METHOD(Cluster, "one kind whose versions cannot be converted does not hide the others") {
  serves("batch/v1/namespaces/ns/jobs", {job("digits-1", "r", "u1")});
  answers["mpijobs"] = refusal(500, "InternalError", "conversion webhook for kubeflow.org/v1 failed");
  const auto found = find();
  REQUIRE(found);
  CHECK(names(*found) == Words{"batch/v1 digits-1"});
  CHECK_THAT(found->what_is_hidden(), Contains("conversion webhook"));
}

TEST_CASE_METHOD(Cluster, "a gateway's 404 is retried, and does not mean that there is no job") {
  serves("kubeflow.org/v1/namespaces/ns/pytorchjobs", {job("digits-1", "r", "u1")});
  const auto good = answers["kubeflow.org/v1/namespaces/ns/pytorchjobs"];
  int odd = GENERATE(1, 3, 1000);
  const bool for_ever = odd == 1000;
  h.server.serve([&](const FakeTransport::Asked& request) {
    if (!request.request.url.path.ends_with("/pytorchjobs")) return no_such_path();
    return odd-- > 0 ? gateways_404() : good;
  });
  const auto found = find();
  REQUIRE(found);
  CHECK(found->jobs.size() == (for_ever ? 0 : 1));
  CHECK_THAT(found->what_is_hidden(), for_ever ? Contains("cannot list all job types: list pytorchjobs: HTTP 404") : Contains(""));
  if (for_ever) CHECK(choose(*found, "r", "ns").error().kind != ErrorKind::not_found);
}

TEST_CASE_METHOD(Cluster, "missing permissions for all job types are an error") {
  for (const auto* plural : {"pytorchjobs", "tfjobs", "mpijobs", "v1/namespaces/ns/jobs"}) hides(plural);
  const auto found = find();
  REQUIRE_FALSE(found);
  CHECK(found.error().kind == ErrorKind::denied);
}

TEST_CASE("RUN must be one: nothing else chooses a job, however few there are") {
  const Found all{{{job_types::find("Job").resources.front(), job("digits-1", "r", "u1"), true}}, {}};
  for (const auto& run : std::vector<std::string>{"", " ", "\t\n", "*", "a,b", "a=b", "run in (a)", "!r", "digits-1/", "../digits-1", "--all", "r\n",
                                                  std::string(254, 'a')}) {
    CAPTURE(run);
    const auto chosen = choose(all, run, "ns");
    REQUIRE_FALSE(chosen);
    CHECK(chosen.error().kind == (run == "--all" ? ErrorKind::not_found : ErrorKind::usage));
  }
  CHECK_THAT(check_run("").error().message, Contains("RUN is empty"));
  CHECK(choose(all, "r", "ns"));
  CHECK(choose(all, "digits-1", "ns"));
}

TEST_CASE("a job name takes precedence over another job's run id") {
  const auto job = [](const char* name, const char* run) {
    return Submitted{{}, Json{{"metadata", {{"name", name}, {"uid", name}, {"labels", {{"trainstep.dev/run", run}}}}}}, true};
  };
  const Found found{{job("x", "1"), job("digits-x", "x"), job("more-x", "x"), job("a", "2"), job("b", "2")}, {}};
  REQUIRE(choose(found, "x", "ns"));
  CHECK(choose(found, "x", "ns")->object["metadata"]["uid"] == "x");
  CHECK(choose(found, "2", "ns").error().kind == ErrorKind::conflict);
}

TEST_CASE("of two jobs with one name, the resource selects one, as with kubectl") {
  const auto job = [](const char* type, const char* uid) {
    return Submitted{job_types::find(type).resources.front(),
                     Json{{"metadata", {{"name", "x-1"}, {"uid", uid}, {"labels", {{"trainstep.dev/run", "r"}}}}}}, true};
  };
  const Found found{{job("Job", "a"), job("PyTorch", "b")}, {}};
  for (const auto* run : {"r", "x-1"}) {
    const auto chosen = choose(found, run, "ns");
    REQUIRE_FALSE(chosen);
    CHECK(chosen.error().message == std::string("2 jobs belong to run \"") + run + "\"; use the name of one: jobs/x-1, pytorchjobs/x-1");
  }
  CHECK(choose(found, "jobs/x-1", "ns")->object["metadata"]["uid"] == "a");
  CHECK(choose(found, "pytorchjobs/x-1", "ns")->object["metadata"]["uid"] == "b");
  CHECK(choose(found, "tfjobs/x-1", "ns").error().kind == ErrorKind::not_found);
  CHECK(choose(found, "pods/x-1", "ns").error().kind == ErrorKind::usage);
}

TEST_CASE("a job without a run's id is not that of the empty run") {
  const Found all{{{job_types::find("Job").resources.front(), Json::parse(R"({"metadata": {"name": "x", "uid": "u"}})"), true}}, {}};
  CHECK_FALSE(choose(all, "", "ns"));
  CHECK(choose(all, "x", "ns"));
}
