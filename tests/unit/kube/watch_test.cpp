// SPDX-License-Identifier: Apache-2.0
#include "kube/watch.h"

#include "kube/version.h"
#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::kube;
using namespace trainstep::kube::test;

namespace {

Json pod(const std::string& name, const std::string& version) {
  return {{"kind", "Pod"}, {"apiVersion", "v1"}, {"metadata", {{"name", name}, {"resourceVersion", version}}}};
}

std::string event(const std::string& type, const Json& object) { return to_text(Json{{"type", type}, {"object", object}}) + "\n"; }

Reply list(const std::vector<Json>& items, const std::string& version) {
  return Reply::text(to_text(Json{{"kind", "PodList"}, {"apiVersion", "v1"}, {"metadata", {{"resourceVersion", version}}}, {"items", items}}));
}

Reply events(std::string bytes, Reply::End end) { return {.pieces = {{0ms, std::move(bytes)}}, .end = end}; }
Reply open(std::string bytes = "") { return events(std::move(bytes), Reply::End::open); }

std::string name_of(const Json& object) {
  return object.at("metadata").at("name").get<std::string>() + "@" + object.at("metadata").at("resourceVersion").get<std::string>();
}

// Everything that was told, as words.
struct Watcher {
  Harness h;
  WatchOptions options{.path = {"v1", "pods", "ns", "", ""}};
  std::vector<std::string> told;
  std::optional<ApiError> error;
  std::unique_ptr<Watch> watch;
  void begin() {
    watch = std::make_unique<Watch>(*h.client, options,
                                    Watch::Sink{.synced =
                                                    [this](const std::vector<Json>& items) {
                                                      std::string all = "=";
                                                      for (const auto& item : items) all += " " + name_of(item);
                                                      told.push_back(all);
                                                    },
                                                .changed = [this](const Json& object) { told.push_back("+ " + name_of(object)); },
                                                .deleted = [this](const Json& object) { told.push_back("- " + name_of(object)); },
                                                .failed =
                                                    [this](ApiError why) {
                                                      error = std::move(why);
                                                      told.push_back("failed");
                                                    }});
  }
  // Which request was made: "list", or "watch 7" from version 7.
  [[nodiscard]] std::vector<std::string> asked() const {
    std::vector<std::string> result;
    for (const auto& asked : h.server.asked()) result.push_back(asked.query("watch") == "true" ? "watch " + asked.query("resourceVersion") : "list");
    return result;
  }
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a watch lists, then reports changes from there on") {
  Watcher w;
  w.options.label_selector = "run=1";
  w.options.field_selector = "metadata.name=x";
  w.h.server.reply(list({pod("a", "3"), pod("b", "5")}, "7"));
  w.h.server.reply(open(event("MODIFIED", pod("a", "8")) + "\n" + event("BOOKMARK", pod("", "9")) + event("ADDED", pod("c", "10")) +
                        event("DELETED", pod("b", "11")) + event("SOMETHING", pod("d", "12"))));
  w.begin();
  CHECK_FALSE(w.watch->synced());
  CHECK_FALSE(w.watch->heard());
  CHECK(w.told.empty());
  w.h.loop.run(60s);
  CHECK(w.told == Words{"= a@3 b@5", "+ a@8", "+ c@10", "- b@11"});
  CHECK(w.watch->synced());
  CHECK(w.watch->heard());
  REQUIRE(w.h.server.asked().size() == 2);
  CHECK(w.h.server.asked()[0].line() == "GET /base/api/v1/namespaces/ns/pods labelSelector=run=1&fieldSelector=metadata.name=x&limit=50");
  const auto& asked = w.h.server.asked()[1];
  CHECK(asked.line() ==
        "GET /base/api/v1/namespaces/ns/pods labelSelector=run=1&fieldSelector=metadata.name=x&watch=true&allowWatchBookmarks=true"
        "&timeoutSeconds=1800&resourceVersion=7");
  CHECK(asked.header("Accept") == "application/json");
  CHECK(asked.request.silence == Duration(1860s));
}

TEST_CASE("a repeated event is not a second deletion") {
  Watcher w;
  const auto twice = [](const std::string& line) { return line + line; };
  w.h.server.reply(list({pod("a", "3"), pod("b", "5")}, "7"));
  w.h.server.reply(open(twice(event("MODIFIED", pod("a", "8"))) + twice(event("DELETED", pod("a", "9"))) + twice(event("DELETED", pod("b", "10"))) +
                        twice(event("ADDED", pod("a", "11"))) + twice(event("DELETED", pod("a", "12")))));
  w.begin();
  w.h.loop.run(60s);
  CHECK(w.told == Words{"= a@3 b@5", "+ a@8", "+ a@8", "- a@9", "- b@10", "+ a@11", "+ a@11", "- a@12"});
}

TEST_CASE("metadata is enough where only that is asked for") {
  Watcher w;
  w.options.metadata_only = true;
  w.options.trim = [](Json& object) { object["metadata"]["name"] = "x"; };
  w.h.server.reply(list({pod("a", "3")}, "7"));
  w.h.server.reply(open(event("ADDED", pod("b", "8"))));
  w.begin();
  w.h.loop.run(60s);
  CHECK(w.told == Words{"= x@3", "+ x@8"});
  CHECK(w.h.server.asked()[0].header("Accept").find("as=PartialObjectMetadataList;") != std::string::npos);
  CHECK(w.h.server.asked()[1].header("Accept").find("as=PartialObjectMetadata;") != std::string::npos);
}

TEST_CASE("how a connection ends decides where the next one begins") {
  const auto first = event("ADDED", pod("a", "8"));
  const Json expired{{"kind", "Status"}, {"code", 410}, {"reason", "Expired"}, {"message", "too old"}};
  const Json busy{{"kind", "Status"}, {"code", 429}, {"message", "slow down"}, {"details", {{"retryAfterSeconds", 9}}}};
  const Json strange{{"kind", "Status"}, {"code", 400}, {"message", "what?"}};
  struct Case {
    std::string name;
    Reply reply;
    std::string next;
    Duration pause = 0ms;
  };
  const Case cases[] = {
      {"closed", events(first, Reply::End::whole), "watch 8"},
      {"closed after a bookmark", events(first + event("BOOKMARK", pod("", "20")), Reply::End::whole), "watch 20"},
      {"cut", events(first, Reply::End::cut), "watch 8"},
      {"cut in a line", events(first + event("ADDED", pod("b", "9")).substr(0, 40), Reply::End::cut), "watch 8"},
      {"closed in a line", events(first + event("ADDED", pod("b", "9")).substr(0, 40), Reply::End::whole), "watch 8"},
      {"broken line", open(first + "{\"type\": \"ADD\n" + event("ADDED", pod("b", "9"))), "watch 8"},
      {"line without object",
       open(first + R"({"type": "ADDED"})"
                    "\n"),
       "watch 8"},
      {"silent", open(first), "watch 8", 1860s},
      {"expired", open(first + event("ERROR", expired) + event("ADDED", pod("b", "9"))), "list"},
      {"slow down", open(first + event("ERROR", busy)), "watch 8", 9s},
      {"strange error", open(first + event("ERROR", strange)), "list"},
      {"410", refusal(410, "Expired", "too old"), "list"},
      {"400", refusal(400, "BadRequest", "invalid resource version"), "list"},
      {"503", {.status = 503, .headers = {{"Retry-After", "5"}}}, "watch 7", 5s},
      {"401", Reply::text("", 401), "watch 7"},
      {"no answer", Reply::lost(), "watch 7"},
  };
  for (const auto& row : cases) {
    INFO(row.name);
    Watcher w;
    // A first watch, so that a refusal is not one from the beginning.
    w.h.server.reply(list({}, "6"));
    w.h.server.reply(events(event("ADDED", pod("z", "7")), Reply::End::whole));
    w.h.server.reply(row.reply);
    w.h.server.serve([](const auto& asked) { return asked.query("watch") == "true" ? open(event("ADDED", pod("c", "40"))) : list({}, "30"); });
    w.begin();
    w.h.loop.run(row.pause + 3s);
    const auto asked = w.asked();
    REQUIRE(asked.size() == (row.next == "list" ? 5 : 4));
    CHECK(asked[3] == row.next);
    CHECK(w.told.back() == "+ c@40");
    CHECK(w.h.server.asked()[3].at - w.h.server.asked()[2].at >= row.pause);
    CHECK(w.h.server.open() == 1);
    CHECK_FALSE(w.error);
    for (const auto& word : w.told) CHECK(word != "+ b@9");
  }
}

TEST_CASE("the first list is waited for without a limit; an empty list has no version") {
  Watcher w;
  const auto begin = w.h.loop.now();
  w.h.server.serve([&](const auto& asked) {
    if (asked.at - begin < 24h) return Reply::text("", 503);
    return asked.query("watch") == "true" ? open() : list({}, "");
  });
  w.begin();
  w.h.loop.run(24h + 60s);
  CHECK(w.told == Words{"="});
  CHECK(w.asked().back() == "watch ");
}

TEST_CASE("a token that expires whenever a watch begins, without one that was ever answered, is waited for: the list was") {
  Watcher w;
  w.h.server.reply(list({}, "7"));
  for (int i = 0; i < 4; ++i) {
    w.h.server.reply(Reply::text("", 401));
    w.h.server.reply(Reply::lost());
  }
  w.h.server.serve([](const auto&) { return open(event("ADDED", pod("c", "40"))); });
  w.begin();
  w.h.loop.run(120s);
  CHECK(!w.error);
  CHECK(w.asked().size() == 10);
}

TEST_CASE("an odd answer before the first watch is asked again, a refusal where there must be one") {
  for (const auto status : {400, 403, 404, 409}) {
    INFO(status);
    Watcher w;
    w.options.needed = true;
    w.h.server.reply(Reply::text("<html>no such page</html>", status));
    w.h.server.reply(list({pod("a", "3")}, "7"));
    w.h.server.reply(Reply::text("", status));
    w.h.server.reply(list({pod("a", "3")}, "7"));
    w.h.server.reply(open(event("MODIFIED", pod("a", "8"))));
    w.begin();
    w.h.loop.run(60s);
    CHECK_FALSE(w.error);
    CHECK(w.told.back() == "+ a@8");
  }
}

TEST_CASE("a refusal of what another process has followed until now is believed late") {
  for (const auto status : {302, 400, 403, 404}) {
    INFO(status);
    Watcher w;
    w.options.followed = true;
    for (int refusals = 0; refusals < 12; ++refusals) w.h.server.reply(Reply::text("", status));
    w.h.server.reply(list({pod("a", "3")}, "7"));
    w.h.server.reply(open(event("MODIFIED", pod("a", "8"))));
    w.begin();
    w.h.loop.run(200s);
    CHECK_FALSE(w.error);
    REQUIRE_FALSE(w.told.empty());
    CHECK(w.told.back() == "+ a@8");
  }
}

TEST_CASE("permanent errors are reported soon before the first watch, and late after it") {
  for (const auto status : {400, 401, 403, 404, 405}) {
    INFO(status);
    {
      Watcher w;
      w.h.server.serve([&](const auto&) { return Reply::text("", status); });
      w.begin();
      w.h.loop.run();
      REQUIRE(w.error);
      CHECK(w.error->status == status);
      CHECK(w.h.server.asked().size() <= (status == 403 ? 1 : 7));
    }
    {
      Watcher w;
      w.h.server.reply(list({}, "7"));
      w.h.server.serve([&](const auto&) { return Reply::text("", status); });
      w.begin();
      w.h.loop.run(status == 401 ? 1h : 60s);  // who is let in once may have a token that has expired since
      REQUIRE(w.error);                        // for instance: may list, may not watch
      CHECK_THAT(w.error->error.message, Catch::Matchers::Contains(" pods: HTTP"));
    }
    {
      Watcher w;
      w.h.server.reply(list({}, "7"));
      w.h.server.reply(events(event("BOOKMARK", pod("", "7")), Reply::End::whole));
      w.h.server.serve([&](const auto&) { return Reply::text("", status); });
      const auto begin = w.h.loop.now();
      w.begin();
      w.h.loop.run(60s);
      CHECK_FALSE(w.error);
      w.h.loop.run(1h);
      REQUIRE(w.error);
      CHECK(w.told == Words{"=", "failed"});
      CHECK(w.h.server.asked().back().at - begin > 180s);
      CHECK(w.h.server.asked().size() < 60);
    }
  }
}

TEST_CASE("a server that closes every second for hours is asked ever more rarely while nothing happens") {
  Watcher w;
  w.h.server.reply(list({}, "7"));
  w.h.server.serve([](const auto&) { return Reply{.end_after = 1s}; });
  w.begin();
  w.h.loop.run(3h);
  CHECK(w.h.server.asked().size() < 3 * 3600 / 10);
  CHECK(w.h.server.asked().size() > 3 * 3600 / 40);
  for (const auto& word : w.told) CHECK(word == "=");
}

TEST_CASE("a server that closes after a bookmark of a new version, for hours, is asked ever more rarely") {
  Watcher w;
  int version = 7;
  w.h.server.reply(list({}, "7"));
  w.h.server.serve([&](const auto& asked) {
    const auto at = std::to_string(++version);
    return asked.query("watch") == "true" ? events(event("BOOKMARK", pod("", at)), Reply::End::whole) : list({}, at);
  });
  w.begin();
  w.h.loop.run(3h);
  CHECK(w.h.server.asked().size() < 3 * 3600 / 10);
  CHECK(w.h.server.asked().size() > 3 * 3600 / 40);
}

TEST_CASE("connections that end without an event cause a new list, as they may drop events") {
  const auto lives = GENERATE(0ms, 900ms, 40'000ms, 500'000ms);
  Watcher w;
  w.h.server.reply(list({}, "7"));
  w.h.server.serve([&](const auto& asked) { return asked.query("watch") == "true" ? Reply{.end_after = lives} : list({pod("a", "9")}, "9"); });
  w.begin();
  w.h.loop.run(2h);
  REQUIRE(w.told.size() >= 2);
  CHECK(w.told[1] == "= a@9");
  const bool very_short = lives < 1s;
  CHECK(w.asked()[2] == (very_short ? "list" : "watch 7"));
  CHECK(w.asked()[3] == (very_short ? "watch 9" : "list"));
  CHECK(w.h.server.asked().size() < 2 * 2 * 3600 / 10);  // ever more rarely
}

TEST_CASE("connections that break within their first event cause a new list") {
  Watcher w;
  w.h.server.reply(list({}, "7"));
  w.h.server.serve([&](const auto& asked) {
    const Reply half{.pieces = {{0ms, R"({"type": "ADDED", "obj)"}}, .end = Reply::End::cut};
    return asked.query("watch") == "true" ? half : list({pod("a", "9")}, "9");
  });
  w.begin();
  w.h.loop.run(1min);
  REQUIRE(w.told.size() >= 2);
  CHECK(w.told[1] == "= a@9");
  CHECK(w.asked()[3] == "list");
  CHECK(w.h.server.asked().size() < 30);  // ever more rarely
}

TEST_CASE("bookmarks with a known version do not hide that no events arrive") {
  Watcher w;
  w.h.server.reply(list({}, "7"));
  w.h.server.serve([](const auto& asked) {
    return asked.query("watch") == "true" ? Reply{.pieces = {{2s, event("BOOKMARK", pod("", "7"))}}, .end_after = 30s} : list({pod("a", "9")}, "9");
  });
  w.begin();
  w.h.loop.run(10min);
  REQUIRE(w.told.size() >= 2);
  CHECK(w.told[1] == "= a@9");
  CHECK(w.asked()[3] == "list");
}

TEST_CASE("where nothing happens, a connection of its whole time with bookmarks of what is known is news enough") {
  Watcher w;
  w.h.server.reply(list({pod("a", "7")}, "7"));
  w.h.server.serve([](const auto&) { return Reply{.pieces = std::vector<Piece>(29, {60s, event("BOOKMARK", pod("", "7"))}), .end_after = 60s}; });
  w.begin();
  w.h.loop.run(24h);
  CHECK(w.told == Words{"= a@7"});
  CHECK(w.h.server.asked().size() <= 50);
}

TEST_CASE("a list older than a known state is from a lagging server: it is requested again") {
  Watcher w;
  w.h.server.reply(list({pod("a", "3")}, "99"));
  w.h.server.reply(events(event("DELETED", pod("a", "101")) + event("ADDED", pod("b", "102")), Reply::End::whole));
  w.h.server.reply(refusal(410, "Expired", "too old"));
  SECTION("until one comes that is as new") {
    for (int i = 0; i < 3; ++i) w.h.server.reply(list({pod("a", "3")}, "99"));
    w.h.server.reply(list({pod("b", "102")}, "102"));
    w.h.server.serve([](const auto&) { return open(); });
    w.begin();
    w.h.loop.run(1min);
    CHECK(w.told == Words{"= a@3", "- a@101", "+ b@102", "= b@102"});
    CHECK(w.asked().back() == "watch 102");
  }
  SECTION("not for ever: a server that was restored has only older ones") {
    w.h.server.serve([](const auto& asked) { return asked.query("watch") == "true" ? open() : list({pod("c", "40")}, "41"); });
    w.begin();
    w.h.loop.run(3min);
    CHECK(w.told == Words{"= a@3", "- a@101", "+ b@102", "= c@40"});
    CHECK(w.asked().back() == "watch 41");
    CHECK(w.h.server.asked().size() < 12);
  }
}

TEST_CASE("versions are compared only if they are numbers") {
  CHECK(is_older_version("99", "101"));
  CHECK_FALSE(is_older_version("101", "99"));
  CHECK_FALSE(is_older_version("99", "99"));
  CHECK(is_older_version("184467440737095516150", "184467440737095516151"));
  for (const auto* odd : {"", "0", "099", "a9", "-1", "9.5"}) {
    INFO(odd);
    CHECK_FALSE(is_older_version(odd, "101"));
    CHECK_FALSE(is_older_version("99", odd));
  }
}

TEST_CASE("a connection that stays open without any event is dropped, and the objects are listed") {
  Watcher w;
  w.h.server.reply(list({}, "7"));
  const auto nothing = GENERATE_COPY(open(), Reply::silent());  // not even an answer's beginning
  w.h.server.serve([&](const auto& asked) { return asked.query("watch") == "true" ? nothing : list({pod("a", "9")}, "9"); });
  w.begin();
  w.h.loop.run(11min);
  CHECK(w.asked() == Words{"list", "watch 7", "list", "watch 9"});
  CHECK(w.told == Words{"=", "= a@9"});
  CHECK(w.h.server.open() == 1);
  w.h.loop.run(24h);
  CHECK(w.h.server.asked().size() <= 4 + 24 * 12);
}

TEST_CASE("a number that is too long for a number hides nothing of an event") {
  Watcher w;
  w.h.server.reply(list({}, "7"));
  auto line = event("ADDED", pod("a", "8"));
  line.insert(line.find("\"object\":{") + 10, "\"odd\":123456789012345678901234567890,");
  w.h.server.reply(open(line));
  w.begin();
  w.h.loop.run(1min);
  CHECK(w.told == Words{"=", "+ a@8"});
}

TEST_CASE("410 on each reconnect for hours causes no busy loop either, and the state is still reported") {
  Watcher w;
  int version = 0;
  w.h.server.serve([&](const auto& asked) {
    if (asked.query("watch") == "true") return refusal(410, "Expired", "too old");
    const auto now = std::to_string(++version);
    return list({pod("a", now)}, now);
  });
  w.begin();
  w.h.loop.run(1h);
  CHECK(w.told.size() > 100);
  CHECK(w.told.size() < 300);
  CHECK(w.told.back() == "= a@" + std::to_string(version));
}

TEST_CASE("a server that has lost its history is listed at once") {
  Watcher w;
  w.h.server.reply(list({}, "7"));
  for (int i = 0; i < 12; ++i) w.h.server.reply(Reply::lost());
  w.h.server.reply(refusal(410, "Expired", "too old"));
  w.h.server.reply(list({pod("a", "9")}, "9"));
  w.h.server.reply(open(event("ADDED", pod("b", "10"))));
  w.begin();
  w.h.loop.run(20min);
  const auto& asked = w.h.server.asked();
  REQUIRE(asked.size() == 16);
  CHECK(asked[13].at - asked[12].at > 5s);
  CHECK(asked[14].at - asked[13].at < 1s);
  CHECK(w.told == Words{"=", "= a@9", "+ b@10"});
}

TEST_CASE("a long connection, or progress, makes the next pause short") {
  for (const auto progress : {true, false}) {
    Watcher w;
    int version = 7;
    w.h.server.reply(list({}, "7"));
    w.h.server.serve([&](const auto&) {
      Reply reply{.end = Reply::End::cut, .end_after = progress ? 1s : 100s};
      if (progress) reply.pieces = {{0ms, event("MODIFIED", pod("a", std::to_string(++version)))}};
      return reply;
    });
    w.begin();
    w.h.loop.run(1h);
    const auto& asked = w.h.server.asked();
    for (std::size_t i = 2; i < asked.size(); ++i) CHECK(asked[i].at - asked[i - 1].at < (progress ? 1s : 100s) + 300ms);
  }
}

TEST_CASE("silence costs no requests but the reconnects") {
  Watcher w;
  w.h.server.reply(list({}, "7"));
  w.h.server.serve([](const auto& asked) {
    Reply reply{.end_after = std::chrono::seconds(std::stoi(asked.query("timeoutSeconds")))};
    for (int i = 0; i < 29; ++i) reply.pieces.push_back({1min, event("BOOKMARK", pod("", "7"))});
    return reply;
  });
  w.begin();
  w.h.loop.run(24h);
  CHECK(w.h.server.asked().size() <= 2 + 48);
}

TEST_CASE("a watch may be destroyed in each of its callbacks") {
  for (const std::string at : {"synced", "changed", "deleted", "failed"}) {
    INFO(at);
    Harness h;
    h.server.reply(list({}, "7"));
    h.server.reply(at == "failed" ? Reply::text("", 403)
                                  : open(event("DELETED", pod("a", "8")) + event("ADDED", pod("a", "9")) + event("ADDED", pod("b", "10"))));
    std::unique_ptr<Watch> watch;
    Words told;
    const auto here = [&](const std::string& name) {
      told.push_back(name);
      if (name != at) return;
      watch.reset();
      h.client.reset();
    };
    watch = std::make_unique<Watch>(*h.client, WatchOptions{.path = {"v1", "pods", "ns", "", ""}},
                                    Watch::Sink{.synced = [&](const auto&) { here("synced"); },
                                                .changed = [&](const auto&) { here("changed"); },
                                                .deleted = [&](const auto&) { here("deleted"); },
                                                .failed = [&](const auto&) { here("failed"); }});
    h.loop.run();
    CHECK(told.back() == at);
    CHECK_FALSE(watch);
    CHECK(h.server.open() == 0);
  }
}

TEST_CASE("a destroyed watch has no pending timers") {
  for (const auto when : {0ms, 1ms, 2ms, 3ms, 1000ms, 3000ms}) {
    Watcher w;
    w.h.server.reply(list({}, "7"));
    w.h.server.serve([](const auto&) { return Reply::lost(); });
    w.begin();
    w.h.loop.run(when);
    w.watch.reset();
    const auto asked = w.h.server.asked().size();
    w.h.loop.run();
    CHECK(w.h.server.asked().size() == asked);
    CHECK(w.h.server.open() == 0);
  }
}

TEST_CASE("an outage soon after a watch has begun is one of the server, and over when it answers") {
  Watcher w;
  Words trouble;
  w.h.client->on_trouble([&](const std::string& reason) { trouble.push_back(reason); });
  int watches = 0;
  w.h.server.serve([&](const auto& asked) {
    if (asked.query("watch") != "true") return list({pod("a", "7")}, "7");
    ++watches;
    return watches == 1 ? events("", Reply::End::cut) : watches < 5 ? Reply::lost() : open();
  });
  w.begin();
  w.h.loop.run(20s);
  REQUIRE(trouble.size() == 2);
  CHECK_THAT(trouble[0], Catch::Matchers::Contains("cannot reach the API server (watch pods: "));
  CHECK(trouble[1].empty());
}

TEST_CASE("watches that all break early are one trouble, which ends when a connection has lasted") {
  Watcher w;
  Words trouble;
  w.h.client->on_trouble([&](const std::string& reason) { trouble.push_back(reason); });
  const auto begin = w.h.loop.now();
  const std::string bytes = GENERATE(R"({"type": "ADDED", "obj)", "");  // within an event, or without one
  w.h.server.serve([&](const auto& asked) {
    if (asked.query("watch") != "true") return list({pod("a", "7")}, "7");
    return asked.at - begin < 10min ? events(bytes, Reply::End::cut) : open();
  });
  w.begin();
  const Words begun{"connections to the API server break early (watch pods: the connection was cut)"};
  w.h.loop.run(10min);
  CHECK(trouble == begun);
  w.h.loop.run(30s);  // the longest pause
  CHECK(trouble == begun);
  w.h.loop.run(60s);
  CHECK(trouble == Words{begun[0], ""});
}

TEST_CASE("a watch that cannot be reopened is reported as trouble") {
  Watcher w;
  Words trouble;
  w.h.client->on_trouble([&](const std::string& reason) { trouble.push_back(reason); });
  w.h.server.reply(list({}, "7"));
  const auto begin = w.h.loop.now();
  w.h.server.serve([&](const auto& asked) { return asked.at - begin < 60s ? Reply::lost() : open(); });
  w.begin();
  w.h.loop.run(200s);
  CHECK(trouble == Words{"cannot reach the API server (watch pods: the connection was cut)", ""});
}
