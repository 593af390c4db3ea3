// SPDX-License-Identifier: Apache-2.0
#include "plan/exec_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "plan/value_text.h"

namespace trainstep::plan {
namespace {

std::size_t size_of(const EnvironmentVariable& variable) {
  const auto value = variable.value.is_string() ? variable.value.get_ref<const std::string&>().size() : to_text(variable.value).size();
  return variable.name.size() + 1 + value + 1;
}

// The parameter with the longest value.
const BoundInput* max_value_length(const Plan& plan, std::size_t& bytes) {
  const BoundInput* longest = nullptr;
  bytes = 0;
  for (const auto& input : plan.binding.inputs) {
    if (!input.value) continue;
    const auto size = value_text(*input.value, plan.program.dialect).size();
    if (size <= bytes) continue;
    longest = &input;
    bytes = size;
  }
  return longest;
}

Error too_long(const Plan& plan, std::size_t word) {
  std::size_t bytes = 0;
  const auto* input = max_value_length(plan, bytes);
  if (input == nullptr || bytes < word / 2)
    return input_error(fmt::format(
        "train_specification: an argument of the program's command line has {} bytes, the Linux limit is {}; put the program into the image", word,
        max_exec_string_length - 1));
  return input_error(fmt::format(
      "train_parameters.{}: results in an argument of {} bytes, but the Linux limit is {}; pass it as a file through a path parameter of the program",
      input->name, word, max_exec_string_length - 1));
}

Result<void> check_variables(const std::vector<EnvironmentVariable>& variables) {
  for (const auto& variable : variables)
    if (const auto bytes = size_of(variable); bytes > max_exec_string_length)
      return input_error(fmt::format("{}: {} has {} bytes, the Linux limit for a variable is {}; mount it as a file (job_options.volumes)",
                                     variable.source, variable.name, bytes - 1, max_exec_string_length - 1));
  return {};
}

}  // namespace

Result<void> check_exec_size(const Plan& plan) {
  ASSIGN(const auto words, command_line(plan.program, plan.binding, pod_placement(plan, true)));
  std::size_t total = 0;
  for (const auto& word : words) {
    if (word.size() + 1 > max_exec_string_length) return too_long(plan, word.size());
    total += word.size() + 1;
  }
  for (const auto& word : plan.distribution.mpirun_arguments) {
    if (word.size() + 1 > max_exec_string_length)
      return input_error(fmt::format("distribution_specification.mpirun_arguments: an argument has {} bytes, the Linux limit is {}", word.size(),
                                     max_exec_string_length - 1));
    total += word.size() + 1;
  }
  TRY(check_variables(plan.environment));
  for (const auto& variable : plan.environment) total += size_of(variable);
  for (const auto& [type, options] : plan.options.replicas) {
    std::vector<EnvironmentVariable> own;
    for (const auto& [name, value] : options.environment.items())
      own.push_back({name, value, fmt::format("job_options.replicas.{}.environment", type)});
    TRY(check_variables(own));
  }
  if (total <= max_exec_bytes) return {};
  return input_error(fmt::format(
      "the program's command line and environment have {} bytes together, the Linux limit is {}; pass large values as files", total, max_exec_bytes));
}

}  // namespace trainstep::plan
