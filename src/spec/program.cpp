// SPDX-License-Identifier: Apache-2.0
#include "spec/program.h"

#include <algorithm>

namespace trainstep::spec {
namespace {

template <typename T>
const T* find_named(const std::vector<T>& items, std::string_view name) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const T& item) { return item.name == name; });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

const Input* find_input(const Program& program, std::string_view name) { return find_named(program.inputs, name); }
const Output* find_output(const Program& program, std::string_view name) { return find_named(program.outputs, name); }

}  // namespace trainstep::spec
