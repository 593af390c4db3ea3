// SPDX-License-Identifier: Apache-2.0
#include "sim/pod_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace trainstep::sim {
namespace {

std::string rendered(const LogLine& line, bool stamps) { return stamps ? log_stamp(line) + " " + line.text : line.text; }

}  // namespace

std::string log_stamp(const LogLine& line) {
  auto stamp = to_rfc3339(line.at);
  const auto fraction = (line.at.time_since_epoch().count() % 1000) * 1'000'000 + line.nanoseconds;
  if (fraction == 0) return stamp;
  auto digits = fmt::format("{:09}", fraction);
  while (digits.back() == '0') digits.pop_back();
  stamp.pop_back();
  return stamp + "." + digits + "Z";
}

void PodLogs::write(const LogKey& key, LogLine line) {
  auto& log = m_logs[key];
  log.followers.remove_if([](const Reader& reader) { return reader.gone(); });
  for (const auto& reader : log.followers) reader.bytes(rendered(line, reader.stamps));
  log.lines.push_back(std::move(line));
}

void PodLogs::close(Log& log) {
  for (const auto& reader : std::exchange(log.followers, {}))
    if (!reader.gone()) reader.end();
}

void PodLogs::end(const LogKey& key) {
  auto& log = m_logs[key];
  log.ended = true;
  close(log);
}

void PodLogs::rotate(const LogKey& key, std::size_t keep) {
  auto& log = m_logs[key];
  const auto gone = log.lines.size() - std::min(keep, log.lines.size());
  log.rotated += gone;
  log.lines.erase(log.lines.begin(), log.lines.begin() + static_cast<std::ptrdiff_t>(gone));
}

void PodLogs::forget(const std::string& pod_uid) {
  for (auto at = m_logs.lower_bound({pod_uid, "", 0}); at != m_logs.end() && at->first.pod_uid == pod_uid; at = m_logs.erase(at)) close(at->second);
}

void PodLogs::cut_all() {
  for (auto& [key, log] : m_logs) close(log);
}

void PodLogs::read(const LogKey& key, Time since, std::size_t tail, bool follow, Reader reader) {
  auto& log = m_logs[key];
  const auto from = log.lines.size() - std::min(tail, log.lines.size());
  std::string bytes;
  for (auto i = from; i < log.lines.size(); ++i)
    if (log.lines[i].at >= since) bytes += rendered(log.lines[i], reader.stamps);
  if (!bytes.empty()) reader.bytes(bytes);
  if (follow && !log.ended)
    log.followers.push_back(std::move(reader));
  else
    reader.end();
}

}  // namespace trainstep::sim
