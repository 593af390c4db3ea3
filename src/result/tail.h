// The last lines of a log, bounded in lines and bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/max_line_length.h"

namespace trainstep::result {

class Tail {
 public:
  explicit Tail(std::size_t max_lines = 50, std::size_t max_bytes = std::size_t{16} << 10U) : m_max_lines(max_lines), m_max_bytes(max_bytes) {}

  // Adds one line, without its newline. Of a line longer than the byte limit, the end is kept, from the beginning of a word on, and no part of a word
  // where a line was split (max_line_length.h): it might be a part of a secret.
  void push(std::string_view line) {
    const bool is_rest = std::exchange(m_goes_on, line.size() > max_line_length);
    if (m_goes_on) line.remove_suffix(part_of_word(line.rbegin(), line.rend()));
    const bool cut = line.size() > m_max_bytes;
    if (cut) line.remove_prefix(line.size() - m_max_bytes);
    if (cut || is_rest) line.remove_prefix(part_of_word(line.begin(), line.end()));
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
  // The length of a word that may be cut off at the beginning; 0: there is no blank in a long text.
  template <typename Iterator>
  static std::size_t part_of_word(Iterator begin, Iterator end) {
    constexpr std::ptrdiff_t longest = 4096;
    const auto blank = std::find_if(begin, std::min(end, begin + std::min(end - begin, longest)), [](char c) { return c == ' ' || c == '\t'; });
    return blank == end || blank - begin == longest ? 0 : static_cast<std::size_t>(blank - begin);
  }

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
  bool m_goes_on = false;  // the next line is the rest of the last one
  std::deque<std::string> m_lines;
};

}  // namespace trainstep::result
