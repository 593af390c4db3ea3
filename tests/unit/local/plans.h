// Plans for the tests of the local module, made the way the program makes them.
#pragma once

#include <string>

#include "data/json.h"
#include "job_types/job_type.h"
#include "plan/plan.h"
#include "support/catch.h"

namespace trainstep::local {

inline plan::Plan make_plan(plan::Request request) {
  if (request.run_id.empty()) request.run_id = "test";
  auto plan = plan::make_plan(request, job_types::traits());
  INFO((plan ? "" : plan.error().message));
  REQUIRE(plan.has_value());
  return std::move(*plan);
}

// `sh -c script` with `distribution` and, as far as given, job_options.
inline plan::Plan shell_plan(const std::string& script, Json distribution = Json::object(), Json options = Json::object()) {
  plan::Request request;
  request.train_specification = to_text(Json{{"image", "any"}, {"command", {"sh", "-c", script}}});
  request.distribution_specification = std::move(distribution);
  request.job_options = std::move(options);
  return make_plan(std::move(request));
}

}  // namespace trainstep::local
