// Ends of which no program is known: who is to mend what.
#include "follow/runtime_messages.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::follow;
using result::VerdictClass;

namespace {

using Cause = Termination::Cause;

Termination with(Cause cause, const std::string& reason, bool vanished = false) {
  Termination ending;
  ending.exit_code = 128;
  ending.cause = cause;
  ending.reason = reason;
  ending.vanished = vanished;
  return ending;
}

}  // namespace

TEST_CASE("a failure to start is attributed to the command or the node, by the runtime's message") {
  using enum Cause;
  struct Row {
    const char *reason, *message;
    Cause cause;
  };
  const Row rows[] = {
      {"StartError", "exec: \"python9\": executable file not found in $PATH: unknown", bad_command},
      {"StartError", "exec: \"/app/train.sh\": stat /app/train.sh: no such file or directory: unknown", bad_command},
      {"StartError", "exec: \"/app/train.py\": permission denied: unknown", bad_command},
      {"StartError", "exec /app/train: exec format error", bad_command},
      {"StartError", "unable to find user trainer: no matching entries in passwd file", bad_command},
      {"ContainerCannotRun", "oci runtime error: exec: \"x\": Executable file not found in $PATH", bad_command},
      {"StartError", "error running hook #0: nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
       not_started},
      {"StartError", "nvidia-container-cli: load library failed: libnvidia-ml.so.1: no such file or directory", not_started},
      {"StartError", "failed to create shim task: cannot allocate memory", not_started},
      {"StartError", "", not_started},
      {"ContainerStatusUnknown", "", end_unseen},
      {"OOMKilled", "", oom_killed},
      {"Error", "ValueError: permission denied", program},
      {"", "", program},
  };
  for (const auto& row : rows) {
    CAPTURE(row.reason, row.message);
    CHECK(cause_of(row.reason, row.message) == row.cause);
  }
}

TEST_CASE("an end that no program has caused has a class of its own") {
  using enum VerdictClass;
  const std::pair<Cause, std::optional<VerdictClass>> rows[] = {
      {Cause::bad_command, input},    {Cause::not_started, system},      {Cause::end_unseen, system},
      {Cause::program, std::nullopt}, {Cause::oom_killed, std::nullopt}, {Cause::deadline_exceeded, std::nullopt},
      {Cause::evicted, std::nullopt},
  };
  for (const auto& [cause, expected] : rows) {
    CAPTURE(cause);
    CHECK(class_without_program(with(cause, "a reason")) == expected);
    auto of_users_container = with(cause, "a reason");
    of_users_container.init_container = "trainstep-data";
    CHECK(class_without_program(of_users_container) == expected);
    auto of_agent = with(cause, "a reason");
    of_agent.init_container = "trainstep";
    CHECK(class_without_program(of_agent) == expected.value_or(system));
  }
}

TEST_CASE("a failed pod without a container termination or a reason does not show that the program ran") {
  CHECK(class_without_program(with(Cause::program, "", true)) == VerdictClass::system);
  CHECK(class_without_program(with(Cause::deadline_exceeded, "DeadlineExceeded: was active too long", true)) == std::nullopt);
}

TEST_CASE("the agent's report is used, whatever its message") {
  auto told = with(Cause::bad_command, "StartError: permission denied");
  told.agent_class = VerdictClass::user;
  CHECK(class_without_program(told) == std::nullopt);
}
