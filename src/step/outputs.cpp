// SPDX-License-Identifier: Apache-2.0
#include "step/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "step/executor_output.h"
#include "step/kfp_v1.h"
#include "step/report.h"
#include "step/results.h"

namespace trainstep::step {
namespace {

constexpr std::size_t longest_program_file = std::size_t{16} << 20U;

const run::OutputFound* mapped_to(const run::Outcome& outcome, std::string_view step_path) {
  const auto found =
      std::find_if(outcome.outputs.begin(), outcome.outputs.end(), [&](const run::OutputFound& o) { return o.step_path == step_path; });
  return found == outcome.outputs.end() ? nullptr : &*found;
}

// Whether what lies at the target's path may be the program's; a file of an earlier run is not.
bool wrote_to(const Story& story, const OutputTarget& target) {
  const auto* output = mapped_to(story.outcome, target.name);
  return output != nullptr && !output->earlier;
}

// The program wrote something there that holds no metrics (a table, say): it is not ours to replace.
bool keeps_own_file(const Story& story, const OutputTarget& target, const FileReader& read_file) {
  if (!wrote_to(story, target)) return false;
  const auto text = read_file(target.path, longest_program_file);
  if (!text) return text.error().kind != ErrorKind::not_found;
  return !trim(*text).empty() && !result::read_metrics(*text, target.name).has_value();
}

// The entries of the program's own UI metadata; what cannot be read is none.
Json own_ui_entries(const Story& story, const OutputTarget& target, const FileReader& read_file) {
  if (!wrote_to(story, target)) return nullptr;
  const auto text = read_file(target.path, longest_program_file);
  if (!text) return nullptr;
  const auto json = parse_json(*text, target.name);
  const auto* entries = json && json->is_object() ? find(*json, "outputs") : nullptr;
  return entries == nullptr ? Json(nullptr) : *entries;
}

// A value as the launcher reads it from a parameter's file.
std::string parameter_text(const Json& value) { return value.is_string() ? value.get<std::string>() : to_text(value); }

class Renderer {
 public:
  Renderer(const Story& story, const FileReader& read_file, std::string_view report) : m_story(story), m_read_file(read_file), m_report(report) {}

  Rendered render() && {
    for (const auto& target : m_story.inputs.targets)
      if (!target.path.empty()) put(target);
    const auto& place = m_story.inputs.executor_output_file;
    if (m_story.succeeded() && m_rendered.missing.empty() && !place.empty())
      m_rendered.files.push_back({place, to_text(executor_output(m_story, m_parameters))});
    return std::move(m_rendered);
  }

 private:
  void put(const OutputTarget& target) {
    const auto value = value_of(target);
    const bool parameter = target.kind == OutputTarget::Kind::parameter;
    if (!value) {
      if (parameter && m_story.succeeded()) m_rendered.missing.push_back(target.name);
      return;
    }
    if (parameter) m_parameters[target.name] = *value;
    const bool page = value->is_string();
    m_rendered.files.push_back({target.path, page || parameter ? parameter_text(*value) : to_pretty_text(*value) + "\n"});
  }

  // What is written for a target; nothing when it is the program's, or not known.
  [[nodiscard]] std::optional<Json> value_of(const OutputTarget& target) const {
    const bool artifact = target.kind != OutputTarget::Kind::parameter;
    if (target.name == "metrics")
      return artifact && keeps_own_file(m_story, target, m_read_file) ? std::optional<Json>() : metrics_object(m_story.metrics);
    if (target.name == "mlpipeline_metrics")
      return artifact && keeps_own_file(m_story, target, m_read_file) ? std::optional<Json>() : v1_metrics(m_story.metrics);
    if (target.name == "mlpipeline_ui_metadata") return v1_ui_metadata(own_ui_entries(m_story, target, m_read_file), m_story.metrics, m_report);
    if (target.name == "report") return Json(std::string(m_report));
    if (target.name == "job_name") return m_story.plan == nullptr ? std::optional<Json>() : Json(m_story.plan->job_name);
    if (target.name == "results")
      return m_story.succeeded() ? std::optional(results_object(m_story.outcome, m_story.inputs, m_read_file)) : std::nullopt;
    return artifact ? std::nullopt : returned(target.name);
  }

  [[nodiscard]] std::optional<Json> returned(const std::string& name) const {
    for (const auto& output : m_story.outcome.outputs)
      if (output.name == name && output.value) return output.value;
    const auto metrics = metrics_object(m_story.metrics);
    if (const auto* metric = find(metrics, name)) return *metric;
    return std::nullopt;
  }

  const Story& m_story;
  const FileReader& m_read_file;
  std::string_view m_report;
  Rendered m_rendered;
  std::map<std::string, Json> m_parameters;
};

Result<void> make_model_folder(const Story& story) {
  for (const auto& target : story.inputs.targets) {
    std::error_code unknown;
    if (target.name != "model_dir" || target.path.empty() || std::filesystem::exists(target.path, unknown)) continue;
    if (mapped_to(story.outcome, target.name) == nullptr) TRY(make_directories(target.path));
  }
  return {};
}

// Only the program can write a model. One that lay there before is not this training's, and metadata alone are none.
Result<void> check_model(const Story& story) {
  const auto* model = story.succeeded() ? mapped_to(story.outcome, "model_dir") : nullptr;
  if (model == nullptr || (model->present && !model->earlier)) return {};
  const auto* told = model->metadata.empty() ? "" : "; it only set metadata";
  return input_error(fmt::format("model_dir: the program wrote nothing to {}{}", model->path, told));
}

Error missing_error(const Story& story, const std::vector<std::string>& missing) {
  std::vector<std::string> known;
  for (const auto& output : story.outcome.outputs)
    if (output.value) known.push_back(output.name);
  return input_error(fmt::format("output {}: neither a value that the program returned nor a metric has this name; it returned {}",
                                 join(missing, ", "), known.empty() ? "no values" : join(known, ", ")));
}

// The step fails because of `error`, and its outputs say so.
Result<void> write_as_failed(const Story& story, Error error, const FileReader& read_file) {
  auto outcome = story.outcome;
  outcome.verdict = result::lost_outputs(error);
  const Story failed{.inputs = story.inputs,
                     .outcome = outcome,
                     .plan = story.plan,
                     .replicas = story.replicas,
                     .metrics = story.metrics,
                     .report_place = story.report_place};
  TRY(write_together(render_outputs(failed, read_file, render_report(failed)).files));
  return error;
}

}  // namespace

Rendered render_outputs(const Story& story, const FileReader& read_file, std::string_view report) {
  return Renderer(story, read_file, report).render();
}

Result<void> write_outputs(const Story& story, const FileReader& read_file, const std::function<Result<void>()>& commit) {
  if (auto checked = check_model(story); !checked) return write_as_failed(story, checked.error(), read_file);
  const auto rendered = render_outputs(story, read_file, render_report(story));
  if (!rendered.missing.empty()) return write_as_failed(story, missing_error(story, rendered.missing), read_file);
  TRY(write_together(rendered.files, story.succeeded() ? commit : nullptr));
  if (story.succeeded()) TRY(make_model_folder(story));
  return {};
}

}  // namespace trainstep::step
