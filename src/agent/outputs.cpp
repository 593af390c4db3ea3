// SPDX-License-Identifier: Apache-2.0
#include "agent/outputs.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "spec/returned.h"

namespace trainstep::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_value = std::size_t{16} << 20U;

spec::Output declared(const plan::TaskOutput& output) { return {output.name, output.type, output.declared}; }

// The folder of an output, or a link of that name to where it is on a claim.
Result<void> make_folder(const plan::TaskOutput& output, bool primary) {
  const auto folder = fs::path(output.path).parent_path();
  if (!primary || output.folder_is.empty()) return make_directories(folder);
  TRY(make_directories(output.folder_is));
  TRY(make_directories(folder.parent_path()));
  std::error_code failed;
  if (fs::is_symlink(folder, failed)) return {};  // of an earlier attempt in this pod
  fs::create_directory_symlink(output.folder_is, folder, failed);
  if (failed) return file_error("link", folder, failed.value());
  return {};
}

Result<Json> read_executor_output(const std::string& path) {
  if (path.empty()) return Json::object();
  auto text = read_file(path, largest_value);
  if (!text && text.error().kind == ErrorKind::not_found) return Json::object();
  if (!text) return std::move(text.error());
  return spec::parse_executor_output(*text, path);
}

// JSON has no word for NaN and infinity: they travel as texts, and become numbers again by their type.
Json portable(Json value) {
  if (!value.is_number_float() || std::isfinite(value.get<double>())) return value;
  const auto number = value.get<double>();
  return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
}

result::ReportedOutput artifact(const plan::TaskOutput& output, const Json& executor_output, const Footprint& before) {
  result::ReportedOutput found{.name = output.name, .artifact = true, .present = false, .value = {}, .uri = {}};
  auto returned = spec::returned_artifact(executor_output, output.name);
  found.metadata = std::move(returned.metadata);
  for (const auto& place : returned.places)
    if (place != output.path && place.find("://") != std::string::npos) found.uri = place;
  std::error_code ignored;  // exists(): a link that leads nowhere is no output
  const bool written = before.written() && fs::exists(output.path, ignored);
  found.present = written || !found.uri.empty();
  return found;
}

Result<result::ReportedOutput> value(const plan::TaskOutput& output, const Json& executor_output, const Footprint& before) {
  const auto where = fmt::format("output {}", output.name);
  result::ReportedOutput found{.name = output.name, .artifact = false, .present = true, .value = {}, .uri = {}};
  if (auto returned = spec::returned_value(declared(output), executor_output)) {
    ASSIGN(auto typed, in_context(where, std::move(*returned)));
    found.value = portable(std::move(typed));
    return found;
  }
  if (!before.written()) return input_error(fmt::format("{}: the program ended well but wrote no value for it (expected in {})", where, output.path));
  ASSIGN(const auto text, in_context(where, read_file(output.path, largest_value)));
  ASSIGN(auto typed, in_context(where, spec::value_from_file(declared(output), text)));
  found.value = portable(std::move(typed));
  return found;
}

}  // namespace

Result<Footprints> prepare_outputs(const plan::Task& task, bool primary) {
  std::error_code ignored;
  if (!task.executor_output_file.empty()) {
    TRY(make_directories(fs::path(task.executor_output_file).parent_path()));
    fs::remove(task.executor_output_file, ignored);
  }
  Footprints before;
  for (const auto& output : task.outputs) {
    TRY(make_folder(output, primary));
    const bool of_this_job = output.type != spec::Type::artifact && output.folder_is.empty();
    if (of_this_job && fs::is_regular_file(output.path, ignored)) fs::remove(output.path, ignored);
    before.emplace(output.name, Footprint(output.path));
  }
  return before;
}

Result<std::vector<result::ReportedOutput>> read_outputs(const plan::Task& task, const Footprints& before) {
  ASSIGN(const auto executor_output, read_executor_output(task.executor_output_file));
  std::vector<result::ReportedOutput> outputs;
  for (const auto& output : task.outputs) {
    const auto& footprint = before.at(output.name);
    if (output.type == spec::Type::artifact) {
      outputs.push_back(artifact(output, executor_output, footprint));
    } else {
      ASSIGN(auto found, value(output, executor_output, footprint));
      outputs.push_back(std::move(found));
    }
  }
  return outputs;
}

}  // namespace trainstep::agent
