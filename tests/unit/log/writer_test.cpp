// SPDX-License-Identifier: Apache-2.0
#include "log/writer.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <random>
#include <string>
#include <thread>

#include "base/fd.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::log;

namespace {

struct Ends {
  Fd read, write;
};

Ends make_pipe(int flags_of_writer = 0) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  if (flags_of_writer != 0) REQUIRE(::fcntl(ends[1], F_SETFL, flags_of_writer) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

std::string numbered(int from, int to) {
  std::string lines;
  for (int i = from; i < to; ++i) lines += "line " + std::to_string(i) + " of a log that somebody reads\n";
  return lines;
}

// Everything until the end, in pieces; between two of them it does something else.
std::string read_all(int fd, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  std::array<char, 8192> piece{};
  while (true) {
    const auto count = ::read(fd, piece.data(), 1 + random() % piece.size());
    if (count <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
    if (random() % 64 == 0) std::this_thread::yield();
  }
}

void put(Writer& writer, std::string_view text) {
  writer.text() += text;
  writer.commit();
}

}  // namespace

TEST_CASE("every byte arrives in order, whatever the reader's pauses, on blocking and non-blocking pipes") {
  for (const int flags : {0, O_NONBLOCK}) {
    for (const unsigned seed : {1U, 2U, 3U}) {
      auto pipe = make_pipe(flags);
      std::string wanted, seen;
      std::thread reader([&] { seen = read_all(pipe.read.get(), seed); });
      {
        Writer writer(pipe.write.get());
        for (int i = 0; i < 40'000; i += 97) {
          const auto lines = numbered(i, i + 97);
          wanted += lines;
          put(writer, lines);
        }
        CHECK(writer.finish(Duration(60'000)));
        CHECK(writer.waiting() == 0);
      }
      pipe.write.close();
      reader.join();
      CHECK(seen == wanted);
    }
  }
}

TEST_CASE("a log that is not read blocks nothing: commit returns, finish ends, and so does the writer") {
  const auto pipe = make_pipe();
  const std::string lines(std::size_t{3} << 20U, '\n');
  Writer writer(pipe.write.get());
  put(writer, lines);
  CHECK_FALSE(writer.finish(Duration(20)));
  CHECK(writer.waiting() > Writer::full);
  CHECK(writer.waiting() + writer.taken() == lines.size());
  writer.give_up();
}

TEST_CASE("the flags of the descriptor stay as they are: others share it") {
  for (const int flags : {0, O_NONBLOCK}) {
    const auto pipe = make_pipe(flags);
    const auto before = ::fcntl(pipe.write.get(), F_GETFL);
    Writer writer(pipe.write.get());
    put(writer, "a line\n");
    CHECK(writer.finish(Duration(60'000)));
    CHECK(::fcntl(pipe.write.get(), F_GETFL) == before);
  }
}

TEST_CASE("without a reader nothing waits") {
  auto pipe = make_pipe();
  pipe.read.close();
  Writer writer(pipe.write.get());
  put(writer, "lost\n");
  CHECK(writer.finish(Duration(60'000)));
  put(writer, std::string(std::size_t{2} << 20U, 'x'));
  CHECK(writer.waiting() == 0);
  Writer closed(-1);
  put(closed, "lost\n");
  CHECK(closed.finish(Duration(60'000)));
}

TEST_CASE("a full disk ends nothing, and is reported once") {
  auto errors = make_pipe();
  const Fd stderr_before(::dup(STDERR_FILENO));
  ::dup2(errors.write.get(), STDERR_FILENO);
  {
    const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    Writer writer(full.get());
    put(writer, "one\n");
    CHECK(writer.finish(Duration(60'000)));
    put(writer, "two\n");
    CHECK(writer.finish(Duration(60'000)));
  }
  ::dup2(stderr_before.get(), STDERR_FILENO);
  errors.write.close();
  const auto said = read_all(errors.read.get(), 1);
  CHECK(said == "trainstep: cannot write the log: No space left on device; the run continues, log lines are lost\n");
}

TEST_CASE("the wake-up descriptor becomes readable once per request when enough was read") {
  auto pipe = make_pipe();
  const auto rings = [](const Writer& writer, int limit_ms) {
    pollfd wakeup_fd{writer.wakeup_fd(), POLLIN, 0};
    return ::poll(&wakeup_fd, 1, limit_ms) == 1;
  };
  std::thread reader;
  {
    Writer writer(pipe.write.get());
    int full = 0;
    writer.on_full([&] { ++full; });
    put(writer, std::string(Writer::full / 2, 'x'));
    CHECK(full == 0);
    put(writer, std::string(Writer::full, 'x'));
    CHECK(full == 1);
    writer.wake_when_unread_at_most(Writer::full);
    CHECK_FALSE(rings(writer, 0));
    reader = std::thread([&] { read_all(pipe.read.get(), 1); });
    CHECK(rings(writer, 60'000));
    CHECK(writer.waiting() <= Writer::full);
    writer.clear_wakeup();
    CHECK(writer.finish(Duration(60'000)));
    CHECK_FALSE(rings(writer, 0));
    writer.wake_when_unread_at_most(0);
    CHECK(rings(writer, 60'000));
  }
  pipe.write.close();
  reader.join();
}
