// SPDX-License-Identifier: Apache-2.0
#include "base/poll_loop.h"

#include <unistd.h>

#include <array>
#include <string>

#include "base/fd.h"
#include "support/catch.h"

using namespace trainstep;
using namespace std::chrono_literals;

namespace {

struct Pipe {
  Fd read;
  Fd write;
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    read = Fd(ends[0]);
    write = Fd(ends[1]);
  }
};

}  // namespace

TEST_CASE("timers run in the order of their time, those of the same time in the order they were made") {
  PollLoop loop;
  std::string order;
  loop.after(20ms, [&] { order += 'c'; });
  loop.after(0ms, [&] { order += 'a'; });
  loop.after(0ms, [&] { order += 'b'; });
  loop.run();
  CHECK(order == "abc");
}

TEST_CASE("a timer does not run before its time") {
  PollLoop loop;
  const auto start = std::chrono::steady_clock::now();
  loop.after(5ms, [] {});
  loop.run();
  CHECK(std::chrono::steady_clock::now() - start >= 5ms);
}

TEST_CASE("a cancelled timer does not run, not even when it is due together with the one that cancels it") {
  PollLoop loop;
  std::string order;
  Timer second;
  auto first = loop.timer(0ms, [&] {
    order += 'a';
    second.cancel();
  });
  second = loop.timer(0ms, [&] { order += 'b'; });
  loop.run();
  CHECK(order == "a");
  first.cancel();
  loop.cancel(4711);
}

TEST_CASE("a timer exists as long as its handle, unless it is detached") {
  PollLoop loop;
  std::string order;
  {
    const auto dropped = loop.timer(0ms, [&] { order += 'a'; });
  }
  loop.timer(0ms, [&] { order += 'b'; }).detach();
  auto replaced = loop.timer(0ms, [&] { order += 'c'; });
  replaced = loop.timer(0ms, [&] { order += 'd'; });
  auto moved = std::move(replaced);
  CHECK(moved);
  loop.run();
  CHECK(order == "bd");
}

TEST_CASE("posted tasks run in their order, those that they post after them, and a stop ends the run") {
  PollLoop loop;
  std::string order;
  loop.post([&] {
    order += 'a';
    loop.post([&] { order += 'c'; });
  });
  loop.post([&] { order += 'b'; });
  loop.run();
  CHECK(order == "abc");
  loop.post([&] { loop.stop(); });
  loop.after(1h, [&] { order += 'x'; });
  loop.run();
  CHECK(order == "abc");
}

TEST_CASE("a readable descriptor is reported until it is removed, including end of file") {
  PollLoop loop;
  Pipe pipe;
  std::string got;
  loop.on_readable(pipe.read.get(), [&] {
    char c = 0;
    if (::read(pipe.read.get(), &c, 1) == 1) {
      got += c;
    } else {
      loop.forget(pipe.read.get());
    }
  });
  REQUIRE(::write(pipe.write.get(), "xyz", 3) == 3);
  pipe.write.close();
  loop.run();
  CHECK(got == "xyz");
}

TEST_CASE("a reader that was forgotten by another one is not called any more") {
  PollLoop loop;
  Pipe first;
  Pipe second;
  int calls = 0;
  const auto forget_both = [&] {
    ++calls;
    loop.forget(first.read.get());
    loop.forget(second.read.get());
  };
  loop.on_readable(first.read.get(), forget_both);
  loop.on_readable(second.read.get(), forget_both);
  first.write.close();
  second.write.close();
  loop.run();
  CHECK(calls == 1);
}

TEST_CASE("a writable descriptor is reported only for the requested events") {
  PollLoop loop;
  Pipe pipe;
  std::string story;
  loop.watch(pipe.write.get(), {.writable = true}, [&](PollLoop::Ready ready) {
    story += ready.writable && !ready.readable ? "w" : "?";
    loop.forget(pipe.write.get());
  });
  loop.run();
  CHECK(story == "w");
}

TEST_CASE("a descriptor whose peer has closed is ready for the requested events") {
  PollLoop loop;
  Pipe pipe;
  pipe.read.close();
  std::string story;
  loop.watch(pipe.write.get(), {.writable = true}, [&](PollLoop::Ready ready) {
    story += ready.writable && !ready.readable ? "w" : "?";
    loop.forget(pipe.write.get());
  });
  loop.run();
  CHECK(story == "w");
}

TEST_CASE("a new watch on a descriptor's number does not get what the old one was polled for") {
  PollLoop loop;
  Pipe first;
  Pipe second;
  std::string story;
  const auto replace = [&](int own, int other) {
    return [&loop, &story, own, other] {
      story += 'a';
      loop.forget(own);
      loop.on_readable(other, [&loop, &story, other] {
        story += 'b';
        loop.forget(other);
      });
      loop.post([&story] { story += '|'; });
    };
  };
  loop.on_readable(first.read.get(), replace(first.read.get(), second.read.get()));
  loop.on_readable(second.read.get(), replace(second.read.get(), first.read.get()));
  first.write.close();
  second.write.close();
  loop.run();
  CHECK(story == "a|b");
}

TEST_CASE("what is due when the loop is stopped runs when it is run again") {
  PollLoop loop;
  std::string story;
  const auto add = [&](char what) {
    return [&loop, &story, what] {
      story += what;
      loop.stop();
    };
  };
  SECTION("tasks") {
    loop.post(add('a'));
    loop.post(add('b'));
  }
  SECTION("timers") {
    loop.after(Duration(0), add('a'));
    loop.after(Duration(0), add('b'));
  }
  loop.run();
  CHECK(story == "a");
  loop.run();
  CHECK(story == "ab");
}

TEST_CASE("a descriptor has one owner") {
  Pipe pipe;
  const int number = pipe.read.get();
  Fd other = std::move(pipe.read);
  CHECK_FALSE(pipe.read);
  CHECK(other.get() == number);
  other.close();
  CHECK_FALSE(other);
  CHECK(::close(number) == -1);
}
