// Splits a byte stream into lines, in bounded memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace trainstep::http {

class Lines {
 public:
  // A line without its newline. A line of more than `limit` bytes is delivered in pieces of `limit` bytes, counted from its beginning: the pieces do
  // not depend on how the bytes were fed.
  struct Line {
    std::string_view text;  // valid only during the call
    bool first = true;      // the beginning of the line
    bool last = true;       // the end of the line
  };
  // Returning false stops feed() at once: the callee may have destroyed this object.
  using Each = std::function<bool(const Line&)>;

  explicit Lines(std::size_t limit = std::size_t{16} << 20U) : m_limit(limit) {}

  // Keeps only the bytes after the last newline, at most `limit`. Returns whether all bytes were consumed.
  bool feed(std::string_view bytes, const Each& each);
  // Delivers the bytes after the last newline, if any, as a line, and drops them.
  bool finish(const Each& each);
  // The bytes after the last newline, or after the last piece; valid until the next call.
  [[nodiscard]] std::string_view unfinished() const { return m_rest; }
  void reset();

 private:
  bool emit(std::string_view text, bool last, const Each& each);

  std::size_t m_limit;
  std::string m_rest;
  bool m_continued = false;  // pieces of the current line were delivered
};

}  // namespace trainstep::http
