// Finds which positions of a line are among the arguments of a call, or of an object in Python's repr: in code, and in `print(model)`. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trainstep::result {

// Scans a line once, from beginning to end.
class CallArguments {
 public:
  explicit CallArguments(std::string_view text) : m_text(text) {}
  // Whether the innermost parenthesis that is open at `at` follows a name, "Dropout(p=0.25)", not "Epoch 1 (loss=0.3)", or holds the settings of an
  // optimizer: "Adam (lr=0.001)". `at` must not decrease between calls. Parentheses nested deeper than 64 count as closed.
  bool hold(std::size_t at);

 private:
  std::string_view m_text;
  std::size_t m_at = 0;
  int m_depth = 0;
  std::uint64_t m_calls = 0;  // one bit per open parenthesis: whether it follows a name
};

// Whether this is an indented line of code, or of a repr that spans several lines:
// "    fit(x, epochs=3)", "        max_depth=3, n_jobs=4,", "        lr=0.1)".
bool is_indented_code(std::string_view text);

}  // namespace trainstep::result
