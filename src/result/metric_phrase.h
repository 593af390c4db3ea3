// The words of a log line that may name a metric.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace trainstep::result {

inline constexpr std::size_t max_words = 4;  // in a name

inline std::string_view without_dot(std::string_view word) { return word.ends_with('.') ? word.substr(0, word.size() - 1) : word; }

// Whether the word links a name to what it describes: "accuracy of the network".
inline bool joins(std::string_view word) { return word == "of" || word == "on" || word == "for"; }

// The words since the last separator. They are views of the line, which must outlive them.
class Phrase {
 public:
  void add(std::string_view word);
  void clear() { *this = Phrase(); }
  // There is a number between the words: "on the 10000 test images".
  void add_number() { m_has_number = true; }
  [[nodiscard]] std::size_t count() const { return m_count; }
  // Whether there is at least one word, and no more than a name may have.
  [[nodiscard]] bool fits() const { return m_count > 0 && m_count <= max_words; }
  // Total bytes of the words, each with a separator.
  [[nodiscard]] std::size_t size() const { return m_size; }
  // Empty if there is no such word; last() and before_last() also if the phrase does not fit.
  [[nodiscard]] std::string_view first() const { return m_count == 0 ? std::string_view() : m_words[0]; }
  [[nodiscard]] std::string_view last() const { return fits() ? m_words[m_count - 1] : std::string_view(); }
  [[nodiscard]] std::string_view before_last() const { return fits() && m_count > 1 ? m_words[m_count - 2] : std::string_view(); }
  // `at` must be less than count() and max_words.
  [[nodiscard]] std::string_view word(std::size_t at) const { return m_words[at]; }
  // In "Accuracy of the network on the 10000 test images", "Test accuracy of the model": the number of words in the name; 0: not such a phrase.
  [[nodiscard]] std::size_t name_before_of() const;
  // After name_before_of(): whether the metric is of a part only, as in "Accuracy of plane".
  [[nodiscard]] bool belongs_to_part(std::size_t words) const;
  // In "Accuracy on the test set": "test". Empty if no data are named, and for "the 10000 test images" of PyTorch's tutorial, which names no other
  // data.
  [[nodiscard]] std::string_view data_behind() const;
  // Its first `words` words as the name of a metric, joined by underscores.
  [[nodiscard]] std::string name(std::size_t words) const;
  template <class Predicate>
  [[nodiscard]] bool any(const Predicate& predicate) const {
    return std::ranges::any_of(m_words.begin(), m_words.begin() + static_cast<std::ptrdiff_t>(std::min(m_count, m_words.size())), predicate);
  }

 private:
  std::string_view m_data;  // named after "of", "on" or "for"
  bool m_joined = false;
  bool m_has_number = false;
  std::array<std::string_view, max_words> m_words;
  std::size_t m_count = 0;
  std::size_t m_size = 0;
};

}  // namespace trainstep::result
