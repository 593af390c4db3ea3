// Attempts of one step, one after another, whose job stays: what the one before has told of, brought or taken away.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <string>

#include "base/files.h"
#include "cluster/session.h"
#include "data/pending_output.h"
#include "result/pod_report.h"
#include "staging/delivery_listing.h"
#include "support/catch.h"
#include "support/pods.h"
#include "support/temp_dir.h"
#include "unit/cluster/session_support.h"
#include "unit/kube/harness.h"
#include "unit/objectstore/fake_store.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using objectstore::test::FakeStore;
using objectstore::test::FakeTransport;
using objectstore::test::Reply;

namespace {

// A step of a Workflow whose data go through a bucket, before an API server that keeps one job. Its pod trains at once, unless it is held.
struct Attempts : FakeStore {
  TempDir folder;
  SessionOptions options = test::bucket_options();
  std::optional<Session> session;
  std::optional<run::Outcome> outcome;
  std::string problem;
  test::Told story;
  std::optional<Json> job;
  int made = 0;
  bool held = false;
  bool shortened = false;
  bool thinned = false;  // of the curves that the pod tells
  bool pods_gone = false;
  bool on_claim = false;
  std::function<void()> after_training = [] {};
  Json job_options = Json::object();
  std::string prefix;
  std::optional<Reply> look, patch;       // instead of the server's answer
  std::optional<result::Verdict> judged;  // what the step says once it has seen what was fetched

  Attempts() {
    REQUIRE(write_file_atomically(folder.path() / "data/a", "first"));
    options.facts->workflow = Workflow{"argoproj.io/v1alpha1", "wf", "w"};
    options.facts->retry = Retry::follows;
    options.make_plan = [this](const Facts&, const std::string&) {
      plan::Request request;
      request.train_specification =
          "inputs: [{name: data, type: Dataset}]\noutputs: [{name: model, type: Model}]\n"
          "implementation: {container: {image: i, command: [train, {inputPath: data}, {outputPath: model}]}}";
      request.inputs.push_back({.name = "train_dataset_dir", .path = folder.path() / "data", .uri = "", .type = ""});
      request.outputs = {{.name = "model_dir", .path = folder.path() / "model", .uri = "", .type = "", .metadata = Json::object()}};
      request.train_parameters = {{"data", "train_dataset_dir"}, {"model", "model_dir"}};
      request.run_id = "run-1";
      request.job_options = job_options;
      return plan::make_plan(request, test::all_kinds);
    };
    fault = [this](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      if (asked.request.url.host == "api") return of_api(asked);
      return std::nullopt;
    };
  }
  // The model goes to a claim that the step has mounted, or to an address, and no input is brought.
  void data_at_places(bool claim) {
    on_claim = claim;
    if (on_claim) options.facts->mounts = {{"models", folder.path().string(), ""}};
    options.configuration_secrets.clear();
    options.facts->stores =
        "minio:\n  default: {endpoint: \"store:9000\", region: minio, disableSSL: true, forcePathStyle: true, credentials: {fromEnv: true}}\n";
    options.environment = {{"AWS_ACCESS_KEY_ID", "key"}, {"AWS_SECRET_ACCESS_KEY", "secret"}};
    options.make_plan = [this](const Facts&, const std::string&) {
      plan::Request request;
      request.train_specification =
          "outputs: [{name: model, type: Model}]\nimplementation: {container: {image: i, command: [train, {outputPath: model}]}}";
      request.outputs = {{.name = "model_dir",
                          .path = folder.path() / "model",
                          .uri = on_claim ? "" : "minio://bkt/models/m",
                          .type = "",
                          .metadata = Json::object()}};
      request.train_parameters = {{"model", "model_dir"}};
      request.run_id = "run-1";
      return plan::make_plan(request, test::all_kinds);
    };
  }
  [[nodiscard]] std::string name() const { return (*job)["metadata"]["name"]; }
  // What a job's pod puts on the claim.
  void put(const std::string& text, const std::string& signer) const {
    auto output = PendingOutput::open(folder.path() / "model", signer, signer);
    REQUIRE(output.has_value());
    REQUIRE(write_file_atomically(output->path() / "weights", text));
    REQUIRE(output->commit().has_value());
  }
  void train() {
    if (on_claim) put("of run " + std::to_string(made), report().attempt);
    prefix = "jobs/" + name();
    objects[prefix + "/outputs/model/weights"] = "of run " + std::to_string(made);
    objects[prefix + "/outputs/model.objects.json"] =
        staging::list_of({{.key = "weights", .size = 8, .etag = etag("of run " + std::to_string(made))}});
    objects[prefix + "/finished.json"] = "{}";
    (*job)["status"] = {{"succeeded", 1}, {"conditions", Json::array({{{"type", "Complete"}, {"status", "True"}}})}};
    after_training();
  }
  [[nodiscard]] result::PodReport report() const {
    result::PodReport report;
    report.attempt = (*job)["metadata"]["annotations"]["trainstep.dev/created-by"];
    report.verdict_class = result::VerdictClass::succeeded;
    report.primary = true;
    report.shortened = shortened;
    auto& output = report.outputs.emplace_back();
    output.name = "model";
    output.artifact = output.present = true;
    report.curves_thinned = thinned;
    if (thinned) output.curves.push_back({"loss", result::MetricSeries::Axis::step, {{9, 0.5, {}}}});
    return report;
  }
  [[nodiscard]] Json pod() const {
    auto ended = test::terminated(0);
    ended["terminated"]["message"] = to_text(report());
    auto pod = test::pod("p", "p-" + std::to_string(made), test::status("Succeeded", Json::array({test::container(ended)})));
    pod["metadata"]["resourceVersion"] = "6";
    pod["metadata"]["labels"] = {{"job-name", name()}, {"batch.kubernetes.io/job-name", name()}, {"batch.kubernetes.io/job-completion-index", "0"}};
    pod["metadata"]["ownerReferences"] = Json::array({{{"kind", "Job"}, {"uid", (*job)["metadata"]["uid"]}, {"controller", true}}});
    return pod;
  }
  Reply of_job(const FakeTransport::Asked& asked) {
    if (asked.request.method == "GET" && look) return *look;
    if (!job) return kube::test::refusal(404, "NotFound", "no such job");
    if (asked.request.method == "PATCH" && patch) return *patch;
    if (asked.request.method == "PATCH") job->merge_patch(Json::parse(asked.request.body));
    const auto answer = to_text(*job);
    if (asked.request.method == "DELETE") job.reset();
    return Reply::text(answer);
  }
  Reply of_api(const FakeTransport::Asked& asked) {
    const auto& path = asked.request.url.path;
    if (path.ends_with("/secrets/training")) return test::bucket_secret();
    if (path.find("/persistentvolumeclaims/") != std::string::npos)
      return Reply::text(R"({"metadata": {"name": "models"}, "spec": {"accessModes": ["ReadWriteMany"]}})");
    if (path == "/apis/batch/v1") return test::serves_jobs();
    if (path.ends_with("reviews")) return Reply::text(R"({"status": {"allowed": true}})", 201);
    if (path.find("/jobs/") != std::string::npos) return of_job(asked);
    if (asked.request.method == "POST") {
      const auto object = test::made(asked.request.body, "u-" + std::to_string(made + 1));
      if (asked.query("dryRun").empty()) {
        job = object;
        ++made;
        if (!held) train();
      }
      return Reply::text(to_text(object), 201);
    }
    if (!asked.query("watch").empty()) return Reply::silent();
    Json items = Json::array();
    if (path.ends_with("/jobs") && job) items.push_back(*job);
    if (path.ends_with("/pods") && job && !held && !pods_gone) items.push_back(pod());
    return test::list_of(items);
  }
  void begin() {
    outcome.reset();
    story.text.clear();
    ++options.seed;
    session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{&story});
    session->begin([this](const Session::Done& done) {
      outcome = done.outcome;
      if (outcome->verdict.verdict_class == result::VerdictClass::succeeded) {
        const auto committed = session->commit();
        CHECK(committed);
      }
      session->conclude(judged.value_or(outcome->verdict), [this](const std::string& what) { problem = what; });
    });
  }
  // One attempt, to its end. → how it ended
  result::VerdictClass attempt() {
    begin();
    loop.run(5min);
    REQUIRE(outcome);
    UNSCOPED_INFO(outcome->verdict.message << '\n' << story.text);
    return outcome->verdict.verdict_class;
  }
  [[nodiscard]] std::string model() const { return read_file(folder.path() / "model/weights", 100).value_or("(none)"); }
};

constexpr auto well = result::VerdictClass::succeeded;

}  // namespace

TEST_CASE_METHOD(Attempts, "a retry of a step that was reported as succeeded, but whose data is gone, trains again") {
  REQUIRE(attempt() == well);
  CHECK(model() == "of run 1");
  CHECK(objects.empty());
  REQUIRE(job);
  CHECK((*job)["metadata"]["annotations"]["trainstep.dev/outcome"] == "succeeded");
  CHECK(attempt() == well);
  CHECK(made == 2);
  CHECK(model() == "of run 2");
  CHECK(objects.empty());
}

TEST_CASE_METHOD(Attempts, "a step that is repeated after its model was removed does not succeed, and its next attempt trains again") {
  data_at_places(GENERATE(true, false));
  const auto lies = [&](const std::string& what) {
    if (!on_claim) objects["models/m/weights"] = what;
  };
  lies("of run 1");
  REQUIRE(attempt() == well);
  lies("still exists");
  REQUIRE(attempt() == well);
  REQUIRE(made == 1);
  std::filesystem::remove(folder.path() / "model/weights");
  objects.erase("models/m/weights");
  CHECK(attempt() == result::VerdictClass::system);
  CHECK_THAT(outcome->verdict.message, Contains("model: ") && Contains(" no longer exists"));
  lies("of run 2");
  CHECK(attempt() == well);
  CHECK(made == 2);
}

TEST_CASE_METHOD(Attempts, "an attempt that finds an ended job does not succeed without its model, whether its outcome was reported or not") {
  const bool gone = GENERATE(true, false);
  data_at_places(GENERATE(true, false));
  CAPTURE(on_claim, gone);
  held = true;
  begin();
  loop.run(10s);
  session.reset();  // killed
  train();
  held = false;
  if (gone) std::filesystem::remove_all(folder.path() / "model");
  if (!on_claim && !gone) objects["models/m/weights"] = "of run 1";
  if (gone) {
    CHECK(attempt() == result::VerdictClass::system);
    CHECK_THAT(outcome->verdict.message, Contains("model: ") && Contains(" no longer exists"));
  } else {
    CHECK(attempt() == well);
  }
  CHECK(made == 1);
}

TEST_CASE_METHOD(Attempts, "an attempt that finds a job which has ended does not take for its model what others have put on the claim") {
  const std::string others = GENERATE("another run's", "somebody's", "cut");
  CAPTURE(others);
  data_at_places(true);
  held = true;
  begin();
  loop.run(10s);
  session.reset();  // killed
  train();
  held = false;
  if (others == "another run's") put("of run 1", "another");
  if (others == "somebody's") REQUIRE(write_file_atomically(folder.path() / "model/more", "1"));
  if (others == "cut") std::filesystem::resize_file(folder.path() / "model/weights", 3);
  CHECK(attempt() == result::VerdictClass::system);
  CHECK_THAT(outcome->verdict.message, Contains("model: the contents of") && Contains("are not from this run"));
  CHECK(std::filesystem::exists(folder.path() / "model"));
}

TEST_CASE_METHOD(Attempts, "a step does not succeed where its model has gone from the claim, or is another's, by the end of its job") {
  const std::string meanwhile = GENERATE("another run's", "removed", "cut", "it stays", "it is seen late");
  CAPTURE(meanwhile);
  data_at_places(true);
  const auto model_dir = folder.path() / "model";
  after_training = [&] {
    if (meanwhile == "another run's") put("of run 1", "another");
    if (meanwhile == "removed") std::filesystem::remove_all(model_dir);
    if (meanwhile == "cut") std::filesystem::resize_file(model_dir / "weights", 3);
    if (meanwhile != "it is seen late") return;
    std::filesystem::rename(model_dir, folder.path() / "late");
    loop.after(40s, [&] { std::filesystem::rename(folder.path() / "late", model_dir); });
  };
  const bool there = meanwhile == "it stays" || meanwhile == "it is seen late";
  CHECK((attempt() == well) == there);
  CHECK(made == 1);
  CHECK((story.text.find("is not visible here; retrying") != std::string::npos) == (meanwhile != "it stays"));
}

TEST_CASE_METHOD(Attempts, "a step whose job fails, or that is cancelled, after the model came to the claim leaves there what was there before") {
  const bool cancelled = GENERATE(true, false);
  const std::string older = GENERATE("nothing", "somebody's", "an earlier run's");
  CAPTURE(cancelled, older);
  data_at_places(true);
  if (older == "somebody's") REQUIRE(write_file_atomically(folder.path() / "model/weights", older));
  if (older == "an earlier run's") put(older, "earlier");
  held = true;
  begin();
  loop.run(10s);
  put("of run 1", report().attempt);
  if (cancelled) {
    session->request_stop(SIGTERM);
  } else {
    (*job)["status"]["conditions"] = Json::array({{{"type", "Failed"}, {"status", "True"}, {"reason", "DeadlineExceeded"}}});
    pods_gone = true;
    session.reset();  // killed: the next attempt finds it
    begin();
  }
  loop.run(5min);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class != well);
  CHECK(model() == (older == "nothing" ? "(none)" : older));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "model.~1~"));
  CHECK_THAT(story.text,
             Contains("was moved to ") && Contains(older == "nothing" ? "; nothing is there now" : "; the previous contents are restored"));
}

TEST_CASE_METHOD(Attempts, "if the step is cancelled, later changes to the model on the claim are kept, and the log says what is where") {
  const std::string change = GENERATE("the weights are edited in place", "a note is put beside them");
  CAPTURE(change);
  data_at_places(true);
  put("of an earlier run", "earlier");
  held = true;
  begin();
  loop.run(10s);
  put("of run 1", report().attempt);
  const auto weights = folder.path() / "model/weights";
  if (change == "a note is put beside them") {
    REQUIRE(write_file_atomically(folder.path() / "model/note", "the best one"));
  } else {
    std::ofstream(weights) << "edited 1";
    std::filesystem::last_write_time(weights, std::filesystem::last_write_time(weights) + 1s);
  }
  session->request_stop(SIGTERM);
  loop.run(5min);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class == result::VerdictClass::cancelled);
  CHECK(model() == (change == "a note is put beside them" ? "of run 1" : "edited 1"));
  CHECK(std::filesystem::exists(folder.path() / "model/note") == (change == "a note is put beside them"));
  CHECK_THAT(story.text,
             Contains(fmt::format(
                 "model: the training's output stays at {0}/model, and the previous contents are in {0}/.model.trainstep/old: it has changed since",
                 folder.path().string())));
}

TEST_CASE_METHOD(Attempts, "a step that cannot write its own files leaves the model on the claim to the next attempt, and reports what is where") {
  data_at_places(true);
  put("of an earlier run", "earlier");
  judged = result::lost_outputs({ErrorKind::internal, "cannot write /out/results.json: No space left on device"});
  REQUIRE(attempt() == well);
  CHECK(model() == "of run 1");
  CHECK(problem == fmt::format("model: the training's output stays at {0}/model, and the previous contents are in {0}/.model.trainstep/old",
                               folder.path().string()));
  judged.reset();
  CHECK(attempt() == well);
  CHECK(made == 1);
  CHECK(problem.empty());
  CHECK_FALSE(std::filesystem::exists(folder.path() / ".model.trainstep/old"));
}

TEST_CASE_METHOD(Attempts, "a model path that has become a file is not blamed on the program") {
  after_training = [this] {
    std::filesystem::remove_all(folder.path() / ".model.trainstep");
    std::ofstream(folder.path() / ".model.trainstep") << "somebody's";
  };
  CHECK(attempt() == result::VerdictClass::system);
  CHECK_THAT(outcome->verdict.message, Contains(".model.trainstep"));
}

TEST_CASE_METHOD(Attempts, "a step that fails because of its program reverts its model, even if it was delivered") {
  data_at_places(true);
  put("of an earlier run", "earlier");
  judged = result::lost_outputs({ErrorKind::input, "output accuracy: no value has this name"});
  REQUIRE(attempt() == well);
  CHECK(model() == "of an earlier run");
  CHECK_THAT(story.text, Contains("was moved to "));
  judged.reset();
  CHECK(attempt() == well);
  CHECK(model() == "of run 2");
}

TEST_CASE_METHOD(Attempts, "what an earlier run has put on the claim goes once the step has succeeded") {
  data_at_places(true);
  put("of an earlier run", "earlier");
  CHECK(attempt() == well);
  CHECK(model() == "of run 1");
  CHECK_FALSE(std::filesystem::exists(folder.path() / ".model.trainstep/old"));
}

TEST_CASE_METHOD(Attempts,
                 "without credentials and without a report of a pod the outcome is unknown, and the model's location is reported without a wait") {
  data_at_places(false);
  options.environment.clear();
  pods_gone = true;
  begin();
  loop.run(40s);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class == result::VerdictClass::system);
  CHECK_THAT(outcome->verdict.message, Contains("no credentials for the object store"));
  CHECK_THAT(problem, Contains("what the training has delivered is kept at minio://bkt/models/m"));
  CHECK(story.count("trying again") == 0);
}

TEST_CASE_METHOD(Attempts, "if no pod is left, the record of the training shows what it delivered") {
  const auto [where, told] =
      GENERATE(table<std::string, std::string>({{"its folder", "own"}, {"its folder", "another job's"}, {"a claim", "own"}, {"a claim", "none"}}));
  CAPTURE(where, told);
  if (where == "a claim") {
    data_at_places(true);
  }
  held = pods_gone = true;
  begin();
  loop.run(10s);
  train();
  auto record = report();
  if (told == "another job's") record.attempt = "other";
  objects[prefix + "/finished.json"] = to_text(record);
  if (where == "a claim" && told == "own") REQUIRE(write_file_atomically(folder.path() / (".trainstep-" + name() + ".json"), to_text(record)));
  session.reset();
  if (told == "own") {
    CHECK(attempt() == well);
    CHECK(model() == "of run 1");
    CHECK(made == 1);
    return;
  }
  CHECK(attempt() == result::VerdictClass::system);
  CHECK_THAT(outcome->verdict.message, Contains("no pod reports what the training returned"));
  held = pods_gone = false;
  CHECK(attempt() == well);
  CHECK(made == 2);
}

TEST_CASE_METHOD(Attempts, "a retry after one that could not say that it took the data away trains again, at the latest the second") {
  patch = kube::test::refusal(403, "Forbidden", "no");
  REQUIRE(attempt() == well);
  patch.reset();
  CHECK(attempt() == result::VerdictClass::system);
  CHECK_THAT(problem, !Contains("kept at"));
  CHECK(objects.empty());
  CHECK(attempt() == well);
  CHECK(model() == "of run 2");
  CHECK(objects.empty());
}

TEST_CASE_METHOD(Attempts, "if some delivered data is incomplete, the rest is kept until it is trained again") {
  held = true;
  begin();
  loop.run(10s);
  train();
  objects.erase(prefix + "/outputs/model/weights");
  objects[prefix + "/outputs/model/other"] = "rest";
  held = false;
  session.reset();
  CHECK(attempt() == result::VerdictClass::system);
  CHECK_THAT(problem, Contains("what is left of the delivered outputs is kept at s3://bkt/" + prefix));
  CHECK(objects.contains(prefix + "/outputs/model/other"));
  CHECK(attempt() == well);
  CHECK(made == 2);
  CHECK(objects.empty());
}

TEST_CASE_METHOD(Attempts, "existing data is kept whatever responds for the store during the download, and the step reports where") {
  const auto [status, page] = GENERATE(table<int, std::string>(
      {{404, "<html>no route</html>"}, {404, ""}, {404, "<Error><Code>NoSuchBucket</Code></Error>"}, {302, ""}, {403, "<html>blocked</html>"}}));
  CAPTURE(status, page);
  shortened = GENERATE(false, true);
  fault = [this, otherwise = fault, status = status, page = page](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    const bool is_trained = asked.request.url.host != "api" && job && job->contains("status");  // until the job is deleted
    return is_trained ? Reply::text(page, status) : otherwise(asked);
  };
  begin();
  loop.run(30min);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class == result::VerdictClass::system);
  CHECK_THAT(problem, Contains("what the training has delivered is kept at s3://bkt/" + prefix));
  CHECK(objects.contains(prefix + "/outputs/model/weights"));
}

TEST_CASE_METHOD(Attempts, "a model whose list was removed is kept, and the step reports where") {
  after_training = [this] { objects.erase(prefix + "/outputs/model.objects.json"); };
  CHECK(attempt() == result::VerdictClass::system);
  CHECK_THAT(problem, Contains("what is left of the delivered outputs is kept at s3://bkt/" + prefix));
  CHECK(objects.contains(prefix + "/outputs/model/weights"));
  CHECK_FALSE(objects.contains(prefix + "/inputs/data/a"));
}

TEST_CASE_METHOD(Attempts, "the data of a program that has written no model go, and what cannot be put in its place stays") {
  const auto verdict_class = GENERATE(result::VerdictClass::user, result::VerdictClass::system);
  judged = result::Verdict{verdict_class, "model_dir: no file", std::nullopt, false, 0};
  REQUIRE(attempt() == well);
  CHECK(objects.empty() == (verdict_class == result::VerdictClass::user));
  CHECK((problem.find("is kept at") == std::string::npos) == objects.empty());
}

TEST_CASE_METHOD(Attempts, "the inputs of an adopted job are left unchanged") {
  held = true;
  begin();
  loop.run(10s);
  REQUIRE(job);
  prefix = "jobs/" + name();
  const auto input = prefix + "/inputs/data/a";
  REQUIRE(objects.at(input) == "first");
  session.reset();
  REQUIRE(write_file_atomically(folder.path() / "data/a", "second"));
  begin();
  loop.run(10s);
  CHECK(made == 1);
  CHECK(objects.at(input) == "first");
  CHECK_THAT(story.text, !Contains("input brought") && Contains("adopted"));
}

TEST_CASE_METHOD(Attempts, "a job whose data go through another folder than the Secret names now is left alone") {
  held = true;
  begin();
  loop.run(10s);
  REQUIRE(job);
  session.reset();
  const auto before = objects;
  const auto of_job = *job;
  fault = [this, otherwise = fault](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (!asked.request.url.path.ends_with("/secrets/training")) return otherwise(asked);
    return test::secret("training", {{"minio-url", "http://store:9000"},
                                     {"minio-bucket", "bkt"},
                                     {"minio-job-folder", "renamed"},
                                     {"minio-accesskey", "key"},
                                     {"minio-secretkey", "secret"}});
  };
  CHECK(attempt() == result::VerdictClass::input);
  CHECK_THAT(outcome->verdict.message, Contains("exists for this run, but with another specification"));
  CHECK(objects == before);
  CHECK(*job == of_job);
}

TEST_CASE_METHOD(Attempts, "a store that answers no more while the model is fetched is waited for as long as the limits say") {
  const auto [limits, after, said] = GENERATE(table<Json, Duration, std::string>({
      {{{"finishing", "40s"}},
       45s,
       "the limit of 40 s for finishing (job_options.limits.finishing) was exceeded while its outputs were being fetched"},
      {{{"total", "90s"}},
       95s,
       "the limit of 1 min 30 s for the whole step (job_options.limits.total) was exceeded while its outputs were being fetched"},
  }));
  job_options = {{"limits", limits}};
  shortened = GENERATE(false, true);
  fault = [this, otherwise = fault](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    const auto& path = asked.request.url.path;
    const bool fetches = asked.request.method == "GET" && (path.ends_with("/outputs/model/weights") || path.ends_with("/finished.json"));
    return fetches ? Reply::silent() : otherwise(asked);
  };
  begin();
  loop.run(after);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class == result::VerdictClass::timeout);
  CHECK_THAT(outcome->verdict.message, Contains("the training succeeded") && Contains(said));
  loop.run(1min);
  CHECK_THAT(problem, Contains("what the training has delivered is kept at s3://bkt/" + prefix));
  CHECK(objects.contains(prefix + "/outputs/model/weights"));
  CHECK_FALSE(objects.contains(prefix + "/inputs/data/a"));
  CHECK(model() == "(none)");
}

TEST_CASE_METHOD(Attempts, "a lost attempt that reaches its job after the next one changes nothing") {
  held = GENERATE(true, false);
  options.facts->began = from_rfc3339("2026-03-01T10:01:00Z");
  begin();
  loop.run(10s);
  REQUIRE(job);
  if (!held) CHECK(outcome);
  session.reset();
  prefix = "jobs/" + name();
  objects[prefix + "/inputs/data/a"] = "first";
  const auto before = objects;
  const auto of_job = *job;
  options.facts->began = from_rfc3339("2026-03-01T10:00:00Z");
  REQUIRE(write_file_atomically(folder.path() / "data/a", "second"));
  CHECK(attempt() == result::VerdictClass::interrupted);
  CHECK(outcome->verdict.message == "another attempt of this step is following the job");
  CHECK(objects == before);
  CHECK(*job == of_job);
  CHECK(made == 1);
}

TEST_CASE_METHOD(Attempts, "an adopted job is not deleted because it, or its pods, cannot be read for a while") {
  held = true;
  begin();
  loop.run(10s);
  REQUIRE(job);
  session.reset();
  const auto status = GENERATE(403, 404, 400, 302);
  const std::string what = GENERATE("/pods", "/jobs", "the job");
  if (status == 404 && what == "the job") return;  // … is an answer: there is none
  int refusals = what == "the job" ? 3 : 8;
  fault = [this, otherwise = fault, status, what, &refusals](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    const auto& path = asked.request.url.path;
    const bool meant = what == "the job" ? path.find("/jobs/") != std::string::npos : path.ends_with(what);
    if (asked.request.method != "GET" || !meant || refusals == 0) return otherwise(asked);
    --refusals;
    return Reply::text("no", status);
  };
  begin();
  loop.run(10min);
  CHECK_FALSE(outcome);
  CHECK(refusals == 0);
  REQUIRE(job);
  session.reset();
  held = false;
  train();
  CHECK(attempt() == well);
  CHECK(made == 1);
}

TEST_CASE_METHOD(Attempts, "inputs are uploaded once no job needs the existing ones") {
  look = Reply::text("", 503);
  begin();
  loop.run(1min);
  CHECK(objects.empty());
  look.reset();
  loop.run(5min);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class == well);
}

TEST_CASE_METHOD(Attempts, "a signal while it is looked for a job brings nothing") {
  look = Reply::silent();
  begin();
  loop.run(1min);
  session->request_stop(SIGTERM);
  look.reset();
  loop.run(5min);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class == result::VerdictClass::cancelled);
  CHECK(objects.empty());
  CHECK(made == 0);
}

namespace {

// The model is on its way when something comes between; the store goes on silently with it.
struct Fetching : Attempts {
  Json workflow = {{"metadata", {{"name", "wf"}, {"uid", "w"}, {"resourceVersion", "5"}}}};
  bool evicted = false;
  explicit Fetching(Retry retry = Retry::follows) {
    auto facts = test::facts_in_pod();
    facts.retry = retry;
    options.facts = facts;
    const auto below = fault;
    fault = [this, below](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      const auto& path = asked.request.url.path;
      if (asked.request.method == "GET" && path.ends_with("/outputs/model/weights")) return Reply::silent();
      if (test::is_of_own_pod(asked)) return own_pod();
      if (path.ends_with("/workflows")) return asked.query("watch").empty() ? test::list_of(Json::array({workflow})) : Reply::silent();
      return below(asked);
    };
    begin();
    loop.run(20s);
    REQUIRE(!outcome);
  }
  [[nodiscard]] Reply own_pod() const {
    Json pod = {{"metadata", {{"name", "step-1"}, {"uid", "p-1"}}}, {"status", {{"phase", "Running"}}}};
    if (evicted) pod["metadata"]["deletionTimestamp"] = "2026-11-21T08:00:00Z";
    return Reply::text(to_text(pod));
  }
};

struct FetchingOnce : Fetching {
  FetchingOnce() : Fetching(Retry::none) {}
};

}  // namespace

TEST_CASE_METHOD(Fetching, "a cancel while the model is fetched leaves nothing of the job") {
  workflow["spec"]["shutdown"] = "Terminate";
  session->request_stop(SIGTERM);
  loop.run(1min);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class == result::VerdictClass::cancelled);
  CHECK(objects.empty());
  CHECK_THAT(problem, !Contains("kept at"));
}

TEST_CASE_METHOD(Fetching, "data being downloaded at an eviction is left to the next attempt") {
  evicted = true;
  session->request_stop(SIGTERM);
  loop.run(1min);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class == result::VerdictClass::interrupted);
  CHECK_THAT(outcome->verdict.message, Contains("the next attempt will use them at s3://"));
  CHECK(objects.contains(prefix + "/outputs/model/weights"));
  CHECK(job);
}

TEST_CASE_METHOD(FetchingOnce, "on an eviction during the download the step reports where the data is, and promises no further attempt") {
  evicted = true;
  session->request_stop(SIGTERM);
  loop.run(1min);
  REQUIRE(outcome);
  CHECK_THAT(outcome->verdict.message, Contains("they are kept at s3://"));
}

TEST_CASE_METHOD(Attempts, "a job in another namespace than its step's pod is found again by the next attempt, and has no owner there") {
  auto facts = test::facts_in_pod();
  facts.name_space = "home";
  facts.retry = Retry::follows;
  facts.mounts = {{"data", folder.path().string(), ""}};
  options.facts.reset();
  options.pod.name = "step-1";
  options.pod.name_space = "home";
  const auto below = fault;
  fault = [&, below](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (!test::is_of_own_pod(asked)) return below(asked);
    CHECK(asked.request.url.path == "/api/v1/namespaces/home/pods/step-1");
    const auto owners = Json::array({{{"apiVersion", "argoproj.io/v1alpha1"}, {"kind", "Workflow"}, {"name", "wf"}, {"uid", "w"}}});
    return Reply::text(to_text(Json{{"metadata", {{"name", "step-1"}, {"namespace", "home"}, {"uid", "p-1"}, {"ownerReferences", owners}}},
                                    {"spec", {{"containers", Json::array({{{"name", "main"}, {"image", "trainstep:1"}}})}}}}));
  };
  held = true;
  std::vector<std::string> runs;
  const auto make = options.make_plan;
  options.make_plan = [&, make](const Facts& known, const std::string& name_space) {
    runs.push_back(known.workflow ? known.workflow->uid : "");
    CHECK(name_space == "team");
    return make(known, name_space);
  };
  begin();
  loop.run(20s);
  REQUIRE(job);
  CHECK_FALSE((*job)["metadata"].contains("ownerReferences"));
  session.reset();
  begin();
  loop.run(20s);
  CHECK(made == 1);
  CHECK(runs == std::vector<std::string>{"w", "w"});
}

TEST_CASE_METHOD(Attempts, "whatever happens while long curves are fetched, a succeeded training stays so, with the known curves") {
  const auto what = GENERATE("whole", "refused", "another job's", "no answer", "SIGTERM", "a limit");
  CAPTURE(what);
  const std::string word = what;
  thinned = true;
  options.facts->retry = Retry::none;
  if (word == "a limit") job_options = {{"limits", {{"finishing", "10s"}}}};
  fault = [this, word, otherwise = fault](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.request.method != "GET" || !asked.request.url.path.ends_with("/finished.json")) return otherwise(asked);
    if (word == "refused") return refusal(403, "AccessDenied");
    if (word != "whole" && word != "another job's") return Reply::silent();
    auto record = report();
    if (word != "whole") record.attempt = "another";
    record.outputs[0].curves[0].points.insert(record.outputs[0].curves[0].points.begin(), {1, 2, {}});
    objects[prefix + "/finished.json"] = to_text(record);
    return std::nullopt;
  };
  begin();
  loop.run(5s);
  if (word == "SIGTERM") {
    CHECK_FALSE(outcome);
    session->request_stop(SIGTERM);
  }
  loop.run(word == "SIGTERM" ? 5s : 40s);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class == well);
  CHECK(model() == "of run 1");
  REQUIRE(outcome->outputs.size() == 1);
  REQUIRE(outcome->outputs[0].curves.size() == 1);
  CHECK(outcome->outputs[0].curves[0].points.size() == (word == "whole" ? 2U : 1U));
  CHECK(story.count("the curves of TensorBoard logs are incomplete") == (word == "whole" ? 0U : 1U));
  loop.run(5min);
  CHECK(problem.empty());
  CHECK(objects.empty());
}

namespace {

// A step that brings nothing and fetches its model through a folder whose keys a Secret of the namespace holds.
struct Keys : Attempts {
  std::optional<Reply> answer;  // instead of the Secret
  std::map<std::string, std::string> values{{"ak", "key"}, {"sk", "secret"}};
  int readings = 0;
  std::vector<std::string> before_job;  // what was asked of the API server until then
  bool fetches = true;

  Keys() {
    options.configuration_secrets.clear();
    options.facts->folder = plan::JobFolder{"s3://bkt/jobs", {"http://store:9000", "us-east-1", true, "team-keys", "ak", "sk"}};
    options.make_plan = [this](const Facts&, const std::string&) {
      plan::Request request;
      request.train_specification =
          "outputs: [{name: model, type: Model}]\nimplementation: {container: {image: i, command: [train, {outputPath: model}]}}";
      if (fetches) {
        request.outputs = {{.name = "model_dir", .path = folder.path() / "model", .uri = "", .type = "", .metadata = Json::object()}};
        request.train_parameters = {{"model", "model_dir"}};
      }
      request.run_id = "run-1";
      return plan::make_plan(request, test::all_kinds);
    };
    fault = [this, below = fault](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      if (asked.request.url.host == "api" && made == 0) before_job.push_back(asked.line());
      if (!asked.request.url.path.ends_with("/secrets/team-keys")) return below(asked);
      ++readings;
      return answer ? *answer : test::secret("team-keys", values);
    };
  }
  [[nodiscard]] bool wrote() const {
    return std::ranges::any_of(transport.asked(), [](const auto& asked) { return asked.request.method != "GET"; });
  }
};

const auto forbidden = [] { return kube::test::refusal(403, "Forbidden", "secrets \"team-keys\" is forbidden"); };

}  // namespace

TEST_CASE_METHOD(Keys, "keys for the model that a step fetches are read before there is a job, and serve after the training") {
  const std::string later = GENERATE("the Secret stays", "it may not be read any more", "it is gone");
  CAPTURE(later);
  after_training = [&] {
    if (later == "it may not be read any more") answer = forbidden();
    if (later == "it is gone") answer = kube::test::refusal(404, "NotFound", "secrets \"team-keys\" not found");
  };
  CHECK(attempt() == well);
  CHECK(model() == "of run 1");
  CHECK(readings == 1);
  CHECK(std::ranges::count(before_job, "GET /api/v1/namespaces/team/secrets/team-keys") == 1);
  CHECK(problem.empty());
  CHECK(objects.empty());
}

TEST_CASE_METHOD(Keys, "credentials replaced while the job trained are read again once") {
  after_training = [&] {
    values = {{"ak", "new-key"}, {"sk", "new-secret"}};
    fault = [below = fault](const FakeTransport::Asked& asked) -> std::optional<Reply> {
      if (asked.request.url.host == "store" && asked.header("Authorization").find("Credential=new-key/") == std::string::npos)
        return refusal(403, "InvalidAccessKeyId");
      return below(asked);
    };
  };
  CHECK(attempt() == well);
  CHECK(model() == "of run 1");
  CHECK(readings == 2);
  CHECK(story.count("using its new ones") == 1);
}

TEST_CASE_METHOD(Keys, "keys without which the model would be lost end the step before there is a job, and nothing is made") {
  struct Row {
    std::string name;
    std::optional<Reply> answer;
    std::map<std::string, std::string> values;
    std::string said;
  };
  const auto row = GENERATE(Row{"may not be read", forbidden(), {}, "credentials of the object store: "},
                            Row{"is not there",
                                kube::test::refusal(404, "NotFound", "secrets \"team-keys\" not found", {{"name", "team-keys"}, {"kind", "secrets"}}),
                                {},
                                "credentials of the object store: "},
                            Row{"lacks a key", {}, {{"ak", "key"}}, "Secret team-keys: no key sk"},
                            Row{"has an empty key", {}, {{"ak", ""}, {"sk", "secret"}}, "Secret team-keys: the value of ak is empty"});
  CAPTURE(row.name);
  answer = row.answer;
  values = row.values;
  CHECK(attempt() == result::VerdictClass::input);
  CHECK_THAT(outcome->verdict.message, Contains(row.said) && Contains("team-keys"));
  CHECK(made == 0);
  CHECK_FALSE(wrote());
  CHECK(problem.empty());
  CHECK_FALSE(std::filesystem::exists(folder.path() / "model"));
}

TEST_CASE_METHOD(Keys, "an API server that is busy is asked for the keys again, for five minutes") {
  const bool recovers = GENERATE(true, false);
  answer = GENERATE(Reply::text("", 503), kube::test::refusal(429, "TooManyRequests", "later"), kube::test::refusal(500, "InternalError", "etcd"));
  if (recovers) loop.after(40s, [this] { answer.reset(); });
  begin();
  loop.run(4min);
  CHECK(made == (recovers ? 1 : 0));
  CHECK(outcome.has_value() == recovers);
  loop.run(10min);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class == (recovers ? well : result::VerdictClass::system));
  CHECK(made == (recovers ? 1 : 0));
  CHECK(wrote() == recovers);
}

TEST_CASE_METHOD(Keys, "a job that trains already is followed also where the keys for its model cannot be read yet") {
  held = true;
  begin();
  loop.run(10s);
  REQUIRE(made == 1);
  session.reset();  // killed
  answer = forbidden();
  begin();
  loop.run(1min);
  CHECK_FALSE(outcome);
  CHECK(story.count("a job of this run exists; its outputs cannot be fetched yet: credentials of the object store: ") == 1);
  const bool granted = GENERATE(true, false);
  if (granted) answer.reset();
  held = false;
  train();
  loop.run(10min);
  REQUIRE(outcome);
  CHECK(made == 1);
  CHECK(outcome->verdict.verdict_class == (granted ? well : result::VerdictClass::system));
  CHECK(model() == (granted ? "of run 1" : "(none)"));
  CHECK(objects.empty() == granted);
}

TEST_CASE_METHOD(Keys, "an unreadable job is reported as possibly training") {
  const bool unavailable = GENERATE(true, false);
  answer = forbidden();
  look = unavailable ? Reply::text("", 503) : kube::test::refusal(403, "Forbidden", "jobs is forbidden");
  begin();
  loop.run(20min);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class == (unavailable ? result::VerdictClass::system : result::VerdictClass::input));
  CHECK_THAT(outcome->verdict.message, Contains("secrets \"team-keys\" is forbidden") && Contains("cannot tell whether a job of this run exists: "));
  CHECK_FALSE(wrote());
}

TEST_CASE_METHOD(Keys, "a cancel is handled while the credentials are read: no job is created, and one of an earlier attempt is deleted") {
  const bool there = GENERATE(true, false);
  options.facts->retry = Retry::none;
  held = true;
  if (there) {
    begin();
    loop.run(10s);
    REQUIRE(job);
    session.reset();  // killed
  }
  answer = GENERATE(Reply::silent(), Reply::text("", 503));
  begin();
  loop.run(10s);
  CHECK_FALSE(outcome);
  session->request_stop(SIGTERM);
  loop.run(1min);
  REQUIRE(outcome);
  CHECK(outcome->verdict.verdict_class == result::VerdictClass::cancelled);
  CHECK(made == (there ? 1 : 0));
  CHECK_FALSE(job);
}

TEST_CASE_METHOD(Keys, "keys of the environment cost no request, and are missed before there is a job") {
  options.facts->folder->store = {"http://store:9000", "us-east-1", true, "", "", ""};
  const bool known = GENERATE(true, false);
  if (known) options.environment = {{"AWS_ACCESS_KEY_ID", "key"}, {"AWS_SECRET_ACCESS_KEY", "secret"}};
  CHECK(attempt() == (known ? well : result::VerdictClass::input));
  CHECK(made == (known ? 1 : 0));
  CHECK(std::ranges::none_of(transport.asked(), [](const auto& asked) { return asked.request.url.path.find("/secrets") != std::string::npos; }));
}

TEST_CASE_METHOD(Keys, "a step that downloads nothing from a store reads no credentials before the job is created") {
  const bool claim = GENERATE(true, false);
  fetches = claim;
  if (claim) {
    on_claim = true;
    options.facts->mounts = {{"models", folder.path().string(), ""}};
  }
  CHECK(attempt() == well);
  CHECK(std::ranges::none_of(before_job, [](const auto& line) { return line.find("/secrets") != std::string::npos; }));
}
