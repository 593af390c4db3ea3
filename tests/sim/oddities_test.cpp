// SPDX-License-Identifier: Apache-2.0
#include "sim/oddities.h"

#include "job_types/job_type.h"
#include "sim/operators.h"
#include "sim/past.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::sim;
using State = job_types::Judgement::State;

TEST_CASE("sim past: a stale read returns the state of an earlier moment") {
  SimLoop loop;
  Store store(loop, Random(1));
  const auto& pods = store.serve({"v1", "pods", "Pod"});
  const auto make = [&](const std::string& name) { return store.create(pods, {{"metadata", {{"name", name}, {"namespace", "lab"}}}}); };
  const auto names = [&](Duration ago) {
    std::string all;
    for (const auto& object : Past(store, loop.now() - ago).list(pods, "lab")) all += object->name();
    return all;
  };
  make("a");
  const auto b = make("b");
  loop.run_for(Duration{1'000});
  store.update(b->uid(), [](Json& changed) { changed["status"]["phase"] = "Running"; });
  loop.run_for(Duration{1'000});
  store.remove(b);
  make("c");
  CHECK(names(Duration{0}) == "ac");
  CHECK(names(Duration{500}) == "ab");
  CHECK(names(Duration{60'000}).empty());
  const Past before(store, loop.now() - Duration{1'500});
  CHECK(text_at(before.find(pods, "lab", "b")->object, {"status", "phase"}).empty());
  CHECK(before.find(pods, "lab", "c") == nullptr);
  CHECK(before.number() < store.number());
}

TEST_CASE("sim strange status: fields about the end of a job are kept, in any order") {
  const auto end = GENERATE("Succeeded", "Failed", "Complete");
  const auto kind = std::string(end) == "Complete" ? "Job" : "PyTorch";
  Json job = {{"apiVersion", "kubeflow.org/v1"}, {"status", Json::object()}};
  set_operator_condition(job["status"], "Created", true, "Created", "", "2026-11-21T08:15:10Z");
  set_operator_condition(job["status"], "Running", true, "Running", "", "2026-11-21T08:15:20Z");
  const auto running = job;
  set_operator_condition(job["status"], end, true, "Ended", "", "2026-11-21T08:15:30Z");
  const auto& judge = job_types::find(kind).judge;
  int both = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    auto strange = job, strange_running = running;
    make_strange(strange, Random(seed), false);
    make_strange(strange_running, Random(seed), false);
    CHECK(judge(strange).state == judge(job).state);
    CHECK(judge(strange).reason == judge(job).reason);
    CHECK(judge(strange_running).state != State::failed);
    CHECK(judge(strange_running).state != State::succeeded);
    make_strange(strange = job, Random(seed), true);
    if (judge(strange).state == State::succeeded && judge(strange).reason == "SucceededAndFailed") ++both;
  }
  CHECK(both > 100);
}
