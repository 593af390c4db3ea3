// A job that is left to the next attempt in the time that its step has to live.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cluster/backend.h"
#include "cluster/lease.h"
#include "support/catch.h"
#include "unit/kinds/example.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::cluster;
using namespace trainstep::kube::test;
using Catch::Matchers::Contains;

namespace {

struct Kept {
  Harness h;
  plan::Plan plan = kinds::test::example("Job", 1);
  Facts facts;
  std::function<Reply()> patched = [] { return Reply::text("{}"); };
  std::optional<Error> left;  // that it could not be taken up for good
  std::vector<std::string> told, sent;
  std::optional<Time> kept, failed, gone;
  Time begun;
  std::unique_ptr<ClusterBackend> backend;

  Kept() {
    facts.pod = "step-1";
    facts.retry = Retry::may_follow;
  }
  void follow() {
    h.server.serve([this](const FakeTransport::Asked& asked) {
      if (!asked.request.url.path.ends_with(plan.job_name)) return Reply{.end = Reply::End::open};
      sent.push_back(asked.request.method);
      if (asked.request.method == "PATCH") return patched();
      return Reply::text(to_text(job()));
    });
    backend =
        std::make_unique<ClusterBackend>(*h.client, plan, facts, "ns", "attempt", Submitted{kinds::find("Job").resources.front(), job(), true, left});
    backend->prepare([this](const follow::Event& event) {
      if (const auto* line = std::get_if<follow::Told>(&event.what)) told.push_back(line->text);
      if (std::holds_alternative<follow::JobKept>(event.what)) kept = event.at;
      if (std::holds_alternative<follow::JobGone>(event.what)) gone = event.at;
      if (std::holds_alternative<follow::BackendFailed>(event.what)) {
        failed = event.at;
        if (!gone && !removing) {  // as the machine does
          removing = true;
          backend->remove_job({true});
        }
      }
    });
    h.loop.run(1s);
    begun = h.loop.now();
  }
  void keep() {
    follow();
    backend->dies_at(begun + 20s);
    backend->keep_job({});
    h.loop.run(2min);
  }
  [[nodiscard]] Json job() const {
    return {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", {{"name", plan.job_name}, {"uid", "u"}, {"resourceVersion", "5"}}}};
  }
  [[nodiscard]] bool sent_a(const std::string& method) const { return std::ranges::find(sent, method) != sent.end(); }
  bool removing = false;
};

}  // namespace

TEST_CASE_METHOD(Kept, "a job that gets its deadline is kept") {
  int tries = 0;
  SECTION("at once") {}
  SECTION("after some odd answers") {
    patched = [&] { return ++tries < 3 ? refusal(GENERATE(410, 422, 500), "Gone", "no") : Reply::text("{}"); };
  }
  keep();
  REQUIRE(kept);
  CHECK(*kept - begun < 5s);
  CHECK_FALSE(sent_a("DELETE"));
  CHECK_THAT(told.back(), Contains("the job ends"));
}

TEST_CASE_METHOD(Kept, "a job that cannot be given a deadline in half of the time that is left is deleted in the other") {
  SECTION("no answer") {
    patched = [] { return Reply::silent(); };
  }
  SECTION("a server that fails") {
    patched = [] { return refusal(500, "InternalError", "no"); };
  }
  SECTION("no right to it") {
    patched = [] { return refusal(403, "Forbidden", R"(User "x" cannot patch resource)"); };
  }
  keep();
  CHECK_FALSE(kept);
  REQUIRE(failed);
  CHECK(*failed - begun < 11s);
  CHECK(sent_a("DELETE"));
  REQUIRE(gone);
  CHECK(*gone - begun < 11s);
}

TEST_CASE_METHOD(Kept, "for an attempt that surely follows a job is kept without a deadline, too, and that is told") {
  facts.retry = Retry::follows;
  patched = [] { return Reply::silent(); };
  keep();
  REQUIRE(kept);
  CHECK(*kept - begun < 11s);
  CHECK_FALSE(sent_a("DELETE"));
  CHECK(told.back() == "the job has no deadline: no answer in the time that is left");
}

TEST_CASE_METHOD(Kept, "before SIGKILL all is done or given up") {
  follow();
  h.server.serve([](const FakeTransport::Asked&) { return Reply::silent(); });
  backend->dies_at(begun + 20s);
  backend->keep_job({});
  h.loop.run(2min);
  CHECK_FALSE(kept);
  REQUIRE(failed);
  CHECK(*failed - begun > 15s);
  CHECK(*failed - begun < 20s);
}

TEST_CASE_METHOD(Kept, "the deadline of a job that is followed is taken away as soon as it can be") {
  left = Error{ErrorKind::unavailable, "patch jobs/x: no"};
  int tries = 0;
  patched = [&] { return ++tries < 3 ? refusal(500, "InternalError", "no") : Reply::text("{}"); };
  follow();
  CHECK_THAT(told.back(), Contains("trying again every minute: patch jobs/x: no"));
  h.loop.run(10min);
  CHECK(tries == 3);
  CHECK(told.back() == "the deadline that the attempt before has left the job with is taken away");
}
