// Checkpoints to the job's prefix and back, on virtual time.
// SPDX-License-Identifier: Apache-2.0
#include "agent/checkpoints.h"

#include <string>
#include <vector>

#include "support/catch.h"
#include "unit/staging/store_of_pod.h"

using namespace trainstep;
using namespace trainstep::agent;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using staging::test::FakeTransport;
using staging::test::Reply;
using Texts = std::vector<std::string>;

namespace {

// The store's virtual loop, for linear code; it goes on in steps of 10 ms, and for ten minutes at most.
class Running : public RunningLoop {
 public:
  explicit Running(test::VirtualLoop& loop) : m_loop(loop) {}
  [[nodiscard]] Time now() const override { return m_loop.now(); }
  TimerId after(Duration delay, std::function<void()> done) override { return m_loop.after(delay, std::move(done)); }
  void cancel(TimerId timer) override { m_loop.cancel(timer); }
  void post(std::function<void()> task) override { m_loop.post(std::move(task)); }
  void run() override {
    const auto end = now() + 10min;
    for (m_stopped = false; !m_stopped && now() < end;) advance(10ms);
  }
  void stop() override { m_stopped = true; }
  void advance(Duration time) {
    m_loop.after(time, [] {});
    m_loop.run(time);
  }

 private:
  test::VirtualLoop& m_loop;
  bool m_stopped = false;
};

struct Checkpoints : staging::test::StoreOfPod {
  Running running{loop};
  plan::TaskCheckpoints checkpoints{in_pod("saved"), {"s3://bkt/jobs/job/checkpoints", 0, ""}};
  Texts told;
  Tell tell = [this](const std::string& line) { told.push_back(line); };

  void save(const std::string& name, const std::string& text) { write(in_pod("saved/" + name), text); }
  Result<void> restore() { return restore_checkpoints(running, *stores, checkpoints, tell); }
  [[nodiscard]] Texts sent() const {
    Texts names;
    for (const auto& asked : transport.asked())
      if (asked.request.method == "PUT") names.push_back(asked.request.url.path.substr(asked.request.url.path.rfind('/') + 1));
    return names;
  }
};

constexpr auto in_bucket = "jobs/job/checkpoints/";

}  // namespace

TEST_CASE_METHOD(Checkpoints, "what an earlier attempt has saved comes back into its folder") {
  objects = {{"jobs/job/checkpoints/1", "one"}, {"jobs/job/checkpoints/sub/2", "two"}, {"jobs/job/checkpoints-of-another", "x"}};
  CHECK_FALSE(has_checkpoints(checkpoints));
  REQUIRE(restore());
  CHECK(read(in_pod("saved/1")) == "one");
  CHECK(read(in_pod("saved/sub/2")) == "two");
  CHECK(has_checkpoints(checkpoints));
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("checkpoints of an earlier attempt: 2 files"));
}

TEST_CASE_METHOD(Checkpoints, "the first attempt finds none, which is no error and no news") {
  REQUIRE(restore());
  CHECK(told.empty());
  CHECK_FALSE(has_checkpoints(checkpoints));
}

TEST_CASE_METHOD(Checkpoints, "an empty folder has no checkpoints") {
  std::filesystem::create_directories(checkpoints.path);
  CHECK_FALSE(has_checkpoints(checkpoints));
  save("1", "one");
  CHECK(has_checkpoints(checkpoints));
}

TEST_CASE_METHOD(Checkpoints, "a training does not begin anew because its checkpoints may not be read: that is an error") {
  objects["jobs/job/checkpoints/1"] = "one";
  refuse("GET", 403, "AccessDenied");
  const auto restored = restore();
  REQUIRE_FALSE(restored);
  CHECK(restored.error().kind == ErrorKind::denied);
}

TEST_CASE_METHOD(Checkpoints, "each look brings what is new or has changed, and nothing twice") {
  const CheckpointSync sync(running, *stores, checkpoints, tell, 15s);
  running.advance(14s);
  CHECK(transport.asked().empty());
  running.advance(2s);
  CHECK(transport.asked().empty());  // there is no folder yet
  save("1", "one");
  save("log", "a");
  running.advance(15s);
  CHECK(objects == std::map<std::string, std::string>{{"jobs/job/checkpoints/1", "one"}, {"jobs/job/checkpoints/log", "a"}});
  save("2", "two");
  save("log", "a longer one");
  running.advance(15s);
  CHECK(objects["jobs/job/checkpoints/log"] == "a longer one");
  running.advance(60s);
  auto names = sent();
  std::ranges::sort(names);
  CHECK(names == Texts{"1", "2", "log", "log"});
  CHECK(told.empty());
}

TEST_CASE_METHOD(Checkpoints, "a checkpoint that the store refuses holds up no other, and is tried again at the next look") {
  save("1", "one");
  save("2", "two");
  refuse("PUT /bkt/jobs/job/checkpoints/1", 403, "AccessDenied", 2);  // a refusal is tried once more with keys read anew
  const CheckpointSync sync(running, *stores, checkpoints, tell, 15s);
  running.advance(16s);
  CHECK_FALSE(objects.contains("jobs/job/checkpoints/1"));
  CHECK(objects["jobs/job/checkpoints/2"] == "two");
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("checkpoints: ") && Contains("AccessDenied"));
  running.advance(15s);
  CHECK(objects["jobs/job/checkpoints/1"] == "one");
  CHECK(told.size() == 1);
}

TEST_CASE_METHOD(Checkpoints, "the last look does not wait for its time, and ends when all is there") {
  CheckpointSync sync(running, *stores, checkpoints, tell, 15s);
  save("1", "one");
  const auto began = running.now();
  sync.finish(60s);
  CHECK(objects[std::string(in_bucket) + "1"] == "one");
  CHECK(running.now() - began < 1s);
}

TEST_CASE_METHOD(Checkpoints, "the last look sends again what was on its way when the program ended") {
  save("1", "one");
  auto slow = Reply::silent();
  fault = [&, first = true](const FakeTransport::Asked&) mutable { return std::exchange(first, false) ? std::optional(slow) : std::nullopt; };
  CheckpointSync sync(running, *stores, checkpoints, tell, 15s);
  running.advance(16s);
  CHECK(objects.empty());
  save("1", "newer one");
  sync.finish(60s);
  CHECK(objects[std::string(in_bucket) + "1"] == "newer one");
}

TEST_CASE_METHOD(Checkpoints, "a store that is silent takes the limit of the last look and no longer") {
  save("1", "one");
  fault = [](const FakeTransport::Asked&) { return std::optional(Reply::silent()); };
  CheckpointSync sync(running, *stores, checkpoints, tell, 15s);
  const auto began = running.now();
  sync.finish(60s);
  CHECK(running.now() - began >= 60s);
  CHECK(running.now() - began < 61s);
}

TEST_CASE_METHOD(Checkpoints, "with the sync its looking ends") {
  {
    const CheckpointSync sync(running, *stores, checkpoints, tell, 15s);
    running.advance(16s);
  }
  save("1", "one");
  running.advance(60s);
  CHECK(transport.asked().empty());
}
