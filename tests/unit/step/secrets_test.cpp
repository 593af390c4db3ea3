// SPDX-License-Identifier: Apache-2.0
#include "step/secrets.h"

#include <algorithm>

#include "data/digest.h"
#include "job_types/job_type.h"
#include "support/catch.h"

using namespace trainstep;

TEST_CASE("All that a plan puts into a job is looked for, wherever it came from") {
  step::Inputs inputs;
  inputs.secrets = {"hf-12345678"};
  auto& request = inputs.request;
  request.train_specification = R"({"image": "a", "env": {"DB_PASSWORD": "db-12345678", "MODE": "fast-12345678"},
      "command": ["train", "--api-key", {"inputValue": "k"}, "--token=tok-12345678", "sh -c 'login --password pass-12345678'"]})";
  request.train_parameters = {{"k", "key-12345678"}};
  request.job_options = Json::parse(R"({"environment": {"A_TOKEN": "hf-12345678"},
      "replicas": {"Worker": {"environment": {"B_TOKEN": "b-12345678"}}},
      "patch": {"spec": {"containers": [{"env": [{"name": "C_TOKEN", "value": "c-12345678"}]}]}}})");
  const auto plan = plan::make_plan(request, job_types::traits());
  REQUIRE(plan);
  const auto secrets = step::secrets_of(inputs, &*plan);
  for (const auto* secret : {"hf-12345678", "db-12345678", "key-12345678", "tok-12345678", "pass-12345678", "b-12345678", "c-12345678"}) {
    CAPTURE(secret);
    CHECK(std::ranges::count(secrets, secret) == 1);
    CHECK(std::ranges::count(secrets, encode_base64(secret)) == 1);
  }
  CHECK(std::ranges::count(secrets, "fast-12345678") == 0);
}

TEST_CASE("A secret number is not a metric, by its name or by its value") {
  run::Outcome outcome;
  const auto series = [&](std::string name, std::vector<double> values) {
    auto& added = outcome.series.emplace_back();
    added.name = std::move(name);
    for (const double value : values) added.points.push_back({.x = 0, .value = value, .time = {}});
  };
  series("loss", {0.5, 0.25});
  series("hf_token", {55512345});
  series("loss_per_token", {0.5});
  series("pin", {1, 123456789});
  series("samples", {4711});
  series("reward", {123456788.5, 123456789});
  auto& curves = outcome.outputs.emplace_back().curves;
  for (const auto& name : {"loss", "api_key", "number"})
    curves.push_back({name, result::MetricSeries::Axis::step, {{1, std::string(name) == "number" ? 123456789.0 : 1.0, {}}}});
  const auto left_out = step::redact(outcome, {"123456789", "4711", "1e9 roses"});
  CHECK(left_out == std::vector<std::string>{"hf_token", "pin"});
  REQUIRE(curves.size() == 1);
  CHECK(curves[0].name == "loss");
  std::vector<std::string> left;
  for (const auto& each : outcome.series) left.push_back(each.name);
  CHECK(left == std::vector<std::string>{"loss", "loss_per_token", "samples", "reward"});
  CHECK(step::is_secret(1234567, {"1234567.0"}));
  CHECK_FALSE(step::is_secret(1e9, {"1e9 roses"}));
}

TEST_CASE("the end of a replica is reported without the secrets that a container runtime quotes") {
  run::Outcome outcome;
  outcome.members.resize(2);
  outcome.members[0].ending =
      follow::Termination{.exit_code = 128, .signal = {}, .reason = R"(StartError: exec: "train --token hf_AbCdEf": not found)"};
  step::redact(outcome, {"hf_AbCdEf"});
  CHECK(outcome.members[0].ending->reason == R"(StartError: exec: "train --token [redacted]": not found)");
}
