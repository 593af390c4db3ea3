// Strict reading of one JSON object: each key is asked for by its type, the first mistake is kept, unknown keys are refused.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace trainstep {

// Values that passed through a pipeline often changed their form on the way: numbers and booleans are accepted as text ("3", "True"), 2.0 as 2.
// null and an empty text count as absent: so pipelines write "not given". Reading goes on after a mistake; done() tells the first one.
class Fields {
 public:
  // `where` is what messages call the object: "distribution_specification". An object or null; anything else is a mistake. `object` must outlive
  // this.
  Fields(const Json& object, std::string where);

  std::optional<std::string> text(std::string_view key);
  // One of `choices`, in any case; the canonical spelling is returned.
  std::optional<std::string> choice(std::string_view key, const std::vector<std::string>& choices);
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t least, std::int64_t most);
  std::optional<bool> boolean(std::string_view key);
  // Numbers are given as their text: 8 → "8".
  std::optional<std::string> text_or_number(std::string_view key);
  // The same of an environment variable, which may well be empty.
  std::optional<std::string> variable(std::string_view key);
  std::optional<Json> object(std::string_view key);
  std::optional<Json> list(std::string_view key);
  // Empty texts and null among them are left out.
  std::optional<std::vector<std::string>> texts(std::string_view key);
  // As it is, an empty text included.
  std::optional<Json> any(std::string_view key);

  // For values with a rule of their own: `read` gets the value's text and the key's full name and returns a Result.
  template <typename T>
  std::optional<T> parsed(std::string_view key, Result<T> (*read)(std::string_view, std::string_view)) {
    const auto value = text_or_number(key);
    if (!value) return std::nullopt;
    auto result = read(*value, path(key));
    if (result) return std::move(*result);
    fail(std::move(result.error()));
    return std::nullopt;
  }

  void fail(Error error);
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::string path(std::string_view key) const;
  // The first mistake: an unknown key (with the nearest known one), else the first value that did not fit.
  Result<void> done();
  // The first value that did not fit: for what others write, who may know more keys than we do.
  Result<void> fits();

 private:
  void know(std::string_view key);
  const Json* take(std::string_view key);
  void mistake(std::string_view key, std::string_view wanted, const Json& found);

  const Json m_nothing = nullptr;
  const Json& m_object;
  std::string m_where;
  std::vector<std::string> m_known;
  std::optional<Error> m_error;
};

// A text of nothing but blanks: not given.
bool is_blank(const Json& value);
// 3, 3.0, "3", " 3.0 " → 3; nothing for what is no whole number. One without point and exponent is taken as it is written, within 64 bits with a
// sign; others within 2^53, beyond which a double is not what was written.
std::optional<std::int64_t> whole_number(const Json& value);
// true, "true", "True", "1"; nothing for other things.
std::optional<bool> truth(const Json& value);

}  // namespace trainstep
