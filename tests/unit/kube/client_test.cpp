// SPDX-License-Identifier: Apache-2.0
#include "kube/client.h"

#include <optional>

#include "kube/token_source.h"
#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::kube;
using namespace trainstep::kube::test;

namespace {

const Path jobs{"kubeflow.org/v1", "pytorchjobs", "ns", "", ""};
const Path train{"kubeflow.org/v1", "pytorchjobs", "ns", "train-1", ""};
const std::string jobs_path = "/base/apis/kubeflow.org/v1/namespaces/ns/pytorchjobs";

Reply there() { return Reply::text(R"({"kind": "Pod", "metadata": {"name": "train-1"}})"); }

struct Caller {
  std::optional<Answer> answer;
  int count = 0;
  Time at;
  Client::Done done(VirtualLoop& loop) {
    return [this, &loop](Answer result) {
      answer = std::move(result);
      ++count;
      at = loop.now();
    };
  }
  [[nodiscard]] const ApiError& error() const {
    REQUIRE(answer);
    REQUIRE_FALSE(answer->has_value());
    return answer->error();
  }
  [[nodiscard]] const Json& value() const {
    REQUIRE(answer);
    REQUIRE(answer->has_value());
    return **answer;
  }
};

Json page(const std::vector<std::string>& names, const std::string& token, const std::string& version = "7") {
  Json items = Json::array();
  for (const auto& name : names) items.push_back({{"metadata", {{"name", name}}}});
  return {{"kind", "PodList"}, {"apiVersion", "v1"}, {"metadata", {{"resourceVersion", version}, {"continue", token}}}, {"items", items}};
}

std::string names(const Json& list) {
  std::string result;
  for (const auto& item : list.at("items")) result += item.at("metadata").at("name").get<std::string>();
  return result;
}

}  // namespace

TEST_CASE("nothing is deleted by its name alone") {
  Harness h;
  h.server.serve([](const auto&) { return there(); });
  std::optional<Answer> answer;
  h.client->remove(train, Propagation::foreground, {"", "7"}, {}, [&](Answer its) { answer = std::move(its); }).detach();
  CHECK_FALSE(answer);
  h.loop.run();
  REQUIRE(answer);
  REQUIRE_FALSE(*answer);
  CHECK(answer->error().error.kind == ErrorKind::internal);
  CHECK(h.server.asked().empty());
}

TEST_CASE("each verb sends what the API server expects") {
  Harness h;
  h.server.serve([](const auto&) { return there(); });
  const Json object{{"metadata", {{"name", "train-1"}}}};
  h.client->get(train, {{"a", "b c"}}, {}, [](const Answer&) {}).detach();
  h.client->create(jobs, object, false, {}, [](const Answer&) {}).detach();
  h.client->create(jobs, object, true, {}, [](const Answer&) {}).detach();
  h.client->merge_patch(train, object, {}, [](const Answer&) {}).detach();
  h.client->json_patch(train, Json::array({object}), {}, [](const Answer&) {}).detach();
  h.client->apply(train, object, {}, [](const Answer&) {}).detach();
  h.client->remove(train, Propagation::foreground, {"u-1"}, {}, [](const Answer&) {}).detach();
  h.client->remove(train, Propagation::orphan, {"u-1", "7"}, {}, [](const Answer&) {}).detach();
  const std::vector<std::vector<std::string>> expected = {
      {"GET " + jobs_path + "/train-1 a=b c", "", ""},
      {"POST " + jobs_path + " fieldValidation=Strict", "application/json", to_text(object)},
      {"POST " + jobs_path + " fieldValidation=Strict&dryRun=All", "application/json", to_text(object)},
      {"PATCH " + jobs_path + "/train-1", "application/merge-patch+json", to_text(object)},
      {"PATCH " + jobs_path + "/train-1", "application/json-patch+json", to_text(Json::array({object}))},
      {"PATCH " + jobs_path + "/train-1 fieldManager=trainstep&force=true", "application/apply-patch+yaml", to_text(object)},
      {"DELETE " + jobs_path + "/train-1", "application/json",
       R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground","preconditions":{"uid":"u-1"}})"},
      {"DELETE " + jobs_path + "/train-1", "application/json",
       R"({"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Orphan","preconditions":{"uid":"u-1","resourceVersion":"7"}})"},
  };
  REQUIRE(h.server.asked().size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& asked = h.server.asked()[i];
    CHECK(std::vector{asked.line(), asked.header("Content-Type"), asked.request.body} == expected[i]);
    CHECK(asked.header("Authorization") == "Bearer token-1");
    CHECK(asked.header("User-Agent") == "trainstep/" TRAINSTEP_VERSION);
    CHECK(asked.header("Accept") == "application/json");
    CHECK(asked.request.limit.has_value());
  }
  h.loop.run();
}

TEST_CASE("the answer is the caller's, once, and never from within the asking call") {
  Harness h;
  Caller caller;
  h.server.reply(there());
  h.client->get(train, {}, {}, caller.done(h.loop)).detach();
  CHECK(caller.count == 0);
  h.loop.run();
  CHECK(caller.count == 1);
  CHECK(caller.value().at("kind") == "Pod");
  CHECK(h.server.open() == 0);
}

TEST_CASE("without a token nothing is sent, and the error is reported later") {
  Harness h;
  Caller caller;
  h.tokens->problem = input_error("no such file");
  h.client->get(train, {}, {}, caller.done(h.loop)).detach();
  CHECK(caller.count == 0);
  h.loop.run();
  CHECK(caller.error().error.message == "get pytorchjobs/train-1: no such file");
  CHECK(caller.error().error.kind == ErrorKind::input);
  CHECK(h.server.asked().empty());
}

TEST_CASE("a 2xx response without the object is retried") {
  const auto* odd = GENERATE("", "{}", "null", "[]", "7", R"({"metadata": {"name": "other"}})", R"({"metadata": []})",
                             R"({"kind": "Status", "status": "Success"})", R"({"kind": "Status", "metadata": {"name": "train-1"}})");
  const auto ask = GENERATE(0, 1, 2, 3);
  Harness h;
  Caller caller;
  h.server.reply(Reply::text(odd));
  h.server.reply(ask == 3 ? Reply::text(R"({"kind": "Status", "status": "Success", "details": {"name": "train-1"}})") : there());
  if (ask == 0) h.client->get(train, {}, {}, caller.done(h.loop)).detach();
  if (ask == 1) h.client->merge_patch(train, Json::object(), {}, caller.done(h.loop)).detach();
  if (ask == 2) h.client->apply(train, Json::object(), {}, caller.done(h.loop)).detach();
  if (ask == 3) h.client->remove(train, Propagation::foreground, {"u-1"}, {}, caller.done(h.loop)).detach();
  h.loop.run(1min);
  CHECK(h.server.asked().size() == 2);
  CHECK(caller.value().is_object());
  Caller given_up;
  h.server.serve([&](const auto&) { return Reply::text(odd); });
  h.client->get(train, {}, {Duration(0)}, given_up.done(h.loop)).detach();
  h.loop.run(1min);
  CHECK(given_up.error().status == 502);
  CHECK(given_up.error().error.message == "get pytorchjobs/train-1: the answer does not mention it");
}

TEST_CASE("while a token is made others go on, and what waits for it is sent when it is there") {
  struct AtWork : TokenSource {
    bool at_work = true;
    bool ready(Time /*now*/) override { return !at_work; }
    Result<std::string> token(Time /*now*/) override { return std::string("token"); }
    void refused() override {}
  };
  Harness h;
  h.server.serve([](const auto&) { return there(); });
  auto source = std::make_unique<AtWork>();
  auto& tokens = *source;
  auto credentials = std::make_shared<Credentials>();
  credentials->server = {"https", "api", 6443, "/base", {}};
  credentials->token = std::move(source);
  h.client = std::make_unique<Client>(h.loop, h.server, std::move(credentials), 1);
  Caller waiting, given_up;
  h.client->get(train, {}, {}, waiting.done(h.loop)).detach();
  auto call = h.client->get(train, {}, {Duration(5'000)}, given_up.done(h.loop));
  h.loop.after(Duration(9'000), [&] { call.cancel(); });
  h.loop.after(Duration(10'000), [&] {
    CHECK(h.server.asked().empty());
    tokens.at_work = false;
  });
  h.loop.run();
  CHECK(h.server.asked().size() == 1);
  CHECK(waiting.answer->has_value());
  CHECK(given_up.count == 0);
}

TEST_CASE("transient errors are retried, others are reported") {
  struct Case {
    std::string name;
    Reply reply;
    bool again;
  };
  const Case cases[] = {{"no answer", Reply::lost(), true},
                        {"silence", Reply::silent(), true},
                        {"cut", {.pieces = {{0ms, "{\"ki"}}, .end = Reply::End::cut}, true},
                        {"no JSON", Reply::text("<html>"), true},
                        {"408", Reply::text("", 408), true},
                        {"429", Reply::text("", 429), true},
                        {"500", Reply::text("", 500), true},
                        {"503", Reply::text("", 503), true},
                        {"400", Reply::text("", 400), false},
                        {"403", Reply::text("", 403), false},
                        {"404", Reply::text("", 404), false},
                        {"409", Reply::text("", 409), false},
                        {"422", Reply::text("", 422), false},
                        {"302", Reply::text("", 302), false}};
  for (const auto& row : cases) {
    INFO(row.name);
    Harness h;
    Caller caller;
    h.server.reply(row.reply);
    h.server.reply(there());
    h.client->get(train, {}, {}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(caller.count == 1);
    CHECK(caller.answer->has_value() == row.again);
    CHECK(h.server.asked().size() == (row.again ? 2 : 1));
  }
}

TEST_CASE("what is surely there is asked for again, for some seconds") {
  Harness h;
  int asked = 0;
  h.server.serve([&](const auto&) { return ++asked < 3 ? Reply::text("{}", asked == 1 ? 404 : 403) : there(); });
  Caller sure, unsure;
  Retry retry;
  retry.surely_there = true;
  h.client->get(train, {}, retry, sure.done(h.loop)).detach();
  h.loop.run();
  CHECK(sure.value().at("kind") == "Pod");
  asked = 0;
  h.client->get(train, {}, {}, unsure.done(h.loop)).detach();
  h.loop.run();
  CHECK(unsure.error().status == 404);
}

TEST_CASE("with doubt set, rejections are retried for some seconds, and what the API server says about the object is accepted") {
  Harness h;
  Retry retry;
  retry.doubts_refusals = true;
  const auto odd = GENERATE(refusal(403, "Forbidden", "User \"step\" cannot get it"), gateways_404(), no_such_path(), Reply::text("bad", 400),
                            Reply::text("", 302), Reply::text("", 410));
  int asked = 0, odd_ones = 3;
  h.server.serve([&](const auto&) { return ++asked <= odd_ones ? odd : there(); });
  Caller lasting, passing, absent;
  h.client->get(train, {}, retry, passing.done(h.loop)).detach();
  h.loop.run();
  CHECK(passing.value().at("kind") == "Pod");
  asked = 0, odd_ones = 100;
  const auto began = h.loop.now();
  h.client->get(train, {}, retry, lasting.done(h.loop)).detach();
  h.loop.run();
  CHECK(lasting.error().status == odd.status);
  CHECK(lasting.at - began > 5s);
  CHECK(lasting.at - began < 20s);
  Caller soon;
  retry.doubt_pause = Duration(900);
  const auto later = h.loop.now();
  h.client->get(train, {}, retry, soon.done(h.loop)).detach();
  h.loop.run();
  CHECK(soon.at - later > 2s);
  CHECK(soon.at - later < 5s);
  h.server.serve([&](const auto&) { return kube::test::absent(train.name); });
  const auto before = h.loop.now();
  h.client->get(train, {}, retry, absent.done(h.loop)).detach();
  h.loop.run();
  CHECK(absent.error().status == 404);
  CHECK(absent.at - before < 1s);
}

TEST_CASE("pauses grow, and end at the caller's limit with the last reason") {
  Harness h;
  Caller caller;
  h.server.serve([](const auto&) { return Reply::text("busy", 503); });
  const auto begin = h.loop.now();
  h.client->get(train, {}, {Duration(20s)}, caller.done(h.loop)).detach();
  h.loop.run();
  const auto& asked = h.server.asked();
  REQUIRE(asked.size() > 5);
  for (std::size_t i = 3; i + 1 < asked.size(); ++i) CHECK(asked[i].at - asked[i - 1].at <= 2 * (asked[i - 1].at - asked[i - 2].at) * 2);
  CHECK(asked.back().at - begin == 20s);  // the last moment is used
  CHECK(caller.at - begin <= 20s + 36s);
  CHECK(caller.error().error.message == "get pytorchjobs/train-1: HTTP 503: busy (after " + std::to_string(asked.size()) + " attempts)");
}

TEST_CASE("after hurry() pending reads are sent again: now, and soon once more") {
  Harness h;
  Caller caller, writer;
  const auto odd = GENERATE(Reply::silent(), Reply::text("busy", 503), Reply::lost());
  h.server.serve([&](const auto&) { return odd; });
  h.client->get(train, {}, {}, caller.done(h.loop)).detach();
  h.client->create(jobs, {{"metadata", {{"name", "train-1"}}}}, false, {Duration(0)}, writer.done(h.loop)).detach();
  h.loop.run(10s);
  const auto before = h.server.asked().size();
  h.client->hurry();
  CHECK(h.server.asked().size() == before + 1);
  CHECK(h.server.asked().back().request.method == "GET");
  h.loop.run(8s);
  h.server.serve([](const auto&) { return there(); });
  const auto back = h.loop.now();
  h.loop.run(10s);
  REQUIRE(caller.count == 1);
  CHECK(caller.at - back <= 7s);
}

TEST_CASE("a limit of nothing is one try, which is awaited") {
  Harness h;
  Caller caller;
  SECTION("answered") {
    auto late = there();
    late.delay = 10s;
    h.server.reply(late);
    h.client->get(train, {}, {Duration(0)}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(caller.answer->has_value());
  }
  SECTION("never answered") {
    const auto begin = h.loop.now();
    h.client->get(train, {}, {Duration(0)}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(caller.error().error.kind == ErrorKind::unavailable);
    CHECK(caller.at - begin <= 40s);
  }
  CHECK(h.server.asked().size() == 1);
}

TEST_CASE("a day without the API server is waited for when the caller has all time") {
  Harness h;
  Caller caller;
  const auto begin = h.loop.now();
  h.server.serve([&](const auto& asked) { return asked.at - begin < 24h ? Reply::lost() : there(); });
  h.client->get(train, {}, {}, caller.done(h.loop)).detach();
  h.loop.run();
  CHECK(caller.answer->has_value());
  CHECK(caller.at - begin < 24h + 31s);
  CHECK(h.server.asked().size() < 24 * 60 * 5);
}

TEST_CASE("Retry-After is a floor, and no try is made that would undercut it") {
  Harness h;
  Caller caller;
  h.server.reply({.status = 429, .headers = {{"retry-after", "20"}}});
  h.server.reply(there());
  SECTION("enough time") {
    h.client->get(train, {}, {Duration(60s)}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(caller.answer->has_value());
    CHECK(h.server.asked()[1].at - h.server.asked()[0].at >= 20s);
  }
  SECTION("not enough") {
    h.client->get(train, {}, {Duration(5s)}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(caller.error().status == 429);
    CHECK(h.server.asked().size() == 1);
  }
}

TEST_CASE("a server that requests a day's delay is retried within a minute, and its request is reported at once") {
  Harness h;
  Caller caller;
  std::vector<std::string> told;
  h.client->on_trouble([&](const std::string& reason) { told.push_back(reason); });
  const auto code = GENERATE(429, 503);
  h.server.reply({.status = code, .headers = {{"retry-after", "86400"}}});
  h.server.reply(there());
  h.client->get(train, {}, {Duration(300s)}, caller.done(h.loop)).detach();
  h.loop.run(1s);
  CHECK(told.size() == 1);
  h.loop.run();
  REQUIRE(caller.answer);
  CHECK(caller.answer->has_value());
  CHECK(h.server.asked()[1].at - h.server.asked()[0].at < 60s);
  CHECK(told.size() == 2);
  CHECK(told.back().empty());
}

TEST_CASE("a server that wishes for a longer pause than there is patience does not lose a patch") {
  Harness h;
  Caller caller;
  h.server.reply({.status = 429, .headers = {{"retry-after", "99999"}}});
  h.server.reply(there());
  h.client->merge_patch(train, Json::object(), {Duration(60s)}, caller.done(h.loop)).detach();
  h.loop.run();
  CHECK(caller.answer->has_value());
  CHECK(h.server.asked()[1].at - h.server.asked()[0].at < 16s);
}

TEST_CASE("a rejected token is reread once") {
  Harness h;
  Caller caller;
  h.server.reply(Reply::text("Unauthorized", 401));
  SECTION("that helps") {
    h.server.reply(there());
    h.client->get(train, {}, {Duration(0)}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(caller.answer->has_value());
    CHECK(h.server.asked()[1].header("Authorization") == "Bearer token-2");
    CHECK(h.server.asked()[1].at - h.server.asked()[0].at < 10ms);
  }
  SECTION("that does not help") {
    h.server.reply(Reply::text("Unauthorized", 401));
    h.client->get(train, {}, {}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(caller.error().error.kind == ErrorKind::denied);
    CHECK(caller.error().error.message == "get pytorchjobs/train-1: HTTP 401: Unauthorized (the API server rejected the credentials: in-cluster)");
    CHECK(h.server.asked().size() == 2);
  }
  SECTION("again after it was good for a while") {
    for (int i = 0; i < 5; ++i) {
      h.server.reply(Reply::text("", 503));
      h.server.reply(Reply::text("Unauthorized", 401));
    }
    h.server.reply(there());
    h.client->get(train, {}, {}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(caller.answer->has_value());
    CHECK(h.tokens->number == 7);
  }
  SECTION("again after a lost answer: by then it may have expired again") {
    h.server.reply(Reply::lost());
    h.server.reply(Reply::text("Unauthorized", 401));
    h.server.reply(Reply::text("Unauthorized", 401));
    h.client->get(train, {}, {}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(caller.error().status == 401);
    CHECK(h.server.asked().size() == 4);
    CHECK(h.tokens->number == 3);
  }
}

TEST_CASE("a cancelled call is never answered") {
  for (const auto wait : {0ms, 1ms, 100ms, 10'000ms}) {
    Harness h;
    Caller caller;
    h.server.serve([](const auto&) { return Reply::text("", 503); });
    auto call = h.client->get(train, {}, {Duration(30s)}, caller.done(h.loop));
    h.loop.run(wait);
    call.cancel();
    call.cancel();
    const auto asked = h.server.asked().size();
    h.loop.run();
    CHECK(caller.count == 0);
    CHECK(h.server.asked().size() == asked);
    CHECK(h.server.open() == 0);
  }
}

TEST_CASE("the client may be destroyed in the answer, and takes all other calls with it") {
  Harness h;
  int answers = 0;
  h.server.serve([](const auto&) { return there(); });
  for (int i = 0; i < 3; ++i)
    h.client
        ->get(train, {}, {Duration(10s)},
              [&](const Answer&) {
                ++answers;
                h.client.reset();
              })
        .detach();
  h.client->stream(jobs, {}, "application/json", 60s, {.head = {}, .data = {}, .done = [&](const auto&) { ++answers; }});
  h.loop.run();
  CHECK(answers == 1);
  CHECK(h.server.open() == 0);
}

TEST_CASE("a list is read in pages") {
  Harness h;
  Caller caller;
  h.server.reply(Reply::text(to_text(page({"a", "b"}, "next/1"))));
  h.server.reply(Reply::text("", 503));
  h.server.reply(Reply::text(to_text(page({"c"}, "next/2"))));
  h.server.reply(Reply::text(to_text(page({"d"}, ""))));
  h.client->list(jobs, {{"labelSelector", "run=1"}}, {}, caller.done(h.loop)).detach();
  h.loop.run();
  CHECK(names(caller.value()) == "abcd");
  CHECK(caller.value().at("metadata").at("resourceVersion") == "7");
  CHECK(caller.value().at("items").at(3).at("kind") == "Pod");
  CHECK(caller.value().at("items").at(3).at("apiVersion") == "v1");
  std::vector<std::string> lines;
  for (const auto& asked : h.server.asked()) lines.push_back(asked.line());
  const auto first = "GET " + jobs_path + " labelSelector=run=1&limit=50";
  CHECK(lines == std::vector{first, first + "&continue=next/1", first + "&continue=next/1", first + "&continue=next/2"});
}

TEST_CASE("an expired continue token restarts the list, finally without pages") {
  Harness h;
  Caller caller;
  h.server.reply(Reply::text(to_text(page({"a"}, "1"))));
  h.server.reply(refusal(410, "Expired", "too old"));
  h.server.reply(Reply::text(to_text(page({"b"}, "2", "8"))));
  h.server.reply(refusal(410, "Expired", "too old"));
  h.server.reply(Reply::text(to_text(page({"c", "d"}, "", "9"))));
  h.client->list(jobs, {}, {}, caller.done(h.loop)).detach();
  h.loop.run();
  CHECK(names(caller.value()) == "cd");
  CHECK(caller.value().at("metadata").at("resourceVersion") == "9");
  CHECK(h.server.asked()[2].line() == "GET " + jobs_path + " limit=50");
  CHECK(h.server.asked()[4].line() == "GET " + jobs_path);
}

TEST_CASE("a continue token that comes again is an error: the list would have no end") {
  Harness h;
  const auto page = [](const std::string& token) {
    return Reply::text(to_text(Json{{"kind", "PodList"}, {"metadata", {{"resourceVersion", "7"}, {"continue", token}}}, {"items", Json::array()}}));
  };
  h.server.serve([&, n = 0](const auto&) mutable { return page(++n % 2 == 0 ? "even" : "odd"); });
  std::optional<Answer> answer;
  h.client->list({"v1", "pods", "ns", "", ""}, {}, {}, [&](Answer got) { answer = std::move(got); }).detach();
  h.loop.run(1h);
  REQUIRE(answer);
  REQUIRE_FALSE(*answer);
  CHECK_THAT(answer->error().error.message, Catch::Matchers::Contains("continue token"));
  CHECK(h.server.asked().size() == 3);
}

TEST_CASE("trouble shows whether the server responds") {
  Harness h;
  std::vector<std::string> told;
  h.client->on_trouble([&](const std::string& reason) { told.push_back(reason.substr(0, reason.find(" ("))); });
  h.server.reply(Reply::lost());
  h.server.reply(Reply::lost());
  h.server.reply(there());
  for (int i = 0; i < 2; ++i) h.server.reply(refusal(500, "InternalError", "admission webhook denied the request"));
  h.server.reply(there());
  for (int i = 0; i < 2; ++i) {
    h.client->get(train, {}, {}, [](const Answer&) {}).detach();
    h.loop.run(1min);
  }
  CHECK(told == std::vector<std::string>{"cannot reach the API server", "", "the API server returned 500", ""});
}

TEST_CASE("empty lists, and responses that are not lists") {
  struct Case {
    std::string body;
    bool list;
  };
  const Case cases[] = {{R"({"kind": "PodList", "metadata": {"resourceVersion": "3"}, "items": null})", true},
                        {R"({"items": []})", true},
                        {R"({"kind": "Pod"})", false},
                        {R"({"items": 3})", false},
                        {"[]", false},
                        {"", false}};
  for (const auto& [body, list] : cases) {
    INFO(body);
    Harness h;
    Caller caller;
    h.server.serve([text = body](const auto&) { return Reply::text(text); });
    h.client->list(jobs, {}, {Duration(1s)}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(caller.answer->has_value() == list);
    if (list) CHECK(caller.value().at("items").empty());
  }
}

TEST_CASE("what the reader of a list does not need is dropped page by page") {
  Harness h;
  Caller caller;
  h.server.reply(Reply::text(to_text(page({"a"}, ""))));
  h.client->list(jobs, {}, {}, caller.done(h.loop), {.metadata_only = true, .trim = [](Json& item) { item["metadata"]["name"] = "x"; }}).detach();
  h.loop.run();
  CHECK(names(caller.value()) == "x");
  CHECK(h.server.asked()[0].header("Accept").starts_with("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"));
}

TEST_CASE("trouble is reported once, from the second failure on, and so is its end") {
  Harness h;
  Caller caller;
  std::vector<std::string> told;
  h.client->on_trouble([&](const std::string& reason) { told.push_back(reason); });
  SECTION("a first failure is not reported") {
    h.server.reply(Reply::lost());
    h.server.reply(there());
    h.client->get(train, {}, {}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(told.empty());
  }
  SECTION("once for all who have it") {
    const auto begin = h.loop.now();
    h.server.serve([&](const auto& asked) { return asked.at - begin < 60s ? Reply::lost() : there(); });
    for (int i = 0; i < 5; ++i) h.client->get(train, {}, {}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(told == std::vector<std::string>{"cannot reach the API server (get pytorchjobs/train-1: the connection was cut)", ""});
  }
  SECTION("an answer to someone else ends it when the server was not there, not when it answered with an error") {
    const auto silent = GENERATE(true, false);
    h.server.serve([&](const auto& asked) {
      if (asked.request.method == "POST") return silent ? Reply::lost() : Reply::text("", 500);
      return there();
    });
    auto call = h.client->create(jobs, Json::object(), false, {}, caller.done(h.loop));
    h.loop.run(400ms);
    REQUIRE(h.server.asked().size() >= 2);
    h.client->get(train, {}, {}, [](const Answer&) {}).detach();
    h.loop.run(100ms);
    CHECK(told.size() == (silent ? 2 : 1));
    call.cancel();
  }
  SECTION("giving up is not the end of the trouble, the next answer is") {
    h.server.serve([&](const auto&) { return Reply::lost(); });
    h.client->get(train, {}, {Duration(10s)}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(told.size() == 1);
    h.server.serve([&](const auto&) { return Reply::text("", 404); });
    h.client->get(train, {}, {}, caller.done(h.loop)).detach();
    h.loop.run();
    CHECK(told == std::vector<std::string>{"cannot reach the API server (get pytorchjobs/train-1: the connection was cut)", ""});
  }
}

TEST_CASE("the client may be destroyed when trouble is reported") {
  Harness h;
  h.client->on_trouble([&](const std::string&) { h.client.reset(); });
  h.server.serve([&](const auto&) { return Reply::lost(); });
  h.client->get(train, {}, {}, [](const Answer&) {}).detach();
  h.loop.run();
  CHECK_FALSE(h.client);
  CHECK(h.server.open() == 0);
}

TEST_CASE("a stream has no limit but silence, and a refused token is not used again") {
  Harness h;
  std::string body;
  std::optional<int> status;
  const auto handler = [&] {
    return http::Transport::Handler{
        .head = {}, .data = [&](std::string_view bytes) { body += bytes; }, .done = [&](const auto& r) { status = r->status; }};
  };
  h.server.reply(Reply::text("", 401));
  h.server.reply({.pieces = {{1h, "a"}, {1h, "b"}}});
  h.client->stream(jobs, {{"watch", "true"}}, "x/y", 2h, handler());
  h.loop.run();
  CHECK(status == 401);
  h.client->stream(jobs, {{"watch", "true"}}, "x/y", 2h, handler());
  h.loop.run();
  CHECK(status == 200);
  CHECK(body == "ab");
  const auto& asked = h.server.asked()[1];
  CHECK(asked.header("Authorization") == "Bearer token-2");
  CHECK(asked.header("Accept") == "x/y");
  CHECK_FALSE(asked.request.limit);
  CHECK(asked.request.silence == Duration(2h));
}

TEST_CASE("a stream without a token ends later, or never when it was cancelled") {
  Harness h;
  h.tokens->problem = Error{ErrorKind::denied, "the plug-in says no"};
  int ended = 0;
  const http::Transport::Handler handler{.head = {}, .data = {}, .done = [&](const auto& response) { ended += response ? 100 : 1; }};
  h.client->stream(jobs, {}, "", 1h, handler);
  const auto second = h.client->stream(jobs, {}, "", 1h, handler);
  CHECK(ended == 0);
  h.client->cancel_stream(second);
  h.loop.run();
  CHECK(ended == 1);
}

TEST_CASE("a merge patch is tried again after a refusal that may be of the moment, and believed after some") {
  const auto odd = GENERATE(refusal(409, "Conflict", "the object has been modified"), gateways_404(), no_such_path(),
                            refusal(403, "Forbidden", R"(User "x" cannot patch)"));
  Harness h;
  Caller caller;
  SECTION("once") {
    h.server.reply(odd);
    h.server.reply(there());
    h.client->merge_patch(train, Json::object(), {Duration(120'000)}, caller.done(h.loop)).detach();
    h.loop.run(1min);
    CHECK(h.server.asked().size() == 2);
    CHECK(caller.answer->has_value());
  }
  SECTION("always") {
    h.server.serve([&](const auto&) { return odd; });
    h.client->merge_patch(train, Json::object(), {}, caller.done(h.loop)).detach();
    h.loop.run(5min);
    CHECK(h.server.asked().size() == 8);
    CHECK(caller.error().status == odd.status);
  }
}

TEST_CASE("a merge patch of what is not there, or that admission refuses, is not tried again") {
  const auto meant = GENERATE(absent("train-1"), refusal(403, "Forbidden", R"(admission webhook "x" denied the request: no)"),
                              refusal(422, "Invalid", "metadata.uid: field is immutable"));
  Harness h;
  Caller caller;
  h.server.reply(meant);
  h.client->merge_patch(train, Json::object(), {}, caller.done(h.loop)).detach();
  h.loop.run(1min);
  CHECK(h.server.asked().size() == 1);
  CHECK(caller.error().status == meant.status);
}

TEST_CASE("a server's message is reported without the token and without the values of the Secret that was sent") {
  Harness h;
  Caller caller;
  const Path secrets{"v1", "secrets", "ns", "", ""};
  const Json object{
      {"metadata", {{"name", "keys"}}}, {"stringData", {{"minio-secretkey", "SKEY-98765432"}}}, {"data", {{"other", "b3RoZXItMTIzNDU2"}}}};
  SECTION("in a Status") {
    h.server.reply(refusal(422, "Invalid",
                           R"(Secret "keys" is invalid: stringData[minio-secretkey]: "SKEY-98765432" (U0tFWS05ODc2NTQzMg==), token-1, )"
                           R"(other-123456, b3RoZXItMTIzNDU2)"));
  }
  SECTION("in a gateway's page, also where it is cut") {
    h.server.reply(Reply::text("<html>" + std::string(180, 'x') + " token-1 SKEY-98765432</html>", 400));
  }
  h.client->create(secrets, object, false, {}, caller.done(h.loop)).detach();
  h.loop.run();
  for (const auto* secret : {"SKEY", "U0tF", "token-", "other-123456", "b3RoZXIt"}) {
    CAPTURE(secret, caller.error().error.message);
    CHECK(caller.error().error.message.find(secret) == std::string::npos);
  }
  CHECK(caller.error().error.message.find("[redacted]") != std::string::npos);
}

TEST_CASE("a Secret's value that a webhook quotes as JSON, and the token in base64, are not shown") {
  Harness h;
  Caller caller;
  h.server.reply(refusal(400, "BadRequest", R"(webhook denied {"minio-secretkey": "ab\"cd\\ef\u0026ghSECRET12"} dG9rZW4tMQ==)"));
  const Json object{{"metadata", {{"name", "keys"}}}, {"stringData", {{"minio-secretkey", R"(ab"cd\ef&ghSECRET12)"}}}};
  h.client->create({"v1", "secrets", "ns", "", ""}, object, false, {}, caller.done(h.loop)).detach();
  h.loop.run();
  CHECK(caller.error().error.message.find(R"(webhook denied {"minio-secretkey": "[redacted]"} [redacted])") != std::string::npos);
}

TEST_CASE("the end of a stream is reported without the token") {
  Harness h;
  h.server.reply(Reply::text("who is token-1?", 403));
  std::optional<Result<http::Response>> ended;
  h.client->stream(train, {}, "application/json", 60s, {.head = {}, .data = {}, .done = [&](auto response) { ended = std::move(response); }});
  h.loop.run();
  REQUIRE(ended);
  CHECK(h.client->error_of("watch it", *ended).error.message == "watch it: HTTP 403: who is [redacted]?");
}
