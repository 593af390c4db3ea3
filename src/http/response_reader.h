// Parses the response of one exchange as it arrives: header lines and pieces of a body → Response.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "http/message.h"

namespace trainstep::http {

// Of the body of a response that is not 2xx: it explains an error; the rest is dropped.
constexpr std::size_t refusal_limit = std::size_t{64} << 10U;

class ResponseReader {
 public:
  // `streams`: the body of a 2xx response is passed to the caller piece by piece, not collected.
  ResponseReader(bool streams, std::size_t body_limit) : m_streams(streams), m_body_limit(body_limit) {}

  // One line, with or without its line break. A status line starts a new head (1xx responses precede the final one). true: this line completes the
  // head of the final response. Later lines (trailers) are ignored.
  bool header_line(std::string_view line);

  enum class Piece { taken, caller, too_large };
  Piece body(std::string_view bytes);

  // The head is complete. libcurl treats a connection that closes within the head as the end of a response without a body.
  [[nodiscard]] bool complete() const { return m_complete; }
  // Status and headers received so far; its body is empty.
  [[nodiscard]] const Response& head() const { return m_head; }
  // With the collected body; call it once.
  Response take();

 private:
  [[nodiscard]] bool success() const { return m_head.status >= 200 && m_head.status < 300; }

  bool m_streams;
  std::size_t m_body_limit;
  bool m_complete = false;
  Response m_head;
  std::string m_body;
};

}  // namespace trainstep::http
