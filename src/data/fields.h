// Strict reading of one JSON object: keys are requested by type, the first mistake is kept, unknown keys are rejected.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace trainstep {

// Values that pass through a pipeline often change type: numbers and booleans are also accepted as strings ("3", "True"), and 2.0 as 2. null and an
// empty string count as absent, because pipelines write "not given" like that. Reading continues after a mistake; done() returns the first one.
class Fields {
 public:
  // `where` is the object's name in messages: "distribution_specification". `object` must be an object or null; anything else is a mistake. It must
  // outlive this object.
  Fields(const Json& object, std::string where);

  std::optional<std::string> text(std::string_view key);
  // One of `choices`, in any case; returns the canonical spelling.
  std::optional<std::string> choice(std::string_view key, const std::vector<std::string>& choices);
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t least, std::int64_t most);
  std::optional<bool> boolean(std::string_view key);
  // Numbers are returned as text: 8 → "8".
  std::optional<std::string> text_or_number(std::string_view key);
  // The same for an environment variable, whose value may be empty.
  std::optional<std::string> variable(std::string_view key);
  std::optional<Json> object(std::string_view key);
  std::optional<Json> list(std::string_view key);
  // Empty strings and null in the list are omitted.
  std::optional<std::vector<std::string>> texts(std::string_view key);
  // The value as it is, an empty string included.
  std::optional<Json> any(std::string_view key);

  // For values with their own syntax: `read` gets the value's text and the key's full name and returns a Result.
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
  // The first mistake: an unknown key (with the most similar known one), otherwise the first invalid value.
  Result<void> done();
  // The first invalid value; ignores unknown keys. For objects written by other programs, which may add keys.
  Result<void> fits();

 private:
  void know(std::string_view key);
  // As find(m_object, key); takes no longer for an object with many members.
  const Json* member(std::string_view key);
  const Json* take(std::string_view key);
  void mistake(std::string_view key, std::string_view wanted, const Json& found);

  const Json m_nothing = nullptr;
  const Json& m_object;
  std::string m_where;
  std::vector<std::string> m_known;                   // in the order of the requests
  std::set<std::string, std::less<>> m_known_keys;    // the same
  std::map<std::string_view, const Json*> m_members;  // of an object with many, once one was requested
  std::optional<Error> m_error;
};

// Whether a string contains only blanks, which counts as not given.
bool is_blank(const Json& value);
// 3, 3.0, "3", " 3.0 " → 3; nullopt if the value is not an integer. One without decimal point and exponent may have up to 64 bits with sign; others
// are limited to 2^53, because beyond that a double may differ from what was written.
std::optional<std::int64_t> whole_number(const Json& value);
// true, "true", "True", "1"; nullopt for other values.
std::optional<bool> truth(const Json& value);

}  // namespace trainstep
