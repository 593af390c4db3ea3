// Statuses as the operators write them, and what they mean (docs/design/operators.md, Success and failure).
// SPDX-License-Identifier: Apache-2.0
#include "job_types/conditions.h"
#include "job_types/job_type.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::job_types;
using State = Judgement::State;

namespace Catch {
template <>
struct StringMaker<State> {
  static std::string convert(State state) {
    constexpr const char* names[] = {"unknown", "pending", "suspended", "running", "restarting", "succeeded", "failed"};
    return names[static_cast<int>(state)];
  }
};
}  // namespace Catch

namespace {

struct Case {
  std::string what;
  std::string status;  // JSON
  State expected;
  std::string reason = "";
};

// "Running" → true; "Running=False" → false; each with a reason like the operators'.
std::string conditions(const std::string& kind, const std::vector<std::string>& types, const std::string& more = "") {
  Json list = Json::array();
  for (const auto& entry : types) {
    const auto type = entry.substr(0, entry.find('='));
    list.push_back(
        {{"type", type}, {"status", entry == type ? "True" : entry.substr(type.size() + 1)}, {"reason", kind + type}, {"message", "because"}});
  }
  auto text = R"({"conditions": )" + list.dump();
  if (!more.empty()) text += ", " + more;
  return text + "}";
}

void check(const std::string& kind, const std::string& api_version, const std::vector<Case>& cases) {
  for (const auto& row : cases) {
    CAPTURE(kind, row.what);
    Json object = {{"apiVersion", api_version}};
    if (!row.status.empty()) object["status"] = Json::parse(row.status);
    const auto judgement = find(kind).judge(object);
    CHECK(judgement.state == row.expected);
    if (!row.reason.empty()) CHECK(judgement.reason == row.reason);
  }
}

}  // namespace

TEST_CASE("of several conditions of one type the last changed one is used, whatever its position") {
  const auto condition = [](const char* type, bool holds, const char* second) {
    return Json{{"type", type}, {"status", holds ? "True" : "False"}, {"lastTransitionTime", std::string("2026-11-21T08:15:") + second + "Z"}};
  };
  for (const auto* kind : {"PyTorch", "Job"}) {
    CAPTURE(kind);
    const auto judge = [&](Json list) {
      return find(kind).judge({{"apiVersion", "kubeflow.org/v1"}, {"status", {{"conditions", std::move(list)}, {"ready", 1}}}}).state;
    };
    const auto running = condition("Running", true, "10"), failed = condition("Failed", true, "20"), taken_back = condition("Failed", false, "30");
    CHECK(judge({running, failed, taken_back}) == State::running);
    CHECK(judge({taken_back, failed, running}) == State::running);
    const auto again = condition("Failed", true, "40");
    CHECK(judge({again, taken_back, failed}) == State::failed);
    CHECK(judge({failed, taken_back, again, running}) == State::failed);
  }
  // Where there are no times, the last one stands.
  auto with = condition("Failed", true, "20"), without = condition("Failed", false, "20");
  with.erase("lastTransitionTime");
  without.erase("lastTransitionTime");
  CHECK(find("TF").judge({{"status", {{"conditions", {with, without}}}}}).state == State::unknown);
  CHECK(find("TF").judge({{"status", {{"conditions", {without, with}}}}}).state == State::failed);
}

TEST_CASE("a succeeded status that counts no succeeded pod is flagged") {
  const auto reason = [](const std::string& kind, const std::string& version, const std::string& type, const std::string& more) {
    Json object = {{"apiVersion", version}, {"status", Json::parse(conditions(kind, {type}, more))}};
    const auto judged = find(kind).judge(object);
    CHECK(judged.state == State::succeeded);
    return judged.reason;
  };
  for (const auto* none : {"", R"("succeeded": 0)", R"("succeeded": null)", R"("failed": 1)"}) {
    CAPTURE(none);
    CHECK(reason("Job", "batch/v1", "Complete", none) == uncounted);
    CHECK(reason("Job", "batch/v1", "SuccessCriteriaMet", none) == uncounted);
  }
  CHECK(reason("Job", "batch/v1", "Complete", R"("succeeded": 2)") == "JobComplete");
  for (const auto& [kind, version] : {std::pair{"PyTorch", "kubeflow.org/v1"}, {"TF", "kubeflow.org/v1"}, {"MPI", "kubeflow.org/v2beta1"}}) {
    CAPTURE(kind);
    const std::string ended = R"("completionTime": "2026-11-21T08:15:00Z")";
    for (const auto* none : {"", R"(, "replicaStatuses": null)", R"(, "replicaStatuses": {"Master": {"active": 1}, "Worker": 3})"})
      CHECK(reason(kind, version, "Succeeded", ended + none) == uncounted);
    CHECK(reason(kind, version, "Succeeded", ended + R"(, "replicaStatuses": {"Worker": {}, "Master": {"succeeded": 1}})") ==
          kind + std::string("Succeeded"));
  }
}

TEST_CASE("a status with both conditions is not a success, whatever wrote it") {
  const std::string over = R"("completionTime": "2026-11-21T08:15:30Z")";
  check("Job", "batch/v1",
        {{"both", conditions("", {"Complete", "Failed"}), State::succeeded, std::string(job_types::contradicted)},
         {"both, before the pods' end", conditions("", {"FailureTarget", "SuccessCriteriaMet"}), State::succeeded,
          std::string(job_types::contradicted)}});
  check("MPI", "kubeflow.org/v2beta1",
        {{"both", conditions("", {"Failed", "Succeeded"}, over), State::succeeded, std::string(job_types::contradicted)}});
}

TEST_CASE("the v1 operator's conditions") {
  for (const auto* kind : {"PyTorch", "TF", "MPI"}) {
    const auto list = [](const std::vector<std::string>& types, const std::string& more = "") { return conditions("X", types, more); };
    check(
        kind, "kubeflow.org/v1",
        {
            {"no status yet", "", State::unknown},
            {"an empty status", "{}", State::unknown},
            {"only the replicas' counts", R"({"replicaStatuses": {"Worker": {"failed": 1}}})", State::unknown},
            {"accepted", list({"Created"}), State::pending, "XCreated"},
            {"running", list({"Created", "Running"}), State::running, "XRunning"},
            {"restarting replaces running", list({"Created", "Restarting"}), State::restarting, "XRestarting"},
            {"suspended", list({"Created", "Running=False", "Suspended"}), State::suspended, "XSuspended"},
            {"resumed, not yet running", list({"Created", "Running=False", "Suspended=False"}), State::pending},
            {"resumed and running", list({"Created", "Suspended=False", "Running"}), State::running},
            {"succeeded", list({"Created", "Running=False", "Succeeded"}), State::succeeded, std::string(job_types::uncounted)},
            {"failed", list({"Created", "Running=False", "Failed"}), State::failed, "XFailed"},
            {"failed without a completionTime (ExitCode)", list({"Created", "Failed"}), State::failed},
            {"succeeded, then failed in the same pass", list({"Created", "Running=False", "Succeeded", "Failed"}), State::succeeded,
             std::string(job_types::contradicted)},
            {"the order of the list means nothing", list({"Failed", "Succeeded", "Created"}), State::succeeded, std::string(job_types::contradicted)},
            {"a condition that is no longer true", list({"Created", "Failed=False", "Running"}), State::running},
            {"status Unknown is not True", list({"Created", "Succeeded=Unknown"}), State::pending},
        });
  }
}

TEST_CASE("mpi-operator's conditions: final with a completionTime only") {
  const std::string over = R"("completionTime": "2026-11-21T08:15:30Z")";
  const auto list = [](const std::vector<std::string>& types, const std::string& more = "") { return conditions("MPIJob", types, more); };
  check(
      "MPI", "kubeflow.org/v2beta1",
      {
          {"no status yet", "", State::unknown},
          {"accepted", list({"Created"}), State::pending},
          {"running", list({"Created", "Running"}), State::running},
          {"suspended", list({"Created", "Running=False", "Suspended"}), State::suspended},
          {"succeeded", list({"Created", "Running=False", "Succeeded"}, over + R"(, "replicaStatuses": {"Launcher": {"succeeded": 1}})"),
           State::succeeded, "MPIJobSucceeded"},
          {"succeeded, but the status is not complete", list({"Created", "Running=False", "Succeeded"}), State::running},
          {"failed", list({"Created", "Running=False", "Failed"}, over), State::failed, "MPIJobFailed"},
          {"a worker evicted: the launcher may still succeed", list({"Created", "Running=False", "Failed"}), State::restarting},
          {"evicted, then succeeded", list({"Created", "Failed=False", "Succeeded"}, over), State::succeeded},
          {"earlier attempts of the launcher count as failed",
           R"({"conditions": [{"type": "Running", "status": "True"}], "replicaStatuses": {"Launcher": {"active": 1, "failed": 1}}})", State::running},
      });
  const auto evicted = find("MPI").judge(Json::parse(
      R"({"apiVersion": "kubeflow.org/v2beta1", "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "MPIJobEvicted", "message": "m"}]}})"));
  CHECK(evicted.reason == "MPIJobEvicted");
  CHECK(evicted.message == "m");
}

TEST_CASE("the Job controller's conditions and pod counts") {
  const auto list = [](const std::vector<std::string>& types, const std::string& more = "") { return conditions("", types, more); };
  check("Job", "batch/v1",
        {
            {"no status yet", "", State::unknown},
            {"an empty status", "{}", State::unknown},
            {"pods made", R"({"startTime": "t", "active": 1, "ready": 0})", State::pending},
            {"pods ready", R"({"startTime": "t", "active": 1, "ready": 1})", State::running},
            {"between two tries", R"({"startTime": "t", "failed": 1, "ready": 0})", State::restarting},
            {"the second try starts", R"({"startTime": "t", "failed": 1, "active": 1, "ready": 0})", State::restarting},
            {"the second try runs", R"({"startTime": "t", "failed": 1, "active": 1, "ready": 1})", State::running},
            {"suspended", list({"Suspended"}), State::suspended},
            {"resumed", list({"Suspended=False"}, R"("active": 1, "ready": 1)"), State::running},
            {"all pods succeeded, some still end", list({"SuccessCriteriaMet"}, R"("terminating": 1)"), State::succeeded},
            {"complete", list({"SuccessCriteriaMet", "Complete"}, R"("succeeded": 1)"), State::succeeded, "Complete"},
            {"given up, some still end", list({"FailureTarget"}, R"("failed": 1, "terminating": 1)"), State::failed},
            {"failed", list({"FailureTarget", "Failed"}, R"("failed": 1)"), State::failed, "Failed"},
            {"complete after failed tries", list({"Complete"}, R"("failed": 2, "succeeded": 1)"), State::succeeded},
        });
}

TEST_CASE("any object, however malformed, gives a judgement") {
  const char* objects[] = {"null",
                           "3",
                           "[]",
                           "{}",
                           R"({"status": 1})",
                           R"({"status": {"conditions": {}}})",
                           R"({"status": {"conditions": [1, null, {}]}})",
                           R"({"apiVersion": 1, "status": {"conditions": [{"type": 1, "status": true}]}})"};
  for (const auto& kind : all())
    for (const auto* object : objects) {
      CAPTURE(kind.traits.name, object);
      const auto state = kind.judge(Json::parse(object)).state;
      CHECK((state == State::unknown || state == State::pending));
    }
}
