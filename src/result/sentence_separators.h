// The signs that may stand between a name and its number in a sentence: the one list of them, for the reader of sentences, for its pre-check, and for
// values that change: "loss: 0.5 -> 0.4".
//   Epoch [3/10] | loss: 0.31
//   Accuracy     = 0.93
//   Epoch 3 finished :: loss -> 0.31
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace trainstep::result {

// What separates the words of a phrase from what follows.
enum class Gap {
  none,     // nothing yet; of a sign: it ends the phrase
  blank,    // a value follows only if the last word names a metric, and counts only with decimals
  colon,    // also "is", and "=" after "Accuracy on the test set"
  arrow,    // "loss -> 0.31"
  cell,     // of a table that is drawn
  bracket,  // a count follows, never a value: "Step [100/600]"
  aligned   // "=" with several blanks beside it; others belong to pairs (metric_pairs.h)
};

struct Separator {
  std::string_view sign;
  Gap gap = Gap::none;
};

// │ and ┃ are what rich draws tables with.
inline constexpr std::array separators{
    Separator{" ", Gap::blank},   Separator{"\t", Gap::blank},    Separator{":", Gap::colon},     Separator{"=", Gap::aligned},
    Separator{"->", Gap::arrow},  Separator{"-->", Gap::arrow},   Separator{"--->", Gap::arrow},  Separator{"\u2192", Gap::arrow},
    Separator{"|", Gap::cell},    Separator{"\u2502", Gap::cell}, Separator{"\u2503", Gap::cell}, Separator{"[", Gap::bracket},
    Separator{"(", Gap::bracket}, Separator{"#", Gap::bracket},
};

inline constexpr auto bytes_of_separators = [] {
  std::array<bool, 256> bytes{};
  for (const auto& each : separators)
    for (const char c : each.sign) bytes[static_cast<unsigned char>(c)] = true;
  return bytes;
}();

// For the pre-check, which goes from a number back to the word before it.
inline bool belongs_to_separator(char c) { return bytes_of_separators[static_cast<unsigned char>(c)]; }

// At the start of `text`, which must not be empty: its first byte if it is no separator.
inline Separator separator_of(std::string_view text) {
  if (belongs_to_separator(text.front()))
    for (const auto& each : separators)
      if (text.starts_with(each.sign)) return each;
  return {text.substr(0, 1), Gap::none};
}

}  // namespace trainstep::result
