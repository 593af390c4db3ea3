// SPDX-License-Identifier: Apache-2.0
#include "local/gpus.h"

#include <string>
#include <vector>

#include "plans.h"
#include "support/catch.h"

namespace trainstep::local {
namespace {

plan::Plan with_gpus(const std::string& type, int workers, int gpus) {
  return shell_plan("true", {{"distribution_type", type}, {"number_of_workers", workers}, {"worker_gpus", gpus}});
}

std::vector<std::string> devices(const GpuDivision& division) {
  std::vector<std::string> result;
  result.reserve(division.shares.size());
  for (const auto& share : division.shares) result.push_back(share.devices);
  return result;
}

TEST_CASE("each replica gets its own GPUs") {
  const auto division = divide_gpus(with_gpus("PyTorch", 2, 2), {"0", "1", "GPU-5", "3", "4"});
  REQUIRE(division.has_value());
  CHECK(devices(*division) == std::vector<std::string>{"0,1", "GPU-5,3"});
  CHECK(division->warning.empty());
}

TEST_CASE("the ranks of MPI are on one host and see the GPUs of all") {
  const auto division = divide_gpus(with_gpus("MPI", 2, 1), {"0", "1", "2"});
  REQUIRE(division.has_value());
  CHECK(devices(*division) == std::vector<std::string>{"0,1", "0,1", "0,1"});
}

TEST_CASE("parameter servers get no GPU") {
  const auto division = divide_gpus(with_gpus("TF", 1, 1), {"0", "1"});
  REQUIRE(division.has_value());
  CHECK(division->shares.back().type == "PS");
  CHECK(division->shares.back().devices.empty());
}

TEST_CASE("without a GPU training runs on CPUs, and this is reported") {
  const auto division = divide_gpus(with_gpus("PyTorch", 2, 1), {});
  REQUIRE(division.has_value());
  CHECK(devices(*division) == std::vector<std::string>{"", ""});
  CHECK(division->warning == "this machine has no GPU: training runs on CPUs");
}

TEST_CASE("too few GPUs are an error that says needed and there") {
  const auto division = divide_gpus(with_gpus("PyTorch", 3, 1), {"0", "1"});
  REQUIRE_FALSE(division.has_value());
  CHECK(division.error().kind == ErrorKind::input);
  CHECK_THAT(division.error().message, Catch::Contains("requires 3 GPUs, but this machine has 2"));
}

TEST_CASE("GPUs that were not requested are hidden, and this is reported") {
  const auto division = divide_gpus(with_gpus("PyTorch", 1, 0), {"0"});
  REQUIRE(division.has_value());
  CHECK(devices(*division) == std::vector<std::string>{""});
  CHECK_THAT(division->warning, Catch::Contains("has 1 GPU, but none is requested"));
}

TEST_CASE("CUDA_VISIBLE_DEVICES limits the machine's GPUs as CUDA reads it") {
  using Ids = std::vector<std::string>;
  const auto ids = [](const std::string& visible) { return machine_gpus({{"CUDA_VISIBLE_DEVICES", visible}}); };
  CHECK(ids("") == Ids{});
  CHECK(ids("-1") == Ids{});
  CHECK(ids("2, GPU-8a") == Ids{"2", "GPU-8a"});
  CHECK(ids("0,-1,1") == Ids{"0"});
}

}  // namespace
}  // namespace trainstep::local
