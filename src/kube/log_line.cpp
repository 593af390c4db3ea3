// SPDX-License-Identifier: Apache-2.0
#include "kube/log_line.h"

#include <fmt/format.h>

#include <chrono>

namespace trainstep::kube {
namespace {

// Reads from the front; good() is false after the first mismatch.
class Reader {
 public:
  explicit Reader(std::string_view text) : m_text(text) {}
  int digits(std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto c = i < m_text.size() ? m_text[i] : '\0';
      if (c < '0' || c > '9') return m_good = false, 0;
      value = value * 10 + (c - '0');
    }
    m_text.remove_prefix(count);
    return value;
  }
  bool take(char c) {
    if (m_text.empty() || m_text.front() != c) return false;
    m_text.remove_prefix(1);
    return true;
  }
  void expect(char c) { m_good = take(c) && m_good; }
  // The digits after the decimal point, in nanoseconds.
  Stamp fraction() {
    Stamp value = 0;
    int count = 0;
    for (; !m_text.empty() && m_text.front() >= '0' && m_text.front() <= '9'; m_text.remove_prefix(1), ++count)
      if (count < 9) value = value * 10 + (m_text.front() - '0');
    if (count == 0) m_good = false;
    for (; count < 9; ++count) value *= 10;
    return value;
  }
  [[nodiscard]] bool good() const { return m_good; }
  [[nodiscard]] std::string_view rest() const { return m_text; }

 private:
  std::string_view m_text;
  bool m_good = true;
};

// The offset from UTC in seconds, positive to the east.
int offset(Reader& reader) {
  if (reader.take('Z')) return 0;
  const auto east = reader.take('+');
  if (!east) reader.expect('-');
  const auto hours = reader.digits(2);
  reader.expect(':');
  const auto seconds = (hours * 60 + reader.digits(2)) * 60;
  return east ? seconds : -seconds;
}

}  // namespace

std::int64_t second_of(Stamp stamp) { return (stamp >= 0 ? stamp : stamp - stamps_per_second + 1) / stamps_per_second; }

std::string clock_time(Stamp stamp) {
  const auto second = (second_of(stamp) % 86'400 + 86'400) % 86'400;
  return fmt::format("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
}

std::optional<LogLine> read_log_line(std::string_view line) {
  Reader reader(line);
  const std::chrono::year year(reader.digits(4));
  reader.expect('-');
  const std::chrono::month month(static_cast<unsigned>(reader.digits(2)));
  reader.expect('-');
  const std::chrono::day day(static_cast<unsigned>(reader.digits(2)));
  reader.expect('T');
  auto seconds = std::int64_t{reader.digits(2)} * 3600;
  reader.expect(':');
  seconds += std::int64_t{reader.digits(2)} * 60;
  reader.expect(':');
  seconds += reader.digits(2);
  const auto fraction = reader.take('.') ? reader.fraction() : 0;
  seconds -= offset(reader);
  if (!reader.rest().empty()) reader.expect(' ');
  const auto date = year / month / day;
  if (!reader.good() || !date.ok() || static_cast<int>(year) < 1700 || static_cast<int>(year) > 2200) return std::nullopt;
  seconds += std::int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * 86'400;
  return LogLine{seconds * stamps_per_second + fraction, reader.rest()};
}

}  // namespace trainstep::kube
