// SPDX-License-Identifier: Apache-2.0
#include "step/train_model_job.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "data/fields.h"

namespace trainstep::step {
namespace {

constexpr int usual_workers = 2;

bool says(const Json& specification, std::string_view key) {
  const auto* value = find(specification, key);
  return value != nullptr && !value->is_null() && !is_blank(*value);
}

}  // namespace

void apply_train_model_job(plan::Request& request) {
  request.as_train_model_job = true;
  auto& specification = request.distribution_specification;
  const auto* given = find(specification, "distribution_type");
  const auto type = given != nullptr && given->is_string() ? lower(trim(given->get_ref<const std::string&>())) : std::string();
  if (type.empty() || type == "job") return;
  if (!says(specification, "number_of_workers") && !says(specification, "elastic")) specification["number_of_workers"] = usual_workers;
  const auto of_servers = {"number_of_parameter_servers", "parameter_server_cpus", "parameter_server_memory", "chief_cpus", "chief_memory"};
  if (type == "tf" && std::ranges::none_of(of_servers, [&](const char* key) { return says(specification, key); }))
    specification["number_of_parameter_servers"] = 0;
}

}  // namespace trainstep::step
