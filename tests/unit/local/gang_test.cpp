// SPDX-License-Identifier: Apache-2.0
#include "local/gang.h"

#include <fmt/format.h>

#include <string>

#include "plans.h"
#include "support/catch.h"

namespace trainstep::local {
namespace {

// "name" with P primary, A awaited, S serves, O output-only.
std::string described(const plan::Plan& plan) {
  std::string text;
  for (const auto& member : gang(plan))
    text += fmt::format("{}{}{}{}{} ", member.name, member.primary ? "+P" : "", member.awaited ? "+A" : "", member.serves ? "+S" : "",
                        member.output_only ? "+O" : "");
  return text;
}

TEST_CASE("the gang is the kind's replicas in their order, and setup") {
  struct Row {
    const char* distribution;
    const char* members;
  };
  const auto row = GENERATE(values<Row>({
      {R"({})", "main+P+A setup+O "},
      {R"({"distribution_type": "PyTorch", "number_of_workers": 3})", "master-0+P+A worker-0 worker-1 setup+O "},
      {R"({"distribution_type": "PyTorch", "number_of_workers": 2, "processes_per_worker": 2})",
       "master-0.0+P+A master-0.1+A worker-0.0 worker-0.1 setup+O "},
      {R"({"distribution_type": "PyTorch", "number_of_workers": 2, "processes_per_worker": 2, "elastic": {"min": 1, "max": 2}})",
       "worker-0+P+A worker-1 setup+O "},
      {R"({"distribution_type": "MPI", "number_of_workers": 2})", "launcher+A worker-0+P+O worker-1+O setup+O "},
      {R"({"distribution_type": "MPI", "number_of_workers": 2, "processes_per_worker": 2})",
       "launcher+A worker-0.0+P+O worker-0.1+O worker-1.0+O worker-1.1+O setup+O "},
      {R"({"distribution_type": "TF", "number_of_workers": 2, "number_of_parameter_servers": 1})",
       "chief-0+P+A worker-0+S worker-1+S ps-0+S setup+O "},
      {R"({"distribution_type": "TF", "number_of_workers": 2, "number_of_parameter_servers": 0})", "worker-0+P+A worker-1+A setup+O "},
  }));
  CAPTURE(row.distribution);
  CHECK(described(shell_plan("true", Json::parse(row.distribution))) == row.members);
}

TEST_CASE("a program that starts its own ranks is started once for each replica") {
  CHECK(described(shell_plan("mpirun -np 2 train", {{"distribution_type", "MPI"}, {"number_of_workers", 2}})) == "launcher+P+A setup+O ");
  CHECK(described(shell_plan("torchrun train.py", {{"distribution_type", "PyTorch"}, {"processes_per_worker", 2}})) == "master-0+P+A setup+O ");
}

TEST_CASE("a gang too large for one machine is rejected") {
  CHECK(check_gang(shell_plan("true", {{"distribution_type", "PyTorch"}, {"number_of_workers", 512}})));
  const auto checked = check_gang(shell_plan("true", {{"distribution_type", "PyTorch"}, {"number_of_workers", 513}}));
  REQUIRE_FALSE(checked);
  CHECK(checked.error().kind == ErrorKind::input);
  CHECK(checked.error().message.find("513 processes") != std::string::npos);
}

}  // namespace
}  // namespace trainstep::local
