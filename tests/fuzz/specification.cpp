// Any bytes as train_specification: read, bound with nothing given, written as a command line.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "plan/command.h"
#include "spec/read_program.h"

using namespace trainstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto program = spec::read_program({reinterpret_cast<const char*>(data), size}, "");
  if (!program) return 0;
  // Nothing is required, so that the line is reached; inputs without a value or default are left out.
  plan::Request request;
  plan::StepPath path;
  for (auto& input : program->inputs) {
    input.optional = true;
    path.name = input.name;
    request.inputs.push_back(path);
  }
  const auto binding = plan::bind(*program, request);
  if (!binding) return 0;
  plan::Placement placement;
  for (const auto& input : program->inputs) placement.inputs[input.name] = "/in";
  for (const auto& output : program->outputs) placement.outputs[output.name] = "/out";
  const auto words = plan::command_line(*program, *binding, placement);
  if (words && words->empty()) __builtin_trap();
  return 0;
}
