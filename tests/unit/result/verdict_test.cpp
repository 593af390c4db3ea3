// SPDX-License-Identifier: Apache-2.0
#include "result/verdict.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::result;

TEST_CASE("exit codes are the documented contract") {
  const std::pair<VerdictClass, int> cases[] = {{VerdictClass::succeeded, 0},    {VerdictClass::user, 1},       {VerdictClass::input, 2},
                                                {VerdictClass::system, 3},       {VerdictClass::timeout, 4},    {VerdictClass::capacity, 5},
                                                {VerdictClass::interrupted, 75}, {VerdictClass::cancelled, 143}};
  for (const auto& [verdict_class, code] : cases) {
    Verdict verdict;
    verdict.verdict_class = verdict_class;
    CHECK(exit_code(verdict) == code);
  }
  Verdict verdict;
  verdict.verdict_class = VerdictClass::cancelled;
  verdict.signal = SIGINT;
  CHECK(exit_code(verdict) == 130);
  verdict.signal = SIGHUP;
  CHECK(exit_code(verdict) == 129);
  for (const int mishap : {SIGQUIT, SIGALRM, SIGUSR1, SIGXCPU, SIGRTMAX}) {
    verdict.signal = mishap;
    CHECK(exit_code(verdict) == 3);
  }
}

TEST_CASE("a default verdict is not a success") { CHECK(exit_code(Verdict{}) == 3); }

TEST_CASE("each kind of error has its class, and a retry is promised only where it can help") {
  const std::pair<ErrorKind, VerdictClass> cases[] = {
      {ErrorKind::usage, VerdictClass::input},     {ErrorKind::input, VerdictClass::input},         {ErrorKind::not_found, VerdictClass::input},
      {ErrorKind::conflict, VerdictClass::input},  {ErrorKind::denied, VerdictClass::input},        {ErrorKind::unavailable, VerdictClass::system},
      {ErrorKind::timeout, VerdictClass::timeout}, {ErrorKind::cancelled, VerdictClass::cancelled}, {ErrorKind::internal, VerdictClass::system}};
  for (const auto& [kind, verdict_class] : cases) {
    const auto verdict = from_error({kind, "why"});
    CHECK(verdict.verdict_class == verdict_class);
    CHECK(verdict.message == "why");
    CHECK(verdict.retry_can_help == (kind == ErrorKind::unavailable));
  }
}

TEST_CASE("what a program did not write is its own failure, what could not be written is not") {
  CHECK(exit_code(lost_outputs({ErrorKind::input, "output x: no value"})) == 1);
  CHECK(exit_code(lost_outputs({ErrorKind::denied, "cannot write x"})) == 3);
  CHECK(describe(lost_outputs({ErrorKind::input, "output x: no value"})) ==
        "failed (user): training succeeded, but its outputs are incomplete: output x: no value");
}

TEST_CASE("a verdict is described in one line") {
  Verdict verdict;
  verdict.verdict_class = VerdictClass::user;
  verdict.message = "the training program failed";
  verdict.first_failure = FirstFailure{"worker-1", std::nullopt, SIGKILL, "OOMKilled", {"a line"}};
  CHECK(describe(verdict) == "failed (user): the training program failed; first failure: worker-1 was killed by SIGKILL (9): OOMKilled");
  verdict.first_failure = FirstFailure{"main", 3, std::nullopt, "", {}};
  CHECK(describe(verdict) == "failed (user): the training program failed; first failure: main exited with code 3");
  verdict.first_failure = FirstFailure{"ps-0", std::nullopt, std::nullopt, "Evicted", {}};
  verdict.verdict_class = VerdictClass::capacity;
  verdict.message.clear();
  verdict.retry_can_help = true;
  CHECK(describe(verdict) == "failed (capacity); first failure: ps-0 failed: Evicted; retrying may help");
  CHECK(describe(from_error({ErrorKind::cancelled, ""})) == "cancelled by SIGTERM (15)");
  Verdict good;
  good.verdict_class = VerdictClass::succeeded;
  CHECK(describe(good) == "succeeded");
}

TEST_CASE("signals have their names") {
  CHECK(signal_name(SIGKILL) == "SIGKILL (9)");
  CHECK(signal_name(SIGSEGV) == "SIGSEGV (11)");
  CHECK(signal_name(63) == "signal 63");
}

TEST_CASE("a verdict is one line, whatever messages it contains") {
  Verdict verdict;
  verdict.verdict_class = VerdictClass::input;
  verdict.message = "the image cannot be pulled: no\nsucceeded";
  verdict.first_failure = FirstFailure{"worker-0", 1, std::nullopt, "\x1b[2JOOMKilled", {}};
  const auto text = describe(verdict);
  CHECK(text.find_first_of("\n\x1b") == std::string::npos);
  CHECK(text.find("no\\nsucceeded") != std::string::npos);
}
