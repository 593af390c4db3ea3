// Where the report of a step is, and what the log says of it.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/fd.h"
#include "cli/finish_step.h"
#include "support/catch.h"
#include "support/temp_dir.h"
#include "support/virtual_loop.h"

using namespace trainstep;
using namespace trainstep::cli;
using Catch::Matchers::Contains;

namespace {

constexpr auto address = "minio://mlpipeline/run/train/report";

// A step of a pipeline, at its end.
struct End {
  TempDir folder;
  test::VirtualLoop loop;
  step::Inputs inputs;
  run::Outcome outcome;
  std::string published_at, page;
  std::function<void(Result<void>)> answer;
  ToPipeline pipeline;
  bool done = false;
  Fd log_file;

  End() {
    inputs.from_executor_input = true;
    inputs.targets.push_back({.name = "report", .kind = step::OutputTarget::Kind::artifact, .path = path("report"), .uri = address, .type = {}});
    outcome.verdict = {result::VerdictClass::user, "the program failed", std::nullopt, false, SIGTERM};
    pipeline.publish = [this](const std::string& uri, std::string what, std::function<void(Result<void>)> then) {
      published_at = uri;
      page = std::move(what);
      answer = std::move(then);
    };
    pipeline.termination_log = path("termination-log");
    std::ofstream{pipeline.termination_log};
    log_file = Fd(::open(path("log").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder.path() / name).string(); }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void finish_step() {
    m_listeners = std::make_unique<Listeners>(loop, log::Options{}, nullptr, log_file.get());
    cli::finish_step(loop, *m_listeners, inputs, nullptr, outcome, pipeline, [this] { done = true; });
  }
  std::string said() {
    REQUIRE(done);
    CHECK(m_listeners->own_log().writer().finish(Duration(60'000)));
    m_listeners.reset();
    return read("log");
  }

 private:
  std::unique_ptr<Listeners> m_listeners;
};

}  // namespace

TEST_CASE_METHOD(End, "a failed step's report is uploaded to its address, and the log says where it is") {
  finish_step();
  CHECK_FALSE(done);
  CHECK(published_at == address);
  CHECK_THAT(page, Contains("the program failed"));
  answer({});
  const auto text = said();
  CHECK_THAT(text, Contains(std::string("report: ") + address));
  CHECK_THAT(text, !Contains(path("report")));
}

TEST_CASE_METHOD(End, "a report that cannot be uploaded is reported in the log") {
  finish_step();
  answer(Error{ErrorKind::denied, "may not read Secret keys"});
  const auto text = said();
  CHECK_THAT(text, Contains(std::string("cannot write the report to ") + address + ": may not read Secret keys"));
  CHECK_THAT(text, !Contains("  report: "));  // but "…/report: may not"
}

TEST_CASE_METHOD(End, "the report of a successful step is uploaded by KFP's launcher") {
  outcome.verdict.verdict_class = result::VerdictClass::succeeded;
  finish_step();
  CHECK(published_at.empty());
  CHECK_THAT(said(), Contains(std::string("report: ") + address));
  CHECK(std::filesystem::exists(path("report")));
}

TEST_CASE_METHOD(End, "a cancelled step has no time to carry its report anywhere") {
  outcome.verdict.verdict_class = result::VerdictClass::cancelled;
  finish_step();
  CHECK(published_at.empty());
  CHECK_THAT(said(), !Contains("report"));
}

TEST_CASE_METHOD(End, "on this machine the report is where it was written") {
  pipeline.publish = nullptr;
  finish_step();
  CHECK_THAT(said(), Contains("report: " + path("report")));
  CHECK_THAT(read("report"), Contains("the program failed"));
}

TEST_CASE_METHOD(End, "the verdict is written to the termination message before any wait") {
  finish_step();
  CHECK_THAT(read("termination-log"), Contains("failed (user): the program failed"));
}

TEST_CASE_METHOD(End, "what was read at an address is as good as a file, and what was not is not written over") {
  outcome.verdict.verdict_class = result::VerdictClass::succeeded;
  for (const auto* name : {"metrics", "mlpipeline_metrics"}) {
    inputs.targets.push_back(
        {.name = name, .kind = step::OutputTarget::Kind::artifact, .path = path(name), .uri = std::string("minio://b/") + name, .type = {}});
    outcome.outputs.push_back({.name = name, .artifact = true, .path = inputs.targets.back().uri, .present = true, .value = {}, .step_path = name});
  }
  pipeline.contents = {{"minio://b/metrics", R"({"score": 0.75})"}};
  finish_step();
  CHECK(parse_json(read("metrics"), "") == Json{{"score", 0.75}});
  CHECK_FALSE(std::filesystem::exists(path("mlpipeline_metrics")));
}

TEST_CASE_METHOD(End, "if the model was delivered but a file of the step could not be written, the log says so") {
  const bool committed = GENERATE(true, false);
  CAPTURE(committed);
  pipeline.publish = nullptr;
  outcome.verdict.verdict_class = result::VerdictClass::succeeded;
  outcome.outputs.push_back({.name = "model", .artifact = true, .path = path("model"), .present = true, .value = {}, .step_path = "model_dir"});
  outcome.outputs.back().pending = path("pending");
  pipeline.commit = [&]() -> Result<std::vector<std::string>> {
    if (!committed) return Error{ErrorKind::internal, "the disk is full"};
    std::filesystem::create_directories(path("report/somebody's"));
    return std::vector<std::string>();
  };
  finish_step();
  const auto text = said();
  CHECK(outcome.verdict.verdict_class == result::VerdictClass::system);
  CHECK((text.find("model: the training's output is at " + path("model")) != std::string::npos) == committed);
}

TEST_CASE_METHOD(End, "a success leaves no termination message") {
  outcome.verdict.verdict_class = result::VerdictClass::succeeded;
  finish_step();
  CHECK(read("termination-log").empty());
}
