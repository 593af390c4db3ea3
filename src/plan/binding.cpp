// SPDX-License-Identifier: Apache-2.0
#include "plan/binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/redact.h"
#include "base/text.h"
#include "data/fields.h"
#include "data/place.h"
#include "data/secrets.h"
#include "spec/values.h"

namespace trainstep::plan {
namespace {

using spec::Type;

std::string shown(const spec::Input& input) {
  const auto type = input.type == Type::artifact ? std::string("path") : input.declared;
  const auto need = input.default_value || input.optional ? "optional" : "required";
  return fmt::format("{} ({}{}{})", input.name, type, type.empty() ? "" : ", ", need);
}

std::string formals(const spec::Program& program) {
  std::vector<std::string> inputs, outputs;
  inputs.reserve(program.inputs.size());
  outputs.reserve(program.outputs.size());
  for (const auto& input : program.inputs) inputs.push_back(shown(input));
  for (const auto& output : program.outputs) outputs.push_back(output.name);
  return fmt::format("inputs {}; outputs {}", inputs.empty() ? "none" : join(inputs, ", "), outputs.empty() ? "none" : join(outputs, ", "));
}

std::string names_of(const std::vector<StepPath>& paths) {
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const auto& path : paths) names.push_back(path.name);
  return names.empty() ? "none" : join(names, ", ");
}

// How the user can provide such a path: a step has only those paths that were given.
std::string how_to_give(std::string_view kind, const std::vector<StepPath>& paths) {
  if (!paths.empty()) return {};
  return kind == "input" ? " (set train_dataset_dir or validation_dataset_dir)" : " (set model_dir)";
}

const StepPath* find_path(const std::vector<StepPath>& paths, std::string_view name) {
  const auto found = std::find_if(paths.begin(), paths.end(), [&](const StepPath& path) { return path.name == name; });
  return found == paths.end() ? nullptr : &*found;
}

// The address of an object store in place of a path's name: then KFP's launcher has no artifact to copy into the step's pod.
std::optional<StepPath> address_in(const Json& value, const std::string& name) {
  if (!value.is_string() || value.get_ref<const std::string&>().find("://") == std::string::npos) return std::nullopt;
  StepPath path;
  path.name = name;
  path.uri = value.get<std::string>();
  return path;
}

// The actual parameter; null counts as not given, as does an empty string unless the type is string or any.
const Json* actual(const Request& request, const std::string& name, Type type) {
  const auto* value = request.train_parameters.is_object() ? find(request.train_parameters, name) : nullptr;
  const bool may_be_empty = type == Type::string || type == Type::any;
  return value != nullptr && is_blank(*value) && !may_be_empty ? nullptr : value;
}

Result<void> check_names(const spec::Program& program, const Request& request) {
  const auto& parameters = request.train_parameters;
  if (parameters.is_null()) return {};
  if (!parameters.is_object())
    return input_error(
        fmt::format("train_parameters: expected an object that maps the program's parameters to values, got {}", type_name(parameters)));
  std::vector<std::string> known;
  known.reserve(program.inputs.size() + program.outputs.size());
  for (const auto& input : program.inputs) known.push_back(input.name);
  for (const auto& output : program.outputs) known.push_back(output.name);
  const std::set<std::string> names(known.begin(), known.end());
  for (const auto& [name, value] : parameters.items()) {
    if (names.contains(name)) continue;
    const auto near = nearest(name, known);
    return input_error(fmt::format("train_parameters: the program has no parameter {}{}; its parameters are {}", show_text(name),
                                   near ? fmt::format(" (did you mean {}?)", show_text(*near)) : "", formals(program)));
  }
  return {};
}

// The step's path that a path parameter names; nullopt if it is not given and no path has its name.
Result<std::optional<StepPath>> choose_path(const std::string& name, const Json* value, const std::vector<StepPath>& paths, std::string_view kind) {
  if (value == nullptr) {
    const auto* same = find_path(paths, name);
    return same == nullptr ? std::optional<StepPath>() : std::optional(*same);
  }
  const auto* found = value->is_string() ? find_path(paths, value->get_ref<const std::string&>()) : nullptr;
  if (found != nullptr) return std::optional(*found);
  const auto text = value->is_string() ? show_text(redacted(value->get<std::string>(), {})) : std::string(type_name(*value));
  return input_error(fmt::format("train_parameters.{}: expected the name of one of the step's {} paths{}, got {}; this step has: {}{}", name, kind,
                                 kind == "input" ? " or an address (s3://…)" : "", text, names_of(paths), how_to_give(kind, paths)));
}

Result<Json> convert(const spec::Program& program, const spec::Input& input, const Json& value) {
  const auto where = "train_parameters." + input.name;
  auto fitted = spec::fit(value, input.type, input.name);
  if (!fitted) return in_context(where, std::move(fitted.error()));
  // KFP's backend passes integral numbers as integers, at any depth; only a declared double stays a double.
  if (program.dialect == spec::Dialect::v2) {
    ASSIGN(*fitted,
           in_context(where, input.type == Type::number ? spec::as_double(*fitted, input.name) : Result<Json>(spec::with_whole_numbers(*fitted))));
  }
  if (!input.allowed.empty() && std::find(input.allowed.begin(), input.allowed.end(), *fitted) == input.allowed.end())
    return input_error(
        fmt::format("{}: {} is not allowed; expected one of {}", where, shown_value(input.name, *fitted), to_text(Json(input.allowed))));
  return fitted;
}

Error missing(const spec::Program& program, const spec::Input& input, const Request& request) {
  if (request.is_command) {
    auto flag = input.name;
    std::ranges::replace(flag, '_', '-');
    return input_error(fmt::format("{}: is missing, but the {} names it; pass --{}", input.name, command_source, flag));
  }
  if (input.type == Type::artifact)
    return input_error(fmt::format("train_parameters.{}: is missing; name one of the step's input paths (this step has: {}){}", input.name,
                                   names_of(request.inputs), how_to_give("input", request.inputs)));
  return input_error(fmt::format("train_parameters.{}: is missing; the program requires it: {}", input.name, formals(program)));
}

// Nullopt: the input is omitted.
Result<std::optional<BoundInput>> bind_input(const spec::Program& program, const spec::Input& input, const Request& request) {
  const auto* value = actual(request, input.name, input.type);
  BoundInput bound;
  bound.name = input.name;
  bound.given = value != nullptr;
  if (input.type == Type::artifact) {
    bound.path = value == nullptr ? std::nullopt : address_in(*value, input.name);
    if (!bound.path) {
      ASSIGN(bound.path, choose_path(input.name, value, request.inputs, "input"));
    }
    if (bound.path) return std::optional(std::move(bound));
  } else if (value != nullptr) {
    ASSIGN(bound.value, convert(program, input, *value));
    return std::optional(std::move(bound));
  } else if (input.default_value) {
    bound.value = input.default_value;
    return std::optional(std::move(bound));
  }
  if (!input.optional) return missing(program, input, request);
  return std::optional<BoundInput>();
}

// A value is delivered in results. It may be written to metrics, but not to model_dir, which is a file or folder.
bool may_take(const spec::Output& output, const StepPath& path) { return output.type == Type::artifact || path.name != "model_dir"; }

Error no_file(const spec::Output& output, const StepPath& path) {
  return input_error(
      fmt::format("train_parameters.{0}: {1} takes a file or folder; {0} is a value that the program returns{2}, which goes to results", output.name,
                  path.name, output.declared.empty() ? "" : " (" + output.declared + ")"));
}

// Outputs given in train_parameters are bound first, so that a path given to one of them is not bound to another output of that name.
Result<std::vector<BoundOutput>> bind_outputs(const spec::Program& program, const Request& request) {
  std::map<std::string, std::string> taken;  // step path → formal output
  std::vector<BoundOutput> outputs;
  for (const auto& output : program.outputs) {
    auto& bound = outputs.emplace_back();
    bound.name = output.name;
    const auto* value = spec::find_input(program, output.name) == nullptr ? actual(request, output.name, Type::artifact) : nullptr;
    if (value == nullptr) continue;
    ASSIGN(auto path, choose_path(output.name, value, request.outputs, "output"));
    if (!path) continue;
    if (!may_take(output, *path)) return no_file(output, *path);
    const auto [other, first] = taken.emplace(path->name, output.name);
    if (!first) return input_error(fmt::format("train_parameters.{}: output \"{}\" already goes to {}", output.name, other->second, path->name));
    bound.path = std::move(path);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].path || taken.contains(outputs[i].name)) continue;
    ASSIGN(auto path, choose_path(outputs[i].name, nullptr, request.outputs, "output"));
    if (path && may_take(program.outputs[i], *path)) outputs[i].path = std::move(path);
  }
  return outputs;
}

}  // namespace

Result<Binding> bind(const spec::Program& program, const Request& request) {
  TRY(check_names(program, request));
  Binding binding;
  for (const auto& input : program.inputs) {
    ASSIGN(auto bound, bind_input(program, input, request));
    if (bound) binding.inputs.push_back(std::move(*bound));
  }
  ASSIGN(binding.outputs, bind_outputs(program, request));
  return binding;
}

}  // namespace trainstep::plan
