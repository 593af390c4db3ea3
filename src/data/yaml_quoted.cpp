// SPDX-License-Identifier: Apache-2.0
#include "data/yaml_quoted.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace trainstep {
namespace {

constexpr std::string_view blanks = " \t";

void append_utf8(std::string& out, std::uint32_t code) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80U | (code >> shift & 0x3FU)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0U | code >> 6U);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0U | code >> 12U);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0U | code >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

class Reader {
 public:
  explicit Reader(std::string_view rest) : m_rest(rest) {}

  std::optional<std::string> read() {
    const char quote = m_rest.front();
    m_rest.remove_prefix(1);
    while (!m_rest.empty()) {
      const char c = m_rest.front();
      if (c == quote) {
        m_rest.remove_prefix(1);
        if (quote == '"' || !m_rest.starts_with('\'')) return std::move(m_out);
        m_rest.remove_prefix(1);
        add("'");
      } else if (c == '\n' || c == '\r') {
        fold();
      } else if (c == '\\' && quote == '"') {
        m_rest.remove_prefix(1);
        if (!escape()) return std::nullopt;
      } else {
        m_out += c;
        if (blanks.find(c) == std::string_view::npos) m_kept = m_out.size();
        m_rest.remove_prefix(1);
      }
    }
    return std::nullopt;
  }

 private:
  // Text added like this does not count as trailing blanks of a line.
  void add(std::string_view text) {
    m_out += text;
    m_kept = m_out.size();
  }

  bool take_break() {
    if (!m_rest.starts_with('\n') && !m_rest.starts_with('\r')) return false;
    m_rest.remove_prefix(m_rest.starts_with("\r\n") ? 2 : 1);
    return true;
  }
  // Takes the line breaks here and the blanks around them; returns their number.
  std::size_t take_breaks() {
    std::size_t count = 0;
    while (take_break()) {
      ++count;
      m_rest.remove_prefix(std::min(m_rest.find_first_not_of(blanks), m_rest.size()));
    }
    return count;
  }

  // One line break becomes a blank, n + 1 become n; blanks around them are dropped.
  void fold() {
    m_out.resize(m_kept);
    const auto count = take_breaks();
    add(count == 1 ? std::string(" ") : std::string(count - 1, '\n'));
  }

  bool escape() {
    if (m_rest.empty()) return false;
    if (m_rest.front() == '\n' || m_rest.front() == '\r') {
      m_kept = m_out.size();
      add(std::string(take_breaks() - 1, '\n'));
      return true;
    }
    const char c = m_rest.front();
    m_rest.remove_prefix(1);
    constexpr std::string_view names = "0abt\tnvfre \"/\\N_LP";
    constexpr std::uint32_t codes[] = {0, 7, 8, 9, 9, 10, 11, 12, 13, 27, ' ', '"', '/', '\\', 0x85, 0xA0, 0x2028, 0x2029};
    static_assert(std::size(codes) == names.size());
    if (const auto found = names.find(c); found != std::string_view::npos) return add_code(codes[found]);
    const auto digits = c == 'x' ? 2U : c == 'u' ? 4U : c == 'U' ? 8U : 0U;
    if (digits == 0 || m_rest.size() < digits) return false;
    std::uint32_t code = 0;
    const auto written = m_rest.substr(0, digits);
    const auto [end, error] = std::from_chars(written.begin(), written.end(), code, 16);
    if (error != std::errc{} || end != written.end()) return false;
    m_rest.remove_prefix(digits);
    return add_code(code);
  }
  bool add_code(std::uint32_t code) {
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
    append_utf8(m_out, code);
    m_kept = m_out.size();
    return true;
  }

  std::string_view m_rest;
  std::string m_out;
  std::size_t m_kept = 0;  // the length of m_out without the trailing blanks that a line break would drop
};

}  // namespace

std::optional<QuotedScalar> read_quoted(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const char c = text[at];
    if (c == '\'' || c == '"') return QuotedScalar{at, Reader(text.substr(at)).read()};
    if (std::string_view(" \t\r\n").find(c) != std::string_view::npos) {
      ++at;
    } else if (c == '#') {
      at = text.find('\n', at);
    } else if (c == '&' || c == '!') {
      at = text.find_first_of(" \t\r\n", at);
    } else {
      break;
    }
  }
  return std::nullopt;
}

}  // namespace trainstep
