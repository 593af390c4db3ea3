// Long runs of the whole step: servers that close watches, compact their history and refuse connections; days of virtual time.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <functional>
#include <map>

#include "sim/real_step.h"
#include "sim/world.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::sim;
using namespace std::chrono_literals;

namespace {

ScenarioOverrides quiet(const std::string& kind, Duration length) {
  return {.kind = kind, .script = Script::succeeds, .step_script = StepScript::lives, .calm = true, .length = length};
}

// An unrelated object changes every second, and older versions are compacted at once: a client that reconnects gets 410.
void forget_everything(World& world) {
  auto& store = world.cluster().store;
  const auto neighbour = store.create(*store.resource("v1", "pods"), {{"apiVersion", "v1"},
                                                                      {"kind", "Pod"},
                                                                      {"metadata", {{"name", "neighbour"}, {"namespace", "elsewhere"}}},
                                                                      {"spec", {{"nodeName", "node-7"}, {"containers", {{{"name", "main"}}}}}}});
  const auto turn = std::make_shared<std::function<void()>>();
  *turn = [&world, &store, weak = std::weak_ptr(turn), uid = std::string(neighbour->uid()), number = 0]() mutable {
    store.update(uid, [&](Json& changed) { changed["metadata"]["annotations"]["turn"] = std::to_string(++number); });
    store.compact(store.number());
    world.loop().after(Duration(1s), [again = weak.lock()] { (*again)(); });
  };
  (*turn)();
}

int count(const World& world, const std::string& what) {
  int result = 0;
  for (const auto& request : world.network().requests()) result += request.what == what ? 1 : 0;
  return result;
}

// The largest number of requests in any hour between `from` and `to`.
int max_in_an_hour(const World& world, Time from, Time to) {
  std::map<std::int64_t, int> hours;
  for (const auto& request : world.network().requests())
    if (request.at >= from && request.at < to) ++hours[(request.at - from) / 1h];
  int most = 0;
  for (const auto& [hour, requests] : hours) most = std::max(most, requests);
  return most;
}

}  // namespace

TEST_CASE("sim endurance: watches that are closed every second, 410 on each reconnect and a new token every minute, for an hour") {
  for (const auto* kind : {"Job", "PyTorch"}) {
    auto overrides = quiet(kind, Duration(1h));
    overrides.token_life = Duration(60s);
    World world(11, {.overrides = overrides});
    world.cluster().server.options().max_watch_time = Duration(1s);
    forget_everything(world);
    INFO(kind);
    CHECK(world.run(real_step) == std::vector<std::string>{});
    CHECK(world.jobs().size() == 1);
    REQUIRE(world.lives().size() == 1);
    CHECK(world.lives()[0].verdict->verdict_class == result::VerdictClass::succeeded);
    const auto jobs = std::string(kind) == "Job" ? "GET jobs" : "GET pytorchjobs";
    CHECK(count(world, jobs) > 60);  // it got 410 and listed again
    CHECK(count(world, std::string(jobs) + " watch") > 60);
  }
}

TEST_CASE("sim endurance: seven days, one of them without an API server; at most 12 requests in a quiet hour") {
  for (const auto* kind : {"Job", "PyTorch", "MPI"}) {
    World world(12, {.overrides = quiet(kind, Duration(24h * 7))});
    const auto began = world.loop().now();
    const auto away = Outage{began + 48h, began + 72h, Outage::Sort::refused};
    world.network().add_outage(away);
    INFO(kind);
    CHECK(world.run(real_step) == std::vector<std::string>{});
    CHECK(world.jobs().size() == 1);
    REQUIRE(world.lives().size() == 1);
    CHECK(world.lives()[0].verdict->verdict_class == result::VerdictClass::succeeded);
    CHECK(max_in_an_hour(world, began + 1h, away.from) <= 12);
    CHECK(max_in_an_hour(world, away.to + 1h, began + 24h * 7 - 1h) <= 12);
    CHECK(max_in_an_hour(world, began + 1h, away.from) > 0);
  }
}
