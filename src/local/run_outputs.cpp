// SPDX-License-Identifier: Apache-2.0
#include "local/run_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "process/mapped_files.h"

namespace trainstep::local {
namespace {

namespace fs = std::filesystem;

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto inside = path.lexically_normal().lexically_relative(folder);
  return !inside.empty() && *inside.begin() != "..";
}

// Without links, where it is there.
std::string real_path(const std::string& path) {
  std::error_code unknown;
  const auto real = fs::canonical(path, unknown);
  return unknown ? path : real.string();
}

}  // namespace

Result<void> RunOutputs::open(Place& place) {
  ASSIGN(m_pending, open_outputs(m_plan, place));
  m_place = place;
  return {};
}

void RunOutputs::begin_attempt() {
  remove_stale_values(m_plan, m_place, m_before);
  m_before_attempt = footprints_of(m_place);
  m_at_end.reset();
  m_left_running.clear();
  m_torn.clear();
}

void RunOutputs::leaves_running(const std::vector<process::Process>& rest) {
  m_left_running = describe(rest);
  m_at_end = footprints_at_end(m_place);
}

void RunOutputs::were_killed(const std::vector<process::Process>& killed) {
  const auto files = process::files_mapped_for_writing(killed);
  for (const auto& [name, path] : m_place.placement.outputs)
    if (const auto file = process::first_below(files, path); !file.empty())
      m_torn =
          fmt::format("output {}: {} was still mapped for writing when {} had to be killed; the program must wait for whatever writes its outputs",
                      name, file, describe(killed));
}

void RunOutputs::outlived_all(const std::vector<process::Process>& rest) {
  if (m_left_running.empty()) m_left_running = describe(rest);
  were_killed(rest);
}

void RunOutputs::ended_well() {
  if (!m_at_end) m_at_end = footprints_at_end(m_place);
}

Result<void> RunOutputs::check_settled(const std::vector<std::string>& late_failures) const {
  if (!m_torn.empty()) return input_error(m_torn);
  if (!m_at_end) return {};
  if (!m_left_running.empty()) TRY(check_unchanged(*m_at_end, "what the program had left running: " + m_left_running));
  for (const auto& failure : late_failures) TRY(check_unchanged(*m_at_end, failure + " after that"));
  return {};
}

Result<std::vector<run::OutputFound>> RunOutputs::collect(Scratch& scratch) {
  auto outputs = collect_outputs(m_plan, m_place, m_before_attempt);
  if (!outputs) return outputs;
  for (auto& output : *outputs) {
    const auto pending = m_pending.find(output.name);
    if (scratch.holds(pending == m_pending.end() ? real_path(output.path) : output.path)) scratch.keep();
    if (pending == m_pending.end() || !lies_in(output.path, pending->second.path().parent_path())) continue;
    if (output.path != pending->second.path()) {  // the program names another place there: below its path it is the output, beside it nothing stays
      output.earlier = !m_before_attempt.at(output.name).written();
      output.present = !output.earlier || !output.metadata.empty();
    }
    const auto bound = std::ranges::find(m_plan.binding.outputs, output.name, &plan::BoundOutput::name);
    output.path = fs::absolute(bound->path->path).lexically_normal().string();
    if (!output.present || output.earlier) continue;
    output.pending = pending->second.path().string();
    m_to_commit.emplace(output.name, Footprint(pending->second.path(), false));
  }
  return outputs;
}

Result<std::vector<std::string>> RunOutputs::commit(const Scratch& scratch) {
  std::vector<std::string> told;
  for (const auto& [name, found] : m_to_commit) {
    auto& pending = m_pending.at(name);
    if (!found.unchanged())
      return Error{ErrorKind::conflict, fmt::format("output {}: {} changed after the program had ended", name, pending.path().string())};
    ASSIGN(const auto aside, pending.commit([&scratch](const fs::path& path) { return scratch.holds(path.string()); }));
    if (aside) told.push_back(fmt::format("{}: what lay at {} is kept as {}", name, pending.target().string(), aside->string()));
    if (!pending.unremoved().empty())
      told.push_back(fmt::format("{}: what was replaced is not gone: {}", name, pending.unremoved()));
    else if (const auto beside = pending.left(); !beside.empty())
      told.push_back(
          fmt::format("{}: what the program has saved beside it is no part of it, and is in {} until the next run", name, beside.string()));
  }
  return told;
}

}  // namespace trainstep::local
