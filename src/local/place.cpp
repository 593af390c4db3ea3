// SPDX-License-Identifier: Apache-2.0
#include "local/place.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "data/place.h"
#include "local/run_folder.h"
#include "spec/uses.h"

namespace trainstep::local {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_name_length = 240;  // a number may be appended

// Formal names are arbitrary text; file names are not.
std::string file_name(const std::string& formal, std::size_t position) {
  auto name = formal;
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '/' || static_cast<unsigned char>(c) < ' '; }, '_');
  const bool usable = name == formal && !name.empty() && name != "." && name != "..";
  return usable ? name : fmt::format("{}-{}", name, position);
}

fs::path absolute(const std::string& path) {
  std::error_code ignored;
  return fs::absolute(path, ignored).lexically_normal();
}

// "a/b/.." is the path "a", without a slash.
fs::path absolute_output(const std::string& path) {
  auto whole = absolute(path);
  return whole.has_filename() ? whole : whole.parent_path();
}

Error elsewhere(std::string_view name, const plan::StepPath& path, std::string_view does) {
  return input_error(fmt::format("{}: {} is not a path on this machine; a local run {} only files and folders", name, path.uri, does));
}

bool is_shared(const plan::Plan& plan, const plan::BoundOutput& output) {
  const auto* declared = spec::find_output(plan.program, output.name);
  return declared != nullptr && declared->type == spec::Type::artifact;
}

// The folder of the first process of its replica.
std::string first_of(const GangMember& member) { return member.local_rank == 0 ? member.name : member.name.substr(0, member.name.rfind('.')) + ".0"; }

}  // namespace

bool is_at_step_path(const plan::Plan& plan, const GangMember& member, const plan::BoundOutput& output) {
  return output.path && (member.primary || (member.beside && is_shared(plan, output)));
}

Result<Place> place_of(const plan::Plan& plan, const fs::path& run_dir, const GangMember& member) {
  Place place{run_dir / member.name, {}, {}};
  for (const auto& input : plan.binding.inputs) {
    if (!input.path) continue;
    if (input.path->path.empty()) return elsewhere(input.name, *input.path, "reads");
    place.placement.inputs[input.name] = absolute(input.path->path).string();
  }
  const auto own_place = (member.primary ? run_dir : place.folder) / "outputs";
  const auto shared_place = (member.beside ? run_dir : run_dir / first_of(member)) / "outputs";
  place.own_folders = {place.folder, own_place, shared_place, own_place.parent_path(), shared_place.parent_path()};
  place.own_folders.erase(run_dir);
  std::size_t position = 0;
  for (const auto& output : plan.binding.outputs) {
    const auto& path = output.path;
    if (path && path->path.empty()) return elsewhere(output.name, *path, "writes");
    const bool mapped = path && is_at_step_path(plan, member, output);
    const auto& folder = is_shared(plan, output) ? shared_place : own_place;
    if (!mapped && output.name.size() > max_name_length)
      return input_error(fmt::format("output {}: the name is too long for a file; give it one of at most {} bytes", output.name, max_name_length));
    place.placement.outputs[output.name] = (mapped ? absolute_output(path->path) : folder / file_name(output.name, ++position)).string();
  }
  place.placement.executor_output_file = (place.folder / "executor_output.json").string();
  return place;
}

Result<std::vector<std::string>> emptied_places(const plan::Plan& plan, const fs::path& run_dir) {
  std::error_code unknown;
  const auto folder = absolute(run_dir.string());
  std::vector<std::string> places{folder / "bin"};
  for (const auto& member : gang(plan)) {
    ASSIGN(const auto place, place_of(plan, folder, member));
    TRY(check_no_links(place));
    for (const auto& output : plan.binding.outputs) {
      const auto& path = place.placement.outputs.at(output.name);
      if (!is_at_step_path(plan, member, output) && fs::exists(fs::symlink_status(path, unknown))) places.push_back(path);
    }
  }
  return places;
}

Result<std::vector<std::string>> own_places(const plan::Plan& plan, const fs::path& run_dir) {
  const auto folder = absolute(run_dir.string());
  std::vector<std::string> places{folder / run_folder_mark, folder / "bin"};
  for (const auto& member : gang(plan)) {
    ASSIGN(const auto place, place_of(plan, folder, member));
    for (const auto& own : place.own_folders) places.push_back(own);
    for (const auto& output : plan.binding.outputs)
      if (!is_at_step_path(plan, member, output)) places.push_back(place.placement.outputs.at(output.name));
  }
  return places;
}

Result<void> check_path_texts(const plan::Plan& plan, const fs::path& run_dir) {
  constexpr std::string_view what = "a path named in results";
  for (const auto& input : plan.binding.inputs)
    if (input.path && !input.path->path.empty()) TRY(check_path_text(input.path->name, absolute(input.path->path).string(), what));
  for (const auto& output : plan.binding.outputs)
    if (output.path && !output.path->path.empty()) TRY(check_path_text(output.path->name, absolute(output.path->path).string(), what));
  const bool in_folder = std::ranges::any_of(plan.binding.outputs, [](const auto& output) { return !output.path; });
  if (!in_folder && !spec::find_uses(plan.program).executor_input) return {};
  return check_path_text("run-dir", absolute(run_dir.string()).string(), what);
}

Result<void> check_no_links(const Place& place) {
  std::error_code unknown;
  for (const auto& folder : place.own_folders)
    if (fs::is_symlink(folder, unknown))
      return input_error(fmt::format("run-dir: {} is a symbolic link, and the run would overwrite its target; remove it, or choose another folder",
                                     folder.string()));
  return {};
}

Result<void> make_folders(const Place& place) {
  TRY(check_no_links(place));
  TRY(make_directories(place.folder));
  for (const auto& [name, path] : place.placement.outputs) TRY(make_directories(fs::path(path).parent_path()));
  return {};
}

}  // namespace trainstep::local
