// Bytes as they come → whole lines, in bounded memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace trainstep::http {

class Lines {
 public:
  // A line without its newline. One of more than `limit` bytes comes in pieces of `limit` bytes, counted from its beginning: however the bytes were
  // cut on their way, the pieces are the same.
  struct Line {
    std::string_view text;  // valid during the call only
    bool first = true;      // its beginning
    bool last = true;       // its end
  };
  // False ends the feed() at once: the call may then even have destroyed this object.
  using Each = std::function<bool(const Line&)>;

  explicit Lines(std::size_t limit = std::size_t{16} << 20U) : m_limit(limit) {}

  // Only what stands behind the last newline is kept, at most `limit` bytes. Whether all was taken.
  bool feed(std::string_view bytes, const Each& each);
  // What stands behind the last newline, as a line; nothing if there is nothing. Empty afterwards.
  bool finish(const Each& each);
  void reset();

 private:
  bool emit(std::string_view text, bool last, const Each& each);

  std::size_t m_limit;
  std::string m_rest;
  bool m_continued = false;  // pieces of the line at hand were given before
};

}  // namespace trainstep::http
