// SPDX-License-Identifier: Apache-2.0
#include "step/short_forms.h"

#include "support.h"

namespace trainstep::step {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("the short forms -n and --type are keys of the distribution, and repeat what it says or add to it") {
  struct Row {
    ShortForms given;
    Json before, after;
  };
  const Row rows[] = {
      {{"", ""}, Json::object(), Json::object()},
      {{"2", ""}, Json::object(), {{"number_of_workers", "2"}}},
      {{"2", "PyTorch"}, {{"worker_cpus", "8"}}, {{"worker_cpus", "8"}, {"number_of_workers", "2"}, {"distribution_type", "PyTorch"}}},
      {{"2", "pytorch"},
       {{"number_of_workers", 2.0}, {"distribution_type", "PyTorch"}},
       {{"number_of_workers", 2.0}, {"distribution_type", "PyTorch"}}},
      {{"2", ""}, {{"number_of_workers", " 2"}}, {{"number_of_workers", " 2"}}},
      {{"2", ""}, {{"number_of_workers", nullptr}}, {{"number_of_workers", "2"}}},
      {{"2", ""}, {{"number_of_workers", ""}}, {{"number_of_workers", "2"}}},
  };
  for (const auto& row : rows) {
    auto distribution = row.before;
    CHECK(apply(row.given, distribution).has_value());
    CHECK(distribution == row.after);
  }
}

TEST_CASE("the short forms -n and --type that contradict the distribution are refused, naming both") {
  Json workers{{"number_of_workers", 3}}, type{{"distribution_type", "MPI"}};
  const auto refused_workers = apply({"2", ""}, workers), refused_type = apply({"", "TF"}, type);
  REQUIRE_FALSE(refused_workers.has_value());
  CHECK(refused_workers.error().kind == ErrorKind::usage);
  CHECK(refused_workers.error().message == "-n 2 contradicts distribution_specification.number_of_workers, which is 3; omit one of them");
  REQUIRE_FALSE(refused_type.has_value());
  CHECK(refused_type.error().message == "--type TF contradicts distribution_specification.distribution_type, which is \"MPI\"; omit one of them");
}

TEST_CASE("a step takes -n and --type with a specification as well") {
  const auto request = read({{"train-specification", "image: x"}, {"number-of-workers", "2"}, {"type", "TF"}}).request;
  CHECK(request.distribution_specification == Json{{"number_of_workers", "2"}, {"distribution_type", "TF"}});
}

}  // namespace
}  // namespace trainstep::step
