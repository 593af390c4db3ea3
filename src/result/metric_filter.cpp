// SPDX-License-Identifier: Apache-2.0
#include "result/metric_filter.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "result/metric_words.h"

namespace trainstep::result {
namespace {

// Sixteen bytes at once: any processor that we build for has registers for them.
using Block [[gnu::vector_size(16)]] = std::uint8_t;
constexpr std::size_t block = sizeof(Block);
constexpr std::size_t reach = block + 2;  // with the bytes behind the last one's

Block at(const char* bytes) {
  Block value;
  std::memcpy(&value, bytes, block);
  return value;
}

struct Marks {
  Block equals{}, brace{}, colon{}, slash{}, word{}, number{};

  // Bytes of which one is enough.
  [[gnu::always_inline]] void look_at_one(const Block& raw) {
    equals |= Block(raw == '=');
    brace |= Block(raw == '{');
    colon |= Block(raw == ':');
    slash |= Block(raw == '/');
    number |= Block(raw == '%') | Block(raw == '.');
  }
  // Those that say something with the next two.
  [[gnu::always_inline]] void look_at_three(const Block& raw, const Block& next, const Block& third) {
    // In lower case; what is no letter may become another byte, which costs only a look at the line.
    const Block a = raw | 0x20, b = next | 0x20, c = third | 0x20;
    word |= (Block(a == 'p') & Block(b == 'o') & Block(c == 'c')) | (Block(a == 'n') & Block(b == 'a') & Block(c == 'n'));  // epoch, nan
  }
  [[gnu::always_inline]] void look(const char* bytes) {
    look_at_one(at(bytes));
    look_at_three(at(bytes), at(bytes + 1), at(bytes + 2));
  }

  // A bit for each, in their order.
  [[nodiscard]] unsigned found() const {
    const Block bits = (equals & 1) | (brace & 2) | (colon & 4) | (slash & 8) | (word & 16) | (number & 32);
    std::array<std::uint64_t, 2> halves{};
    std::memcpy(halves.data(), &bits, block);
    auto sum = halves[0] | halves[1];
    for (const unsigned half : {32U, 16U, 8U}) sum |= sum >> half;
    return static_cast<unsigned>(sum & 63U);
  }
};

unsigned look_at_all(std::string_view line) {
  Marks marks;
  if (line.size() < reach) {
    std::array<char, reach + block> padded{};
    std::memcpy(padded.data(), line.data(), line.size());
    marks.look(padded.data());
    if (line.size() > block) marks.look(padded.data() + block);
    return marks.found();
  }
  const auto last = line.data() + line.size() - reach;
  for (const auto* bytes = line.data(); bytes < last; bytes += block) marks.look(bytes);
  marks.look(last);
  marks.look_at_one(at(last + 2));
  return marks.found();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool in_word(char c) { return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c != '\0' && std::strchr("_.-/@", c) != nullptr); }

// Whether the number with a point or a percent sign at `mark` stands behind a known word: "loss: 0.5", "Loss  6.9", "acc 93%".
bool is_named(std::string_view line, std::size_t mark) {
  constexpr std::size_t most_blanks = 16, longest_word = 100;
  auto start = mark;
  const auto before = [&] { return start > 0 ? line[start - 1] : '\0'; };
  while (is_digit(before())) --start;
  if (before() == '-' || before() == '+') --start;
  const auto skip_blanks = [&] {
    for (std::size_t i = 0; i < most_blanks && (before() == ' ' || before() == '\t'); ++i) --start;
  };
  const auto number = start;
  skip_blanks();
  if (before() == ':' || before() == '=') {
    --start;
    skip_blanks();
  } else if (start == number) {
    return line[mark] == '%' && before() == '(';  // "Accuracy: 98/100 (98%)"
  }
  if (before() == ')') return true;  // a unit: "time (ms): 0.5"
  const auto end = start;
  while (end - start < longest_word && in_word(before())) --start;
  return end > start && kind_of(line.substr(start, end - start)) != Word::unknown;
}

bool has_named_number(std::string_view line) {
  for (auto at = line.find('.'); at != std::string_view::npos; at = line.find('.', at + 1))
    if (at + 1 < line.size() && is_digit(line[at + 1]) && is_named(line, at)) return true;
  for (auto at = line.find('%'); at != std::string_view::npos; at = line.find('%', at + 1))
    if (at > 0 && is_digit(line[at - 1]) && is_named(line, at)) return true;
  return false;
}

bool begins_as_boosting(std::string_view line) {
  const bool bracket = line.front() == '[';
  std::size_t digits = bracket ? 1 : 0;
  while (digits < line.size() && is_digit(line[digits])) ++digits;
  return digits > 0 && digits + 1 < line.size() && line[digits] == (bracket ? ']' : ':') && line[digits + 1] == '\t';
}

bool begins_as_header(std::string_view line) {
  if (line.front() == '*') return line.starts_with("***** ");
  if (line.front() != ' ' && line.front() != '\xE2') return false;
  const auto text = std::min(line.find_first_not_of(' '), line.size());
  return (text >= 4 || line.front() != ' ') && line.find("  ", text) != std::string_view::npos;
}

}  // namespace

MetricHints look_for_metrics(std::string_view line) {
  if (line.empty()) return {};
  const auto found = look_at_all(line);
  const auto has = [&](unsigned bit) { return (found & bit) != 0; };
  MetricHints hints;
  hints.pairs = has(1);
  hints.object = has(2) && has(4);
  hints.keras = has(4) && has(8) && line.find(" - ") != std::string_view::npos;
  hints.words = has(16) || (has(32) && has_named_number(line));
  hints.boosting = begins_as_boosting(line);
  hints.header = begins_as_header(line);
  return hints;
}

}  // namespace trainstep::result
