// SPDX-License-Identifier: Apache-2.0
#include "local/run_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "data/output_links.h"
#include "process/held_files.h"

namespace trainstep::local {
namespace {

namespace fs = std::filesystem;

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto inside = path.lexically_normal().lexically_relative(folder);
  return !inside.empty() && *inside.begin() != "..";
}

// Without links, if it exists.
std::string real_path(const std::string& path) {
  std::error_code unknown;
  const auto real = fs::canonical(path, unknown);
  return unknown ? path : real.string();
}

}  // namespace

Result<void> RunOutputs::open(Place& place) {
  m_step_paths = place.placement.outputs;
  ASSIGN(m_pending, open_outputs(m_plan, place));
  m_place = place;
  return {};
}

void RunOutputs::begin_attempt() {
  remove_stale_values(m_plan, m_place, m_before);
  m_before_attempt = look();
  m_attempt_began = {};
  m_at_end.reset();
  m_left_running.clear();
  m_torn.clear();
}

void RunOutputs::leaves_running(const std::vector<process::Process>& rest) {
  m_left_running = describe(rest);
  m_at_end.reset();
  ended_well();
}

void RunOutputs::are_stopped(const std::vector<process::Process>& processes, const std::string& who) {
  const auto files = process::files_held_for_writing(processes);
  for (const auto& [name, path] : m_place.placement.outputs)
    if (const auto file = process::first_below(files, path); !file.empty())
      m_torn = fmt::format(
          "output {}: {} was still open for writing when {} had to be stopped; the program must wait for everything that writes its outputs", name,
          file, who);
}

void RunOutputs::outlived_all(const std::vector<process::Process>& rest) {
  if (m_left_running.empty()) m_left_running = describe(rest);
  were_killed(rest);
}

void RunOutputs::ended_well() {
  if (!m_at_end) m_at_end = footprints_at_end(m_place, what_vanishes());
}

Result<void> RunOutputs::check_settled(const std::vector<std::string>& late_failures) const {
  if (!m_torn.empty()) return input_error(m_torn);
  if (!m_at_end) return {};
  if (!m_left_running.empty()) TRY(check_unchanged(*m_at_end, "processes left running by the program: " + m_left_running));
  for (const auto& failure : late_failures) TRY(check_unchanged(*m_at_end, failure + " after that"));
  return {};
}

PathSnapshots RunOutputs::look() const { return footprints_of(m_place, what_vanishes()); }

IsTemporary RunOutputs::what_vanishes() const {
  return [this](const fs::path& path) { return vanishes(path); };
}

// Together with this run, or by the next one.
bool RunOutputs::vanishes(const fs::path& path) const {
  std::error_code unknown;
  return m_scratch.holds(path.string()) || std::ranges::any_of(m_pending, [&](const auto& output) {
           return lies_in(path, fs::canonical(output.second.path().parent_path(), unknown));
         });
}

// An output without a path of the step stays in the run folder.
Result<void> RunOutputs::settle_unbound(const run::OutputFound& output) {
  std::error_code code;
  const auto own = m_place.placement.outputs.find(output.name);
  if (own == m_place.placement.outputs.end() || own->second != output.path) {
    if (m_scratch.holds(real_path(output.path))) m_scratch.keep();
    return {};
  }
  if (fs::is_symlink(output.path, code) && m_scratch.holds(real_path(output.path))) return replace_by_copy(output.path, what_vanishes());
  return resolve_links(output.path, what_vanishes());
}

void RunOutputs::read_logs(run::OutputFound& output, const std::string& folder) {
  auto logs = tensorboard::read_event_files(folder, tensorboard::written_since(m_before_attempt.at(output.name), m_attempt_began.earliest({})));
  output.curves = std::move(logs.curves);
  for (const auto& line : logs.told) m_told_of_logs.push_back(fmt::format("{}: {}", output.name, line));
}

Result<std::vector<run::OutputFound>> RunOutputs::collect() {
  for (const auto& [name, pending] : m_pending) TRY(pending.check_kept());
  if (auto own = check_no_links(m_place); !own) return Error{ErrorKind::conflict, own.error().message};
  auto outputs = collect_outputs(m_plan, m_place, m_before_attempt);
  if (!outputs) return outputs;
  std::error_code unread;
  for (auto& output : *outputs) {
    const bool written = output.artifact && output.present && !output.earlier;
    if (written && output.path == m_place.placement.outputs.at(output.name)) read_logs(output, output.path);
    const auto pending = m_pending.find(output.name);
    if (pending == m_pending.end()) {
      TRY(settle_unbound(output));
      continue;
    }
    if (m_scratch.holds(output.path)) m_scratch.keep();
    if (!lies_in(output.path, pending->second.path().parent_path())) continue;
    // The program names another path there: below the output's path it is the output; next to it nothing is delivered.
    if (output.path != pending->second.path()) {
      output.earlier = !m_before_attempt.at(output.name).written();
      output.present = !output.earlier || !output.metadata.empty();
    }
    output.path = m_step_paths.at(output.name);
    if (!output.present || output.earlier) continue;
    output.pending = pending->second.path().string();
    output.no_file = plan::is_shared_file(output.step_path) && std::filesystem::is_directory(output.pending, unread);
    if (output.no_file) m_no_files.push_back(output.name);
    if (output.no_file) continue;
    m_to_commit.emplace(output.name, PathSnapshot(pending->second.path(), false));
  }
  return outputs;
}

Result<std::vector<std::string>> RunOutputs::commit(const CheckCancelled& go_on) {
  std::vector<std::string> told;
  auto ask = go_on;  // only for the first output: once it is in place, the others follow
  for (const auto& [name, found] : m_to_commit) {
    auto& pending = m_pending.at(name);
    if (!found.unchanged())
      return Error{ErrorKind::conflict, fmt::format("output {}: {} changed after the program had ended", name, pending.path().string())};
    const auto placed = pending.commit(what_vanishes(), std::exchange(ask, CheckCancelled()));
    if (!placed) {  // e.g. disk full: keep the link targets that could not be copied with the rest, unless the delivery was cancelled
      const bool wanted = placed.error().kind != ErrorKind::cancelled;
      m_uncopied = wanted && leads_to_vanishing(pending.path(), [this](const fs::path& path) { return m_scratch.holds(path.string()); });
      if (m_uncopied) m_scratch.keep();
      return placed.error();
    }
    const auto& aside = *placed;
    if (aside) told.push_back(fmt::format("{}: the previous contents of {} are kept as {}", name, pending.target().string(), aside->string()));
    if (!pending.unremoved().empty())
      told.push_back(fmt::format("{}: cannot remove the replaced contents: {}", name, pending.unremoved()));
    else if (const auto beside = pending.left(); !beside.empty())
      told.push_back(fmt::format("{}: files that the program saved next to it are not delivered; they are kept in {} until the next run", name,
                                 beside.string()));
  }
  for (const auto& name : m_no_files) {
    const auto left = m_pending.at(name).left();
    told.push_back(fmt::format("{}: the folder that the program wrote there is not delivered{}", name,
                               left.empty() ? std::string() : fmt::format("; it is kept in {} until the next run", left.string())));
  }
  return told;
}

std::vector<std::string> RunOutputs::left_behind() const {
  auto lines = describe_left(m_pending);
  if (const auto kept = m_scratch.kept(); !kept.empty() && (m_uncopied || !lines.empty()))
    lines.push_back(fmt::format("{}the targets of its links are in {}, the run's temporary folder, which is kept",
                                lines.empty() ? "the program's output is not kept, but " : "", kept.string()));
  return lines;
}

}  // namespace trainstep::local
