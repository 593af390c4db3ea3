// SPDX-License-Identifier: Apache-2.0
#include "step/targets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/fd.h"
#include "base/files.h"
#include "base/immutable.h"
#include "base/links.h"
#include "base/mount.h"
#include "base/sticky_folder.h"
#include "base/text.h"
#include "spec/returned.h"
#include "step/given.h"

namespace trainstep::step {
namespace {

namespace fs = std::filesystem;

fs::path absolute(const std::string& path) {
  std::error_code ignored;  // without a working directory the path stays as it is
  const auto whole = fs::absolute(path, ignored);
  return (whole.empty() ? fs::path(path) : whole).lexically_normal();
}

Error no_place(std::string_view name, const fs::path& place, std::string_view why) {
  return input_error(fmt::format("{}: cannot write to {}: {}; choose another path", name, place.string(), why));
}

// Problems that permissions do not show: a read-only file system, one that does not take files (/proc, /sys), a quota. Tries an unnamed file, or one
// that is removed at once where those are not supported.
Result<void> try_file(std::string_view name, const fs::path& folder) {
  if (const Fd unnamed(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600)); unnamed) return {};
  const auto trial = folder / fmt::format(".trainstep.{}.tmp", ::getpid());
  const Fd named(::open(trial.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  if (!named) return no_place(name, folder, std::strerror(errno));
  ::unlink(trial.c_str());
  return {};
}

// Checks each component below `existing`: the path is created after the training. The last one is also used with the suffix of unfinished files.
Result<void> check_names(std::string_view name, const fs::path& place, const fs::path& existing) {
  constexpr std::size_t unfinished = std::string_view(".4194304.tstep").size();  // its suffix; .NAME.trainstep is shorter
  const auto most = ::pathconf(existing.c_str(), _PC_NAME_MAX);
  if (most > 0)
    for (const auto& part : place.lexically_relative(existing))
      if (part.string().size() + (part == place.filename() ? unfinished : 0) > static_cast<std::size_t>(most))
        return no_place(name, place, fmt::format("a name can have {} bytes here, of which {} are needed for unfinished output", most, unfinished));
  constexpr std::size_t below_a_model = 256;
  if (place.string().size() + below_a_model > PATH_MAX) return no_place(name, place, "the path is too long");
  return {};
}

// The nearest existing ancestor must be writable, and all components to be created below it must be valid names.
Result<void> check_writable(std::string_view name, const fs::path& place) {
  std::error_code ignored;
  auto folder = place.parent_path();
  while (!fs::exists(fs::symlink_status(folder, ignored)) && folder.has_relative_path()) folder = folder.parent_path();
  if (fs::is_symlink(folder, ignored) && !fs::exists(folder, ignored))
    return input_error(fmt::format("{}: {} is a broken symbolic link; choose another path", name, folder.string()));
  if (!fs::is_directory(folder, ignored)) return input_error(fmt::format("{}: {} is not a folder; choose another path", name, folder.string()));
  TRY(check_names(name, place, folder));
  if (is_in_sticky_folder_of_other_user(place))
    return input_error(fmt::format("{}: {} belongs to another user, and only its owner may replace it; choose another path", name, place.string()));
  if (is_immutable(place))
    return input_error(fmt::format("{}: {} or its folder is immutable (chattr +i or +a); choose another path", name, place.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return input_error(fmt::format("{}: no permission to write to the folder {}; choose another path", name, folder.string()));
  return try_file(name, folder);
}

// A file that takes the text of several outputs, one after the other.
bool takes_several(const std::string& path) {
  std::error_code ignored;
  return named_descriptor(path) || fs::is_character_file(fs::status(path, ignored));
}

// Character devices (/dev/stdout) and FIFOs with a reader take the text of a file. Other devices do not, and none of them can be a model.
Result<void> check_sort(const OutputTarget& target) {
  std::error_code ignored;
  const auto status = fs::status(absolute(target.path), ignored);
  const bool model = target.name == "model_dir";
  const auto* sort = fs::is_socket(status)                    ? "a socket"
                     : fs::is_block_file(status)              ? "a block device"
                     : model && fs::is_fifo(status)           ? "a FIFO"
                     : model && fs::is_character_file(status) ? "a device"
                     : model && named_descriptor(target.path) ? "a file that is already open"
                                                              : nullptr;
  if (sort == nullptr) return {};
  return input_error(fmt::format("{}: {} is {}, but {} is written there; choose another path", target.name, target.path, sort,
                                 model ? "a file or folder" : "a file"));
}

// It is written in place.
Result<void> check_mount(std::string_view name, const fs::path& place) {
  return ::access(place.c_str(), W_OK) == 0 ? Result<void>() : no_place(name, place, std::strerror(errno));
}

Result<void> check_descriptor(std::string_view name, const fs::path& place, int open) {
  const int flags = ::fcntl(open, F_GETFL);
  if (flags < 0) return no_place(name, place, std::strerror(errno));
  return (flags & O_ACCMODE) == O_RDONLY ? no_place(name, place, "it is open only for reading") : Result<void>();
}

Result<void> check_file(std::string_view name, const std::string& path) {
  const auto place = absolute(path);
  std::error_code ignored;
  const auto status = fs::status(place, ignored);
  if (const auto open = named_descriptor(place)) return check_descriptor(name, place, *open);
  if (fs::is_directory(status)) return input_error(fmt::format("{}: {} is a folder, but a file is written there; choose another path", name, path));
  if (fs::exists(status) && !fs::is_regular_file(status)) return {};
  if (is_mount(place)) return check_mount(name, place);
  return check_writable(name, place.has_filename() ? followed(place) : place / "file");
}

// The existing part of the path with its links resolved; the path itself if that fails (a name is too long).
fs::path real(const std::string& path) {
  std::error_code unknown;
  auto place = fs::weakly_canonical(absolute(path), unknown);
  if (unknown) place = absolute(path);
  return place.has_filename() ? place : place.parent_path();
}

// An existing folder may be writable although its parent is not.
Result<void> check_model_dir(const OutputTarget& target) {
  std::error_code ignored;
  const auto place = absolute(target.path);
  if (fs::is_directory(place, ignored) && ::access(place.c_str(), W_OK | X_OK) == 0) return check_writable(target.name, place / "model");
  if (fs::is_regular_file(place, ignored) && is_mount(place)) TRY(check_mount(target.name, place));
  return check_writable(target.name, followed(place));
}

// A file, or a model, which another output would have to be inside.
Result<void> check_nesting(const std::vector<OutputTarget>& targets) {
  for (const auto& outer : targets)
    for (const auto& inner : targets) {
      if (&inner == &outer || inner.path.empty() || outer.path.empty() || takes_several(outer.path) || takes_several(inner.path)) continue;
      const auto below = real(followed(inner.path).string()), above = real(followed(outer.path).string());
      if (below == above)
        return usage_error(fmt::format("{} and {}: both resolve to {}; use a separate path for each output", outer.name, inner.name, above.string()));
      if (outer.name != "model_dir" && lies_in(below, above))
        return usage_error(
            fmt::format("{}: {} is below {}, which is a file ({}); choose a path outside it", inner.name, inner.path, outer.path, outer.name));
    }
  return {};
}

Result<void> check_no_overlap(const std::vector<OutputTarget>& targets) {
  const auto model = std::ranges::find(targets, "model_dir", &OutputTarget::name);
  if (model == targets.end() || model->path.empty()) return {};
  for (const auto& other : targets)
    if (&other != &*model && !other.path.empty() && lies_in(real(other.path), real(model->path)))
      return usage_error(fmt::format("{}: {} is in model_dir, which is replaced as a whole; choose a path outside it", other.name, other.path));
  return {};
}

// Not a file; or a file that our parent has open, whose descriptor number may belong to another file by now.
bool is_descriptor(const std::string& path) { return path.starts_with("/dev/") || path.starts_with("/proc/"); }

// What the step reads: its inputs, and the @FILEs of its flags.
Paths read_by(const Inputs& inputs, const Flags& flags) {
  Paths read;
  for (const auto& input : inputs.request.inputs) read[input.name] = input.path;
  for (const auto& [name, value] : flags)
    if (value.starts_with('@') && !is_descriptor(value.substr(1))) read[name] = value.substr(1);
  return read;
}

// Everything that the step writes.
std::vector<OutputTarget> written_by(const Inputs& inputs, const std::string& record, const std::string& exit_code_file) {
  auto targets = inputs.targets;
  if (!record.empty()) targets.push_back({.name = "record", .kind = OutputTarget::Kind::file, .path = record, .uri = {}, .type = {}});
  if (!exit_code_file.empty() && !is_descriptor(exit_code_file))
    targets.push_back({.name = "exit-code-file", .kind = OutputTarget::Kind::file, .path = exit_code_file, .uri = {}, .type = {}});
  if (!inputs.executor_output_file.empty())
    targets.push_back({.name = "outputs.outputFile", .kind = OutputTarget::Kind::file, .path = inputs.executor_output_file, .uri = {}, .type = {}});
  return targets;
}

}  // namespace

Result<void> check_model_place(const Inputs& inputs, const std::map<std::string, std::string>& others) {
  const auto model = std::ranges::find(inputs.targets, "model_dir", &OutputTarget::name);
  if (model == inputs.targets.end() || model->path.empty()) return {};
  auto kept = others;
  std::error_code ignored;
  kept["the working directory"] = fs::current_path(ignored).string();
  if (const auto* home = std::getenv("HOME"); home != nullptr) kept["your home directory"] = home;
  for (const auto& input : inputs.request.inputs) kept[input.name] = input.path;
  for (const auto& [what, path] : kept)
    if (!path.empty() && lies_in(real(path), real(model->path)))
      return input_error(fmt::format("model_dir: {} is or contains {} ({}), and is replaced as a whole by the model; choose a separate folder",
                                     model->path, what, path));
  return {};
}

Result<void> check_folder(std::string_view name, const std::string& path) { return check_writable(name, absolute(path) / "folder"); }

Result<void> check_targets(const std::vector<OutputTarget>& targets) {
  std::map<std::string, std::string> taken;  // path → output
  for (const auto& target : targets) {
    if (target.path.empty()) continue;
    if (target.kind == OutputTarget::Kind::file && looks_like_address(target.path))
      return usage_error(fmt::format("{}: {} is an address, but this file is written on this machine; use a path", target.name, target.path));
    const auto place = absolute(target.path).string();
    if (const auto [other, first] = taken.emplace(place, target.name); !first && !takes_several(place))
      return usage_error(fmt::format("{} and {}: both name {}; use a separate path for each output", other->second, target.name, target.path));
    TRY(check_sort(target));
    if (target.name == "model_dir")  // file or folder, as the program decides
      TRY(check_model_dir(target));
    else
      TRY(check_file(target.name, target.path));
  }
  TRY(check_no_overlap(targets));
  return check_nesting(targets);
}

Result<void> check_outputs(const Inputs& inputs, const std::string& record, const std::string& exit_code_file, const Flags& flags) {
  const auto targets = written_by(inputs, record, exit_code_file);
  const auto read = read_by(inputs, flags);
  for (const auto& target : targets)
    if (target.kind == OutputTarget::Kind::file) TRY(check_beside(target.name, target.path, read));
  return check_targets(targets);
}

Result<void> check_beside(const std::string& name, const std::string& path, const Paths& read) {
  if (path.empty() || is_descriptor(path)) return {};
  const auto place = real(followed(path).string());
  for (const auto& [input, where] : read)
    if (!where.empty() && !is_descriptor(where) && lies_in(place, real(where)))
      return input_error(fmt::format("{}: {} is the same as or inside {} ({}); choose a separate location", name, path, input, where));
  return {};
}

Result<void> check_not_emptied(const Inputs& inputs, const std::vector<std::string>& emptied, const Flags& flags) {
  auto used = read_by(inputs, flags);
  for (const auto& target : inputs.targets) used[target.name] = target.path;
  for (const auto& [name, path] : used)
    for (const auto& place : emptied) {
      const auto where = real(path), gone = real(place);
      if (!path.empty() &&
          (lies_in(where, gone) || lies_in(real(absolute(path).parent_path().string()), gone) || (place != emptied.front() && lies_in(gone, where))))
        return input_error(fmt::format(
            "{}: {} is, contains or is inside {}, which this run empties at its start; choose another run-dir, or use a copy", name, path, place));
    }
  return {};
}

Result<void> check_not_of_run(const Inputs& inputs, const std::string& record, const std::string& exit_code_file,
                              const std::vector<std::string>& own) {
  for (const auto& target : written_by(inputs, record, exit_code_file)) {
    if (target.path.empty() || is_descriptor(target.path)) continue;
    const auto place = real(followed(target.path).string());
    for (const auto& each : own)
      if (lies_in(real(each), place) || (each == own.front() && lies_in(place, real(each))))
        return input_error(fmt::format("{}: {} is the place of {}, which the run itself uses; choose another path", target.name, target.path, each));
  }
  return {};
}

Result<void> check_parameters(const Inputs& inputs, const plan::Plan& plan) {
  for (const auto& target : inputs.targets)
    if (const auto* output = spec::find_output(plan.program, target.name);
        target.kind == OutputTarget::Kind::parameter && output != nullptr && spec::is_optional(*output))
      return input_error(
          fmt::format("output {}: the program may return None for it ({}), but a pipeline parameter requires a value; declare it without Optional, "
                      "or take it from the output results",
                      target.name, output->declared));
  return {};
}

std::optional<std::string> unbound_model(const Inputs& inputs, const plan::Plan& plan) {
  const auto model = std::ranges::find(inputs.targets, "model_dir", &OutputTarget::name);
  const auto& outputs = plan.binding.outputs;
  if (model == inputs.targets.end() || std::ranges::any_of(outputs, [](const auto& o) { return o.path && o.path->name == "model_dir"; }))
    return std::nullopt;
  if (outputs.empty()) return "model_dir: the program has no outputs, so the step has no model; add an output of this name";
  std::vector<std::string> names;
  for (const auto& output : plan.program.outputs)
    if (output.type == spec::Type::artifact) names.push_back(output.name);
  const auto* same = spec::find_output(plan.program, "model_dir");
  if (same != nullptr && same->type != spec::Type::artifact)
    return "model_dir: the program returns a value of this name, which goes to results and is not a model, so the step has no model; a model is a "
           "file or folder that the program writes to a path";
  if (names.empty()) return "model_dir: the program has no file or folder output, so the step has no model; add an output of this name";
  return fmt::format(
      "model_dir: the program has no output of this name (it has {}), so the step has no model; to use another output, write {{\"OUTPUT\": "
      "\"model_dir\"}} into train_parameters",
      join(names, ", "));
}

}  // namespace trainstep::step
