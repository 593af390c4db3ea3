// Whose a job is.
#include "cluster/ownership.h"

#include "support/catch.h"
#include "unit/job_types/example.h"

using namespace trainstep;
using namespace trainstep::cluster;
using job_types::test::at;
using job_types::test::example;
using job_types::test::rendered;

namespace Catch {
template <>
struct StringMaker<Existing> {
  static std::string convert(Existing existing) {
    constexpr const char* names[] = {"ours",     "later_attempt", "earlier_attempt", "reported_failure", "emptied", "lapsed",
                                     "unwanted", "terminating",   "other_spec",      "unknown_spec",     "foreign"};
    return names[static_cast<int>(existing)];
  }
};
}  // namespace Catch

namespace {

Facts in_workflow(const std::string& name) {
  Facts facts;
  facts.pipeline_run = "run-7";
  facts.workflow = Workflow{"argoproj.io/v1alpha1", name, "wf-uid"};
  return facts;
}

Json stamped(const plan::Plan& plan, const Facts& facts, const std::string& attempt = "attempt-1", std::string_view version = {}) {
  auto object = rendered(plan, version);
  object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "trainstep";
  stamp(object, facts, "team-a", attempt);
  return object;
}

Json with_condition(Json object, const std::string& type) {
  object["status"]["conditions"] = Json::array({{{"type", type}, {"status", "True"}}});
  return object;
}

}  // namespace

TEST_CASE("a job is stamped with its namespace, its attempt, its pipeline's run and its workflow, which owns it") {
  const auto object = stamped(example("PyTorch", 2), in_workflow("digits-x7k2p"));
  CHECK(at(object, "/metadata/namespace") == "team-a");
  CHECK(at(object, "/metadata/annotations/trainstep.dev~1created-by") == "attempt-1");
  CHECK(at(object, "/metadata/labels/pipeline~1runid") == "run-7");
  CHECK(at(object, "/metadata/labels/trainstep.dev~1workflow") == "digits-x7k2p");
  CHECK(at(object, "/metadata/labels/trainstep.dev~1run") == "run-1");
  REQUIRE(at(object, "/metadata/ownerReferences").size() == 1);
  const Json owner = {{"apiVersion", "argoproj.io/v1alpha1"}, {"kind", "Workflow"}, {"name", "digits-x7k2p"}, {"uid", "wf-uid"}};
  CHECK(at(object, "/metadata/ownerReferences/0") == owner);  // no blockOwnerDeletion: that needs another right
}

TEST_CASE("the pods of every kind carry the same labels") {
  const std::pair<const char*, std::vector<std::string>> kinds[] = {
      {"Job", {"/spec/template"}},
      {"PyTorch", {"/spec/pytorchReplicaSpecs/Master/template", "/spec/pytorchReplicaSpecs/Worker/template"}},
      {"MPI", {"/spec/mpiReplicaSpecs/Launcher/template", "/spec/mpiReplicaSpecs/Worker/template"}},
      {"TF", {"/spec/tfReplicaSpecs/Chief/template", "/spec/tfReplicaSpecs/Worker/template", "/spec/tfReplicaSpecs/PS/template"}}};
  for (const auto& [kind, templates] : kinds) {
    const auto object = stamped(example(kind, kind == std::string("Job") ? 1 : 2), in_workflow("wf"));
    for (const auto& place : templates) {
      CAPTURE(kind, place);
      CHECK(at(object, place + "/metadata/labels/pipeline~1runid") == "run-7");
      CHECK(at(object, place + "/metadata/labels/trainstep.dev~1workflow") == "wf");
      CHECK(at(object, place + "/metadata/labels/trainstep.dev~1run") == "run-1");
      CHECK(at(object, place + "/metadata/ownerReferences").is_null());
    }
  }
}

TEST_CASE("without a workflow the job has no owner") {
  const auto object = stamped(example("Job", 1), Facts{});
  CHECK(at(object, "/metadata/ownerReferences").is_null());
  CHECK(at(object, "/metadata/labels/trainstep.dev~1workflow").is_null());
  CHECK(at(object, "/metadata/labels/pipeline~1runid").is_null());
}

TEST_CASE("a workflow's long name becomes a label that is allowed") {
  const auto label = [](const std::string& name) {
    return at(stamped(example("Job", 1), in_workflow(name)), "/metadata/labels/trainstep.dev~1workflow");
  };
  CHECK(label(std::string(100, 'a')) == std::string(63, 'a'));
  CHECK(label(std::string(60, 'a') + "-.-b") == std::string(60, 'a'));
}

TEST_CASE("owner of an existing job") {
  const auto plan = example("PyTorch", 2);
  const auto& kind = job_types::find("PyTorch");
  const auto earlier = stamped(plan, Facts{}, "attempt-0");
  const auto judge = [&](const Json& object) { return judge_existing(object, plan, kind, "attempt-1"); };
  const auto outcome = [&](Json object, const std::string& word) {
    object["metadata"]["annotations"]["trainstep.dev/outcome"] = word;
    return object;
  };
  auto stranger = earlier;
  stranger["metadata"]["labels"]["trainstep.dev/run"] = "run-2";
  auto of_helm = earlier;
  of_helm["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "Helm";
  auto of_nobody = earlier;
  of_nobody["metadata"]["labels"].erase("app.kubernetes.io/managed-by");
  auto unlabelled = earlier;
  unlabelled["metadata"].erase("labels");
  auto going = earlier;
  going["metadata"]["deletionTimestamp"] = "2026-11-21T08:00:00Z";
  auto strange_and_going = stranger;
  strange_and_going["metadata"]["deletionTimestamp"] = "2026-11-21T08:00:00Z";
  auto other_spec = earlier;
  other_spec["metadata"]["annotations"]["trainstep.dev/spec-hash"] = "other";
  auto no_hash = earlier;
  no_hash["metadata"]["annotations"].erase("trainstep.dev/spec-hash");

  auto later = going;
  later["metadata"]["annotations"]["trainstep.dev/attempt-began"] = "2026-11-21T08:00:01Z";
  auto strange_and_later = stranger;
  strange_and_later["metadata"]["annotations"]["trainstep.dev/attempt-began"] = "2026-11-21T08:00:01Z";

  CHECK(judge(stamped(plan, Facts{}, "attempt-1")) == Existing::ours);
  CHECK(judge_existing(later, plan, kind, "attempt-1", from_rfc3339("2026-11-21T08:00:00Z")) == Existing::later_attempt);
  CHECK(judge_existing(later, plan, kind, "attempt-1", from_rfc3339("2026-11-21T08:00:01Z")) == Existing::terminating);
  CHECK(judge(later) == Existing::terminating);
  CHECK(judge_existing(strange_and_later, plan, kind, "attempt-1", from_rfc3339("2026-11-21T08:00:00Z")) == Existing::foreign);
  CHECK(judge(earlier) == Existing::earlier_attempt);
  CHECK(judge(with_condition(earlier, "Running")) == Existing::earlier_attempt);
  CHECK(judge(with_condition(earlier, "Succeeded")) == Existing::earlier_attempt);  // a step that died after the end only collects
  CHECK(judge(with_condition(earlier, "Failed")) == Existing::earlier_attempt);     // not reported yet
  CHECK(judge(outcome(with_condition(earlier, "Failed"), "user")) == Existing::reported_failure);
  CHECK(judge(outcome(with_condition(earlier, "Succeeded"), "system")) == Existing::reported_failure);  // its status counts no success
  auto counted = outcome(with_condition(earlier, "Succeeded"), "system");                               // what it delivered could not be had
  counted["status"]["replicaStatuses"] = {{"Master", {{"succeeded", 1}}}};
  CHECK(judge(counted) == Existing::earlier_attempt);
  CHECK(judge(outcome(with_condition(other_spec, "Failed"), "user")) == Existing::reported_failure);  // tried again with other inputs
  CHECK(judge(outcome(with_condition(earlier, "Succeeded"), "succeeded")) == Existing::earlier_attempt);
  CHECK(judge(outcome(with_condition(earlier, "Running"), "timeout")) == Existing::earlier_attempt);
  auto kept = with_condition(earlier, "Running");
  kept["metadata"]["annotations"]["trainstep.dev/kept-until"] = "2026-11-21T09:00:00Z";
  CHECK(judge(kept) == Existing::earlier_attempt);
  auto lapsed = with_condition(kept, "Failed");
  CHECK(judge(lapsed) == Existing::earlier_attempt);  // by itself
  lapsed["status"]["conditions"].back()["message"] = "PyTorchJob x has failed because it was active longer than specified deadline";
  CHECK(judge(lapsed) == Existing::lapsed);
  CHECK(judge(other_spec) == Existing::other_spec);
  CHECK(judge(no_hash) == Existing::unknown_spec);
  CHECK(judge(stranger) == Existing::foreign);
  for (const auto& job : {of_helm, of_nobody, unlabelled}) CHECK(judge(job) == Existing::foreign);
  CHECK(judge(going) == Existing::terminating);
  CHECK(judge(strange_and_going) == Existing::foreign);
  for (const auto* text : {"{}", R"({"metadata": 1})", R"({"metadata": {"labels": []}})", R"({"metadata": {"labels": {"trainstep.dev/run": 1}}})"})
    CHECK(judge(Json::parse(text)) == Existing::foreign);
}

TEST_CASE("job_options.reattach selects which job of an earlier attempt is adopted") {
  auto plan = example("PyTorch", 2);
  const auto& kind = job_types::find("PyTorch");
  const auto running = with_condition(stamped(plan, Facts{}, "attempt-0"), "Running");
  auto told = with_condition(stamped(plan, Facts{}, "attempt-0"), "Succeeded");
  told["metadata"]["annotations"]["trainstep.dev/outcome"] = "succeeded";
  auto other_spec = running;
  other_spec["metadata"]["annotations"]["trainstep.dev/spec-hash"] = "other";
  const auto judge = [&](const char* reattach, const Json& object) {
    plan.options.reattach = reattach;
    return judge_existing(object, plan, kind, "attempt-1");
  };
  CHECK(judge("always", running) == Existing::earlier_attempt);
  CHECK(judge("always", told) == Existing::earlier_attempt);
  CHECK(judge("unfinished", running) == Existing::earlier_attempt);
  CHECK(judge("unfinished", with_condition(running, "Succeeded")) == Existing::earlier_attempt);  // not reported
  CHECK(judge("unfinished", told) == Existing::unwanted);
  CHECK(judge("unfinished", other_spec) == Existing::other_spec);
  auto emptied = told;
  emptied["metadata"]["annotations"]["trainstep.dev/data"] = "gone";
  CHECK(judge("always", emptied) == Existing::emptied);
  CHECK(judge("unfinished", emptied) == Existing::unwanted);
  CHECK(judge("never", running) == Existing::unwanted);
  CHECK(judge("never", other_spec) == Existing::unwanted);
  plan.options.reattach = "never";
  CHECK(judge_existing(stamped(plan, Facts{}, "attempt-1"), plan, kind, "attempt-1") == Existing::ours);
}
