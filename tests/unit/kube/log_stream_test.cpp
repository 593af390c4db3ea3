// SPDX-License-Identifier: Apache-2.0
#include "kube/log_stream.h"

#include "base/max_line_length.h"
#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::kube;
using namespace trainstep::kube::test;
using Catch::Matchers::Contains;

namespace {

using Words = std::vector<std::string>;

// "10:a\n" → as the kubelet sends it: ten seconds past 08:15.
std::string stamped(const std::string& lines) {
  std::string result;
  for (std::size_t at = 0; at < lines.size();) {
    const auto end = std::min(lines.find('\n', at), lines.size());
    const auto line = lines.substr(at, end - at);
    result += "2026-11-21T08:15:" + line.substr(0, 2) + ".000000000Z " + line.substr(3) + (end < lines.size() ? "\n" : "");
    at = end + 1;
  }
  return result;
}

Reply log(const std::string& lines, Reply::End end = Reply::End::open) { return {.pieces = {{0ms, stamped(lines)}}, .end = end}; }

Reply waiting() { return refusal(400, "BadRequest", "container \"c\" in pod \"p\" is waiting to start: ContainerCreating"); }
Reply pod_gone() { return refusal(404, "NotFound", "pods \"p\" not found", {{"name", "p"}, {"kind", "pods"}}); }

// Everything that was told, as words.
struct Reader {
  Harness h;
  Words told;
  bool tells_waits = false;
  std::unique_ptr<LogStream> stream;
  void begin(bool previous = false) {
    stream = std::make_unique<LogStream>(*h.client, LogSource{"ns", "p", "c", previous},
                                         LogStream::Sink{.lines = [this](std::string_view lines) { told.emplace_back(lines); },
                                                         .lost = [this](const std::string& what) { told.push_back("lost: " + what); },
                                                         .waits =
                                                             [this](const std::string& what) {
                                                               if (tells_waits) told.push_back("waits: " + what);
                                                             },
                                                         .complete = [this] { told.emplace_back("complete"); }});
  }
  // What was asked, without what is always asked.
  [[nodiscard]] Words asked() const {
    Words result;
    for (const auto& asked : h.server.asked()) {
      const auto since = asked.query("sinceTime");
      result.push_back((asked.query("follow") == "true" ? "follow" : "read") + std::string(asked.query("previous") == "true" ? " previous" : "") +
                       (since.empty() ? "" : " " + since.substr(11)));
    }
    return result;
  }
};

}  // namespace

TEST_CASE("a log is followed, and what is left is read when the container has ended") {
  Reader r;
  r.h.server.reply({.pieces = {{0ms, stamped("10:a\n11:b")}, {0ms, "c\n"}, {0ms, stamped("12:d\r\n12:\n13:tor")}}, .end = Reply::End::open});
  r.h.server.serve([](const auto&) { return log("11:bc\n12:d\r\n12:\n13:torn\n14:last words\n", Reply::End::whole); });
  r.begin();
  CHECK(r.told.empty());
  r.h.loop.run(60s);
  CHECK(r.told == Words{"a\n", "bc\n", "d\r\n\n"});
  r.stream->ended();
  r.stream->ended();
  CHECK(r.told.size() == 3);
  r.h.loop.run();
  CHECK(r.told == Words{"a\n", "bc\n", "d\r\n\n", "torn\nlast words\n", "complete"});
  REQUIRE(r.h.server.asked().size() == 2);
  CHECK(r.h.server.asked()[0].cancelled);
  CHECK(r.h.server.asked()[0].line() == "GET /base/api/v1/namespaces/ns/pods/p/log container=c&timestamps=true&follow=true");
  CHECK(r.h.server.asked()[1].line() == "GET /base/api/v1/namespaces/ns/pods/p/log container=c&timestamps=true&sinceTime=2026-11-21T08:15:11Z");
  CHECK(r.h.server.open() == 0);
}

TEST_CASE("a last line without a newline is read again: something on the way may have ended the connection within it") {
  Reader r;
  r.h.server.reply(log("10:a\n"));
  r.begin();
  r.h.loop.run(1s);
  SECTION("it is the program's") {
    r.h.server.serve([](const auto&) { return log("10:a\n11:accuracy=0.9", Reply::End::whole); });
    r.stream->ended();
    r.h.loop.run();
    CHECK(r.told == Words{"a\n", "accuracy=0.9\n", "complete"});
    CHECK(r.asked().size() == 3);
  }
  SECTION("the connection was cut") {
    r.h.server.reply(log("10:a\n11:accuracy=0.9", Reply::End::whole));
    r.h.server.reply(log("10:a\n11:accuracy=0.95\n12:done\n", Reply::End::whole));
    r.stream->ended();
    r.h.loop.run();
    CHECK(r.told == Words{"a\n", "accuracy=0.95\ndone\n", "complete"});
  }
  SECTION("it cannot be read again") {
    r.h.server.reply(log("10:a\n11:b\n12:accuracy=0.9", Reply::End::whole));
    r.h.server.serve([](const auto&) { return pod_gone(); });
    r.stream->ended();
    r.h.loop.run();
    CHECK(r.told == Words{"a\n", "b\n", "lost: lines after 08:15:11 may be missing: the pod is gone; of the next one, this was read: accuracy=0.9",
                          "complete"});
  }
  SECTION("the connection that followed the log has it") {
    Reader live;
    live.h.server.reply(log("10:a\n11:accuracy=0.9", GENERATE(Reply::End::open, Reply::End::whole)));
    live.h.server.reply(log("10:a\n11:accuracy=0.9", Reply::End::whole));
    live.h.server.serve([](const auto&) { return pod_gone(); });
    live.begin();
    live.h.loop.run(1s);
    live.stream->ended();
    live.h.loop.run();
    CHECK(live.told == Words{"a\n", "accuracy=0.9\n", "complete"});
    CHECK(live.asked().size() == 2);
  }
  SECTION("it is another one each time") {
    int readings = 0;
    r.h.server.serve([&](const auto&) { return log("10:a\n11:" + std::string(static_cast<std::size_t>(++readings), 'x'), Reply::End::whole); });
    r.stream->ended();
    r.h.loop.run();
    CHECK(readings < 10);
    CHECK(r.told.size() == 3);
    CHECK(r.told.back() == "complete");
  }
}

TEST_CASE("what the kubelet no longer serves is read on the connection that followed the log") {
  Reader r;
  const auto removed = GENERATE(true, false);
  CAPTURE(removed);
  const std::string cause = removed ? "unable to retrieve container logs for containerd://0123" : "the pod is gone";
  // The container ends half a second after "a"; `later` is on its way then.
  const auto read = [&](std::vector<Piece> later, Reply::End end, const std::optional<Reply>& rest = {}) {
    later.insert(later.begin(), {0ms, stamped("10:a\n")});
    r.h.server.reply({.pieces = std::move(later), .end = end});
    if (rest) r.h.server.reply(*rest);
    r.h.server.serve([&](const auto&) { return removed ? Reply::text(cause) : pod_gone(); });
    r.begin();
    r.h.loop.run(500ms);
    r.stream->ended();
    r.h.loop.run();
    std::string all;
    for (const auto& lines : r.told) all += lines;
    return all;
  };
  SECTION("to its end") { CHECK(read({{1s, stamped("11:b\n12:last")}, {1s, " words\n"}}, Reply::End::whole) == "a\nb\nlast words\ncomplete"); }
  SECTION("but for a line that may be half of one") {
    const auto lost = "lost: lines after 08:15:11 may be missing: " + cause + "; of the next one, this was read: loss=0.1";
    CHECK(read({{1s, stamped("11:b\n12:loss=0.1")}}, Reply::End::whole) == "a\nb\n" + lost + "complete");
  }
  SECTION("and a last line without a newline that the other connection has read, too") {
    const auto rest = log("10:a\n11:b\n12:loss=0.1", Reply::End::whole);
    CHECK(read({{1s, stamped("11:b\n12:loss=0.1")}}, Reply::End::whole, rest) == "a\nb\nloss=0.1\ncomplete");
  }
  SECTION("for some seconds") {
    CHECK(read({{1s, stamped("11:b\n")}}, Reply::End::open) == "a\nb\nlost: lines after 08:15:11 may be missing: " + cause + "complete");
  }
  SECTION("without what the other connection has read") {
    const auto rest = log("10:a\n11:b\n12:c\n", Reply::End::cut);
    CHECK(read({{1s, stamped("11:b\n12:c\n13:d\n")}}, Reply::End::whole, rest) == "a\nb\nc\nd\ncomplete");
  }
  CHECK(r.h.server.open() == 0);
}

TEST_CASE("the connection that followed a log is closed when its rest was read, and is not that of the next attempt") {
  Reader r;
  r.h.server.reply(log("10:a\n", Reply::End::whole));
  r.h.server.reply({.pieces = {{3s, stamped("40:new\n")}}, .end = Reply::End::open});
  r.h.server.serve([](const auto&) { return Reply::text("unable to retrieve container logs for containerd://0123"); });
  r.begin();
  r.h.loop.run(4s);
  r.stream->ended(true);
  r.h.loop.run();
  CHECK(r.told == Words{"a\n", "lost: lines after 08:15:10 may be missing: unable to retrieve container logs for containerd://0123", "complete"});
  CHECK(r.h.server.open() == 0);
}

TEST_CASE("a piece of a cut line is longer than the longest line, its end is not") {
  for (const std::size_t more : {0U, 1U, 15U, 16U, 100U, (1U << 20U) + 5U, (1U << 20U) + 40U}) {
    CAPTURE(more);
    Reader r;
    r.h.server.reply(log("10:" + std::string(max_line_length + more, 'x') + "\n11:b\n", Reply::End::whole));
    r.begin();
    r.h.loop.run(1s);
    std::string all;
    for (const auto& lines : r.told) all += lines;
    CHECK(all.ends_with("\nb\n"));
    std::size_t length = 0, bytes = 0;
    bool goes_on = false;
    for (const char c : all) {
      if (c != '\n') {
        ++length;
        continue;
      }
      if (goes_on && length <= max_line_length) CHECK(bytes + length == max_line_length + more);  // the end of the line
      bytes += length;
      goes_on = std::exchange(length, 0) > max_line_length;
    }
    CHECK(bytes == max_line_length + more + 1);
  }
}

TEST_CASE("lines come in batches, as the bytes do") {
  Reader r;
  r.h.server.reply(log("10:a\n10:b\n10:c\n"));
  r.begin();
  r.h.loop.run(1s);
  CHECK(r.told == Words{"a\nb\nc\n"});
}

TEST_CASE("a message of the agent is on a line of its own, even if the program's last line is incomplete") {
  Reader r;
  r.h.server.reply(
      log("10:loss=0.125trainstep: outputs\n10:trainstep: outputstrainstep: twice\n10:a trainstep: b\n10:\"trainstep: "
          "c\n10:trainstep:\n10:100%trainstep: d\n"));
  r.begin();
  r.h.loop.run(1s);
  CHECK(r.told == Words{"loss=0.125\ntrainstep: outputs\ntrainstep: outputstrainstep: twice\na trainstep: b\n\"trainstep: c\ntrainstep:\n"
                        "100%\ntrainstep: d\n"});
}

TEST_CASE("a page in place of a log is not delivered: the log is requested again") {
  Reader r;
  const auto* type = GENERATE("text/html", "text/html; charset=utf-8", "application/json");
  auto page = Reply::text("maintenance loss=7\n");
  page.headers = {{"Content-Type", type}};
  r.h.server.reply(page);
  r.h.server.reply(log("10:a\n", Reply::End::whole));
  r.begin();
  r.h.loop.run(10s);
  CHECK(r.told == Words{"a\n"});
  CHECK(r.asked().front() == "follow");
}

TEST_CASE("a container that has not started is waited for; one that never starts is reported") {
  Reader r;
  for (int i = 0; i < 20; ++i) r.h.server.reply(i % 3 == 0 ? refusal(404, "NotFound", "no such container", {{"kind", "pods/log"}}) : waiting());
  SECTION("it starts") {
    r.h.server.reply(log("10:a\n"));
    r.begin();
    r.h.loop.run(200s);
    CHECK(r.told == Words{"a\n"});
    for (std::size_t i = 1; i < r.h.server.asked().size(); ++i) CHECK(r.h.server.asked()[i].at - r.h.server.asked()[i - 1].at < 6s);
  }
  SECTION("it never does") {
    r.begin();
    r.h.loop.run(20s);
    r.stream->ended();
    r.h.loop.run();
    REQUIRE(r.told.size() == 2);
    CHECK_THAT(r.told[0], Contains("lost: cannot read any line: read") && Contains("waiting to start"));
    CHECK(r.told[1] == "complete");
    CHECK(r.h.server.asked().size() < 20);
  }
}

TEST_CASE("an unavailable log is reported, and the stream ends") {
  struct Case {
    std::string name;
    Reply reply;
    std::string why;
  };
  const Case cases[] = {
      {"pod gone", pod_gone(), "the pod is gone"},
      {"forbidden", refusal(403, "Forbidden", "pods \"p\" is forbidden: no", {{"name", "p"}, {"kind", "pods"}}),
       "read the log of pods/p: forbidden: no"},
      {"no such container", refusal(400, "BadRequest", "container c is not valid for pod p"),
       "read the log of pods/p: container c is not valid for pod p"},
  };
  for (const auto& row : cases) {
    INFO(row.name);
    for (const auto before : {false, true}) {
      Reader r;
      if (before) r.h.server.reply(log("10:a\n", Reply::End::cut));
      r.h.server.serve([&](const auto&) { return row.reply; });
      r.begin();
      r.h.loop.run(1h);
      if (before)
        CHECK(r.told == Words{"a\n", "lost: lines after 08:15:10 may be missing: " + row.why, "complete"});
      else
        CHECK(r.told == Words{"lost: cannot read any line: " + row.why, "complete"});
      CHECK(r.h.server.open() == 0);
    }
  }
}

TEST_CASE("a server that begins to serve may refuse the first requests for a log") {
  const auto row = GENERATE(refusal(403, "Forbidden", "pods \"p\" is forbidden: no", {{"name", "p"}, {"kind", "pods"}}),
                            refusal(400, "BadRequest", "container c is not valid for pod p"), refusal(405, "MethodNotAllowed", "not here"));
  Reader r;
  for (int i = 0; i < 3; ++i) r.h.server.reply(row);
  r.h.server.reply(log("10:a\n"));
  r.begin();
  r.h.loop.run(20s);
  CHECK(r.told == Words{"a\n"});
}

TEST_CASE("a pod not known to be gone may be unknown to a lagging server") {
  Reader r;
  for (int i = 0; i < 6; ++i) r.h.server.reply(Reply::text("", 503));
  for (int i = 0; i < 2; ++i) r.h.server.reply(pod_gone());
  r.h.server.reply(log("10:a\n"));
  for (int i = 0; i < 2; ++i) r.h.server.reply(pod_gone());
  r.h.server.reply(log("10:a\n11:b\n", Reply::End::whole));
  r.begin();
  r.h.loop.run(5min);
  CHECK(r.told == Words{"a\n"});
  r.stream->ended();
  r.h.loop.run(1min);
  CHECK(r.told == Words{"a\n", "b\n", "complete"});
}

TEST_CASE("a server may lag for some seconds: until then, several 404s for the pod are not final") {
  Reader r;
  int asked = 0;
  r.h.server.serve([&](const auto&) { return ++asked <= 4 ? pod_gone() : log("10:a\n", Reply::End::whole); });
  r.begin();
  r.stream->ended();
  r.h.loop.run(1min);
  CHECK(r.told == Words{"a\n", "complete"});
}

TEST_CASE("a server that has too many requests is asked for the rest of a log for two minutes") {
  auto busy = refusal(429, "TooManyRequests", "Too many requests, please try again later.");
  busy.headers.emplace_back("Retry-After", "1");
  Reader r;
  int asked = 0;
  SECTION("and serves it") {
    r.h.server.serve([&](const auto&) { return ++asked <= 12 ? busy : log("10:a\n", Reply::End::whole); });
    r.begin();
    r.stream->ended();
    r.h.loop.run(5min);
    CHECK(r.told == Words{"a\n", "complete"});
  }
  SECTION("and does not") {
    r.h.server.serve([&](const auto&) { return busy; });
    r.begin();
    r.stream->ended();
    r.h.loop.run(5min);
    CHECK(r.told == Words{"lost: cannot read any line: read the log of pods/p: Too many requests, please try again later.", "complete"});
  }
}

TEST_CASE("how a connection fails decides how long the next one waits") {
  struct Case {
    std::string name;
    Reply reply;
    Duration least;
    Duration most;
  };
  const Case cases[] = {{"cut", log("10:a\n", Reply::End::cut), 100ms, 300ms},
                        {"cut in a line", log("10:a\n11:tor", Reply::End::cut), 100ms, 300ms},
                        {"ended", log("10:a\n", Reply::End::whole), 2s, 2100ms},
                        {"no answer", Reply::lost(), 100ms, 300ms},
                        {"401", Reply::text("", 401), 100ms, 300ms},
                        {"429", {.status = 429, .headers = {{"Retry-After", "20"}}}, 20s, 26s},
                        {"500", Reply::text("", 500), 100ms, 300ms},
                        {"silent", log("10:a\n"), 1h, 1h + 1s}};
  for (const auto& row : cases) {
    INFO(row.name);
    Reader r;
    r.h.server.reply(row.reply);
    r.h.server.reply(log("10:a\n11:torn\n"));
    r.begin();
    r.h.loop.run(row.most);
    REQUIRE(r.h.server.asked().size() == 2);
    const auto pause = r.h.server.asked()[1].at - r.h.server.asked()[0].at;
    CHECK(pause >= row.least);
    CHECK(pause <= row.most);
    std::string all;
    for (const auto& word : r.told) all += word;
    CHECK(all == "a\ntorn\n");
  }
}

TEST_CASE("a server that ends each connection at once is not asked in a busy loop, and nothing comes twice") {
  Reader r;
  r.h.server.serve([](const auto&) { return log("10:a\n11:b\n", Reply::End::whole); });
  r.begin();
  r.h.loop.run(1h);
  CHECK(r.told == Words{"a\nb\n"});
  CHECK(r.h.server.asked().size() < 3600 / 15);
}

TEST_CASE("after the end, permanent errors are given up, and an API server that does not respond is waited for") {
  Reader r;
  const auto begin = r.h.loop.now();
  r.h.server.reply(log("10:a\n"));
  r.begin();
  r.h.loop.run(1s);
  SECTION("a node that is lost") {
    r.h.server.serve([](const auto&) { return refusal(500, "InternalError", "dial tcp: i/o timeout"); });
    r.stream->ended();
    r.h.loop.run(10min);
    CHECK(r.told == Words{"a\n", "lost: lines after 08:15:10 may be missing: read the log of pods/p: dial tcp: i/o timeout", "complete"});
    CHECK(r.h.server.asked().size() == 11);
  }
  SECTION("an API server that is away for a day") {
    r.h.server.serve([&](const auto& asked) { return asked.at - begin < 24h ? Reply::lost() : log("10:a\n11:b\n", Reply::End::whole); });
    Words trouble;
    r.h.client->on_trouble([&](const std::string& reason) { trouble.push_back(reason); });
    r.stream->ended();
    r.h.loop.run();
    CHECK(r.told == Words{"a\n", "b\n", "complete"});
    CHECK(trouble == Words{"cannot reach the API server (read the log of pods/p: the connection was cut)", ""});
  }
}

TEST_CASE("a log whose connections all break early is one trouble, which ends when one has lasted") {
  Reader r;
  Words trouble;
  r.h.client->on_trouble([&](const std::string& reason) { trouble.push_back(reason); });
  const auto begin = r.h.loop.now();
  r.h.server.serve([&](const auto& asked) { return log("10:a\n", asked.at - begin < 10min ? Reply::End::cut : Reply::End::open); });
  r.begin();
  const Words begun{"connections to the API server break early (read the log of pods/p: the connection was cut)"};
  r.h.loop.run(10min);
  CHECK(trouble == begun);
  r.h.loop.run(90s);
  CHECK(trouble == Words{begun[0], ""});
  CHECK(r.told == Words{"a\n"});
}

TEST_CASE("a log rotated while it was not read is reported as incomplete") {
  Reader r;
  r.h.server.reply(log("10:a\n11:b\n", Reply::End::cut));
  SECTION("lines are missing") {
    r.h.server.reply(log("45:x\n46:y\n"));
    r.begin();
    r.h.loop.run(30s);
    CHECK(r.told == Words{"a\nb\n", "lost: lines between 08:15:11 and 08:15:45 may be missing: the log was rotated", "x\ny\n"});
  }
  SECTION("the last line is still there") {
    r.h.server.reply(log("11:b\n46:y\n"));
    r.begin();
    r.h.loop.run(30s);
    CHECK(r.told == Words{"a\nb\n", "y\n"});
  }
  SECTION("nothing is there any more") {
    r.h.server.reply(log("", Reply::End::whole));
    r.begin();
    r.stream->ended();
    r.h.server.reply(log("", Reply::End::whole));
    r.h.loop.run(30s);
    // The first connection was cut by ended(), before it gave anything: there is nothing to miss.
    CHECK(r.told == Words{"complete"});
  }
  SECTION("nothing is there any more at the end") {
    r.h.server.serve([](const auto&) { return log("", Reply::End::whole); });
    r.begin();
    r.h.loop.run(1s);
    r.stream->ended();
    r.h.loop.run(30s);
    CHECK(r.told == Words{"a\nb\n", "lost: lines after 08:15:11 may be missing: the log no longer contains the last line that was read", "complete"});
  }
}

TEST_CASE("a container that starts again in place does not mix its lines with those of the attempt before") {
  Reader r;
  r.h.server.reply(log("10:a\n11:b\n", Reply::End::whole));
  r.h.server.serve(
      [](const auto& asked) { return asked.query("previous") == "true" ? log("11:b\n12:c\n", Reply::End::whole) : log("20:new 1\n21:new 2\n"); });
  r.begin();
  SECTION("that is known soon: the rest is read from the log of the attempt before") {
    r.h.loop.run(6s);
    CHECK(r.told == Words{"a\nb\n"});
    r.stream->ended(true);
    r.h.loop.run();
    CHECK(r.told == Words{"a\nb\n", "c\n", "complete"});
    CHECK(r.asked().back() == "read previous 08:15:10Z");
  }
  SECTION("not reported: then it was rotated") {
    r.h.loop.run(30s);
    CHECK(r.told == Words{"a\nb\n", "lost: lines between 08:15:11 and 08:15:20 may be missing: the log was rotated", "new 1\nnew 2\n"});
  }
}

TEST_CASE("the log of the attempt before is read to its end without being asked to") {
  Reader r;
  SECTION("there is one") {
    r.h.server.reply(log("10:a\n11:b\n", Reply::End::whole));
    r.begin(true);
    r.h.loop.run();
    CHECK(r.told == Words{"a\nb\n", "complete"});
  }
  SECTION("there is none") {
    r.h.server.reply(refusal(400, "BadRequest", "previous terminated container \"c\" in pod \"p\" not found"));
    r.begin(true);
    r.h.loop.run();
    CHECK(r.told ==
          Words{"lost: cannot read any line: read the log of pods/p: previous terminated container \"c\" in pod \"p\" not found", "complete"});
  }
  CHECK(r.asked() == Words{"read previous"});
}

TEST_CASE("the kubelet's message in place of a log is not delivered as a line") {
  Reader r;
  r.h.server.reply(log("10:a\n", Reply::End::cut));
  r.h.server.serve([](const auto&) { return Reply::text("unable to retrieve container logs for containerd://0123\n"); });
  r.begin();
  r.h.loop.run(1s);
  r.stream->ended();
  r.h.loop.run();
  CHECK(r.told == Words{"a\n", "lost: lines after 08:15:10 may be missing: unable to retrieve container logs for containerd://0123", "complete"});
}

TEST_CASE("lines of a kubelet without timestamps are delivered once, too") {
  Reader r;
  r.h.server.reply({.pieces = {{0ms, "a\nb\na\n"}}, .end = Reply::End::cut});
  r.h.server.reply({.pieces = {{0ms, "a\nb\na\na\nc\n"}}, .end = Reply::End::open});
  r.begin();
  r.h.loop.run(10s);
  CHECK(r.told == Words{"a\nb\na\n", "a\nc\n"});
  CHECK(r.asked() == Words{"follow", "follow"});
}

TEST_CASE("a line without end comes in parts, each once") {
  Reader r;
  const std::string line = stamped("10:") + std::string(2'500'000, 'x');
  r.h.server.reply({.pieces = {{0ms, line.substr(0, 2'400'000)}}, .end = Reply::End::cut});
  r.h.server.reply({.pieces = {{0ms, line.substr(0, 7)}, {0ms, line.substr(7) + "\n" + stamped("11:b\n")}}, .end = Reply::End::open});
  r.begin();
  r.h.loop.run(10s);
  std::string all;
  for (const auto& word : r.told) all += word;
  CHECK(std::count(all.begin(), all.end(), 'x') == 2'500'000);
  CHECK(std::count(all.begin(), all.end(), '\n') == 4);
  CHECK(all.ends_with("x\nb\n"));
}

TEST_CASE("a log stream may be destroyed, or ended, in each of its callbacks") {
  for (const std::string at : {"lines", "lost", "complete"}) {
    for (const auto destroy : {true, false}) {
      INFO(at << destroy);
      Harness h;
      h.server.reply(log("10:a\n", Reply::End::cut));
      h.server.serve([](const auto&) { return log("40:x\n41:y\n", Reply::End::whole); });
      std::unique_ptr<LogStream> stream;
      Words told;
      const auto here = [&](const std::string& name) {
        told.push_back(name);
        if (name == at && destroy) {
          stream.reset();
          h.client.reset();
        } else if (name == at) {
          stream->ended();
        }
      };
      stream = std::make_unique<LogStream>(*h.client, LogSource{"ns", "p", "c"},
                                           LogStream::Sink{.lines = [&](std::string_view) { here("lines"); },
                                                           .lost = [&](const std::string&) { here("lost"); },
                                                           .complete = [&] { here("complete"); }});
      h.loop.after(60s, [&] {
        if (stream) stream->ended();
      });
      h.loop.run();
      CHECK(h.server.open() == 0);
      if (destroy)
        CHECK(told.back() == at);
      else
        CHECK(told == Words{"lines", "lost", "lines", "complete"});
    }
  }
}

TEST_CASE("a destroyed log stream has no pending timers") {
  for (const auto when : {0ms, 1ms, 2ms, 500ms, 5000ms}) {
    Reader r;
    r.h.server.serve([](const auto&) { return log("10:a\n", Reply::End::whole); });
    r.begin();
    r.h.loop.run(when);
    r.stream.reset();
    const auto asked = r.h.server.asked().size();
    r.h.loop.run();
    CHECK(r.h.server.asked().size() == asked);
    CHECK(r.h.server.open() == 0);
  }
}

TEST_CASE("the log of a pod that is gone is read on its open connection only: the next pod of that name has other lines") {
  Reader r;
  r.h.server.reply({.pieces = {{0ms, stamped("10:a\n")}, {2s, stamped("11:b\n")}}, .end = Reply::End::whole});
  r.begin();
  r.h.loop.run(1s);
  r.stream->abandon();
  r.stream->ended();
  r.h.loop.run();
  CHECK(r.told == Words{"a\n", "b\n", "complete"});
  CHECK(r.h.server.asked().size() == 1);

  Reader silent;
  silent.h.server.reply(log("10:a\n"));
  silent.begin();
  silent.h.loop.run(1s);
  silent.stream->abandon();
  silent.h.loop.run();
  CHECK(silent.told == Words{"a\n", "lost: lines after 08:15:10 may be missing: the pod is gone", "complete"});
  CHECK(silent.h.server.asked().size() == 1);
}

TEST_CASE("a log that is held waits for its reader, for hours, and goes on with the next line") {
  Reader r;
  r.h.server.reply({.pieces = {{0ms, stamped("10:a\n")}, {1s, stamped("11:b\n")}, {1s, stamped("12:c\n")}}, .end = Reply::End::open});
  r.begin();
  r.h.loop.run(100ms);
  r.stream->hold(true);
  r.h.loop.run(3h);
  CHECK(r.told == Words{"a\n"});
  r.stream->hold(false);
  r.h.loop.run(10s);
  CHECK(r.told == Words{"a\n", "b\n", "c\n"});
  CHECK(r.asked() == Words{"follow"});
}

TEST_CASE("a log stream that is held stays so when it reconnects") {
  Reader r;
  r.h.server.reply(log("10:a\n", Reply::End::cut));
  r.h.server.reply({.pieces = {{1s, stamped("10:a\n11:b\n")}}, .end = Reply::End::open});
  r.begin();
  r.h.loop.run(100ms);
  r.stream->hold(true);
  r.h.loop.run(1h);
  CHECK(r.told == Words{"a\n"});
  CHECK(r.asked().size() == 2);
  r.stream->hold(false);
  r.h.loop.run(10s);
  CHECK(r.told == Words{"a\n", "b\n"});
}

TEST_CASE("an unreadable log is reported with its cause after some seconds, once per series") {
  Reader r;
  r.tells_waits = true;
  const auto broken = refusal(500, "InternalError", "remote error: tls: internal error");
  r.h.server.serve([&](const FakeTransport::Asked&) { return broken; });
  r.begin();
  r.h.loop.run(4s);
  CHECK(r.told.empty());
  r.h.loop.run(10min);
  REQUIRE(r.told.size() == 1);
  CHECK_THAT(r.told.front(), Contains("waits: cannot be read at present") && Contains("tls: internal error"));
  SECTION("after the end its rest is soon given up, with the cause") {
    r.stream->ended();
    r.h.loop.run(10s);
    REQUIRE(r.told.size() == 3);
    CHECK_THAT(r.told[1], Contains("lost: cannot read any line: ") && Contains("tls: internal error"));
    CHECK(r.told[2] == "complete");
  }
  SECTION("it can be read, and then cannot again") {
    bool works = true;
    r.h.server.serve([&](const FakeTransport::Asked&) { return std::exchange(works, false) ? log("10:a\n", Reply::End::whole) : broken; });
    r.h.loop.run(10min);
    REQUIRE(r.told.size() == 3);
    CHECK(r.told[1] == "a\n");
    CHECK_THAT(r.told[2], Contains("waits: "));
  }
}

TEST_CASE("a log that is unreadable when its container ends is given up after two minutes") {
  Reader r;
  r.h.server.reply(log("10:a\n", Reply::End::whole));
  r.h.server.serve([&](const FakeTransport::Asked&) { return refusal(500, "InternalError", "no agent available"); });
  r.begin();
  r.h.loop.run(1s);
  r.stream->ended();
  r.h.loop.run(30s);
  CHECK(r.told.back() != "complete");
  r.h.loop.run(150s);
  CHECK(r.told.back() == "complete");
}

TEST_CASE("minutes without a response do not count as rejections of the rest of a log") {
  Reader r;
  int asked = 0;
  r.h.server.serve([&](const FakeTransport::Asked&) -> Reply {
    ++asked;
    if (asked == 1) return log("10:a\n", Reply::End::whole);
    if (asked == 4 || asked == 5) return Reply::silent();
    if (asked <= 10) return refusal(500, "InternalError", "no agent available");
    return log("10:a\n11:b\n", Reply::End::whole);
  });
  r.begin();
  r.h.loop.run(100ms);
  r.stream->ended();
  r.h.loop.run(5min);
  CHECK(r.told == Words{"a\n", "b\n", "complete"});
}

TEST_CASE("a token that has expired while a connection was silent loses no line") {
  Reader r;
  int asked = 0;
  r.h.server.serve([&](const FakeTransport::Asked&) -> Reply {
    ++asked;
    if (asked == 1) return log("10:a\n", Reply::End::whole);
    if (asked == 2) return refusal(500, "InternalError", "no agent available");
    if (asked <= 4) return {.end = Reply::End::open};  // a minute without a byte
    if (asked == 5) return refusal(401, "Unauthorized", "Unauthorized");
    return log("10:a\n11:b\n", Reply::End::whole);
  });
  r.begin();
  r.h.loop.run(100ms);
  r.stream->ended();
  r.h.loop.run(5min);
  CHECK(asked == 6);
  CHECK(r.told == Words{"a\n", "b\n", "complete"});
}
