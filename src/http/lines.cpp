// SPDX-License-Identifier: Apache-2.0
#include "http/lines.h"

#include <algorithm>
#include <utility>

namespace trainstep::http {

bool Lines::emit(std::string_view text, bool last, const Each& each) {
  const auto first = !std::exchange(m_continued, !last);
  return each({text, first, last});
}

bool Lines::feed(std::string_view bytes, const Each& each) {
  while (!bytes.empty()) {
    const auto room = m_limit - m_rest.size();
    const auto newline = bytes.find('\n');
    const auto length = std::min(newline, bytes.size());
    if (length > room) {  // too long: a piece
      auto piece = std::exchange(m_rest, {}).append(bytes.substr(0, room));
      bytes.remove_prefix(room);
      if (!emit(piece, false, each)) return false;
    } else if (newline == std::string_view::npos) {
      m_rest.append(bytes);
      return true;
    } else if (m_rest.empty()) {
      const auto line = bytes.substr(0, length);
      bytes.remove_prefix(length + 1);
      if (!emit(line, true, each)) return false;
    } else {
      auto line = std::exchange(m_rest, {}).append(bytes.substr(0, length));
      bytes.remove_prefix(length + 1);
      if (!emit(line, true, each)) return false;
    }
  }
  return true;
}

bool Lines::finish(const Each& each) {
  const auto line = std::exchange(m_rest, {});
  return line.empty() || emit(line, true, each);
}

void Lines::reset() {
  m_rest = {};
  m_continued = false;
}

}  // namespace trainstep::http
