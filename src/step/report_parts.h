// The sections of the report, as HTML; empty if there is nothing to show. Private to the module.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "result/verdict.h"
#include "step/story.h"

namespace trainstep::step {

std::string headline_part(const Story& story);
std::string failure_part(const Story& story);
std::string phases_part(const Story& story);
std::string metrics_part(const Story& story);
std::string replicas_part(const Story& story);
std::string asked_part(const Story& story);
std::string outputs_part(const Story& story);
std::string parameters_part(const Story& story);
std::string footer_part(const Story& story);

// The program wrote it, but the step failed before it was moved to its place.
bool was_held_back(const Story& story, const run::OutputFound& output);
// "Succeeded", "Training failed", …
std::string_view headline(result::VerdictClass verdict_class);
// "PyTorch, 2 workers"; empty without a plan.
std::string kind_text(const Story& story);
// "2026-11-21 08:15:30 UTC"
std::string time_text(Time time);

}  // namespace trainstep::step
