// Result<T>: a value or an Error; must not be ignored.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "base/error.h"

namespace trainstep {

// tl::expected is not [[nodiscard]]; this wrapper is. `return value;` and `return input_error("…");` both work.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  Result(Error error) : Base(tl::unexpect, std::move(error)) {}
  Result(Base other) : Base(std::move(other)) {}
};

// The same error with the context as prefix of its message.
template <typename T>
Result<T> in_context(std::string_view where, Result<T> result) {
  if (!result) return in_context(where, std::move(result.error()));
  return result;
}

}  // namespace trainstep

#define TRAINSTEP_JOIN_(a, b) a##b
#define TRAINSTEP_JOIN(a, b) TRAINSTEP_JOIN_(a, b)

// TRY(expression): returns its error from the enclosing function; drops the value, if any.
#define TRY(...)                                                                            \
  do {                                                                                      \
    if (auto try_result = (__VA_ARGS__); !try_result) return std::move(try_result.error()); \
  } while (false)

// ASSIGN(auto value, expression): declares or assigns the value, or returns the error from the enclosing function.
#define ASSIGN(declaration, ...) ASSIGN_(TRAINSTEP_JOIN(assign_result_, __LINE__), declaration, __VA_ARGS__)
#define ASSIGN_(name, declaration, ...)        \
  auto name = (__VA_ARGS__);                   \
  if (!name) return std::move((name).error()); \
  declaration = std::move(*(name))
