// The defaults of the component "Train model job".
// SPDX-License-Identifier: Apache-2.0
#include "step/train_model_job.h"

#include "step/inputs.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::step;

namespace {

Json distribution(const Json& given) {
  plan::Request request;
  request.distribution_specification = given;
  apply_train_model_job(request);
  return request.distribution_specification;
}

Result<Inputs> read(const std::string& of, const std::string& specification) {
  const Context around{.environment = {}, .read_file = [](const std::string&, std::size_t) { return Result<std::string>(""); }};
  return read_inputs({{"train-specification", "image: a"}, {"defaults-of", of}, {"distribution-specification", specification}}, around);
}

}  // namespace

TEST_CASE("the component Train model job defaults to two workers for a distributed job type") {
  for (const auto* type : {"MPI", "TF", "PyTorch", "mpi"}) CHECK(distribution({{"distribution_type", type}})["number_of_workers"] == 2);
  CHECK(distribution({{"distribution_type", "MPI"}, {"number_of_workers", ""}})["number_of_workers"] == 2);
  CHECK(distribution({{"distribution_type", "MPI"}, {"number_of_workers", "3"}})["number_of_workers"] == "3");
  for (const Json& alone : {Json::object(), Json{{"distribution_type", "Job"}}, Json{{"distribution_type", ""}}}) CHECK(distribution(alone) == alone);
  CHECK_FALSE(distribution({{"distribution_type", "PyTorch"}, {"elastic", {{"min", 1}}}}).contains("number_of_workers"));
}

TEST_CASE("the component Train model job gives a TFJob only workers, unless the call sets a chief or parameter servers") {
  CHECK(distribution({{"distribution_type", "TF"}})["number_of_parameter_servers"] == 0);
  CHECK(distribution({{"distribution_type", "TF"}, {"number_of_parameter_servers", 1}})["number_of_parameter_servers"] == 1);
  CHECK_FALSE(distribution({{"distribution_type", "TF"}, {"chief_cpus", "2"}}).contains("number_of_parameter_servers"));
  CHECK_FALSE(distribution({{"distribution_type", "MPI"}}).contains("number_of_parameter_servers"));
}

TEST_CASE("the defaults of a component apply if its file says so") {
  const auto with = read("train-model-job", R"({"distribution_type": "MPI"})");
  REQUIRE(with);
  CHECK(with->request.as_train_model_job);
  CHECK(with->request.distribution_specification["number_of_workers"] == 2);
  const auto without = read("", R"({"distribution_type": "MPI"})");
  REQUIRE(without);
  CHECK_FALSE(without->request.as_train_model_job);
  CHECK_FALSE(without->request.distribution_specification.contains("number_of_workers"));
}

TEST_CASE("the defaults of an unknown component are rejected") {
  const auto refused = read("launch-tfjob", "{}");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "defaults-of: unknown value \"launch-tfjob\"; expected train-model-job");
}
