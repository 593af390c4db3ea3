#include "plan/names.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::plan;

TEST_CASE("a model name that cannot be part of a Kubernetes name is refused with one that could") {
  CHECK(check_model_name("my-model"));
  CHECK(check_model_name(std::string(63, 'a')));
  struct Row {
    std::string name;
    std::string better;
  };
  for (const auto& row : std::vector<Row>{
           {"My Model_2", "my-model-2"}, {"-x-", "x"}, {"2fast", "fast"}, {"", "my-model"}, {std::string(64, 'a'), std::string(63, 'a')}}) {
    INFO(row.name);
    const auto checked = check_model_name(row.name);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().message.find("did you mean \"" + row.better + "\"?") != std::string::npos);
    CHECK(check_model_name(row.better));
  }
}

TEST_CASE("a job's name depends on model and run only, and leaves room for suffixes") {
  CHECK(job_name("digits", "run-1") == job_name("digits", "run-1"));
  CHECK(job_name("digits", "run-1") != job_name("digits", "run-2"));
  CHECK(job_name("digits", "run-1").starts_with("digits-"));
  CHECK(job_name(std::string(63, 'm'), "run-1").size() == max_job_name_length);
  CHECK(job_name(std::string(28, 'm') + "-x", "r").find("--") == std::string::npos);
}

TEST_CASE("formal names become safe file names") {
  CHECK(file_name("model_dir") == "model_dir");
  CHECK(file_name("Train data/x") == "Train_data_x");
  CHECK(file_name("..") == "_..");
  CHECK(file_name("") == "_");
}

TEST_CASE("run ids are label values") {
  CHECK(check_run_id("Run_1.x"));
  for (const auto* wrong : {"", "-a", "a-", "a/b", "a b"}) CHECK_FALSE(check_run_id(wrong));
}
