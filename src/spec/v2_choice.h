// Selects the task of a KFP v2 pipeline that is the training program. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "data/json.h"

namespace trainstep::spec {

// One task, with its parts of the IR. The pointers are valid as long as the IR.
struct Choice {
  std::string task;       // "train"
  std::string component;  // "comp-train"
  std::string executor;   // "exec-train"; empty: no executor (a nested pipeline)
  const Json* task_json = nullptr;
  const Json* component_json = nullptr;
  const Json* container = nullptr;  // null: not a container (importer, nested pipeline)
};

// `name`: a task name, component name ("comp-train" or "train") or executor label ("exec-train"); empty: there must be exactly one task.
// Errors (input): several tasks match, or none (both list the tasks), or the task is an importer or a nested pipeline.
Result<Choice> choose_task(const Json& ir, const std::string& name);

}  // namespace trainstep::spec
