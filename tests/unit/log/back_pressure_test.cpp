// SPDX-License-Identifier: Apache-2.0
#include "log/back_pressure.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::log;

namespace {

// A log written to a pipe, and its reader.
struct Story {
  Fd reader, pipe;
  PollLoop loop;
  std::optional<Log> log;
  std::vector<Pressure> told;
  std::optional<BackPressure> pressure;
  std::size_t read = 0;

  Story() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    reader = Fd(ends[0]);
    pipe = Fd(ends[1]);
    ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
    log.emplace(pipe.get(), Options{}, loop.now());
    pressure.emplace(loop, *log, [this](Pressure now) {
      told.push_back(now);
      loop.stop();
    });
  }
  void flood(int megabytes) {
    const std::string lines(std::size_t{1} << 19U, '\n');
    for (int i = 0; i < 2 * megabytes; ++i) {
      log->output(loop.now(), "worker-0", lines.substr(0, std::size_t{1} << 15U));
      log->commit();
    }
  }
  void read_on() {
    loop.on_readable(reader.get(), [this] {
      std::array<char, 1 << 16> piece{};
      const auto count = ::read(reader.get(), piece.data(), piece.size());
      if (count > 0) read += static_cast<std::size_t>(count);
    });
  }
  // The limit only matters when the test fails.
  void until(const std::function<bool()>& happened) {
    bool late = false;
    const auto limit = loop.timer(Duration(20'000), [&] {
      late = true;
      loop.stop();
    });
    while (!late && !happened()) loop.run();
    REQUIRE_FALSE(late);
  }
  void until_told(Pressure wanted) {
    until([&] { return !told.empty() && told.back() == wanted; });
  }
};

}  // namespace

TEST_CASE("a producer is paused while the log's reader lags, and resumed when it has caught up") {
  Story story;
  story.flood(4);
  story.until_told(Pressure::full);
  story.read_on();
  story.until_told(Pressure::none);
  CHECK(story.told == std::vector{Pressure::full, Pressure::none});
  CHECK(story.log->writer().waiting() <= Writer::full);
}

TEST_CASE("a reader that reads nothing for seconds is stalled, until it reads again") {
  Story story;
  story.flood(4);
  story.until_told(Pressure::stalled);
  story.read_on();
  story.until_told(Pressure::none);
  CHECK(story.told.front() == Pressure::full);
}

TEST_CASE("the end waits for a slow reader, but not for a stalled one") {
  for (const bool reads : {true, false}) {
    Story story;
    story.flood(2);
    if (reads) story.read_on();
    bool done = false;
    story.pressure->finish({Duration(reads ? 60'000 : 300), {}}, [&] {
      done = true;
      story.loop.stop();
    });
    story.until([&] { return done; });
    CHECK((story.log->writer().waiting() == 0) == reads);
  }
}

TEST_CASE("after hurry() a reader that does not read is not waited for") {
  Story story;
  story.flood(2);
  bool done = false;
  story.pressure->finish({std::chrono::hours(1), {}}, [&] {
    done = true;
    story.loop.stop();
  });
  story.loop.after(Duration(1), [&] { story.pressure->hurry(); });
  story.until([&] { return done; });
  CHECK(story.log->writer().waiting() > 0);
}

TEST_CASE("lines that exceed the memory are dropped only if the log is not read and the producer cannot wait, and this is reported") {
  Story story;
  story.flood(4);
  story.log->allow_dropping(false);
  const std::string line = std::string(1 << 20, 'x') + "\n";
  for (int i = 0; i < 20; ++i) story.log->output(story.loop.now(), "worker-0", line);
  const auto all = story.log->writer().waiting();
  CHECK(all > std::size_t{20} << 20U);
  story.log->allow_dropping(true);
  for (int i = 0; i < 20; ++i) story.log->output(story.loop.now(), "worker-0", line);
  CHECK(story.log->writer().waiting() == all);
  story.log->conclude(story.loop.now(), false, "cancelled");
  const auto text = story.log->writer().waiting() - all;
  CHECK(text == std::string("[trainstep]  0:00  20 lines dropped: the log's reader was too slow\n[trainstep]  0:00  cancelled\n").size());
  story.log->writer().give_up();
}
