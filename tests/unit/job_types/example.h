// A Plan made by hand, for tests that change one thing of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "job_types/job_type.h"
#include "job_types/render.h"
#include "support/catch.h"

namespace trainstep::job_types::test {

inline spec::Argument word(std::string text) {
  spec::Argument argument;
  argument.text = std::move(text);
  return argument;
}

inline plan::Plan example(const std::string& kind, int workers) {
  plan::Plan plan;
  plan.job_type = kind;
  plan.distribution.type = kind;
  plan.distribution.workers = workers;
  plan.distribution.workers_given = true;
  plan.job_name = "digits-0123456789";
  plan.run_id = "run-1";
  plan.spec_hash = "abc";
  plan.labels = {{"trainstep.dev/run", "run-1"}};
  plan.image = {"registry.example/train:1", "train_specification"};
  plan.train_mount = "/train";
  plan.program.command = {word("python3"), word("train.py")};
  return plan;
}

inline Json rendered(const plan::Plan& plan, std::string_view group_version = {}) {
  auto manifest = render(plan, group_version);
  if (!manifest) FAIL(manifest.error().message);
  return manifest->json();
}

inline std::string refusal(const plan::Plan& plan, std::string_view group_version = {}) {
  const auto manifest = render(plan, group_version);
  if (manifest) return "";
  CHECK(manifest.error().kind == ErrorKind::input);
  return manifest.error().message;
}

inline const Json& at(const Json& json, const std::string& pointer) {
  static const Json absent;
  const Json::json_pointer place(pointer);
  return json.contains(place) ? json.at(place) : absent;
}

// Hosts and ports as the operators make them.
inline Address cluster_address(const plan::Plan& plan, const std::string& type, int index, int port) {
  std::string lower = type;
  for (auto& c : lower) c = static_cast<char>(c | 0x20);
  return {plan.job_name + "-" + lower + "-" + std::to_string(index), port};
}

}  // namespace trainstep::job_types::test
