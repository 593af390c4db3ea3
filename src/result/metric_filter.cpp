// SPDX-License-Identifier: Apache-2.0
#include "result/metric_filter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "result/metric_words.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace trainstep::result {
namespace {

// Sixteen bytes at once: any processor that we build for has registers for them.
using Block [[gnu::vector_size(16)]] = std::uint8_t;
using Pairs [[gnu::vector_size(16)]] = std::uint16_t;
using Halves [[gnu::vector_size(16)]] = std::uint64_t;
constexpr std::size_t block = sizeof(Block);
constexpr std::size_t reach = block + 2;  // with the bytes beside it

Block at(const char* bytes) {
  Block value;
  std::memcpy(&value, bytes, block);
  return value;
}
constexpr auto pair(char first, char second) { return std::bit_cast<std::uint16_t>(std::array{first, second}); }

// A bit for each byte, of which each is all ones or zero.
unsigned mask_of(const Block& bytes) {
#ifdef __SSE2__
  return static_cast<unsigned>(_mm_movemask_epi8(reinterpret_cast<__m128i>(bytes)));
#else
  unsigned mask = 0;
  for (std::size_t i = 0; i < block; ++i) mask |= (bytes[i] & 1U) << i;
  return mask;
#endif
}
bool any(const Block& bytes) {
#ifdef __SSE2__
  return mask_of(bytes) != 0;
#else
  const auto halves = Halves(bytes);
  return (halves[0] | halves[1]) != 0;
#endif
}

// What all lines are looked at for. Letters in lower case: what is no letter may become another byte, which costs only a closer look.
struct Marks {
  Block equals{}, brace{}, point{}, percent{}, word{};

  // `beside` are the bytes two before, or two behind.
  [[gnu::always_inline]] void look(const char* bytes, const char* beside) {
    const Block raw = at(bytes), folded = raw | 0x20;
    equals |= Block(raw == '=');
    brace |= Block(raw == '{');
    point |= Block((raw | 1) == '/');  // or a slash
    percent |= Block(raw == '%');
    const Pairs pairs = Pairs(folded);  // "epoch" has one of these two wherever it begins
    word |= Block(Pairs(pairs == pair('e', 'p')) | Pairs(pairs == pair('p', 'o')));
    word |= Block(folded == 'n') & Block((at(beside) | 0x20) == 'n');  // "nan"
  }
};

// The bytes of a short line, with zeros behind.
struct Padded {
  explicit Padded(std::string_view line) { std::memcpy(bytes.data(), line.data(), line.size()); }
  std::array<char, 2 * block + 2> bytes{};
};

Marks look_at_all(std::string_view line) {
  Marks marks;
  if (line.size() < reach) {
    const Padded padded(line);
    marks.look(padded.bytes.data(), padded.bytes.data() + 2);
    if (line.size() > block) marks.look(padded.bytes.data() + block, padded.bytes.data() + block - 2);
    return marks;
  }
  const auto last = line.data() + line.size() - block;
  marks.look(line.data(), line.data() + 2);
  for (const auto* bytes = line.data() + block; bytes < last; bytes += block) marks.look(bytes, bytes - 2);
  marks.look(last, last - 2);
  return marks;
}

// "epoch" or "nan", in any case.
[[gnu::always_inline]] inline Block words_at(const char* bytes) {
  const Block a = at(bytes) | 0x20, b = at(bytes + 1) | 0x20, c = at(bytes + 2) | 0x20;
  return (Block(a == 'p') & Block(b == 'o') & Block(c == 'c')) | (Block(a == 'n') & Block(b == 'a') & Block(c == 'n'));
}
bool has_word(std::string_view line) {
  if (line.size() < reach) return any(words_at(Padded(line).bytes.data()));
  const auto last = line.data() + line.size() - reach;
  Block found{};
  for (const auto* bytes = line.data(); bytes < last; bytes += block) found |= words_at(bytes);
  return any(found | words_at(last));
}

// Whether `test` is true of a place where `wanted` stands. As a search from one to the next, but without a call for each.
template <typename Test>
bool any_place(std::string_view line, char wanted, const Test& test) {
  if (line.size() < block) {
    for (std::size_t at = 0; at < line.size(); ++at)
      if (line[at] == wanted && test(at)) return true;
    return false;
  }
  const Block all = Block{} + static_cast<std::uint8_t>(wanted);
  const auto last = line.size() - block;
  for (std::size_t from = 0, seen = 0; seen < line.size(); from = std::min(from + block, last)) {
    for (auto bits = mask_of(Block(at(line.data() + from) == all)) >> (seen - from); bits != 0; bits &= bits - 1)
      if (test(seen + static_cast<std::size_t>(std::countr_zero(bits)))) return true;
    seen = from + block;
  }
  return false;
}

bool has(std::string_view text, char c) { return std::memchr(text.data(), c, text.size()) != nullptr; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr std::uint8_t of_word = 1, of_space = 2, of_link = 4, of_edge = 8;  // what a byte may be a part of, before a number
constexpr auto parts = [] {
  std::array<std::uint8_t, 256> all{};
  for (std::size_t c = 0; c < all.size(); ++c)
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) all[c] = of_word;
  for (const unsigned char c : {'_', '.', '-', '/', '@'}) all[c] |= of_word;
  for (const unsigned char c : {' ', '\t'}) all[c] |= of_space;
  for (const unsigned char c : {':', '='}) all[c] |= of_link;
  for (const unsigned char c : {' ', '\t', ':', '=', '-', '+', '('}) all[c] |= of_edge;
  return all;
}();
bool is(char c, std::uint8_t what) { return (parts[static_cast<unsigned char>(c)] & what) != 0; }

// What stands before the digits that end at `at`.
[[gnu::always_inline]] inline char before_digits(std::string_view line, std::size_t at) {
  const auto* start = line.data() + at;
  while (start > line.data() && is_digit(start[-1])) --start;
  return start > line.data() ? start[-1] : 'x';
}

// A learning rate counts only where the line says how far the training is.
bool names_step(std::string_view line) {
  constexpr auto words = std::to_array<std::string_view>(
      {"tep", "TEP", "ter", "TER", "atch", "ATCH", "ound", "OUND", "pisode", "PISODE", "pdate", "PDATE", "poch", "POCH"});
  return line.front() == '[' || std::ranges::any_of(words, [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

// Whether the word before the one at `start` is none that is known: "packet loss", "CVSS score".
bool follows_unknown(const char* begin, const char* start) {
  while (start > begin && start[-1] == ' ') --start;
  const auto* const end = start;
  while (start > begin && is(start[-1], of_word)) --start;
  const bool letter = start < end && static_cast<unsigned char>((*start | 0x20) - 'a') < 26;
  return letter && kind_of({start, static_cast<std::size_t>(end - start)}) == Word::unknown;
}

// As the last word before a number.
bool may_name_metric(Word kind) { return kind != Word::unknown && kind != Word::setting && kind != Word::link && kind != Word::level; }

// Whether the number with a point or a percent sign at `mark` stands behind a known word: "loss: 0.5", "Loss  6.9", "acc 93%".
bool is_named(std::string_view line, std::size_t mark) {
  constexpr std::ptrdiff_t most_blanks = 16, longest_word = 100;
  const auto* const begin = line.data();
  const auto* start = begin + mark;
  while (start > begin && is_digit(start[-1])) --start;
  if (start > begin && (start[-1] == '-' || start[-1] == '+')) --start;
  const auto skip_blanks = [&] {
    for (const auto* const end = start; start > begin && end - start < most_blanks && is(start[-1], of_space);) --start;
  };
  const auto* const number = start;
  skip_blanks();
  if (start == begin) return false;
  if (is(start[-1], of_link)) {
    --start;
    skip_blanks();
    if (start == begin) return false;
  } else if (start == number) {
    return line[mark] == '%' && start[-1] == '(';  // "Accuracy: 98/100 (98%)"
  }
  if (start[-1] == ')') return true;  // a unit: "time (ms): 0.5"
  const auto* const end = start;
  while (start > begin && end - start < longest_word && is(start[-1], of_word)) --start;
  if (end == start) return false;
  const auto kind = kind_of({start, static_cast<std::size_t>(end - start)});
  if (*start == '-' || !may_name_metric(kind)) return false;  // an option: "--min-loss 0.1"
  return (kind != Word::beside && !follows_unknown(begin, start)) || names_step(line);
}

bool has_named_fraction(std::string_view line) {
  return any_place(line, '.', [&](std::size_t at) {
    return at + 1 < line.size() && is_digit(line[at + 1]) && is(before_digits(line, at), of_edge) && is_named(line, at);
  });
}
bool has_named_share(std::string_view line) {
  return any_place(line, '%', [&](std::size_t at) { return at > 0 && is_digit(line[at - 1]) && is_named(line, at); });
}
// Of versions that were drawn over one another the last one, if it has content.
std::string_view last_version(std::string_view line) {
  const auto* const at = static_cast<const char*>(memrchr(line.data(), '\r', line.size()));
  if (at == nullptr) return line;
  const auto last = line.substr(static_cast<std::size_t>(at - line.data()) + 1);
  return last.find_first_not_of(" \t\b\x1B") == std::string_view::npos ? line : last;
}
// " - "
bool has_dash(std::string_view line) {
  for (auto at = line.find('-', 1); at < line.size() - 1; at = line.find('-', at + 1))
    if (line[at - 1] == ' ' && line[at + 1] == ' ') return true;
  return false;
}

bool begins_as_header(std::string_view line) {
  if (line.front() == '*') return line.starts_with("***** ");
  if (line.front() != ' ' && line.front() != '\xE2') return false;
  const auto text = std::min(line.find_first_not_of(' '), line.size());
  return (text >= 4 || line.front() != ' ') && line.find("  ", text) != std::string_view::npos;
}

bool has_number(std::string_view line, bool point, bool percent) {
  const auto text = percent ? last_version(line) : line;  // as bars are drawn
  return (point && has_named_fraction(text)) || (percent && has_named_share(text));
}

// Apart, as few lines come so far.
[[gnu::noinline]] MetricHints look_closer(std::string_view line, const Marks& marks) {
  MetricHints hints;
  hints.add(Hint::header, begins_as_header(line));
  hints.add(Hint::pairs, any(marks.equals));
  hints.add(Hint::object, any(marks.brace) && has(line, ':'));
  const bool point = any(marks.point), percent = any(marks.percent);
  hints.add(Hint::words, (any(marks.word) && has_word(line)) || has_number(line, point, percent));
  hints.add(Hint::keras, point && (hints.any() || (has_dash(line) && has(line, '/') && has(line, ':'))));
  return hints;
}

bool may_begin_table(char first) { return first == ' ' || first == '*' || first == '\xE2'; }

}  // namespace

bool begins_as_boosting(std::string_view line) {
  if (line.size() >= block && !any(Block(at(line.data()) == '\t'))) return false;
  const bool bracket = line.starts_with('[');
  std::size_t digits = bracket ? 1 : 0;
  while (digits < line.size() && is_digit(line[digits])) ++digits;
  return digits > 0 && digits + 1 < line.size() && line[digits + 1] == '\t' && line[digits] == (bracket ? ']' : ':');
}

MetricHints look_for_metrics(std::string_view line) {
  MetricHints hints;
  if (line.empty()) return hints;
  const auto marks = look_at_all(line);
  const bool boosting = begins_as_boosting(line);
  if (any(marks.equals | marks.brace | marks.point | marks.percent) || may_begin_table(line.front()))
    hints = look_closer(line, marks);
  else if (any(marks.word))
    hints.add(Hint::words, has_word(line));
  hints.add(Hint::boosting, boosting);
  return hints;
}

}  // namespace trainstep::result
