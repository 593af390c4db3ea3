// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "step/given.h"

namespace trainstep::step {
namespace {

const Field* find_flag(const std::vector<Field>& fields, std::string_view flag) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return flag_name(field) == flag; });
  return found == fields.end() ? nullptr : &*found;
}

Error unknown_flag(const std::string& name, std::vector<std::string> known) {
  known.insert(known.end(), {"executor-input", "files-in", "defaults-of", "run-id", "namespace"});
  for (const auto* fields : {&input_fields(), &output_fields()})
    for (const auto& field : *fields) known.push_back(flag_name(field));
  auto near = nearest(name, known);
  const auto begun = std::find_if(known.begin(), known.end(), [&](const std::string& flag) { return name.size() > 3 && flag.starts_with(name); });
  if (!near && begun != known.end()) near = *begun;
  return usage_error(fmt::format("unknown flag --{}; {}", name, near ? fmt::format("did you mean --{}?", *near) : "see trainstep run --help"));
}

// "m/" and "m/." are the path "m": the program may write a file there.
std::string without_slash(std::string path) {
  while (path.size() > 1 && (path.ends_with('/') || path.ends_with("/."))) path.pop_back();
  return path;
}

// A model may go to an address in an object store: the pods of the training deliver it. The other outputs are files written by the step.
OutputTarget target(std::string_view name, const std::string& where) {
  OutputTarget target{.name = std::string(name), .kind = OutputTarget::Kind::file, .path = {}, .uri = {}, .type = {}};
  if (name == "model_dir" && looks_like_address(where))
    target.uri = where;
  else
    target.path = without_slash(where);
  return target;
}

}  // namespace

Result<Given> given_by_flags(const Flags& flags, const std::vector<std::string>& other_flags) {
  Given given;
  std::set<std::string> seen;
  for (const auto& flag : flags) {
    if (std::string_view(flag.value).starts_with(R"({"IfPresent":)")) continue;
    if (flag.name.empty())
      return usage_error(fmt::format("unexpected argument \"{}\"; quote values that contain spaces, and write -- before a command", flag.value));
    auto name = flag.name;
    std::replace(name.begin(), name.end(), '_', '-');
    if (!seen.insert(name).second) return usage_error(fmt::format("--{} is specified twice", name));
    if (const auto* input = find_flag(input_fields(), name)) {
      given.values.emplace(input->name, flag.value);
    } else if (const auto* output = find_flag(output_fields(), name)) {
      if (!flag.value.empty()) given.targets.push_back(target(output->name, flag.value));
    } else if (name == "run-id" || name == "namespace") {
      given.values.emplace(name == "run-id" ? "run_id" : "namespace", flag.value);
    } else {
      return unknown_flag(name, other_flags);
    }
  }
  return given;
}

}  // namespace trainstep::step
