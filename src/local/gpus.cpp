// SPDX-License-Identifier: Apache-2.0
#include "local/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "job_types/job_type.h"

namespace trainstep::local {
namespace {

bool is_gpu(const std::filesystem::path& device) {
  const auto name = device.filename().string();
  const std::string_view prefix = "nvidia";
  return name.starts_with(prefix) && name.size() > prefix.size() &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string gpu_count(std::size_t count) { return fmt::format("{} GPU{}", count, count == 1 ? "" : "s"); }

}  // namespace

std::vector<std::string> machine_gpus(const process::Variables& environment) {
  std::vector<std::string> gpus;
  if (const auto* visible = process::find_variable(environment, "CUDA_VISIBLE_DEVICES")) {
    // CUDA itself stops at the first invalid entry.
    for (const auto entry : split(*visible, ',')) {
      const auto id = trim(entry);
      if (id.empty() || id.starts_with('-')) break;
      gpus.emplace_back(id);
    }
    return gpus;
  }
  std::error_code ignored;
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) count += is_gpu(entry.path()) ? 1 : 0;
  for (std::size_t i = 0; i < count; ++i) gpus.push_back(std::to_string(i));
  return gpus;
}

Result<GpuDivision> divide_gpus(const plan::Plan& plan, const std::vector<std::string>& gpus) {
  GpuDivision division;
  std::size_t wanted = 0;
  for (const auto& replicas : job_types::find(plan.job_type).replicas(plan))
    for (int index = 0; index < replicas.count; ++index) {
      division.shares.push_back({replicas.type, index, replicas.resources.gpus.value, ""});
      wanted += static_cast<std::size_t>(replicas.resources.gpus.value);
    }
  if (wanted > 0 && gpus.empty()) division.warning = "this machine has no GPU: training runs on CPUs";
  if (wanted == 0 && !gpus.empty())
    division.warning = fmt::format("this machine has {}, but none is requested (gpus, worker_gpus): training runs on CPUs", gpu_count(gpus.size()));
  if (wanted == 0 || gpus.empty()) return division;
  if (wanted > gpus.size())
    return input_error(
        fmt::format("the run requires {}, but this machine has {}; request fewer workers or fewer GPUs each (number_of_workers, worker_gpus, gpus)",
                    gpu_count(wanted), gpus.size()));
  std::size_t next = 0;
  for (auto& share : division.shares) {
    const auto first = gpus.begin() + static_cast<std::ptrdiff_t>(next);
    share.devices = join(std::vector<std::string>(first, first + share.wanted), ",");
    next += static_cast<std::size_t>(share.wanted);
  }
  // A launcher passes its own devices on to the ranks that it starts.
  if (job_types::find(plan.job_type).traits.launches_ranks)
    for (auto& share : division.shares) share.devices = join({gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(wanted)}, ",");
  return division;
}

}  // namespace trainstep::local
