#include "plan/distribution.h"

#include "job_types/job_type.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;

namespace {

const auto types = job_types::traits();

Result<Distribution> read(const char* text) { return parse_distribution(Json::parse(text), types); }

}  // namespace

TEST_CASE("an absent or empty distribution is a Job of one pod") {
  for (const auto* text : {"{}", "null", R"({"distribution_type": null})"}) {
    const auto distribution = read(text);
    REQUIRE(distribution);
    CHECK(distribution->type == "Job");
    CHECK(distribution->workers == 1);
    CHECK_FALSE(distribution->workers_given);
  }
}

TEST_CASE("number_of_workers is accepted in every form that pipelines send") {
  for (const auto* text : {"2", "\"2\"", "2.0", "\"2.0\"", "\" 2 \""}) {
    const auto distribution = read((std::string(R"({"distribution_type": "MPI", "number_of_workers": )") + text + "}").c_str());
    REQUIRE(distribution);
    CHECK(distribution->workers == 2);
  }
}

TEST_CASE("the type is accepted in any case and made canonical") {
  CHECK(read(R"({"distribution_type": "pytorch"})")->type == "PyTorch");
  CHECK(read(R"({"distribution_type": "mpi"})")->type == "MPI");
}

TEST_CASE("everything of the published example is read") {
  const auto d = read(R"({"distribution_type": "MPI", "number_of_workers": 2, "worker_cpus": "8", "worker_memory": "32Gi",
                          "launcher_cpus": "2", "launcher_memory": "8Gi"})");
  REQUIRE(d);
  CHECK(d->worker_cpus->text == "8");
  CHECK(d->worker_memory->value == 32.0 * 1024 * 1024 * 1024);
  CHECK(d->launcher_memory->text == "8Gi");
}

TEST_CASE("elastic without a number of workers starts with its minimum") {
  const auto d = read(R"({"distribution_type": "PyTorch", "elastic": {"min": 2, "max": 4}})");
  REQUIRE(d);
  CHECK(d->workers == 2);
  CHECK(d->elastic->max == 4);
}

TEST_CASE("mistakes in a distribution are refused with their place and a remedy") {
  struct Row {
    const char* name;
    const char* text;
    std::vector<std::string> said;
  };
  const std::vector<Row> rows{
      {"unknown key", R"({"number_of_worker": 2})", {"number_of_worker", "did you mean \"number_of_workers\"?"}},
      {"no workers", R"({"number_of_workers": 0})", {"distribution_specification.number_of_workers", "1 to 10000"}},
      {"negative", R"({"number_of_workers": -1})", {"number_of_workers", "-1"}},
      {"a fraction", R"({"number_of_workers": 2.5})", {"number_of_workers", "2.5"}},
      {"not a number", R"({"number_of_workers": "abc"})", {"number_of_workers", "abc"}},
      {"too many", R"({"number_of_workers": 1000000000})", {"number_of_workers", "10000"}},
      {"GB instead of G", R"({"distribution_type": "MPI", "worker_memory": "1GB"})", {"worker_memory", "1Gi", "1G"}},
      {"not a quantity", R"({"worker_cpus": "many"})", {"worker_cpus", "many", "500m"}},
      {"half a GPU", R"({"worker_gpus": 0.5})", {"worker_gpus", "an integer"}},
      {"unknown type", R"({"distribution_type": "Pytorchh"})", {"PyTorch", "Job, PyTorch, MPI, TF"}},
      {"many pods in one Job", R"({"number_of_workers": 3})", {"indexed", "PyTorch"}},
      {"a key of another type", R"({"distribution_type": "TF", "launcher_cpus": 2})", {"launcher_cpus", "only with MPI"}},
      {"elastic with max below min", R"({"distribution_type": "PyTorch", "elastic": {"min": 4, "max": 2}})", {"elastic.max"}},
      {"unknown key in elastic", R"({"distribution_type": "PyTorch", "elastic": {"minimum": 4}})", {"elastic", "min"}},
      {"not an object", R"([1, 2])", {"distribution_specification", "object"}},
      {"unknown MPI", R"({"distribution_type": "MPI", "mpi_implementation": "LAM"})", {"OpenMPI, Intel, MPICH"}},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    const auto result = read(row.text);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::input);
    for (const auto& part : row.said) {
      INFO(result.error().message);
      CHECK(result.error().message.find(part) != std::string::npos);
    }
  }
}
