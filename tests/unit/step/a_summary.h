// The end of a run, ready to be told.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "step/results.h"
#include "step/step_summary.h"
#include "support.h"

namespace trainstep::step {

inline Time at(int seconds) { return Time(std::chrono::seconds(1'795'248'930 + seconds)); }  // 2026-11-21T08:15:30Z and later

// Owns what a StepSummary refers to.
struct ASummary {
  Inputs inputs;
  run::Outcome outcome;
  plan::Plan plan;
  std::vector<job_types::Replicas> replicas;
  bool planned = true;

  ASummary() {
    inputs.request.model_name = "digits";
    plan.job_type = "PyTorch";
    plan.job_name = "digits-0f3a9c1e22";
    plan.run_id = "run-17";
    plan.spec_hash = "4be1d0b6c8f07a5513aa";
    plan.distribution.type = "PyTorch";
    plan.distribution.workers = 2;
    plan.image.value = "pytorch/pytorch:2.5.1";
    outcome.verdict.verdict_class = result::VerdictClass::succeeded;
    outcome.started = at(0);
    outcome.ended = at(125);
  }

  [[nodiscard]] StepSummary summary(const FileReader& read_file = files({})) const {
    return {.inputs = inputs,
            .outcome = outcome,
            .plan = planned ? &plan : nullptr,
            .replicas = replicas,
            .metrics = final_metrics(outcome, read_file),
            .report_location = {}};
  }

  void target(const std::string& name, const std::string& path, OutputTarget::Kind kind = OutputTarget::Kind::file, const std::string& uri = {}) {
    inputs.targets.push_back({.name = name, .kind = kind, .path = path, .uri = uri, .type = {}});
  }
  void value(const std::string& name, Json json) {
    outcome.outputs.push_back(
        {.name = name, .artifact = false, .path = {}, .present = true, .value = std::move(json), .metadata = Json::object(), .step_path = {}});
  }
  void artifact(const std::string& name, const std::string& path, const std::string& step_path, Json metadata = Json::object()) {
    outcome.outputs.push_back(
        {.name = name, .artifact = true, .path = path, .present = true, .value = {}, .metadata = std::move(metadata), .step_path = step_path});
  }
  void curve(const std::string& name, const std::vector<double>& values) {
    result::MetricSeries series{.name = name, .axis = result::MetricSeries::Axis::epoch, .points = {}};
    for (std::size_t i = 0; i < values.size(); ++i) series.points.push_back({.x = static_cast<double>(i + 1), .value = values[i], .time = at(10)});
    outcome.series.push_back(std::move(series));
  }
};

}  // namespace trainstep::step
