// The answer of one exchange as it comes: header lines and pieces of a body → Response.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "http/message.h"

namespace trainstep::http {

// Of the body of an answer that is not 2xx: it explains a refusal, more of it is dropped.
constexpr std::size_t refusal_limit = std::size_t{64} << 10U;

class ResponseReader {
 public:
  // `streams`: the body of a 2xx answer is the caller's, piece by piece, and not gathered.
  ResponseReader(bool streams, std::size_t body_limit) : m_streams(streams), m_body_limit(body_limit) {}

  // One line, with or without its line break. A status line begins a new head (1xx answers come before the real one). True: this line completes the
  // head of the real answer. What comes after that (trailers) is ignored.
  bool header_line(std::string_view line);

  enum class Piece { taken, caller, too_large };
  Piece body(std::string_view bytes);

  // The head has come as a whole. libcurl takes a connection that ends within it for the end of an answer without a body.
  [[nodiscard]] bool complete() const { return m_complete; }
  // Status and headers, as far as they have come; its body is empty.
  [[nodiscard]] const Response& head() const { return m_head; }
  // With the gathered body; once.
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
