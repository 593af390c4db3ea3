// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <memory>
#include <string>

#include "support/catch.h"

using namespace trainstep;

namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return input_error(std::to_string(number) + " is odd");
  return number / 2;
}
Result<std::string> quarter(int number) {
  ASSIGN(const auto first, half(number));
  ASSIGN(const int second, half(first));
  return std::to_string(second);
}
Result<void> check(int number) {
  TRY(half(number));
  return {};
}
Result<std::unique_ptr<int>> owned(int number) {
  ASSIGN(auto value, half(number));
  auto made = std::make_unique<int>(value);
  return made;
}
Result<int> from_owned(int number) {
  ASSIGN(const auto pointer, owned(number));
  return *pointer;
}

}  // namespace

TEST_CASE("a result is a value or the error that was met first") {
  CHECK(quarter(8) == std::string("2"));
  CHECK(quarter(6).error().message == "3 is odd");
  CHECK(quarter(5).error().message == "5 is odd");
  CHECK(check(2));
  CHECK(check(1).error().kind == ErrorKind::input);
  CHECK(from_owned(4) == 2);
}

TEST_CASE("context is prepended to the error message and leaves values unchanged") {
  CHECK(in_context("train_parameters", half(3)).error().message == "train_parameters: 3 is odd");
  CHECK(in_context("epochs", usage_error("x")).kind == ErrorKind::usage);
  CHECK(in_context("epochs", half(4)) == 2);
}
