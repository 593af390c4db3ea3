// Ends of which no program is known: who is to mend what.
#include "follow/runtime_words.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::follow;
using result::VerdictClass;

namespace {

Termination with(const std::string& reason, bool vanished = false) {
  Termination ending;
  ending.exit_code = 128;
  ending.reason = reason;
  ending.vanished = vanished;
  return ending;
}

}  // namespace

TEST_CASE("a failure to start is attributed to the command, the node or nothing, and a program's own exit to the program") {
  using enum VerdictClass;
  const std::pair<const char*, std::optional<VerdictClass>> rows[] = {
      {"StartError: exec: \"python9\": executable file not found in $PATH: unknown", input},
      {"StartError: exec: \"/app/train.sh\": stat /app/train.sh: no such file or directory: unknown", input},
      {"StartError: exec: \"/app/train.py\": permission denied: unknown", input},
      {"StartError: exec /app/train: exec format error", input},
      {"StartError: unable to find user trainer: no matching entries in passwd file", input},
      {"ContainerCannotRun: oci runtime error: exec: \"x\": Executable file not found in $PATH", input},
      {"init container fetch failed: StartError: exec: \"sh\": executable file not found in $PATH", input},
      {"StartError: error running hook #0: nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown", system},
      {"StartError: nvidia-container-cli: load library failed: libnvidia-ml.so.1: no such file or directory", system},
      {"StartError: failed to create shim task: cannot allocate memory", system},
      {"StartError", system},
      {"ContainerStatusUnknown", system},
      {"init container trainstep failed: ContainerStatusUnknown", system},
      {"init container trainstep failed", system},
      {"init container trainstep failed: OOMKilled", system},
      {"init container trainstep failed: StartError: exec: \"trainstep\": executable file not found in $PATH", input},
      {"init container trainstep-data failed", std::nullopt},
      {"", std::nullopt},
      {"OOMKilled", std::nullopt},
      {"init container StartError failed: OOMKilled", std::nullopt},
      {"ValueError: permission denied", std::nullopt},
      {"DeadlineExceeded: StartError", std::nullopt},
  };
  for (const auto& [reason, expected] : rows) {
    CAPTURE(reason);
    CHECK(class_without_program(with(reason)) == expected);
  }
}

TEST_CASE("a failed pod without a container termination or a reason does not show that the program ran") {
  CHECK(class_without_program(with("", true)) == VerdictClass::system);
  CHECK(class_without_program(with("DeadlineExceeded: was active too long", true)) == std::nullopt);
}

TEST_CASE("the agent's report is used, whatever its message") {
  auto told = with("StartError: permission denied");
  told.told = VerdictClass::user;
  CHECK(class_without_program(told) == std::nullopt);
}
