// SPDX-License-Identifier: Apache-2.0
#include "http/response_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace trainstep::http {
namespace {

// "HTTP/1.1 200 OK" → 200; 0 if invalid.
int status_of(std::string_view line) {
  const auto space = std::min(line.find(' '), line.size());
  const auto number = line.substr(std::min(space + 1, line.size()));
  int status = 0;
  std::from_chars(number.data(), number.data() + number.size(), status);
  return status;
}

}  // namespace

bool ResponseReader::header_line(std::string_view line) {
  if (m_complete) return false;
  const auto content = trim(line);
  if (m_head.status == 0 || m_head.status < 200) {
    if (content.starts_with("HTTP/")) {
      m_head = {.status = status_of(content), .headers = {}, .body = {}};
      return false;
    }
  }
  if (content.empty()) return m_complete = m_head.status >= 200;
  const auto colon = content.find(':');
  if (colon == std::string_view::npos) return false;
  m_head.headers.push_back({std::string(trim(content.substr(0, colon))), std::string(trim(content.substr(colon + 1)))});
  return false;
}

ResponseReader::Piece ResponseReader::body(std::string_view bytes) {
  if (success() && m_streams) return Piece::caller;
  if (!success()) bytes = bytes.substr(0, refusal_limit - std::min(refusal_limit, m_body.size()));
  if (success() && bytes.size() > m_body_limit - std::min(m_body_limit, m_body.size())) return Piece::too_large;
  m_body += bytes;
  return Piece::taken;
}

Response ResponseReader::take() {
  m_head.body = std::move(m_body);
  return std::move(m_head);
}

}  // namespace trainstep::http
