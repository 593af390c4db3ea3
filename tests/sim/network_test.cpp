// SPDX-License-Identifier: Apache-2.0
#include "sim/network.h"

#include "sim/small_client.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::sim;

namespace {

const std::string jobs = "/apis/batch/v1/namespaces/lab/jobs";
const Json train = {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", {{"name", "train"}}}};

struct Line {
  SimLoop loop;
  Store store{loop, Random(1)};
  Collector collector{store, Random(2)};
  PodLogs logs;
  ApiServer server{store, logs, collector, {}};
  Trace trace{loop, true};
  Network network;
  SmallClient client{network};

  explicit Line(const Faults& faults) : network(loop, server, trace, Random(3), faults) { store.serve({"batch/v1", "jobs", "Job"}); }
  std::shared_ptr<Heard> create() {
    auto heard = client.ask("POST", jobs, train);
    loop.run_for(Duration{60'000});
    return heard;
  }
};

}  // namespace

TEST_CASE("sim network: a reply is lost after the effect, a request before it") {
  Line after({.lost_reply = 1});
  CHECK(after.create()->error->kind == ErrorKind::unavailable);
  CHECK(after.store.size() == 1);
  Line before({.lost_request = 1});
  CHECK(before.create()->error->kind == ErrorKind::unavailable);
  CHECK(before.store.size() == 0);
}

TEST_CASE("sim network: silence ends by the client's own limits only") {
  Line line({.swallowed = 1});
  line.client.limit = Duration{30'000};
  const auto limited = line.client.ask("GET", jobs);
  line.client.limit.reset();
  line.client.silence = Duration{45'000};
  const auto silent = line.client.ask("GET", jobs);
  line.loop.run_for(Duration{29'000});
  CHECK_FALSE(limited->done);
  line.loop.run_for(Duration{2'000});
  CHECK(limited->error->kind == ErrorKind::timeout);
  CHECK_FALSE(silent->done);
  line.loop.run_for(Duration{20'000});
  CHECK(silent->error->kind == ErrorKind::unavailable);
}

TEST_CASE("sim network: a busy server answers 429 with Retry-After, a gateway 504 though it was done") {
  Line busy({.too_many = 1});
  CHECK(busy.create()->code == 429);
  CHECK(busy.store.size() == 0);
  Line gateway({.gateway = 1});
  CHECK(gateway.create()->code == 504);
  CHECK(gateway.store.size() == 1);
}

TEST_CASE("sim network: streams are cut anywhere, and arrive in order otherwise") {
  Line line({.cut = 1});
  int cut_short = 0;
  for (int i = 0; i < 20; ++i) {
    const auto watch = line.client.ask("GET", jobs + "?watch=true&timeoutSeconds=3000&resourceVersion=" + std::to_string(line.store.number()));
    for (int j = 0; j < 200; ++j) {
      auto object = train;
      object["metadata"]["namespace"] = "lab";
      object["metadata"]["name"] = "j" + std::to_string(i * 1000 + j);
      line.store.create(line.store.resources().front(), object);
      line.loop.run_for(Duration{20});
    }
    line.loop.run_for(Duration{100});
    if (watch->error && !watch->text.empty() && watch->text.back() != '\n') ++cut_short;
  }
  CHECK(cut_short > 5);
}

TEST_CASE("sim network: an outage refuses, swallows or answers 503, and breaks what was open") {
  for (const auto sort : {Outage::Sort::refused, Outage::Sort::silent, Outage::Sort::unavailable}) {
    Line line({});
    line.client.silence = Duration{100'000};
    const auto watch = line.client.ask("GET", jobs + "?watch=true&timeoutSeconds=3000");
    const auto begin = line.loop.now() + Duration{1'000};
    line.network.add_outage({begin, begin + Duration{100'000}, sort});
    line.loop.run_for(Duration{2'000});
    CHECK(watch->done == (sort != Outage::Sort::silent));
    const auto asked_then = line.client.ask("GET", jobs);
    line.loop.run_for(Duration{11'000});
    CHECK(asked_then->done);
    CHECK((sort == Outage::Sort::unavailable ? asked_then->code == 503 : asked_then->error.has_value()));
    line.loop.run_for(Duration{100'000});
    CHECK(watch->done);
    const auto asked_later = line.client.ask("GET", jobs);
    line.loop.run_for(Duration{1'000});
    CHECK(asked_later->code == 200);
  }
}

TEST_CASE("sim network: a killed step receives nothing more, but what it sent arrives") {
  for (const auto hook : {Network::Hook::die_before_send, Network::Hook::die_after_effect}) {
    Line line({});
    line.network.on_call([hook](int number, const http::Request&) { return number == 2 ? hook : Network::Hook::go; },
                         [&line] { line.network.kill(); });
    const auto first = line.client.ask("GET", jobs);
    line.loop.run_for(Duration{1'000});
    CHECK(first->code == 200);
    const auto second = line.create();
    CHECK_FALSE(second->done);
    CHECK(line.store.size() == (hook == Network::Hook::die_after_effect ? 1 : 0));
    line.network.revive();
    CHECK(line.create()->done);
    CHECK(line.store.size() == 1);
  }
}

TEST_CASE("sim network: the same seed gives the same trace") {
  const auto trace = [] {
    Line line({.slow = 0.2, .lost_reply = 0.1, .cut = 0.1, .server_error = 0.1});
    for (int i = 0; i < 50; ++i) line.client.ask("GET", jobs);
    line.loop.run_for(Duration{60'000});
    return line.trace.text();
  };
  CHECK(trace() == trace());
  CHECK(trace().find("reset") != std::string::npos);
}
