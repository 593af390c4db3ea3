// The last lines of a log, bounded in lines and bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace trainstep::result {

class Tail {
 public:
  explicit Tail(std::size_t max_lines = 50, std::size_t max_bytes = std::size_t{16} << 10U) : m_max_lines(max_lines), m_max_bytes(max_bytes) {}

  // Adds one line, without its newline. Of a line longer than the byte limit, the end is kept.
  void push(std::string_view line) {
    if (line.size() > m_max_bytes) line.remove_prefix(line.size() - m_max_bytes);
    std::string kept = recycled();
    kept.assign(line);
    m_bytes += kept.size();
    m_lines.push_back(std::move(kept));
    while (m_lines.size() > m_max_lines || m_bytes > m_max_bytes) drop_oldest();
  }

  void clear() {
    m_lines.clear();
    m_bytes = 0;
  }

  // Oldest first.
  [[nodiscard]] std::vector<std::string> lines() const { return {m_lines.begin(), m_lines.end()}; }
  [[nodiscard]] bool empty() const { return m_lines.empty(); }

 private:
  // If the buffer is full, the newest line reuses the memory of the oldest, so that no line of a long log needs an allocation.
  std::string recycled() {
    if (m_lines.empty() || m_lines.size() < m_max_lines) return {};
    std::string oldest = std::move(m_lines.front());
    m_lines.pop_front();
    m_bytes -= oldest.size();
    return oldest;
  }
  void drop_oldest() {
    m_bytes -= m_lines.front().size();
    m_lines.pop_front();
  }

  std::size_t m_max_lines;
  std::size_t m_max_bytes;
  std::size_t m_bytes = 0;
  std::deque<std::string> m_lines;
};

}  // namespace trainstep::result
