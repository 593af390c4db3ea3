// The whole step where it has to endure: servers that close, forget and refuse, and time.
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

Wishes quiet(const std::string& kind, Duration length) {
  return {.kind = kind, .fate = Fate::succeeds, .step_fate = StepFate::lives, .calm = true, .length = length};
}

// Something else in the cluster changes every second, and what was before is forgotten at once: a reconnecting client gets 410.
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

// The most requests in any hour from `from` on, as long as the training goes on.
int most_in_an_hour(const World& world, Time from, Time to) {
  std::map<std::int64_t, int> hours;
  for (const auto& request : world.network().requests())
    if (request.at >= from && request.at < to) ++hours[(request.at - from) / 1h];
  int most = 0;
  for (const auto& [hour, requests] : hours) most = std::max(most, requests);
  return most;
}

}  // namespace

TEST_CASE("sim endurance: watches that are closed every second, 410 on each return and a new token every minute, for an hour") {
  for (const auto* kind : {"Job", "PyTorch"}) {
    auto wishes = quiet(kind, Duration(1h));
    wishes.token_life = Duration(60s);
    World world(11, {.wishes = wishes});
    world.cluster().server.options().longest_watch = Duration(1s);
    forget_everything(world);
    INFO(kind);
    CHECK(world.run(real_step) == std::vector<std::string>{});
    CHECK(world.jobs().size() == 1);
    REQUIRE(world.lives().size() == 1);
    CHECK(world.lives()[0].verdict->verdict_class == result::VerdictClass::succeeded);
    const auto jobs = std::string(kind) == "Job" ? "GET jobs" : "GET pytorchjobs";
    CHECK(count(world, jobs) > 60);  // it was told 410, and listed
    CHECK(count(world, std::string(jobs) + " watch") > 60);
  }
}

TEST_CASE("sim endurance: seven days, one of them without an API server; a quiet hour costs at most 12 requests") {
  for (const auto* kind : {"Job", "PyTorch", "MPI"}) {
    World world(12, {.wishes = quiet(kind, Duration(24h * 7))});
    const auto began = world.loop().now();
    const auto away = Outage{began + 48h, began + 72h, Outage::Sort::refused};
    world.network().add_outage(away);
    INFO(kind);
    CHECK(world.run(real_step) == std::vector<std::string>{});
    CHECK(world.jobs().size() == 1);
    REQUIRE(world.lives().size() == 1);
    CHECK(world.lives()[0].verdict->verdict_class == result::VerdictClass::succeeded);
    CHECK(most_in_an_hour(world, began + 1h, away.from) <= 12);
    CHECK(most_in_an_hour(world, away.to + 1h, began + 24h * 7 - 1h) <= 12);
    CHECK(most_in_an_hour(world, began + 1h, away.from) > 0);
  }
}
