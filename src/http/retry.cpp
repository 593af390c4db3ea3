// SPDX-License-Identifier: Apache-2.0
#include "http/retry.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace trainstep::http {
namespace {

constexpr Duration first_pause{250};
constexpr Duration max_pause{30'000};

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the only format that is still generated (RFC 9110, 5.6.7).
std::optional<Time> http_date(std::string_view text) {
  constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(25) != " GMT" || text[19] != ':' || text[22] != ':') return std::nullopt;
  const auto month = std::find(months.begin(), months.end(), text.substr(8, 3));
  const auto day = number(text.substr(5, 2));
  const auto year = number(text.substr(12, 4));
  const auto hour = number(text.substr(17, 2));
  const auto minute = number(text.substr(20, 2));
  const auto second = number(text.substr(23, 2));
  if (month == months.end() || !day || !year || !hour || !minute || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(month - months.begin() + 1)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return Time(std::chrono::sys_days(date)) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second);
}

Duration random_below(Duration bound, std::mt19937_64& random) {
  return Duration(static_cast<Duration::rep>(random() % static_cast<std::uint64_t>(bound.count() + 1)));
}

}  // namespace

Duration retry_pause(int tries, std::optional<Duration> floor, std::mt19937_64& random) {
  const auto doublings = std::clamp(tries - 1, 0, 16);
  const auto whole = std::min(first_pause * (1 << doublings), max_pause);
  const auto pause = whole / 2 + random_below(whole / 2, random);
  if (!floor || pause >= *floor) return pause;
  return *floor + random_below(std::min(*floor / 4, Duration(5'000)), random);
}

std::optional<Time> server_time(const Response& response) {
  const auto header = response.header("Date");
  return header ? http_date(trim(*header)) : std::nullopt;
}

std::optional<Duration> retry_after(const Response& response, Time now) {
  const auto header = response.header("Retry-After");
  if (!header) return std::nullopt;
  const auto text = trim(*header);
  if (const auto seconds = number(text)) return std::min(Duration(std::chrono::seconds(*seconds)), max_retry_after);
  const auto date = http_date(text);
  if (!date) return std::nullopt;
  const auto sent = http_date(trim(response.header("Date").value_or("")));
  return std::clamp(*date - sent.value_or(now), Duration(0), max_retry_after);
}

}  // namespace trainstep::http
