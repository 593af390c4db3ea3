// SPDX-License-Identifier: Apache-2.0
#include "agent/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/regular_file.h"
#include "data/taking_back.h"
#include "objectstore/local_tree.h"
#include "process/held_files.h"
#include "result/tensorboard_curves.h"
#include "spec/reported_location.h"
#include "spec/returned.h"
#include "tensorboard/event_files.h"

namespace trainstep::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_value_size = std::size_t{16} << 20U;

spec::Output declared(const plan::TaskOutput& output) { return {output.name, output.type, output.declared}; }

// Creates the folder of an output, or a link with that name to where the output is written on a claim.
Result<void> make_folder(const plan::TaskOutput& output, const Pending& pending) {
  const auto folder = fs::path(output.path).parent_path();
  const auto on_claim = pending.find(output.name);
  if (on_claim == pending.end()) return make_directories(folder);
  TRY(make_directories(folder.parent_path()));
  std::error_code failed;
  if (fs::is_symlink(folder, failed)) return {};  // created by an earlier attempt in this pod
  fs::create_directory_symlink(on_claim->second.path().parent_path(), folder, failed);
  if (failed) return file_error("link", folder, failed.value());
  return {};
}

// The pod is temporary: targets of links are delivered, too, except those in the folder of the output itself.
IsTemporary vanishing_for(const plan::TaskOutput& output) {
  std::error_code unknown;
  const auto at = fs::canonical(fs::path(output.path).parent_path(), unknown);
  return [at](const fs::path& path) { return std::ranges::mismatch(path, at).in1 != path.end(); };
}

Result<Json> read_executor_output(const std::string& path) {
  if (path.empty()) return Json::object();
  auto text = read_regular_file(path, max_value_size);
  if (!text && text.error().kind == ErrorKind::not_found) return Json::object();
  if (!text) return std::move(text.error());
  return spec::parse_executor_output(*text, path);
}

Result<result::ReportedOutput> artifact(const plan::TaskOutput& output, const Json& executor_output, const PathSnapshot& before) {
  result::ReportedOutput found{.name = output.name, .artifact = true, .present = false, .value = {}, .uri = {}};
  auto returned = spec::returned_artifact(executor_output, output.name);
  found.metadata = std::move(returned.metadata);
  const bool stays = !output.to.in_store() && output.folder_is.empty();  // the step has no place for it
  bool elsewhere = false;
  for (const auto& text : returned.places) {
    const auto place = spec::parse_reported_location(text);
    const bool complete = place.fault.empty();
    if (!place.address || place.text == output.path || (!complete && elsewhere) || (before.written() && !(stays && complete))) continue;
    found.uri = place.text;  // even an incomplete one: the step reports that
    elsewhere = complete;
  }
  const bool written = before.written();
  if (!written && !elsewhere) TRY(in_context(fmt::format("output {}", output.name), before.check_seen()));
  std::error_code ignored;
  found.no_file = output.file && written && !elsewhere && fs::is_directory(output.path, ignored);
  // To a claim the files are moved as they are. A store refuses what it cannot read.
  if (written && !elsewhere && !output.folder_is.empty()) TRY(in_context(fmt::format("output {}", output.name), before.check_readable()));
  found.present = written || elsewhere;
  const bool a_text = spec::is_text_at_path(declared(output)) && found.uri.empty() && (stays || !found.present) && before.touched();
  if (!a_text || !fs::is_regular_file(output.path, ignored)) return found;
  if (const auto text = read_regular_file(output.path, max_value_size); text && spec::is_text(*text)) found.value = *text;
  return found;
}

Result<result::ReportedOutput> value(const plan::TaskOutput& output, const Json& executor_output, const PathSnapshot& before) {
  const auto where = fmt::format("output {}", output.name);
  const result::ReportedOutput without_value{.name = output.name, .artifact = false, .present = false, .value = {}, .uri = {}};
  result::ReportedOutput found{.name = output.name, .artifact = false, .present = true, .value = {}, .uri = {}};
  if (auto returned = spec::returned_value(declared(output), executor_output)) {
    ASSIGN(auto typed, in_context(where, std::move(*returned)));
    found.value = std::move(typed);
    return found;
  }
  const bool untouched = !before.touched();
  if (untouched && spec::is_optional(declared(output))) return without_value;
  if (untouched) return input_error(fmt::format("{}: the program succeeded, but did not write its value (expected in {})", where, output.path));
  ASSIGN(const auto text, in_context(where, read_regular_file(output.path, max_value_size)));
  ASSIGN(auto typed, in_context(where, spec::value_from_file(declared(output), text)));
  if (typed.is_null()) return without_value;
  found.value = std::move(typed);
  return found;
}

// An unreadable tree is treated as empty: it cannot be delivered either.
std::vector<objectstore::LocalFile> files_at(const std::string& path) {
  auto tree = objectstore::read_tree(path);
  return tree ? std::move(tree->files) : std::vector<objectstore::LocalFile>();
}

}  // namespace

Result<Pending> open_outputs(const plan::Task& task) {
  Pending pending;
  for (const auto& output : task.outputs) {
    if (output.folder_is.empty()) continue;
    ASSIGN(auto opened, in_context(output.name, PendingOutput::open(plan::place_on_claim(output), task.attempt, task.attempt)));
    pending.emplace(output.name, std::move(opened));
  }
  return pending;
}

std::string what_stays(const plan::Task& task, const plan::TaskOutput& output) {
  return output.folder_is.empty() ? "" : describe_staying(output.name, plan::place_on_claim(output), task.attempt, Why::told);
}

Result<std::vector<std::string>> commit_outputs(Pending& pending, const std::vector<result::ReportedOutput>& outputs, const CheckCancelled& go_on) {
  std::vector<std::string> told;
  for (const auto& output : outputs) {
    const auto found = pending.find(output.name);
    if (found == pending.end() || !output.present || output.no_file) continue;
    if (auto tree = objectstore::read_tree(found->second.path())) {
      std::erase_if(tree->left_out, [](const std::string& what) { return what.find(": a link that ") == std::string::npos; });
      if (!tree->left_out.empty()) told.push_back(fmt::format("{}: links delivered unchanged: {}", output.name, fmt::join(tree->left_out, "; ")));
    }
    ASSIGN(const auto aside, found->second.commit([](const fs::path&) { return true; }, go_on));  // other files on the claim may go, too
    if (aside)
      told.push_back(fmt::format("{}: the previous contents of {} are kept as {}", output.name, found->second.target().string(), aside->string()));
    if (!found->second.unremoved().empty())
      told.push_back(fmt::format("{}: cannot remove the replaced contents: {}", output.name, found->second.unremoved()));
    else if (const auto beside = found->second.left(); !beside.empty())
      told.push_back(fmt::format("{}: files that the program saved next to it are not delivered; they are kept in {} until the next run", output.name,
                                 beside.string()));
  }
  for (const auto& output : outputs) {
    if (!output.no_file) continue;
    const auto found = pending.find(output.name);
    const auto left = found == pending.end() ? std::filesystem::path() : found->second.left();
    const auto kept = left.empty() ? "a file was expected" : fmt::format("it is kept in {} until the next run", left.string());
    told.push_back(fmt::format("{}: the folder that the program wrote there is not delivered; {}", output.name, kept));
  }
  return told;
}

Result<PathSnapshots> prepare_outputs(const plan::Task& task, const Pending& pending) {
  std::error_code ignored;
  if (!task.executor_output_file.empty()) {
    TRY(make_directories(fs::path(task.executor_output_file).parent_path()));
    fs::remove(task.executor_output_file, ignored);
  }
  PathSnapshots before;
  for (const auto& output : task.outputs) {
    TRY(make_folder(output, pending));
    if (output.type != spec::Type::artifact && !fs::is_directory(fs::symlink_status(output.path, ignored))) fs::remove(output.path, ignored);
    before.emplace(output.name, PathSnapshot(output.path, true, {}, vanishing_for(output)));
  }
  return before;
}

PathSnapshots snapshots_at_end(const plan::Task& task) {
  PathSnapshots now;
  for (const auto& output : task.outputs) now.emplace(output.name, PathSnapshot(output.path, false, {}, vanishing_for(output)));
  return now;
}

Result<void> check_unchanged(const PathSnapshots& at_end, const std::string& outlived) {
  for (const auto& [name, snapshot] : at_end)
    if (!snapshot.unchanged())
      return input_error(
          fmt::format("output {}: changed after the program had succeeded; processes left running by the program: {}; the program must wait for "
                      "everything that writes its outputs",
                      name, outlived));
  return {};
}

Result<void> check_no_open_files(const plan::Task& task, const std::vector<std::string>& held) {
  for (const auto& output : task.outputs)
    if (const auto file = process::first_below(held, output.path); !file.empty())
      return input_error(
          fmt::format("output {}: {} was still open for writing when processes left running by the program had to be killed; the program must wait "
                      "for everything that writes its outputs",
                      output.name, file));
  return {};
}

Trees trees_at_end(const plan::Task& task) {
  Trees trees;
  for (const auto& output : task.outputs)
    if (output.type == spec::Type::artifact && (output.to.in_store() || !output.folder_is.empty())) trees[output.name] = files_at(output.path);
  return trees;
}

Result<void> check_trees(const plan::Task& task, const Trees& at_end) {
  for (const auto& output : task.outputs) {
    const auto before = at_end.find(output.name);
    const auto change = before == at_end.end() ? "" : objectstore::describe_change(before->second, files_at(output.path));
    if (!change.empty())
      return Error{ErrorKind::conflict,
                   fmt::format("output {}: {} after the program had ended, before it was delivered ({})", output.name, change, output.path)};
  }
  return {};
}

Result<std::vector<result::ReportedOutput>> read_outputs(const plan::Task& task, const PathSnapshots& before) {
  ASSIGN(const auto executor_output, read_executor_output(task.executor_output_file));
  std::vector<result::ReportedOutput> outputs;
  for (const auto& output : task.outputs) {
    const auto& snapshot = before.at(output.name);
    if (output.type == spec::Type::artifact) {
      ASSIGN(auto found, artifact(output, executor_output, snapshot));
      outputs.push_back(std::move(found));
    } else {
      ASSIGN(auto found, value(output, executor_output, snapshot));
      outputs.push_back(std::move(found));
    }
  }
  return outputs;
}

std::vector<std::string> read_logs(const plan::Task& task, const PathSnapshots& before, Time began, std::vector<result::ReportedOutput>& outputs) {
  std::vector<std::string> told;
  std::size_t curves = 0;
  for (auto& output : outputs) {
    const auto place = std::ranges::find(task.outputs, output.name, &plan::TaskOutput::name);
    if (!output.artifact || !output.present || !output.uri.empty() || place == task.outputs.end()) continue;
    auto logs = tensorboard::read_event_files(place->path, tensorboard::written_since(before.at(output.name), began));
    output.curves = std::move(logs.curves);
    curves += output.curves.size();
    for (const auto& line : logs.told) told.push_back(fmt::format("{}: {}", output.name, line));
  }
  for (auto& output : outputs)
    for (auto& curve : output.curves) result::thin_out(curve.points, result::max_reported_points / curves);
  return told;
}

}  // namespace trainstep::agent
