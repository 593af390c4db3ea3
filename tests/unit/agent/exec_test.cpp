// The agent's whole story around real programs, with claims as folders.
// SPDX-License-Identifier: Apache-2.0
#include "agent/exec.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "agent/pod_message.h"
#include "base/files.h"
#include "support/catch.h"
#include "support/temp_dir.h"

using namespace trainstep;
using namespace trainstep::agent;
using Catch::Matchers::Contains;
using result::VerdictClass;
namespace fs = std::filesystem;

namespace {

struct Pod {
  TempDir folder;
  plan::Task task;
  ExecOptions options;

  Pod() {
    task.attempt = "00ff";
    task.executor_output_file = in("trainstep/outputs/executor_output.json");
    task.outputs = {{"accuracy", spec::Type::number, "Float", in("trainstep/outputs/accuracy/data"), "", {}},
                    {"model", spec::Type::artifact, "Model", in("trainstep/outputs/model/final"), in("claim/run"), {}}};
    task.record.path = in("claim/run/.trainstep-digits.json");
    options.scratch = in("scratch");
    options.termination_log = in("termination-log");
    fs::create_directories(options.scratch);
  }
  [[nodiscard]] std::string in(const std::string& path) const { return (folder.path() / path).string(); }
  [[nodiscard]] bool has(const std::string& path) const { return fs::exists(in(path)); }
  [[nodiscard]] std::string text(const std::string& path) const { return read_file(in(path), 1U << 20U).value_or("(none)"); }

  // As a container that starts.
  int start(const std::string& script) {
    std::ofstream(options.termination_log).flush();
    options.argv = {"sh", "-c", script};
    return exec(task, options);
  }
  // Every run of it leaves a line.
  [[nodiscard]] std::string training() const {
    return "echo trained >>" + in("runs") + "; echo 0.5 >" + task.outputs[0].path + "; echo weights >" + task.outputs[1].path;
  }
  [[nodiscard]] result::PodReport report() const {
    const auto read = result::read_pod_report(text("termination-log"));
    REQUIRE(read);
    return *read;
  }
};

}  // namespace

TEST_CASE("a training ends with its outputs where they belong, its report and its record") {
  Pod pod;
  CHECK(pod.start(pod.training()) == 0);
  CHECK(pod.report().verdict_class == VerdictClass::succeeded);
  CHECK(pod.report().primary);
  CHECK(pod.report().attempt == "00ff");
  REQUIRE(pod.report().outputs.size() == 2);
  CHECK(pod.report().outputs[0].value == Json(0.5));
  CHECK(pod.report().outputs[1].present);
  CHECK(pod.text("claim/run/final") == "weights\n");
  CHECK(pod.has("claim/run/.trainstep-digits.json"));
}

TEST_CASE("a restart after the training has finished does not train again, and reports the same") {
  Pod pod;
  REQUIRE(pod.start(pod.training()) == 0);
  CHECK_FALSE(pod.report().repeated);
  CHECK(pod.start(pod.training()) == 0);
  CHECK(pod.report().repeated);
  CHECK(pod.text("runs") == "trained\n");
  CHECK(pod.report().outputs[0].value == Json(0.5));
  CHECK(pod.report().primary);
  SECTION("nor do other replicas, and they do not report for the primary") {
    pod.options.role = Role::replica;
    CHECK(pod.start(pod.training()) == 0);
    CHECK(pod.text("runs") == "trained\n");
    CHECK_FALSE(pod.report().primary);
  }
  SECTION("another job of the name trains") {
    pod.task.attempt = "0100";
    CHECK(pod.start(pod.training()) == 0);
    CHECK(pod.text("runs") == "trained\ntrained\n");
    CHECK_FALSE(pod.report().repeated);
  }
}

TEST_CASE("the first pod of an indexed job does not deliver again, and the others train although it has finished") {
  Pod pod;
  pod.options.role = Role::indexed;
  ::setenv("JOB_COMPLETION_INDEX", "0", 1);
  REQUIRE(pod.start(pod.training()) == 0);
  REQUIRE(pod.has("claim/run/.trainstep-digits.json"));
  CHECK(pod.start(pod.training()) == 0);
  CHECK(pod.text("runs") == "trained\n");
  ::setenv("JOB_COMPLETION_INDEX", "2", 1);
  fs::remove_all(pod.in("trainstep"));  // it is in another pod
  CHECK(pod.start(pod.training() + "; echo other >" + pod.task.outputs[1].path) == 0);
  CHECK_FALSE(pod.report().primary);
  CHECK(pod.start("echo trained >>" + pod.in("runs") + "; exit 3") == 3);
  ::unsetenv("JOB_COMPLETION_INDEX");
  CHECK(pod.text("runs") == "trained\ntrained\ntrained\n");
  CHECK(pod.text("claim/run/final") == "weights\n");
}

TEST_CASE("a failed program keeps its exit code and the last lines of its log, and nothing is recorded") {
  Pod pod;
  CHECK(pod.start(pod.training() + "; exit 3") == 3);
  CHECK(pod.text("termination-log").empty());
  CHECK_FALSE(pod.has("claim/run/.trainstep-digits.json"));
  CHECK(pod.start(pod.training() + "; kill -9 $$") == 137);
  CHECK(pod.start(pod.training()) == 0);
}

TEST_CASE("a program that ends well without a value that it declares has failed") {
  Pod pod;
  CHECK(pod.start("true") == 1);
  CHECK(pod.report().verdict_class == VerdictClass::user);
  CHECK_THAT(pod.report().message, Contains("output accuracy"));
  CHECK_FALSE(pod.has("claim/run/.trainstep-digits.json"));
}

TEST_CASE("the outputs of other replicas are not delivered") {
  Pod pod;
  pod.options.role = Role::replica;
  CHECK(pod.start(pod.training()) == 0);
  CHECK(pod.report().verdict_class == VerdictClass::succeeded);
  CHECK_FALSE(pod.report().primary);
  CHECK(pod.report().outputs.empty());
  CHECK_FALSE(pod.has("claim"));
}

TEST_CASE("a training whose outputs cannot be delivered fails") {
  Pod pod;
  pod.task.record.path = pod.in("claim/run/final/record.json");  // where the program puts a file
  CHECK(pod.start(pod.training()) != 0);
  CHECK(pod.report().verdict_class != VerdictClass::succeeded);
  CHECK(pod.report().verdict_class != VerdictClass::user);
  CHECK_THAT(pod.report().message, Contains(pod.in("claim/run/final")));
}

TEST_CASE("a program that is not there is a mistake of the configuration") {
  Pod pod;
  pod.options.argv = {"/no/such/program"};
  std::ofstream(pod.options.termination_log).flush();
  CHECK(exec(pod.task, pod.options) == 2);
  CHECK(pod.report().verdict_class == VerdictClass::input);
  CHECK_THAT(pod.report().message, Contains("/no/such/program"));
}

TEST_CASE("the program does not see the agent's task, but everything else of its environment") {
  Pod pod;
  ::setenv("TRAINSTEP_TASK", "{}", 1);
  ::setenv("TRAINSTEP_TEST", "seen", 1);
  CHECK(pod.start(pod.training() + R"(; test -z "${TRAINSTEP_TASK+set}" && test "$TRAINSTEP_TEST" = seen)") == 0);
  ::unsetenv("TRAINSTEP_TASK");
  ::unsetenv("TRAINSTEP_TEST");
}

TEST_CASE("rank 0 leaves its report for the launcher, other ranks leave none") {
  Pod pod;
  pod.options.role = Role::rank;
  ::setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  CHECK(pod.start(pod.training()) == 0);
  CHECK_FALSE(pod.has("scratch/report.json"));
  CHECK_FALSE(pod.has("claim"));
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  fs::remove_all(pod.in("trainstep"));  // it is in another pod
  CHECK(pod.start(pod.training()) == 0);
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  const auto left = result::read_pod_report(pod.text("scratch/report.json"));
  REQUIRE(left);
  CHECK(left->primary);
  CHECK(left->outputs[0].value == Json(0.5));
  CHECK(pod.text("termination-log").empty());
  CHECK(pod.text("claim/run/final") == "weights\n");
}

TEST_CASE("a launcher fails as mpirun does; without rank 0's report its success is not known to be one") {
  Pod pod;
  pod.options.role = Role::launcher;
  CHECK(pod.start("exit 3") == 3);
  CHECK(pod.text("termination-log").empty());
  CHECK(pod.start("true") == 3);
  CHECK(pod.report().verdict_class == VerdictClass::system);
  CHECK_THAT(pod.report().message, Contains("rank 0"));
  pod.task.outputs.clear();
  CHECK(pod.start("true") == 0);
  CHECK(pod.report().verdict_class == VerdictClass::succeeded);
}

TEST_CASE("without a program only what is to be staged is staged") {
  Pod pod;
  pod.task.outputs.clear();
  std::ofstream(pod.options.termination_log).flush();
  CHECK(exec(pod.task, pod.options) == 0);
  CHECK(pod.report().verdict_class == VerdictClass::succeeded);
}

TEST_CASE("where no rank has left a report none is printed; one that cannot be read is an error") {
  const TempDir scratch;
  CHECK(print_report(scratch.path()) == 0);
  fs::create_directory(scratch.path() / "report.json");
  CHECK(print_report(scratch.path()) == 1);
}
