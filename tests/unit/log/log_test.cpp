// SPDX-License-Identifier: Apache-2.0
#include "log/log.h"

#include <unistd.h>

#include <array>
#include <functional>

#include "base/fd.h"
#include "data/json.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::log;

namespace {

constexpr Time began{std::chrono::hours(24 * 365 * 56)};

std::string written(Options options, const std::function<void(Log&)>& act) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  {
    Log log(writer.get(), options, began);
    act(log);
    CHECK(log.writer().finish(Duration(60'000)));
  }
  writer.close();
  std::string text;
  std::array<char, 4096> chunk{};
  for (auto count = ::read(reader.get(), chunk.data(), chunk.size()); count > 0; count = ::read(reader.get(), chunk.data(), chunk.size()))
    text.append(chunk.data(), static_cast<std::size_t>(count));
  return text;
}

void tell(Log& log) {
  log.write(began, Level::debug, "debugged");
  log.write(began, Level::info, "informed");
  log.output(began, "worker-0", "printed\n");
  log.write(began, Level::warning, "warned");
  log.write(began, Level::error, "failed");
  log.conclude(began, true, "succeeded");
}

}  // namespace

TEST_CASE("every line has its source, and our own the time since the start") {
  const auto text = written({}, [](Log& log) {
    log.write(began, Level::info, "starting");
    log.output(began, "worker-1", "one\n\ntwo\n");
    log.write(began + Duration(65'000), Level::info, "done");
  });
  CHECK(text == "[trainstep]  0:00  starting\n[worker-1] one\n[worker-1] \n[worker-1] two\n[trainstep]  1:05  done\n");
}

TEST_CASE("each level shows what is graver, and every one the verdict") {
  const std::string verdict = "[trainstep]  0:00  succeeded\n";
  const std::string failed = "[trainstep]  0:00  failed\n" + verdict;
  const std::string warned = "[trainstep]  0:00  warned\n" + failed;
  const std::string informed = "[trainstep]  0:00  informed\n[worker-0] printed\n" + warned;
  CHECK(written({Format::text, Level::error}, tell) == failed);
  CHECK(written({Format::text, Level::warning}, tell) == warned);
  CHECK(written({Format::text, Level::info}, tell) == informed);
  CHECK(written({Format::text, Level::debug}, tell) == "[trainstep]  0:00  debugged\n" + informed);
}

TEST_CASE("levels are known by their names") {
  CHECK(level_of("debug") == Level::debug);
  CHECK(level_of("Info") == Level::info);
  CHECK(level_of("WARNING") == Level::warning);
  CHECK(level_of("error") == Level::error);
  CHECK_FALSE(level_of("trace"));
  CHECK_FALSE(level_of(""));
}

TEST_CASE("each JSON line is a valid object, whatever the text; our own have a level") {
  const auto text = written({Format::json, Level::info}, [](Log& log) {
    log.output(began, "worker-0", "say \"hi\" \xff \x1b[31mred\x1b[0m\x1b[2J\n");
    log.write(began, Level::warning, "two\nlines \xff");
  });
  const auto newline = text.find('\n');
  const auto first = Json::parse(text.substr(0, newline));
  CHECK(first["source"] == "worker-0");
  CHECK(first["message"] == "say \"hi\" \xef\xbf\xbd \x1b[31mred\x1b[0m");
  CHECK(first["time"] == "2025-12-18T00:00:00Z");
  const auto second = Json::parse(text.substr(newline + 1));
  CHECK(second["source"] == "trainstep");
  CHECK(second["level"] == "warning");
  CHECK(second["message"] == "two\\nlines \\xff");
  CHECK(text.find('\n', newline + 1) == text.size() - 1);
}

TEST_CASE("untrusted text cannot start a log line, in our messages or in a program's output") {
  const auto text = written({}, [](Log& log) {
    log.write(began, Level::info, "pull failed: no\n[trainstep]  0:00  succeeded");
    log.output(began, "worker-0", "99%\r[trainstep]  0:00  succeeded\n\x1b[A[trainstep]  0:00  succeeded\n");
  });
  CHECK(text ==
        "[trainstep]  0:00  pull failed: no\\n[trainstep]  0:00  succeeded\n[worker-0] [trainstep]  0:00  succeeded\n"
        "[worker-0] [trainstep]  0:00  succeeded\n");
}

TEST_CASE("a bar that was drawn again and again is one line in a file: its last state") {
  const auto text = written({}, [](Log& log) { log.output(began, "main", "\r  0%|    |\r 50%|##  |\r100%|####|\n"); });
  CHECK(text == "[main] 100%|####|\n");
}

TEST_CASE("a text that is to be hidden is in no line from then on, those of replicas included") {
  const auto text = written({}, [](Log& log) {
    log.output(began, "worker-0", "hunter22\n");
    log.hide({"hunter22"});
    log.write(began, Level::info, "hunter22");
    log.output(began, "worker-0", "is hunter22\nhun\033[1mter22\nBearer abcdefgh\n");
  });
  CHECK(text == "[worker-0] hunter22\n[trainstep]  0:00  [redacted]\n[worker-0] is [redacted]\n[worker-0] [redacted]\n[worker-0] Bearer abcdefgh\n");
}

TEST_CASE("our own lines contain no secrets, lines of replicas are unchanged") {
  const auto text = written({.secrets = {"hunter22"}}, [](Log& log) {
    log.write(began, Level::info, "get https://me:pw@host/?X-Amz-Signature=abc with hunter22");
    log.output(began, "worker-0", "hunter22\n");
    log.conclude(began, false, "hunter22");
  });
  CHECK(text ==
        "[trainstep]  0:00  get https://[redacted]@host/?X-Amz-Signature=[redacted] with [redacted]\n[worker-0] hunter22\n[trainstep]  0:00  "
        "[redacted]\n");
}
