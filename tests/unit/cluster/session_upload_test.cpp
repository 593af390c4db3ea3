// What a step has brought for its job, when it ends before there is one.
// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include "base/files.h"
#include "cluster/session.h"
#include "support/temp_dir.h"
#include "unit/cluster/session_support.h"
#include "unit/kube/harness.h"
#include "unit/objectstore/fake_store.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace std::chrono_literals;
using objectstore::test::FakeStore;
using objectstore::test::FakeTransport;
using objectstore::test::Reply;

namespace {

struct Step : FakeStore {
  TempDir folder;
  SessionOptions options = test::bucket_options();
  std::optional<Session> session;
  std::optional<result::Verdict> verdict;
  std::optional<std::string> problem;
  std::string stuck_at = "PUT /bkt/jobs/";  // the second of them is not answered
  int stuck_after = 1;
  Json job_options = Json::object();
  Reply absent = Reply::text(R"({"kind": "Status", "reason": "NotFound", "details": {}, "code": 404})", 404);
  Reply job = absent;  // since the step has looked for it
  bool looked = false;
  Reply own_pod = test::own_pod();

  Step() {
    REQUIRE(write_file_atomically(folder.path() / "data/a", "1"));
    REQUIRE(write_file_atomically(folder.path() / "data/b", "2"));
    options.make_plan = [this](const Facts&, const std::string&) {
      plan::Request request;
      request.train_specification =
          "inputs: [{name: data, type: Dataset}]\nimplementation: {container: {image: i, command: [train, {inputPath: data}]}}";
      request.inputs.push_back({.name = "train_dataset_dir", .path = folder.path() / "data", .uri = "", .type = ""});
      request.train_parameters["data"] = "train_dataset_dir";
      request.job_options = job_options;
      request.run_id = "run-1";
      return plan::make_plan(request, test::all_kinds);
    };
    fault = [this](const FakeTransport::Asked& asked) { return scripted(asked); };
  }
  std::optional<Reply> scripted(const FakeTransport::Asked& asked) {
    const auto& path = asked.request.url.path;
    if (path.ends_with("/secrets/training")) return test::bucket_secret();
    if (test::is_of_own_pod(asked)) return own_pod;
    if (path.starts_with("/api")) return std::exchange(looked, true) ? job : absent;
    if (asked.line().starts_with(stuck_at) && stuck_after-- == 0) return Reply::silent();
    return std::nullopt;
  }
  void refuse_second() {
    stuck_after = 1 << 20;
    fault = [this, puts = 0](const FakeTransport::Asked& asked) mutable {
      if (asked.line().starts_with("PUT /bkt/jobs/") && ++puts > 1) return std::optional(refusal(403, "AccessDenied"));
      return scripted(asked);
    };
  }
  void begin() {
    session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{});
    session->begin([this](const Session::Done& done) {
      verdict = done.outcome.verdict;
      session->conclude(*verdict, [this](const std::string& what) { problem = what; });
    });
    loop.run(3s);
  }
};

}  // namespace

TEST_CASE_METHOD(Step, "inputs uploaded before a cancel are removed again") {
  begin();
  REQUIRE(objects.size() == 1);
  session->request_stop(SIGTERM);
  loop.run(10s);
  REQUIRE(problem);
  CHECK(problem->empty());
  CHECK(verdict->verdict_class == result::VerdictClass::cancelled);
  CHECK(objects.empty());
}

TEST_CASE_METHOD(Step, "inputs uploaded before a cancel are removed even if checkpoints are kept") {
  job_options = {{"checkpoint_dir", "/saved"}};
  begin();
  REQUIRE(objects.size() == 1);
  const auto brought = objects.begin()->first;
  objects[brought.substr(0, brought.find("/inputs/")) + "/checkpoints/step-1"] = "weights";
  session->request_stop(SIGTERM);
  loop.run(10s);
  REQUIRE(problem);
  CHECK(problem->empty());
  REQUIRE(objects.size() == 1);
  CHECK(objects.begin()->first.find("/checkpoints/") != std::string::npos);
}

TEST_CASE_METHOD(Step, "inputs uploaded before a failure are removed again, unless another attempt follows") {
  const bool retried = GENERATE(false, true);
  options.facts->retry = retried ? Retry::follows : Retry::none;
  refuse_second();
  begin();
  loop.run(10s);
  REQUIRE(problem);
  CHECK(verdict->verdict_class == result::VerdictClass::input);
  CHECK(objects.empty() != retried);
}

TEST_CASE_METHOD(Step, "inputs that the job of an earlier attempt may need stay") {
  const bool there = GENERATE(true, false);
  const auto name = options.make_plan(Facts(), "")->job_name;
  job = there ? Reply::text(to_text(
                    {{"metadata",
                      {{"name", name}, {"uid", "u"}, {"labels", {{"app.kubernetes.io/managed-by", "trainstep"}, {"trainstep.dev/run", "run-1"}}}}}}))
              : refusal(403, "Forbidden");
  refuse_second();
  begin();
  loop.run(10s);
  REQUIRE(problem);
  CHECK(problem->empty() == there);
  CHECK(objects.size() == 1);
}

TEST_CASE_METHOD(Step, "what a store commits seconds after the cancel goes, too") {
  begin();
  REQUIRE(objects.size() == 1);
  const auto brought = objects.begin()->first;
  session->request_stop(SIGTERM);
  loop.after(6s, [this, brought] {
    objects[brought + "-late"] = "2";
    upload_keys["u9"] = brought + "-larger";
    uploads["u9"];
  });
  loop.run(10s);
  REQUIRE(problem);
  CHECK(problem->empty());
  CHECK(objects.empty());
  CHECK(uploads.empty());
}

TEST_CASE_METHOD(Step, "a lost attempt leaves the data at its locations to the next one") {
  options.facts = test::facts_in_pod();
  begin();
  REQUIRE(objects.size() == 1);
  bool stays = true, known = true;
  SECTION("its pod is gone") { own_pod = kube::test::absent("step-1"); }
  SECTION("its pod is another by now") { own_pod = test::own_pod("p-2"); }
  SECTION("its pod has ended by the word of who has lost it") { own_pod = test::own_pod("p-1", "Failed"); }
  SECTION("unknown") {
    own_pod = Reply::silent();
    known = false;
  }
  SECTION("its pod is there") { stays = false; }
  session->request_stop(SIGTERM);
  loop.run(1min);
  REQUIRE(problem);
  CHECK(problem->empty() == known);
  CHECK(objects.empty() != stays);
}

TEST_CASE_METHOD(Step, "an attempt whose pod disappears while it removes its inputs removes nothing of the next one") {
  options.facts = test::facts_in_pod();
  begin();
  REQUIRE(objects.size() == 1);
  const auto brought = objects.begin()->first;
  session->request_stop(SIGTERM);
  loop.after(500ms, [this, brought] {
    own_pod = kube::test::absent("step-1");
    objects[brought] = "of the next attempt";
  });
  loop.run(1min);
  REQUIRE(problem);
  CHECK(problem->empty());
  CHECK(objects.contains(brought));
}

TEST_CASE_METHOD(Step, "an attempt lost while it uploads its inputs stops uploading") {
  options.facts = test::facts_in_pod();
  const bool gone = GENERATE(true, false);
  const Json metadata = {{"name", "step-1"}, {"uid", "p-1"}, {"resourceVersion", "5"}};
  bool slow = true, watched = false;
  fault = [&](const FakeTransport::Asked& asked) -> std::optional<Reply> {
    if (asked.request.url.host == "store" && std::exchange(slow, false)) return Reply{.status = 503, .delay = 10s};
    if (!asked.request.url.path.ends_with("/pods")) return scripted(asked);
    if (asked.query("watch").empty()) return test::list_of(Json::array({{{"metadata", metadata}}}));
    if (std::exchange(watched, true)) return Reply::silent();
    const auto event = to_text(Json{{"type", "DELETED"}, {"object", {{"metadata", metadata}}}}) + "\n";
    return Reply{.pieces = {{5s, event}}, .end = Reply::End::open};
  };
  begin();
  if (gone) own_pod = kube::test::absent("step-1");
  loop.run(30s);
  CHECK(objects.empty() == gone);
  CHECK(verdict.has_value() == gone);
  if (!gone) return;
  CHECK(verdict->verdict_class == result::VerdictClass::interrupted);
  CHECK(problem == "");
}

TEST_CASE_METHOD(Step, "a link on a claim that the pods see otherwise is named") {
  std::filesystem::create_symlink(folder.path() / "data/a", folder.path() / "data/c");
  options.facts->mounts = {{"datasets", folder.path().string(), ""}};
  test::Told told;
  session.emplace(loop, transport, test::credentials(), options, std::vector<run::Listener*>{&told});
  session->begin([](const Session::Done&) {});
  loop.run(3s);
  CHECK(told.count("data/c is a link to") == 1);
}
