// SPDX-License-Identifier: Apache-2.0
#include "cluster/own_life.h"

#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;

namespace {

const std::string completed = "workflows.argoproj.io/completed";

// A step's pod and Workflow as the API server has them; watches stay open and silent.
struct Life {
  Harness h;
  Facts facts;
  Json pod = {{"metadata", {{"name", "step-1"}, {"uid", "p"}, {"resourceVersion", "5"}}}};
  Json workflow = {{"metadata", {{"name", "wf"}, {"uid", "w"}, {"resourceVersion", "5"}}}};
  Reply answer = Reply::silent();  // to a GET of our pod
  std::vector<std::string> cancels;
  std::unique_ptr<OwnLife> life;
  std::optional<std::optional<std::string>> why;

  Life() {
    facts.name_space = "ns";
    facts.pod = "step-1";
    facts.pod_uid = "p";
    facts.workflow = Workflow{"argoproj.io/v1alpha1", "wf", "w"};
  }
  void begin() {
    h.server.serve([this](const FakeTransport::Asked& asked) {
      if (asked.request.url.path.ends_with("/step-1")) return answer;
      if (asked.query("watch") == "true") return Reply{.end = Reply::End::open};
      const auto& item = asked.request.url.path.ends_with("/pods") ? pod : workflow;
      const auto items = item.is_null() ? Json::array() : Json::array({item});
      return Reply::text(to_text({{"kind", "List"}, {"apiVersion", "v1"}, {"metadata", {{"resourceVersion", "7"}}}, {"items", items}}));
    });
    life = std::make_unique<OwnLife>(*h.client, facts, [this](const std::string& what) { cancels.push_back(what); });
    h.loop.run(5s);
  }
  // Whether the SIGTERM that comes now is an eviction, and how long it took to know.
  std::pair<bool, Duration> ask() {
    const auto begin = h.loop.now();
    Duration took{-1};
    life->ask_why([&](std::optional<std::string> eviction) {
      why = std::move(eviction);
      took = h.loop.now() - begin;
    });
    h.loop.run(1s);
    REQUIRE(why);
    return {why->has_value(), took};
  }
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE_METHOD(Life, "a step whose pod or Workflow is labelled completed is cancelled, once") {
  SECTION("pod") { pod["metadata"]["labels"][completed] = "true"; }
  SECTION("Workflow") { workflow["metadata"]["labels"][completed] = "true"; }
  SECTION("both") { pod["metadata"]["labels"][completed] = workflow["metadata"]["labels"][completed] = "true"; }
  SECTION("a Workflow that is being deleted") { workflow["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"; }
  SECTION("a Workflow that has gone") { workflow = nullptr; }
  begin();
  CHECK(cancels.size() == 1);
  CHECK(ask() == std::pair{false, Duration{0}});
}

TEST_CASE_METHOD(Life, "another pod of our name says nothing about us") {
  pod["metadata"]["uid"] = "other";
  pod["metadata"]["labels"][completed] = "true";
  begin();
  CHECK(cancels.empty());
}

TEST_CASE_METHOD(Life, "a SIGTERM is an eviction when the server shows at once that the Workflow goes on") {
  begin();
  CHECK(cancels.empty());
  answer = Reply::text(to_text(pod));
  const auto [eviction, took] = ask();
  CHECK(eviction);
  CHECK(took < 30ms);
}

TEST_CASE_METHOD(Life, "a SIGTERM to a pod that is known to be deleted is an eviction without a question") {
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  begin();
  const auto questions = h.server.asked().size();
  CHECK(ask() == std::pair{true, Duration{0}});
  CHECK(h.server.asked().size() == questions);
}

TEST_CASE_METHOD(Life, "in doubt a SIGTERM is a cancel, after 30 ms at most") {
  Duration expected{1};
  SECTION("nobody answers") { expected = Duration{30}; }
  SECTION("an error") { answer = refusal(403, "Forbidden", "no"); }
  SECTION("the pod has been labelled meanwhile") {
    auto labelled = pod;
    labelled["metadata"]["labels"][completed] = "true";
    answer = Reply::text(to_text(labelled));
  }
  begin();
  CHECK(ask() == std::pair{false, expected});
}

TEST_CASE_METHOD(Life, "without a Workflow there is no eviction to tell from a cancel") {
  facts.workflow.reset();
  begin();
  answer = Reply::text(to_text(pod));
  CHECK(ask() == std::pair{false, Duration{0}});
}
