// The words in front of a number.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "result/metric_words.h"

namespace trainstep::result {

// At most six words with what they are; of more only their number is known.
class Phrase {
 public:
  void add(std::string_view word) {
    if (m_size < m_words.size()) m_words[m_size] = {word, kind_of(word)};
    ++m_size;
  }
  void clear() { m_size = 0; }
  [[nodiscard]] bool empty() const { return m_size == 0; }
  [[nodiscard]] bool has_room() const { return m_size <= m_words.size(); }
  struct Item {
    std::string_view word;
    Word kind = Word::unknown;
  };
  [[nodiscard]] const Item* begin() const { return m_words.data(); }
  [[nodiscard]] const Item* end() const { return m_words.data() + std::min(m_size, m_words.size()); }
  [[nodiscard]] std::size_t size() const { return m_size; }
  [[nodiscard]] const Item& back() const { return *(end() - 1); }
  [[nodiscard]] bool has(Word kind) const { return count(kind) > 0; }
  [[nodiscard]] std::ptrdiff_t count(Word kind) const {
    return std::ranges::count_if(begin(), end(), [&](const Item& item) { return item.kind == kind; });
  }

 private:
  std::array<Item, 6> m_words;
  std::size_t m_size = 0;
};

}  // namespace trainstep::result
