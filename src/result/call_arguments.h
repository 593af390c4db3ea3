// Which places of a line are among the arguments of a call, or of an object shown as Python shows them: in code, and in `print(model)`. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trainstep::result {

// Goes over a line once, from its beginning to its end.
class CallArguments {
 public:
  explicit CallArguments(std::string_view text) : m_text(text) {}
  // Whether the innermost parenthesis that is open at `at` follows a name: "Dropout(p=0.25)", not "Epoch 1 (loss=0.3)". `at` only grows. Parentheses
  // deeper than 64 count as closed.
  bool hold(std::size_t at);

 private:
  std::string_view m_text;
  std::size_t m_at = 0;
  int m_depth = 0;
  std::uint64_t m_calls = 0;  // a bit for each that is open: it follows a name
};

// An indented line of code, or of an object that takes several lines: "    fit(x, epochs=3)", "        max_depth=3, n_jobs=4,", "        lr=0.1)".
bool is_indented_code(std::string_view text);

}  // namespace trainstep::result
