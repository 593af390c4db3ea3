// SPDX-License-Identifier: Apache-2.0
#include "step/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "data/digest.h"
#include "data/fields.h"
#include "data/json_reader.h"
#include "data/python_json.h"
#include "data/secrets.h"
#include "plan/names.h"
#include "step/command_program.h"
#include "step/given.h"
#include "step/named_files.h"
#include "step/node_selector.h"
#include "step/overlap.h"
#include "step/passed_on.h"
#include "step/references.h"
#include "step/secrets.h"
#include "step/short_forms.h"
#include "step/task_config.h"
#include "step/train_model_job.h"

namespace trainstep::step {
namespace {

constexpr std::size_t max_text_length = std::size_t{16} << 20U;
constexpr std::size_t max_executor_input_size = std::size_t{32} << 20U;  // the largest specifications, escaped as JSON

constexpr std::string_view base64 = "base64:";

Result<std::string> decoded(std::string_view name, std::string text, std::size_t limit) {
  if (text.starts_with(base64)) {
    ASSIGN(text, in_context(name, decode_base64(trim(std::string_view(text).substr(base64.size())))));
  }
  if (text.size() > limit) return input_error(fmt::format("{}: has {} bytes, the limit is {}", name, text.size(), limit));
  return text;
}

// A missing json.dumps(): {'epochs': 3} is how Python prints a dictionary.
bool looks_like_python(std::string_view text) {
  const auto body = trim(text);
  return body.starts_with('{') &&
         (trim(body.substr(1)).starts_with('\'') || body.find(": '") != std::string_view::npos || body.find(": True") != std::string_view::npos ||
          body.find(": False") != std::string_view::npos || body.find(": None") != std::string_view::npos);
}

// Reads the given values, one input after the other.
class Reader {
 public:
  Reader(const Given& given, const FileReader& read_file, const NamedFiles& files, Author author)
      : m_given(given), m_read_file(read_file), m_files(files), m_author(author) {}

  // Empty: not given.
  [[nodiscard]] Result<std::string> text(std::string_view name) const {
    const auto* value = find_value(name);
    if (value == nullptr) return std::string();
    if (value->is_string()) return expanded(name, value->get<std::string>());
    if (value->is_boolean()) return std::string(value->get<bool>() ? "true" : "false");
    if (const auto whole = whole_number(*value)) return fmt::format("{}", *whole);
    if (value->is_number()) return to_text(*value);
    return input_error(fmt::format("{}: expected a string, got {}", name, type_name(*value)));
  }

  // A single line without surrounding blanks.
  [[nodiscard]] Result<std::string> word(std::string_view name) const {
    ASSIGN(const auto whole, text(name));
    const auto word = trim(whole);
    if (std::any_of(word.begin(), word.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
      return input_error(fmt::format("{}: contains a line break or other control character", name));
    return std::string(word);
  }

  [[nodiscard]] Result<Json> object(std::string_view name) const {
    const auto* value = find_value(name);
    if (value != nullptr && value->is_object()) return *value;
    if (value != nullptr && !value->is_string()) return input_error(fmt::format("{}: expected an object, got {}", name, type_name(*value)));
    TRY(check_named(value, name));
    ASSIGN(const auto whole, text(name));
    if (trim(whole).empty()) return Json::object();
    auto json = parse_python_json(whole, name);
    if (!json) {
      auto error = std::move(json.error());
      if (looks_like_python(whole) && error.message.find("Python") == std::string::npos)
        error.message += "; this looks like a printed Python dictionary; pass the dictionary itself, or json.dumps(…) of it";
      return without_secrets_of(whole, std::move(error));
    }
    if (json->is_null()) return Json::object();  // json.dumps() of a parameter that is not given
    if (!json->is_object()) return input_error(fmt::format("{}: expected an object, got {}", name, type_name(*json)));
    return json;
  }

  // An object or a string is the specification, as is the content of an artifact of this name.
  [[nodiscard]] Result<std::string> specification(std::string_view name) const {
    if (const auto* value = find_value(name); value != nullptr && value->is_object()) return to_text(*value);
    for (const auto& path : m_given.inputs)
      if (path.name == name) return content_of(name, path.path);
    TRY(check_named(find_value(name), name));
    return text(name);
  }

  [[nodiscard]] Result<Json> selector(std::string_view name) const {
    if (const auto* value = find_value(name); value != nullptr && value->is_object()) return check_node_selector(*value);
    TRY(check_named(find_value(name), name));
    ASSIGN(const auto lines, text(name));
    return parse_node_selector(lines);
  }

 private:
  [[nodiscard]] const Json* find_value(std::string_view name) const {
    const auto found = m_given.values.find(name);
    return found == m_given.values.end() || found->second.is_null() ? nullptr : &found->second;
  }

  [[nodiscard]] Result<void> check_named(const Json* value, std::string_view name) const {
    if (value == nullptr || !value->is_string()) return {};
    return m_files.check(name, value->get_ref<const std::string&>());
  }

  [[nodiscard]] Result<std::string> content_of(std::string_view name, const std::string& path) const {
    ASSIGN(auto text, in_context(name, m_read_file(path, max_text_length)));
    return decoded(name, std::move(text), max_text_length);
  }

  // `@file`, `@@…`, `base64:…`
  [[nodiscard]] Result<std::string> expanded(std::string_view name, const std::string& value) const {
    ASSIGN(auto text, m_files.content(name, value, max_text_length));
    if (!m_given.resolved && !text.starts_with(base64))
      TRY(name == "train_specification" ? check_specification_resolved(text, name) : check_resolved(text, m_author, name));
    return decoded(name, std::move(text), max_text_length);
  }

  const Given& m_given;
  const FileReader& m_read_file;
  const NamedFiles& m_files;
  Author m_author;
};

Result<void> read_paths(const Given& given, const Reader& reader, plan::Request& request) {
  for (const auto& field : input_fields()) {
    if (field.shape != Field::Shape::path) continue;
    ASSIGN(auto where, reader.word(field.name));
    if (where.empty()) continue;
    plan::StepPath path;
    path.name = field.name;
    (looks_like_address(where) ? path.uri : path.path) = std::move(where);
    request.inputs.push_back(std::move(path));
  }
  for (const auto& path : given.inputs)
    if (path.name != "train_specification") request.inputs.push_back(path);
  return {};
}

// Paths that the step writes itself are not for the program; what both write (metrics, UI metadata) is merged afterwards.
void offer_outputs(const Given& given, plan::Request& request) {
  for (const auto& target : given.targets) {
    const bool own = target.name == "results" || target.name == "report" || target.name == "job_name";
    if (own || target.kind == OutputTarget::Kind::parameter) continue;
    request.outputs.push_back({.name = target.name, .path = target.path, .uri = target.uri, .type = target.type, .metadata = Json::object()});
  }
}

// "gpu-a, gpu-b": in the order of preference.
Result<std::vector<std::string>> secret_names(std::string_view list) {
  std::vector<std::string> names;
  for (const auto part : split(list, ',')) {
    std::string name(trim(part));
    if (name.empty()) return input_error("cluster_configuration_secret: expected names of Secrets, separated by commas, got an empty one");
    TRY(plan::check_object_name("cluster_configuration_secret", name));
    if (std::ranges::find(names, name) != names.end()) return input_error(fmt::format("cluster_configuration_secret: {} is named twice", name));
    names.push_back(std::move(name));
  }
  return names;
}

Result<void> read_values(const Reader& reader, plan::Request& request) {
  ASSIGN(request.train_specification, reader.specification("train_specification"));
  ASSIGN(request.train_parameters, reader.object("train_parameters"));
  ASSIGN(request.distribution_specification, reader.object("distribution_specification"));
  ASSIGN(request.job_options, reader.object("job_options"));
  ASSIGN(request.node_selector, reader.selector("node_selector"));
  const std::pair<std::string_view, std::string plan::Request::*> words[] = {
      {"train_mount", &plan::Request::train_mount},
      {"model_name", &plan::Request::model_name},
      {"base_image", &plan::Request::base_image},
      {"pvc_name", &plan::Request::pvc_name},
      {"pvc_size", &plan::Request::pvc_size},
      {"cpus", &plan::Request::cpus},
      {"memory", &plan::Request::memory},
      {"gpus", &plan::Request::gpus},
      {"tensorboard_s3_address", &plan::Request::tensorboard_s3_address},
      {"run_id", &plan::Request::run_id},
      {"namespace", &plan::Request::name_space},
  };
  for (const auto& [name, member] : words) {
    ASSIGN(auto word, reader.word(name));
    if (!word.empty()) request.*member = std::move(word);  // otherwise the default is kept
  }
  ASSIGN(const auto secrets, reader.word("cluster_configuration_secret"));
  if (!secrets.empty()) {
    ASSIGN(request.cluster_configuration_secrets, secret_names(secrets));
  }
  return {};
}

std::vector<std::string> further_variables(const Json& job_options) {
  std::vector<std::string> names;
  if (const auto* list = find(job_options, "pass_environment"); list != nullptr && list->is_array())
    for (const auto& name : *list)
      if (name.is_string()) names.push_back(name.get<std::string>());
  return names;
}

void read_surroundings(const Context& context, Inputs& inputs) {
  auto& request = inputs.request;
  auto passed = passed_on(context.environment, further_variables(request.job_options));
  request.environment = std::move(passed.variables);
  inputs.not_passed_on = std::move(passed.left_out);
  inputs.secrets = secrets_of(context.environment, request);
  const auto variable = [&](const char* name) {
    const auto found = context.environment.find(name);
    return found == context.environment.end() ? std::string() : found->second;
  };
  if (request.tensorboard_s3_address.empty()) request.tensorboard_s3_address = variable("TENSORBOARD_S3_ADDRESS");
  if (!request.name_space.empty()) return;
  constexpr std::size_t max_name_length = 1024;
  if (const auto name_space = context.read_file("/var/run/secrets/kubernetes.io/serviceaccount/namespace", max_name_length))
    request.name_space = trim(*name_space);
}

// Takes a flag that is not an input out of the flags; nullopt if it is not given.
std::optional<std::string> take(Flags& flags, std::string_view name) {
  const auto is_it = [&](const Flag& flag) { return std::ranges::equal(flag.name, name, {}, [](char c) { return c == '_' ? '-' : c; }); };
  const auto found = std::find_if(flags.begin(), flags.end(), is_it);
  if (found == flags.end()) return std::nullopt;
  auto value = std::move(found->value);
  flags.erase(found);
  return value;
}

// The executor input; nullopt if the flags are used.
Result<std::optional<Json>> read_executor_input(const std::string& value, const FileReader& read_file) {
  ASSIGN(const auto text, NamedFiles(read_file, Files::any).content("executor-input", value, max_executor_input_size));
  ASSIGN(const auto whole, decoded("executor-input", text, max_executor_input_size));
  const auto body = trim(whole);
  if (body.empty() || body == "{{$}}") return std::optional<Json>{};
  if (!body.starts_with('{')) return input_error("executor-input: is neither a JSON object nor the literal {{$}}; omit it to use the other flags");
  auto json = read_doubles(body, "executor-input", ReadLimits{.bytes = max_executor_input_size});
  if (!json) return without_secrets_of(body, json.error());
  return std::optional(std::move(*json));
}

// A command line with an executor input, or with its placeholder, is that of a component; one with --files-in that of a template.
Result<NamedFiles> files_of(Flags& flags, bool component, const FileReader& read_file) {
  const auto folder = take(flags, "files-in");
  if (component || !folder) return NamedFiles(read_file, component ? Files::none : Files::any);
  if (!folder->starts_with('/')) return input_error(fmt::format("files-in: \"{}\" is not an absolute path; write one such as /inputs", *folder));
  return NamedFiles(read_file, Files::folder, *folder);
}

Result<void> read_program(const std::optional<std::vector<std::string>>& command, plan::Request& request) {
  request.is_command = command.has_value();
  if (command) {
    ASSIGN(request.train_specification, specification_of(*command, request));
  } else if (trim(request.train_specification).empty()) {
    return input_error("train_specification: is missing; pass a KFP component, {\"image\": …, \"command\": […]}, or a command after --");
  }
  return {};
}

// Applies the defaults of another interface (`defaults-of`), once all given values are known.
Result<void> apply_defaults(const std::optional<std::string>& of, plan::Request& request) {
  if (!of || trim(*of).empty()) return {};
  if (trim(*of) != "train-model-job") return input_error(fmt::format("defaults-of: unknown value \"{}\"; expected train-model-job", *of));
  apply_train_model_job(request);
  return {};
}

}  // namespace

Result<Inputs> read_inputs(const Flags& flags, const Context& context) {
  auto others = flags;
  const auto& read_file = context.read_file;
  const auto component = take(others, "executor-input");
  const auto defaults_of = take(others, "defaults-of");
  const ShortForms short_forms{take(others, "number-of-workers").value_or(""), take(others, "type").value_or("")};
  const bool template_made = std::ranges::any_of(others, [](const Flag& flag) { return flag.name == "files-in" || flag.name == "files_in"; });
  ASSIGN(const auto files, files_of(others, component.has_value(), read_file));
  ASSIGN(const auto executor_input, component ? read_executor_input(*component, read_file) : Result<std::optional<Json>>(std::nullopt));
  ASSIGN(const auto given, executor_input ? given_by_executor_input(*executor_input) : given_by_flags(others, context.other_flags));
  if (executor_input && context.command)
    return usage_error("executor-input cannot be combined with a command after --; pass the program as train_specification");
  Inputs inputs;
  inputs.from_executor_input = executor_input.has_value();
  inputs.targets = given.targets;
  inputs.executor_output_file = given.executor_output_file;
  auto& request = inputs.request;
  request.identity = given.identity;
  const Reader reader(given, read_file, files, component || template_made ? Author::pipeline : Author::user);
  TRY(read_values(reader, request));
  TRY(read_paths(given, reader, request));
  offer_outputs(given, request);
  TRY(read_program(context.command, request));
  if (!executor_input) TRY(apply(short_forms, request.distribution_specification));
  TRY(check_no_overlap(request));
  ASSIGN(const auto task_config, reader.object("task_config"));
  TRY(apply_task_config(task_config, request));
  TRY(apply_defaults(defaults_of, request));
  read_surroundings(context, inputs);
  return inputs;
}

}  // namespace trainstep::step
