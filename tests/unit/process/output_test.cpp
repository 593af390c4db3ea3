// SPDX-License-Identifier: Apache-2.0
#include "process/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "run_until.h"
#include "support/catch.h"

namespace trainstep::process {
namespace {

std::string feed(LineAssembler& assembler, std::string_view bytes) {
  std::string lines;
  while (!bytes.empty()) {
    const auto space = assembler.space();
    const auto count = std::min(space.size(), bytes.size());
    std::memcpy(space.data(), bytes.data(), count);
    lines += assembler.add(count);
    bytes.remove_prefix(count);
  }
  return lines;
}

struct Ends {
  Fd read, write;
};

Ends make_pipe() {
  std::array<int, 2> fds{};
  REQUIRE(::pipe2(fds.data(), O_CLOEXEC) == 0);
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return {Fd(fds[0]), Fd(fds[1])};
}

void put(const Fd& fd, std::string_view text) { REQUIRE(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())); }

TEST_CASE("complete lines are delivered, however their bytes were split") {
  LineAssembler assembler;
  CHECK(feed(assembler, "one\ntw") == "one\n");
  CHECK(feed(assembler, "o").empty());
  CHECK(feed(assembler, "\n\nthree") == "two\n\n");
  CHECK(assembler.finish() == "three\n");
  CHECK(assembler.finish().empty());
}

TEST_CASE("no byte is lost or changed between any two cuts") {
  std::string text;
  for (int line = 0; line < 300; ++line) text += std::string(static_cast<std::size_t>(line * 37 % 211), static_cast<char>('a' + line % 26)) + "\n";
  for (const std::size_t piece : {1U, 2U, 7U, 64U, 1000U, 50000U}) {
    CAPTURE(piece);
    LineAssembler assembler;
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      const auto lines = feed(assembler, std::string_view(text).substr(at, piece));
      CHECK((lines.empty() || lines.back() == '\n'));
      out += lines;
    }
    CHECK(out == text);
  }
}

TEST_CASE("a line that never ends is cut instead of filling the memory") {
  LineAssembler assembler;
  const std::string endless(5 * max_line_length, 'x');
  auto lines = feed(assembler, endless);
  lines += assembler.finish();
  CHECK(std::count(lines.begin(), lines.end(), 'x') == static_cast<std::ptrdiff_t>(endless.size()));
  CHECK(std::count(lines.begin(), lines.end(), '\n') >= 4);
  CHECK(lines.back() == '\n');
}

TEST_CASE("each piece of a cut line but the last has one byte more than the longest line") {
  LineAssembler assembler;
  for (const std::size_t more : {0U, 1U, 2U, 100U, 70'000U}) {
    CAPTURE(more);
    auto lines = feed(assembler, std::string(max_line_length + more, 'x') + "\nshort\n");
    CHECK(lines.find('\n') == (more == 0 ? max_line_length : max_line_length + 1));
    CHECK(lines.ends_with("\nshort\n"));
    std::erase(lines, '\n');
    CHECK(lines.size() == max_line_length + more + 5);
  }
}

TEST_CASE("a bar redrawn for days keeps its last state, and memory and log stay bounded") {
  LineAssembler assembler;
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += feed(assembler, "\r step " + std::to_string(i) + " of many: 0123456789012345678901234567890123456789");
  CHECK(lines.empty());
  CHECK(assembler.unfinished().size() <= max_line_length + 100);
  CHECK(assembler.unfinished().ends_with("\r step 99999 of many: 0123456789012345678901234567890123456789"));
  CHECK(assembler.finish().ends_with("\r step 99999 of many: 0123456789012345678901234567890123456789\n"));
}

TEST_CASE("a bar whose states end with carriage returns is not an endless line either") {
  LineAssembler assembler;
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += feed(assembler, " step " + std::to_string(i) + " of many: 0123456789012345678901234567890123456789\r");
  CHECK(lines.empty());
  CHECK(assembler.finish().ends_with(" step 99999 of many: 0123456789012345678901234567890123456789\r\n"));
}

TEST_CASE("an endless line after a carriage return is split, too") {
  LineAssembler assembler;
  auto lines = feed(assembler, "\r" + std::string(5 * max_line_length, 'x'));
  CHECK(std::count(lines.begin(), lines.end(), '\n') >= 4);
  CHECK(assembler.unfinished().size() <= max_line_length + 1);
}

TEST_CASE("an incomplete line is visible before it ends") {
  PollLoop loop;
  auto pipe = make_pipe();
  std::string begun, seen;
  OutputReader reader(loop, std::move(pipe.read), [&](std::string_view lines) { seen += lines; }, [] {});
  reader.on_unfinished([&](std::string_view line) { begun = line; });
  put(pipe.write, "\r 10%");
  run_until(loop, [&] { return begun == "\r 10%"; });
  put(pipe.write, "\r 20%");
  run_until(loop, [&] { return begun == "\r 10%\r 20%"; });
  CHECK(seen.empty());
}

TEST_CASE("a reader that is held takes nothing, and goes on where it was") {
  PollLoop loop;
  auto pipe = make_pipe();
  auto other = make_pipe();
  std::string seen;
  bool heard = false;
  OutputReader reader(loop, std::move(pipe.read), [&](std::string_view lines) { seen += lines; }, [] {});
  OutputReader beside(loop, std::move(other.read), [&](std::string_view) { heard = true; }, [] {});
  reader.hold(true);
  put(pipe.write, "waits\n");
  put(other.write, "passes\n");
  run_until(loop, [&] { return heard; });
  CHECK(seen.empty());
  reader.hold(false);
  run_until(loop, [&] { return seen == "waits\n"; });
  reader.hold(true);
  put(pipe.write, "is asked for\n");
  reader.take_all();
  CHECK(seen == "waits\nis asked for\n");
}

TEST_CASE("a reader hands over lines as they come, the unfinished one at the end") {
  PollLoop loop;
  auto pipe = make_pipe();
  std::string seen;
  bool ended = false;
  OutputReader reader(loop, std::move(pipe.read), [&](std::string_view lines) { seen += lines; }, [&] { ended = true; });
  put(pipe.write, "first\nsec");
  run_until(loop, [&] { return seen == "first\n"; });
  put(pipe.write, "ond");
  pipe.write.close();
  run_until(loop, [&] { return ended; });
  CHECK(seen == "first\nsecond\n");
  CHECK_FALSE(reader.open());
}

TEST_CASE("drain takes what is there and does not wait for the end") {
  PollLoop loop;
  auto pipe = make_pipe();
  std::string seen;
  OutputReader reader(loop, std::move(pipe.read), [&](std::string_view lines) { seen += lines; }, [] { FAIL("not ended by the writer"); });
  put(pipe.write, "a\nb");
  reader.drain();
  CHECK(seen == "a\nb\n");
  CHECK_FALSE(reader.open());
}

TEST_CASE("a flood from one pipe does not starve another") {
  PollLoop loop;
  auto flood = make_pipe();
  auto quiet = make_pipe();
  ::fcntl(flood.write.get(), F_SETPIPE_SZ, 1 << 20);
  ::fcntl(flood.write.get(), F_SETFL, O_NONBLOCK);
  const std::string block(1 << 16, '\n');
  const auto fill = [&] {
    while (::write(flood.write.get(), block.data(), block.size()) > 0) {
    }
  };
  fill();
  put(quiet.write, "heard\n");
  std::size_t flooded = 0;
  bool heard = false;
  OutputReader loud(loop, std::move(flood.read), [&](std::string_view lines) { flooded += lines.size(), fill(); }, [] {});
  OutputReader soft(loop, std::move(quiet.read), [&](std::string_view) { heard = true, loop.stop(); }, [] {});
  run_until(loop, [&] { return heard; });
  CHECK(flooded <= std::size_t{1} << 20U);
}

}  // namespace
}  // namespace trainstep::process
