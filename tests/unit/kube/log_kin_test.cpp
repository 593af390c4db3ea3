// SPDX-License-Identifier: Apache-2.0
#include <list>

#include "kube/container_logs.h"
#include "kube/log_stream.h"
#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::kube;
using namespace trainstep::kube::test;

namespace {

using Words = std::vector<std::string>;

// Streams of one container, attempt after attempt; what each told, by its letter.
struct Attempts {
  Harness h;
  Words told;
  std::shared_ptr<ContainerLogs> kin = std::make_shared<ContainerLogs>();
  std::list<LogStream> streams;
  LogStream& begin(const std::string& name, bool previous = false) {
    return streams.emplace_back(*h.client, LogSource{"ns", "p", "c", previous},
                                LogStream::Sink{.lines = [this, name](std::string_view lines) { told.push_back(name + " " + std::string(lines)); },
                                                .lost = [this, name](const std::string&) { told.push_back(name + " lost"); },
                                                .complete = [this, name] { told.push_back(name + " complete"); }},
                                kin);
  }
  void serve(const std::string& lines, Reply::End end) { h.server.reply({.pieces = {{0ms, lines}}, .end = end}); }
};

const std::string first_line = "2026-11-21T08:15:10.000000001Z one\n";
const std::string second_line = "2026-11-21T08:15:10.000000002Z two\n";
const std::string third_line = "2026-11-21T08:15:11.000000003Z three\n";

}  // namespace

TEST_CASE("a stream that got the next attempt's log hands it over to that attempt's stream at its position") {
  Attempts a;
  a.serve(first_line + second_line, Reply::End::open);
  a.serve(first_line + second_line + third_line, Reply::End::open);
  a.begin("a");
  a.h.loop.run(1s);
  CHECK(a.told == Words{"a one\ntwo\n"});
  a.begin("b");
  a.h.loop.run(60s);
  CHECK(a.told == Words{"a one\ntwo\n", "b three\n", "a lost", "a complete"});
  CHECK(a.h.server.asked().size() == 2);
  CHECK(a.h.server.open() == 1);
}

TEST_CASE("what a stream that is complete has read is known, too") {
  Attempts a;
  a.serve(first_line, Reply::End::whole);
  a.serve(first_line + second_line, Reply::End::whole);
  a.begin("a", true);
  a.h.loop.run(1s);
  a.streams.clear();
  a.begin("b", true);
  a.h.loop.run(60s);
  CHECK(a.told == Words{"a one\n", "a complete", "b two\n", "b complete"});
}

TEST_CASE("a stream that comes late to the next attempt's log leaves it alone") {
  Attempts a;
  a.h.server.reply(Reply::lost());
  a.serve(first_line, Reply::End::open);
  a.serve(first_line + second_line, Reply::End::open);
  a.begin("a");
  a.begin("b");
  a.h.loop.run(60s);
  CHECK(a.told == Words{"b one\n", "a lost", "a complete"});
}

TEST_CASE("logs that begin with different lines have nothing to do with each other") {
  Attempts a;
  a.serve(first_line, Reply::End::whole);
  a.serve(second_line, Reply::End::whole);
  a.begin("a", true);
  a.h.loop.run(1s);
  a.begin("b", true);
  a.h.loop.run(60s);
  CHECK(a.told == Words{"a one\n", "a complete", "b two\n", "b complete"});
}
