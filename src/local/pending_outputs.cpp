// SPDX-License-Identifier: Apache-2.0
#include "local/pending_outputs.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace trainstep::local {
namespace fs = std::filesystem;

Result<PendingOutputs> open_outputs(const plan::Plan& plan, Place& place) {
  PendingOutputs opened;
  for (const auto& output : plan.binding.outputs) {
    auto& path = place.placement.outputs.at(output.name);
    std::error_code unknown;
    if (output.path && fs::is_fifo(path, unknown))  // the program would wait for a reader, possibly forever
      return input_error(fmt::format("{}: {} is a FIFO, but the program writes there itself; choose a regular file", output.path->name, path));
    if (!output.path || !PendingOutput::possible(path)) continue;
    auto pending = in_context(output.path->name, PendingOutput::open(path, plan.run_id));
    if (!pending && pending.error().kind == ErrorKind::conflict) return input_error(pending.error().message);
    if (!pending) return std::move(pending.error());
    path = pending->path().string();
    opened.emplace(output.name, std::move(*pending));
  }
  return opened;
}

std::vector<std::string> describe_left(const PendingOutputs& outputs) {
  std::vector<std::string> lines;
  for (const auto& [name, pending] : outputs)
    if (const auto left = pending.left(); !left.empty())
      lines.push_back(fmt::format("{}: the program's output is in {} until the next run", name, left.string()));
  return lines;
}

std::vector<std::string> tidy_outputs(const plan::Plan& plan) {
  PendingOutputs opened;
  for (const auto& output : plan.binding.outputs) {
    if (!output.path || output.path->path.empty()) continue;
    std::error_code unknown;
    const auto path = fs::absolute(output.path->path, unknown).lexically_normal();
    if (unknown || !PendingOutput::possible(path)) continue;
    if (auto pending = PendingOutput::open(path, plan.run_id)) opened.emplace(output.name, std::move(*pending));
  }
  return describe_left(opened);
}

}  // namespace trainstep::local
