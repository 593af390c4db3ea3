// SPDX-License-Identifier: Apache-2.0
#include "local/collect.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>

#include "base/regular_file.h"
#include "base/walk_tree.h"
#include "data/json.h"
#include "spec/reported_location.h"
#include "spec/returned.h"

namespace trainstep::local {
namespace {

namespace fs = std::filesystem;
using spec::Type;

constexpr std::size_t max_value_size = std::size_t{16} << 20U;

Result<Json> read_executor_output(const std::string& path) {
  auto text = read_regular_file(path, max_value_size);
  if (!text && text.error().kind == ErrorKind::not_found) return Json::object();
  if (!text) return std::move(text.error());
  return spec::parse_executor_output(*text, path);
}

Result<void> read_artifact(run::OutputFound& found, const spec::Output& output, const Json& executor_output, const PathSnapshot& before) {
  found.artifact = true;
  found.metrics = spec::holds_metrics(output);
  auto returned = spec::returned_artifact(executor_output, found.name);
  found.metadata = std::move(returned.metadata);
  const bool delivered = before.written() && !found.step_path.empty();  // to the step's path
  for (const auto& text : returned.places) {
    const auto place = spec::parse_reported_location(text);
    if (place.text == found.path || delivered) continue;
    const bool there = place.address ? place.fault.empty() : holds_files(place.text);
    if (!there && found.present) continue;
    found.path = place.text;
    found.present = there;
  }
  const bool elsewhere = found.present;
  const bool written = before.written();
  if (!elsewhere && !written) TRY(in_context(fmt::format("output {}", found.name), before.check_seen()));
  if (!elsewhere && written) TRY(in_context(fmt::format("output {}", found.name), before.check_readable()));
  found.earlier = !elsewhere && !written;
  found.present = elsewhere || written || !found.metadata.empty();
  std::error_code ignored;
  const bool a_text = spec::is_text_at_path(output) && !elsewhere && found.step_path.empty() && before.touched();
  if (!a_text || !fs::is_regular_file(found.path, ignored)) return {};
  if (const auto text = read_regular_file(found.path, max_value_size); text && spec::is_text(*text)) found.value = *text;
  return {};
}

Result<void> read_value(run::OutputFound& found, const spec::Output& output, const Json& executor_output, const PathSnapshot& before) {
  const auto where = fmt::format("output {}", output.name);
  found.floating = output.type == Type::number;
  if (auto value = spec::returned_value(output, executor_output)) {
    ASSIGN(found.value, in_context(where, std::move(*value)));
  } else {
    if (!before.touched() && spec::is_optional(output)) return {};
    if (!before.touched())
      return input_error(fmt::format("{}: the program succeeded, but did not write its value (expected in {})", where, found.path));
    ASSIGN(const auto text, in_context(where, read_regular_file(found.path, max_value_size)));
    ASSIGN(auto value_there, in_context(where, spec::value_from_file(output, text)));
    if (value_there.is_null()) return {};
    found.value = std::move(value_there);
  }
  found.present = true;
  return {};
}

}  // namespace

PathSnapshots footprints_of(const Place& place, const IsTemporary& vanishes) {
  PathSnapshots snapshots;
  for (const auto& [name, path] : place.placement.outputs) snapshots.emplace(name, PathSnapshot(path, true, {}, vanishes));
  return snapshots;
}

PathSnapshots footprints_at_end(const Place& place, const IsTemporary& vanishes) {
  PathSnapshots snapshots;
  for (const auto& [name, path] : place.placement.outputs) snapshots.emplace(name, PathSnapshot(path, false, {}, vanishes));
  return snapshots;
}

Result<void> check_unchanged(const PathSnapshots& at_end, const std::string& others) {
  for (const auto& [name, snapshot] : at_end)
    if (!snapshot.unchanged())
      return input_error(fmt::format(
          "output {}: changed after the program had succeeded; {}; the program must wait for everything that writes its outputs", name, others));
  return {};
}

void remove_stale_values(const plan::Plan& plan, const Place& place, const PathSnapshots& before) {
  std::error_code ignored;
  fs::remove(place.placement.executor_output_file, ignored);
  for (const auto& output : plan.program.outputs) {
    const auto path = place.placement.outputs.find(output.name);
    if (output.type == Type::artifact || path == place.placement.outputs.end() || before.at(output.name).was_there()) continue;
    if (!fs::is_directory(fs::symlink_status(path->second, ignored))) fs::remove(path->second, ignored);
  }
}

Result<std::vector<run::OutputFound>> collect_outputs(const plan::Plan& plan, const Place& place, const PathSnapshots& before) {
  ASSIGN(const auto executor_output, read_executor_output(place.placement.executor_output_file));
  std::vector<run::OutputFound> outputs;
  for (const auto& bound : plan.binding.outputs) {
    const auto* output = spec::find_output(plan.program, bound.name);
    if (output == nullptr) continue;
    auto& found = outputs.emplace_back();
    found.name = bound.name;
    found.path = place.placement.outputs.at(bound.name);
    if (bound.path) found.step_path = bound.path->name;
    const auto& snapshot = before.at(bound.name);
    if (output->type == Type::artifact)
      TRY(read_artifact(found, *output, executor_output, snapshot));
    else
      TRY(read_value(found, *output, executor_output, snapshot));
  }
  return outputs;
}

std::string describe_files(const fs::path& path) {
  std::uintmax_t files = 0, bytes = 0;
  const auto see = [&](const std::string&, const struct stat& found) {
    if (S_ISREG(found.st_mode) && found.st_size > 0) ++files, bytes += static_cast<std::uintmax_t>(found.st_size);
    return Walk::on;
  };
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return {};
  S_ISDIR(found.st_mode) ? static_cast<void>(walk_tree(path, see)) : static_cast<void>(see({}, found));
  if (files == 0) return {};
  constexpr std::uintmax_t large = 10'240;
  std::string_view unit = "bytes";
  for (const auto* larger : {"KiB", "MiB", "GiB"})
    if (bytes >= large) bytes /= 1024, unit = larger;
  return fmt::format("{} file{} ({} {})", files, files == 1 ? "" : "s", bytes, unit);
}

}  // namespace trainstep::local
