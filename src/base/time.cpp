// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <charconv>

namespace trainstep {

Time wall_clock() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

std::string to_rfc3339(Time time) { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time))); }

namespace {

// Takes exactly `digits` digits from the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  const auto part = text.substr(0, digits);
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  if (error != std::errc{} || end != part.data() + part.size() || part.front() == '-') return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<Duration> take_fraction(std::string_view& text) {
  if (!take(text, '.')) return Duration{};
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  Duration::rep milliseconds = 0;
  for (Duration::rep unit = 100; !text.empty() && text.front() >= '0' && text.front() <= '9'; unit /= 10, text.remove_prefix(1))
    milliseconds += unit * (text.front() - '0');
  return Duration(milliseconds);
}

// "Z", "+01:00": the offset of the timestamp from UTC.
std::optional<Duration> take_zone(std::string_view& text) {
  if (take(text, 'Z') || take(text, 'z')) return Duration{};
  const bool behind = text.starts_with('-');
  if (!take(text, '+') && !take(text, '-')) return std::nullopt;
  const auto hours = take_number(text, 2);
  if (!hours || !take(text, ':')) return std::nullopt;
  const auto minutes = take_number(text, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const Duration ahead = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return behind ? -ahead : ahead;
}

}  // namespace

std::optional<Time> from_rfc3339(std::string_view text) {
  constexpr std::string_view separators = "--T::";
  constexpr std::array<std::size_t, 6> digits{4, 2, 2, 2, 2, 2};
  std::array<int, 6> fields{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto value = take_number(text, digits.at(i));
    if (!value) return std::nullopt;
    fields.at(i) = *value;
    if (i < separators.size() && !take(text, separators[i])) return std::nullopt;
  }
  const auto fraction = take_fraction(text);
  const auto ahead = take_zone(text);
  const auto [year, month, day, hour, minute, second] = fields;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!fraction || !ahead || !text.empty() || !date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return Time(std::chrono::sys_days(date)) + std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second) + *fraction -
         *ahead;
}

std::string describe(Duration duration) {
  const auto ms = std::max<Duration::rep>(duration.count(), 0);
  if (ms < 9'950) return fmt::format("{:.1f} s", static_cast<double>(ms) / 1000.0);
  const auto seconds = (ms + 500) / 1000;
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} min", seconds / 3600, seconds % 3600 / 60);
}

}  // namespace trainstep
