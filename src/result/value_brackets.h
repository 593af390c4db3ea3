// Brackets after a value that describe it: "Score: 0.91 (threshold=0.5)", "BLEU = 27.3 58.1/33.0 (BP = 1.0 hyp_len = 65345)".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace trainstep::result {

// Tells what to read at a position of a line; positions are asked for in increasing order. Takes time linear in the length of the line.
class ValueBrackets {
 public:
  explicit ValueBrackets(std::string_view text) : m_text(text) {}
  enum class Reads {
    all,      // not in such a bracket: also in "Epoch 1 (loss=0.5)", "fold=1 (acc=0.9)", and a progress bar's "8/8 [00:01<00:00, loss=0.5]"
    metrics,  // after another number than a metric, as in "alpha=0.1 (score=0.9)": only what is named like a metric
    best      // after a metric, or between its name and its value: only the best value so far
  };
  [[nodiscard]] Reads at(std::size_t position);
  // Of the bracket of that position.
  [[nodiscard]] std::size_t open() const { return m_open; }
  [[nodiscard]] std::size_t close() const { return m_close; }

 private:
  [[nodiscard]] std::size_t end_of(std::size_t open) const;
  [[nodiscard]] Reads after_what(std::size_t open) const;

  std::string_view m_text;
  std::size_t m_at = 0;
  std::size_t m_open = 0, m_close = 0;
  Reads m_reads = Reads::all;
};

}  // namespace trainstep::result
