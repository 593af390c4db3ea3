// SPDX-License-Identifier: Apache-2.0
#include "step/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "data/finite.h"
#include "data/python_json.h"
#include "data/tree.h"
#include "result/metrics_output.h"
#include "spec/reported_location.h"
#include "spec/returned.h"
#include "step/executor_output.h"
#include "step/given.h"
#include "step/kfp_v1.h"
#include "step/report.h"
#include "step/results.h"

namespace trainstep::step {
namespace {

const run::OutputFound* mapped_to(const run::Outcome& outcome, std::string_view step_path) {
  const auto found =
      std::find_if(outcome.outputs.begin(), outcome.outputs.end(), [&](const run::OutputFound& o) { return o.step_path == step_path; });
  return found == outcome.outputs.end() ? nullptr : &*found;
}

// What the program left for a target; a file of an earlier run does not count.
struct OwnFile {
  bool there = false;
  std::optional<std::string> text;  // nullopt: it cannot be read
};

// A value as the launcher reads it from the file of a parameter.
std::string parameter_text(const Json& value) {
  const auto written = portable(value);
  return written.is_string() ? written.get<std::string>() : to_text(written);
}

// The entries of UI metadata; nullopt: it is something else.
std::optional<Json> ui_entries(std::string_view text) {
  const auto json = parse_json(text, "mlpipeline_ui_metadata");
  const auto* list = json && json->is_object() ? find(*json, "outputs") : nullptr;
  return list != nullptr && list->is_array() ? std::optional(*list) : std::nullopt;
}

// Results always include the value; here it only counts if it has the type of the target.
OwnFile own_value(const run::OutputFound& output, const OutputTarget& target) {
  if (target.name != "mlpipeline_ui_metadata") {
    auto text = metrics_text(output);
    return {text.has_value(), std::move(text)};
  }
  auto text = parameter_text(output.value.value_or(Json()));
  return ui_entries(text) ? OwnFile{true, std::move(text)} : OwnFile{};
}

OwnFile own_file(const StepSummary& summary, const OutputTarget& target, const FileReader& read_file) {
  const auto* output = mapped_to(summary.outcome, target.name);
  if (output == nullptr || output->earlier || !output->present || output->no_file) return {};
  if (!output->artifact) return own_value(*output, target);
  if (spec::parse_reported_location(output->path).address && output->path != target.uri) return {};  // it names another location
  const auto text = read_file(output->path, max_metrics_file_size);
  if (text) return {true, *text};
  return {text.error().kind != ErrorKind::not_found, std::nullopt};
}

// Without metrics (a table, say), or unreadable: must not be replaced.
bool is_to_stay(const OwnFile& own, const OutputTarget& target) {
  return own.there && (!own.text || (!trim(*own.text).empty() && !result::read_metrics(*own.text, target.name)));
}

Json merged_metrics(const OwnFile& own, Json object) {
  if (!own.text) return object;
  std::vector<std::pair<std::string, Json>> members;
  append_members(members, object);
  append_members(members, result::members_besides_metrics(*own.text));
  return make_object(std::move(members));
}

// Includes the program's own entries; nullopt: what the program wrote there must be kept.
std::optional<Json> merged_ui_metadata(const OwnFile& own, const StepSummary& summary, std::string_view report) {
  if (own.there && !own.text) return std::nullopt;
  Json entries;
  if (own.text && !trim(*own.text).empty()) {
    auto list = ui_entries(*own.text);
    if (!list) return std::nullopt;
    entries = std::move(*list);
  }
  return v1_ui_metadata(entries, summary.metrics, report);
}

class Renderer {
 public:
  Renderer(const StepSummary& summary, const FileReader& read_file, std::string_view report)
      : m_summary(summary), m_read_file(read_file), m_report(report) {}

  Rendered render() && {
    for (const auto& target : m_summary.inputs.targets)
      if (!target.path.empty()) put(target);
    const auto& place = m_summary.inputs.executor_output_file;
    if (m_summary.succeeded() && m_rendered.missing.empty() && !place.empty())
      m_rendered.files.push_back({place, to_text(executor_output(m_summary, m_parameters))});
    return std::move(m_rendered);
  }

 private:
  void put(const OutputTarget& target) {
    const auto value = value_of(target);
    const bool parameter = target.kind == OutputTarget::Kind::parameter;
    if (!value) {
      if (parameter && m_summary.succeeded()) m_rendered.missing.push_back(target.name);
      return;
    }
    if (parameter) m_parameters[target.name] = *value;
    const bool page = value->is_string();
    m_rendered.files.push_back({target.path, page || parameter ? parameter_text(*value) : file_text(target, *value) + "\n"});
  }

  [[nodiscard]] std::string file_text(const OutputTarget& target, const Json& value) const {
    const bool words = m_summary.inputs.python_json && (target.name == "results" || target.name == "metrics") && !all_finite(value);
    return words ? to_python_text(value) : to_pretty_text(value);
  }

  // The content for a target; nullopt if the program wrote it, or if it is not known.
  [[nodiscard]] std::optional<Json> value_of(const OutputTarget& target) const {
    const bool artifact = target.kind != OutputTarget::Kind::parameter;
    const bool shared = plan::is_shared_file(target.name);
    const auto own = shared && artifact ? own_file(m_summary, target, m_read_file) : OwnFile{};
    if (target.name == "mlpipeline_ui_metadata") return merged_ui_metadata(own, m_summary, m_report);
    if (shared && is_to_stay(own, target)) return std::nullopt;
    if (target.name == "metrics")
      return merged_metrics(own, m_summary.inputs.python_json ? all_metrics(m_summary.metrics) : metrics_object(m_summary.metrics));
    if (target.name == "mlpipeline_metrics") return v1_metrics(m_summary.metrics);
    if (target.name == "report") return Json(std::string(m_report));
    if (target.name == "job_name") return m_summary.plan == nullptr ? std::optional<Json>() : Json(m_summary.plan->job_name);
    if (target.name == "results")
      return m_summary.succeeded() ? std::optional(results_object(m_summary.outcome, m_summary.inputs, m_read_file)) : std::nullopt;
    return artifact ? std::nullopt : returned(target.name);
  }

  [[nodiscard]] std::optional<Json> returned(const std::string& name) const {
    for (const auto& output : m_summary.outcome.outputs)
      if (output.name == name && output.value && !output.value->is_null()) return output.value;
    const auto metrics = all_metrics(m_summary.metrics);
    if (const auto* metric = find(metrics, name)) return *metric;
    return std::nullopt;
  }

  const StepSummary& m_summary;
  const FileReader& m_read_file;
  std::string_view m_report;
  Rendered m_rendered;
  std::map<std::string, Json> m_parameters;
};

// If this run made no model: Argo fails a step whose declared artifact is missing. If the model was delivered to its address: KFP's launcher uploads
// what is at the path – nothing for an empty folder – and fails if the path does not exist. Failing to create the folder is only an error for Argo.
Result<void> make_model_folder(const StepSummary& summary) {
  for (const auto& target : summary.inputs.targets) {
    std::error_code unknown;
    if (target.name != "model_dir" || target.path.empty() || std::filesystem::exists(target.path, unknown)) continue;
    const bool optional = target.kind == OutputTarget::Kind::artifact;
    if (!optional && mapped_to(summary.outcome, target.name) != nullptr) continue;
    auto made = make_directories(target.path);
    if (!made && made.error().kind == ErrorKind::input) made.error().kind = ErrorKind::conflict;  // not caused by the program
    if (!made && !optional) return made;
  }
  return {};
}

// Only the program can write a model. Neither an older one at that path nor metadata alone counts.
Result<void> check_model(const StepSummary& summary) {
  const auto* model = summary.succeeded() ? mapped_to(summary.outcome, "model_dir") : nullptr;
  if (model == nullptr || has_model(summary.outcome)) return {};
  if (const auto place = spec::parse_reported_location(model->path); !place.fault.empty())
    return input_error(fmt::format("model_dir: the program reported its model at {}, which {}", place.text, place.fault));
  return input_error(fmt::format("model_dir: the program wrote nothing to {}{}", model->path, model->present ? ", it only set metadata" : ""));
}

// An error if there is no model where the launcher would register one.
Result<void> check_registered(const StepSummary& summary) {
  if (!summary.succeeded()) return {};
  for (const auto& target : summary.inputs.targets) {
    if (target.kind != OutputTarget::Kind::artifact || target.name != "model_dir") continue;
    const auto address = own_address(summary.outcome, target);
    if (address.empty() || registers(target, address)) continue;
    return input_error(
        fmt::format("model_dir: the program reported its model at {}, which Kubeflow Pipelines cannot register: it accepts only locations in the "
                    "run's folder; write the model to its path, or return the address as a string",
                    address));
  }
  return {};
}

// Its content is metadata, or comes from the log: it may be missing.
bool is_of_metrics(const spec::Output& output) { return names_metrics(output.name) || spec::holds_metrics(output); }

// An error for what the program should have written to a path, and did not. Paths of the step have their own rules.
Result<void> check_written(const StepSummary& summary) {
  if (!summary.succeeded() || summary.plan == nullptr) return {};
  for (const auto& found : summary.outcome.outputs) {
    const auto* output = spec::find_output(summary.plan->program, found.name);
    const bool absent = (!found.present || found.earlier) && !found.value && found.step_path.empty();
    if (output == nullptr || !absent || !found.artifact || is_of_metrics(*output)) continue;
    const auto place = spec::parse_reported_location(found.path);
    if (!place.fault.empty())
      return input_error(fmt::format("output {}: the program reported it at {}, which {}", found.name, place.text, place.fault));
    return input_error(fmt::format("output {}: the program succeeded, but did not write it (expected in {})", found.name, found.path));
  }
  return {};
}

Error missing_error(const StepSummary& summary, const std::vector<std::string>& missing) {
  std::vector<std::string> known;
  for (const auto& output : summary.outcome.outputs)
    if (output.value && !output.value->is_null()) known.push_back(output.name);
  return input_error(fmt::format("output {}: neither a returned value nor a metric has this name; the program returned {}", join(missing, ", "),
                                 known.empty() ? "no values" : join(known, ", ")));
}

// Errors after which the other outputs can still be written, and can report it.
bool can_be_told(const Error& error) { return error.kind == ErrorKind::input || error.kind == ErrorKind::conflict; }

Result<void> nothing_written(Result<void> written) {
  if (!written && can_be_told(written.error())) return Error{ErrorKind::internal, written.error().message};
  return written;
}

// The files whose folders have not changed; the others are not written. Error (conflict): that of the first of them.
std::pair<std::vector<FileContent>, Result<void>> at_their_places(const StepSummary& summary, std::vector<FileContent> files) {
  Result<void> first;
  std::erase_if(files, [&](const FileContent& file) {
    auto kept = summary.folders == nullptr ? Result<void>() : summary.folders->check(file.path);
    if (kept) return false;
    if (first) first = std::move(kept);
    return true;
  });
  return {std::move(files), std::move(first)};
}

// The step fails because of `error`, and its outputs say so.
Result<void> write_as_failed(const StepSummary& summary, Error error, const FileReader& read_file) {
  auto outcome = summary.outcome;
  outcome.verdict = result::lost_outputs(error);
  const StepSummary failed{.inputs = summary.inputs,
                           .outcome = outcome,
                           .plan = summary.plan,
                           .replicas = summary.replicas,
                           .metrics = summary.metrics,
                           .report_location = summary.report_location,
                           .folders = summary.folders};
  TRY(nothing_written(write_together(at_their_places(summary, render_outputs(failed, read_file, render_report(failed)).files).first)));
  return error;
}

}  // namespace

Rendered render_outputs(const StepSummary& summary, const FileReader& read_file, std::string_view report) {
  return Renderer(summary, read_file, report).render();
}

Result<void> write_outputs(const StepSummary& summary, const FileReader& read_file, const std::function<Result<void>()>& commit) {
  if (auto checked = check_model(summary); !checked) return write_as_failed(summary, checked.error(), read_file);
  if (auto checked = check_registered(summary); !checked) return write_as_failed(summary, checked.error(), read_file);
  if (auto checked = check_written(summary); !checked) return write_as_failed(summary, checked.error(), read_file);
  const auto rendered = render_outputs(summary, read_file, render_report(summary));
  if (!rendered.missing.empty()) return write_as_failed(summary, missing_error(summary, rendered.missing), read_file);
  const auto [files, moved] = at_their_places(summary, rendered.files);
  if (!summary.succeeded()) {
    TRY(nothing_written(write_together(files)));
    return moved;
  }
  auto written = moved ? write_together(files, commit) : moved;
  if (!written && can_be_told(written.error())) return write_as_failed(summary, written.error(), read_file);
  TRY(std::move(written));
  return make_model_folder(summary);
}

}  // namespace trainstep::step
