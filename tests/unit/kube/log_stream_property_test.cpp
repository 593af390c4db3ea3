// A log that grows at random, read over connections that fail at random: each line once, in order.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include "kube/log_stream.h"
#include "support/catch.h"
#include "unit/kube/harness.h"

using namespace trainstep;
using namespace trainstep::kube;
using namespace trainstep::kube::test;

namespace {

constexpr std::int64_t second = 1'000'000'000;

std::string rfc3339(std::int64_t seconds) { return to_rfc3339(Time(std::chrono::seconds(seconds))); }

struct Entry {
  Time written;        // when the kubelet has it
  std::int64_t stamp;  // nanoseconds
  std::string text;
  bool newline = true;  // false: the program's last words
  [[nodiscard]] std::string served() const {
    auto time = rfc3339(stamp / second);
    time.pop_back();
    return time + "." + std::to_string(second + stamp % second).substr(1) + "Z " + text + (newline ? "\n" : "");
  }
};

// The kubelet of one container, with a log as odd as logs are; or with one of distinct lines and times, which is rotated now and then.
class Kubelet {
 public:
  Kubelet(VirtualLoop& loop, std::uint64_t seed, bool rotates) : m_random(seed), m_rotates(rotates) {
    auto written = loop.now() + some(2000);
    const auto coarse = below(2) == 0 ? second / 2 : 1;
    for (auto count = below(60); count > 0; --count) {
      const int steps[] = {0, 1, 40, 700, 5000};
      written += Duration(steps[below(5)]);
      auto stamp = std::chrono::nanoseconds(written.time_since_epoch()).count() + static_cast<std::int64_t>(below(3));
      if (rotates)
        stamp = std::max(stamp, m_entries.empty() ? 0 : m_entries.back().stamp + 1);
      else if (below(6) == 0)  // the two streams of a container are stamped apart
        stamp -= static_cast<std::int64_t>(below(20'000'000));
      m_entries.push_back({written, stamp / (rotates ? 1 : coarse) * (rotates ? 1 : coarse), rotates ? "line " + std::to_string(count) : text()});
    }
    if (!m_entries.empty()) m_entries.back().newline = below(2) == 0;
    m_ends = written + some(3000);
  }

  [[nodiscard]] Time ends() const { return m_ends; }
  [[nodiscard]] std::string truth() const {
    std::string all;
    for (const auto& entry : m_entries) all += entry.text + "\n";
    return all;
  }

  Reply answer(const FakeTransport::Asked& asked) {
    if (m_faults < 20 && below(6) == 0) return fault(asked);
    if (m_rotates && below(3) == 0) rotate(asked.at);
    auto reply = log(asked);
    if (m_faults < 20 && below(2) == 0) cut(reply, asked.query("follow") == "true");
    for (std::size_t i = 0; i < reply.pieces.size(); ++i) split(reply.pieces, i);
    return reply;
  }

 private:
  std::size_t below(std::size_t bound) { return m_random() % bound; }
  Duration some(std::size_t bound) { return Duration(static_cast<int>(below(bound))); }

  std::string text() {
    switch (below(6)) {
      case 0:
        return "";
      case 1:
        return "\r50%\r";
      case 2:
        return std::string(below(3000), 'l');
      case 3:
        return "2026-01-01T00:00:00Z is no stamp here";
      default:
        return std::string(1, static_cast<char>('a' + below(2)));
    }
  }

  Reply fault(const FakeTransport::Asked& asked) {
    ++m_faults;
    switch (below(6)) {
      case 0:
        return Reply::text("", 401);
      case 1:
        return Reply::text("", 503);
      case 2:
        return refusal(404, "NotFound", "the server could not find the requested resource ( pods/log p)", {{"kind", "pods/log"}});
      case 3:
        return refusal(500, "InternalError", "Get \"https://10.0.0.1:10250/containerLogs\": dial tcp: connection refused");
      case 4:
        if (m_entries.empty() || asked.at < m_entries.front().written)
          return refusal(400, "BadRequest", "container \"c\" in pod \"p\" is waiting to start: ContainerCreating");
        [[fallthrough]];
      default:
        return Reply::lost();
    }
  }

  void rotate(Time now) {
    const auto written = std::count_if(m_entries.begin(), m_entries.end(), [&](const auto& entry) { return entry.written <= now; });
    m_first = std::max(m_first, below(static_cast<std::size_t>(written) + 1));
  }

  // The lines since then as a kubelet serves them, or from somewhere earlier on; with those that are written while it is followed.
  Reply log(const FakeTransport::Asked& asked) {
    const auto since = asked.query("sinceTime");
    const auto follow = asked.query("follow") == "true";
    const auto generous = below(3) == 0;
    auto begun = since.empty();
    Reply reply;
    auto at = asked.at + reply.delay;
    for (auto i = m_first; i < m_entries.size(); ++i) {
      const auto& entry = m_entries[i];
      begun = begun || (generous && below(10) == 0);
      if (entry.written > at && !follow) break;
      if (!begun && rfc3339(entry.stamp / second) < since) continue;
      reply.pieces.push_back({std::max(entry.written - at, Duration(0)), entry.served()});
      at = std::max(at, entry.written);
    }
    if (follow && at < m_ends) reply.end_after = m_ends - at;
    return reply;
  }

  // At a random byte, and then at once or after a while.
  void cut(Reply& reply, bool follow) {
    ++m_faults;
    std::size_t total = 0;
    for (const auto& piece : reply.pieces) total += piece.bytes.size();
    auto keep = below(total + 1);
    for (auto piece = reply.pieces.begin(); piece != reply.pieces.end(); ++piece) {
      if (keep <= piece->bytes.size()) {
        piece->bytes.resize(keep);
        reply.pieces.erase(piece + 1, reply.pieces.end());
        break;
      }
      keep -= piece->bytes.size();
    }
    reply.end = follow && below(2) == 0 ? Reply::End::whole : Reply::End::cut;
    reply.end_after = some(500);
  }

  void split(std::vector<Piece>& pieces, std::size_t i) {
    const auto size = pieces[i].bytes.size();
    if (size < 2 || below(3) == 0) return;
    const auto at = 1 + below(size - 1);
    const Piece rest{some(2), pieces[i].bytes.substr(at)};
    pieces[i].bytes.resize(at);
    pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(i) + 1, rest);
  }

  std::mt19937_64 m_random;
  bool m_rotates;
  std::vector<Entry> m_entries;
  Time m_ends;
  std::size_t m_first = 0;
  int m_faults = 0;
};

struct Story {
  std::string lines;
  std::vector<std::string> lost;
  int complete = 0;
  std::string truth;
};

Story read(std::uint64_t seed, bool rotates) {
  Harness h(seed);
  Kubelet kubelet(h.loop, seed, rotates);
  h.server.serve([&](const auto& asked) { return kubelet.answer(asked); });
  Story story;
  story.truth = kubelet.truth();
  LogStream stream(*h.client, {"ns", "p", "c"},
                   {.lines =
                        [&](std::string_view lines) {
                          REQUIRE(lines.ends_with('\n'));
                          story.lines += lines;
                        },
                    .lost = [&](const std::string& what) { story.lost.push_back(what); },
                    .complete = [&] { ++story.complete; }});
  h.loop.after(kubelet.ends() - h.loop.now() + Duration(static_cast<int>(seed % 5000)), [&] { stream.ended(); });
  h.loop.run();
  REQUIRE(h.server.open() == 0);
  return story;
}

void each_line_once(std::uint64_t seed) {
  const auto story = read(seed, false);
  INFO("seed " << seed);
  REQUIRE((story.lines == story.truth));
  REQUIRE(story.lost.empty());
  REQUIRE(story.complete == 1);
}

void no_line_twice(std::uint64_t seed) {
  const auto story = read(seed, true);
  INFO("seed " << seed);
  REQUIRE(story.complete == 1);
  // In order, each at most once; and what is missing is not concealed.
  std::size_t at = 0;
  for (std::size_t begin = 0; begin < story.lines.size();) {
    const auto end = story.lines.find('\n', begin) + 1;
    const auto found = story.truth.find("\n" + story.lines.substr(begin, end - begin), at == 0 ? 0 : at - 1);
    const auto first = at == 0 && story.truth.starts_with(story.lines.substr(begin, end - begin));
    REQUIRE((first || found != std::string::npos));
    at = (first ? 0 : found + 1) + end - begin;
    begin = end;
  }
  if (story.lines.size() < story.truth.size() && !story.lines.empty()) REQUIRE((!story.lost.empty() || story.truth.ends_with(story.lines)));
}

}  // namespace

TEST_CASE("whatever faults occur, each line of a log is delivered once and in order", "[native]") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) each_line_once(seed);
}

TEST_CASE("no line of a rotated log is delivered twice, and missing lines are reported", "[native]") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) no_line_twice(seed);
}

TEST_CASE("the same of logs, for long", "[.soak]") {
  for (std::uint64_t seed = 10'000; seed < 40'000; ++seed) each_line_once(seed);
  for (std::uint64_t seed = 10'000; seed < 20'000; ++seed) no_line_twice(seed);
}
