// Any bytes as an executor input, and as every other input of a step.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "step/identity.h"
#include "step/inputs.h"
#include "step/node_selector.h"

namespace step = trainstep::step;
using trainstep::Result;

namespace {

void check(const Result<step::Inputs>& inputs) {
  if (!inputs) {
    if (inputs.error().message.empty()) __builtin_trap();
    return;
  }
  const auto& request = inputs->request;
  if (request.train_specification.empty()) __builtin_trap();
  for (const auto* object : {&request.train_parameters, &request.distribution_specification, &request.job_options, &request.node_selector})
    if (!object->is_object()) __builtin_trap();
  for (const auto& target : inputs->targets)
    if (target.name.empty() && target.kind == step::OutputTarget::Kind::file) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const step::Context context{.environment = {{"HTTP_PROXY", "p"}},
                              .read_file = [&](const std::string&, std::size_t) -> Result<std::string> { return text; }};
  check(step::read_inputs({{"executor-input", text}, {"train-specification", "image: a"}}, context));
  check(step::read_inputs({{"executor-input", "@file"}}, context));
  for (const auto* name : {"train-parameters", "job-options", "node-selector", "gpus", "task-config"})
    check(step::read_inputs({{"train-specification", "image: a"}, {name, text}}, context));
  if (const auto selector = step::parse_node_selector(text); selector && !selector->is_object()) __builtin_trap();
  const auto folder = step::shared_folder(text);
  if (folder.starts_with('/') && text.find("://") == std::string::npos && !text.starts_with('/')) __builtin_trap();
  if (step::identity(folder, text).size() > folder.size() + text.size() + 1) __builtin_trap();
  return 0;
}
