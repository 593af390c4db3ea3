#include "cli/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "base/fd.h"
#include "support/catch.h"
#include "support/virtual_loop.h"

using namespace trainstep;
using namespace trainstep::cli;

namespace {

std::string written(const std::function<void(Console&, Time)>& act) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  test::VirtualLoop loop;
  {
    log::Log log(writer.get(), {}, loop.now());
    Console console(loop, log);
    act(console, loop.now());
    console.finish();
    CHECK(log.writer().finish(Duration(60'000)));
  }
  writer.close();
  std::string text;
  std::array<char, 4096> chunk{};
  for (auto count = ::read(reader.get(), chunk.data(), chunk.size()); count > 0; count = ::read(reader.get(), chunk.data(), chunk.size()))
    text.append(chunk.data(), static_cast<std::size_t>(count));
  return text;
}

}  // namespace

TEST_CASE("in a pod the progress is a separate log line, at most every 30 seconds") {
  result::Timeline timeline;
  result::MetricReader metrics;
  const auto text = written([&](Console& console, Time at) {
    timeline.enter(result::Phase::running, at);
    for (int epoch = 1; epoch <= 9; ++epoch) {
      const auto now = at + Duration(10'000 * epoch);
      metrics.feed("epoch=" + std::to_string(epoch) + "/10 loss=0.5", now);
      console.progress(now, epoch, 10);
      console.state(now, timeline, metrics);
    }
  });
  CHECK(text ==
        "[trainstep]  0:40  running · epoch 4/10 · loss=0.5 · 40 s · about 1 min 00 s left\n"
        "[trainstep]  1:10  running · epoch 7/10 · loss=0.5 · 1 min 10 s · about 30 s left\n");
}

TEST_CASE("the live line is cut to the width of the terminal") {
  result::Timeline timeline;
  result::MetricReader metrics;
  timeline.enter(result::Phase::running, Time{});
  metrics.feed("epoch=1/2 loss=0.25 accuracy=0.5", Time{});
  CHECK(live_line(timeline, metrics, Time{} + Duration(4000), 200) == "running · epoch 1/2 · loss=0.25 accuracy=0.5 · 4.0 s · about 4.0 s left");
  CHECK(live_line(timeline, metrics, Time{}, 9) == "running ·");
}

TEST_CASE("the time left follows the pace so far and is not guessed without one") {
  CHECK_FALSE(time_left({}, Duration(1000)));
  CHECK_FALSE(time_left({0, 10}, Duration(1000)));
  CHECK_FALSE(time_left({3, std::nullopt}, Duration(1000)));
  CHECK_FALSE(time_left({10, 10}, Duration(1000)));
  CHECK(time_left({2, 10}, Duration(1000)) == Duration(4000));
}
