// SPDX-License-Identifier: Apache-2.0
#include "spec/v2_resources.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string_view>

#include "spec/placeholders.h"

namespace trainstep::spec {
namespace {

// 8.0 → "8", 0.5 → "0.5"; strings unchanged; 0 and "" mean "not given".
Result<std::string> quantity(const Json& value, double factor, const std::string& where) {
  if (value.is_string()) {
    auto text = value.get<std::string>();
    if (has_v2_key(text))
      return input_error(
          where + ": comes from the pipeline and is not known here; set cpus, memory or gpus, or worker_cpus etc. in distribution_specification");
    return text == "0" ? std::string() : text;
  }
  const auto number = value.is_number() ? value.get<double>() * factor : -1.0;
  if (!std::isfinite(number) || number < 0 || number > 9e15)
    return input_error(fmt::format("{}: expected a quantity, got {}", where, to_text(value)));
  if (number == 0) return std::string();
  if (std::trunc(number) == number || factor > 1) return fmt::format("{}", std::llround(number));
  return fmt::format("{}", number);
}

struct Key {
  std::string_view name;
  double factor;
};

// The value of the first key that is given.
Result<std::string> first_of(const Json& resources, std::initializer_list<Key> keys, const std::string& where) {
  for (const auto& key : keys) {
    const auto* value = find(resources, key.name);
    if (value == nullptr) continue;
    ASSIGN(auto text, quantity(*value, key.factor, fmt::format("{}.{}", where, key.name)));
    if (!text.empty()) return text;
  }
  return std::string();
}

Result<void> read_accelerator(const Json& accelerator, const std::string& where, RequestedResources& result) {
  if (!accelerator.is_object()) return input_error(where + ": expected an object");
  ASSIGN(result.gpus, first_of(accelerator, {{"resourceCount", 1}, {"count", 1}}, where));
  if (result.gpus.empty()) return {};
  ASSIGN(result.gpu_resource, first_of(accelerator, {{"resourceType", 1}, {"type", 1}}, where));
  if (result.gpu_resource.find('/') == std::string::npos)
    return input_error(
        fmt::format("{}.type: \"{}\" is not a Kubernetes resource; compile with set_accelerator_type(\"nvidia.com/gpu\") and choose the model of the "
                    "GPU with node_selector",
                    where, result.gpu_resource));
  return {};
}

}  // namespace

Result<RequestedResources> read_v2_resources(const Json& container, const std::string& container_place) {
  RequestedResources result;
  const auto* resources = find(container, "resources");
  if (resources == nullptr) return result;
  const auto where = container_place + ".resources";
  if (!resources->is_object()) return input_error(where + ": expected an object");
  constexpr double gigabyte = 1e9;
  ASSIGN(result.cpus, first_of(*resources, {{"resourceCpuLimit", 1}, {"cpuLimit", 1}, {"resourceCpuRequest", 1}, {"cpuRequest", 1}}, where));
  ASSIGN(result.memory,
         first_of(*resources, {{"resourceMemoryLimit", 1}, {"memoryLimit", gigabyte}, {"resourceMemoryRequest", 1}, {"memoryRequest", gigabyte}},
                  where));
  if (const auto* accelerator = find(*resources, "accelerator")) TRY(read_accelerator(*accelerator, where + ".accelerator", result));
  return result;
}

}  // namespace trainstep::spec
