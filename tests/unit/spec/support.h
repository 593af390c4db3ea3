// What the tests of this module share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "spec/read_program.h"
#include "support/catch.h"

namespace trainstep::spec {

// A file of tests/unit/spec/data: what a real SDK wrote (make.py there).
inline std::string data(const std::string& name) {
  std::ifstream file("tests/unit/spec/data/" + name, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whatever format the text has.
inline Program read(const std::string& text, const std::string& component = "") {
  auto program = read_program(text, component);
  INFO((program ? "" : program.error().message));
  REQUIRE(program);
  return std::move(*program);
}

inline std::string error_of(const std::string& text, const std::string& component = "") {
  const auto program = read_program(text, component);
  INFO(text.substr(0, 300));
  REQUIRE_FALSE(program);
  CHECK(program.error().kind == ErrorKind::input);
  return program.error().message;
}

// An argument tree on one line: text 'x', value(x), path(x), if(x ? … : …), concat(…).
std::string show(const std::vector<Argument>& arguments);

inline std::string show(const Argument& argument) {
  switch (argument.kind) {
    case Argument::Kind::text:
      return "'" + argument.text + "'";
    case Argument::Kind::input_value:
      return "value(" + argument.text + ")";
    case Argument::Kind::input_path:
      return "path(" + argument.text + ")";
    case Argument::Kind::input_uri:
      return "uri(" + argument.text + ")";
    case Argument::Kind::output_path:
      return "out(" + argument.text + ")";
    case Argument::Kind::output_uri:
      return "out_uri(" + argument.text + ")";
    case Argument::Kind::executor_input:
      return "executor_input";
    case Argument::Kind::executor_output_file:
      return "output_file";
    case Argument::Kind::concat:
      return "concat(" + show(argument.parts) + ")";
    case Argument::Kind::if_present:
      return "present(" + argument.text + " ? " + show(argument.parts) + " : " + show(argument.otherwise) + ")";
    case Argument::Kind::if_true:
      return "if(" + show(argument.condition) + " ? " + show(argument.parts) + " : " + show(argument.otherwise) + ")";
  }
  return "?";
}

inline std::string show(const std::vector<Argument>& arguments) {
  std::string line;
  for (const auto& argument : arguments) line += (line.empty() ? "" : " ") + show(argument);
  return line;
}

// "epochs:integer=3?" – name, type, default, whether optional.
inline std::string show(const Input& input) {
  static const char* const names[] = {"string", "integer", "number", "boolean", "list", "object", "any", "artifact"};
  auto text = input.name + ":" + names[static_cast<int>(input.type)];
  if (input.default_value) text += "=" + to_text(*input.default_value);
  return text + (input.optional ? "?" : "");
}

inline std::string show(const Output& output) {
  Input as_input;
  as_input.name = output.name;
  as_input.type = output.type;
  return show(as_input);
}

template <typename T>
std::string show_all(const std::vector<T>& items) {
  std::string line;
  for (const auto& item : items) line += (line.empty() ? "" : " ") + show(item);
  return line;
}

}  // namespace trainstep::spec
