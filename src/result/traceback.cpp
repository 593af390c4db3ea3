// SPDX-License-Identifier: Apache-2.0
#include "result/traceback.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/text.h"
#include "result/rank_prefix.h"

namespace trainstep::result {
namespace {

bool is_head(std::string_view text) { return text.starts_with("Traceback (most recent call last):"); }
bool is_frame(std::string_view text) { return text.starts_with("  File \"") && text.find("\", line ") != std::string_view::npos; }
bool is_indented(std::string_view text) { return text.starts_with(' ') || text.starts_with('\t'); }
bool is_chain(std::string_view text) {
  return text.starts_with("During handling of the above exception, another exception occurred:") ||
         text.starts_with("The above exception was the direct cause of the following exception:");
}

// "ValueError: …", "torch.cuda.OutOfMemoryError: …", "KeyboardInterrupt"
bool is_exception(std::string_view text) {
  const auto name = text.substr(0, text.find(':'));
  const auto belongs = [](char c) { return c == '.' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') && std::ranges::all_of(name, belongs);
}

// torchrun's own error, which only says that a rank failed.
bool is_echo(const Traceback& traceback) { return traceback.error.find("multiprocessing.errors.ChildFailedError") != std::string::npos; }

// Parses the lines of one rank.
class Scanner {
 public:
  // True if this line completes a traceback, or the next one of a chain.
  bool feed(std::string_view text) {
    if (is_head(text) || (m_state == State::outside && is_frame(text))) {
      if (!m_chained) m_block = {};
      m_chained = false;
      m_state = State::frames;
    } else if (m_state == State::frames) {
      if (!is_indented(text)) return end_at(text);
    } else if (is_chain(text) && !m_block.lines.empty()) {
      m_chained = true;
      m_state = State::outside;
    } else if (m_state != State::message || !is_indented(text)) {
      m_state = State::outside;
      return false;
    }
    m_block.lines.emplace_back(text);
    return m_state == State::message;
  }
  [[nodiscard]] const Traceback& block() const { return m_block; }

 private:
  enum class State { outside, frames, message };

  // Skips lines that other threads print between the frames.
  bool end_at(std::string_view text) {
    if (!is_exception(text)) return false;
    m_block.error = text;
    m_block.lines.emplace_back(text);
    m_state = State::message;  // further lines of the message are indented
    return true;
  }

  State m_state = State::outside;
  bool m_chained = false;
  Traceback m_block;
};

}  // namespace

std::optional<Traceback> find_traceback(std::span<const std::string> tail) {
  std::map<std::string_view, Scanner> ranks;
  std::optional<Traceback> last;
  for (const auto& line : tail) {
    const auto [prefix, text] = split_rank_prefix(line);
    auto& scanner = ranks[prefix];
    if (!scanner.feed(text.substr(0, text.find_last_not_of('\r') + 1))) continue;
    if (!last || !is_echo(scanner.block())) last = scanner.block();
  }
  return last;
}

}  // namespace trainstep::result
