// SPDX-License-Identifier: Apache-2.0
#include "follow/runtime_messages.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace trainstep::follow {
namespace {

constexpr std::array<std::string_view, 2> no_start{"StartError", "ContainerCannotRun"};
constexpr std::string_view agent_container = "trainstep";  // which installs the agent (job_types/agent.cpp)

bool says_one_of(std::string_view message, std::span<const std::string_view> signs) {
  const auto words = lower(message);
  return std::ranges::any_of(signs, [&](std::string_view sign) { return words.find(sign) != std::string::npos; });
}

}  // namespace

bool is_hook_error(std::string_view message) {
  constexpr auto signs = std::to_array<std::string_view>({"nvidia-container-", "running hook", "prestart hook", "createruntime hook"});
  return says_one_of(message, signs);
}

bool is_command_error(std::string_view message) {
  constexpr auto signs = std::to_array<std::string_view>({"executable file not found", "no such file or directory", "permission denied",
                                                          "exec format error", "is a directory", "argument list too long", "no command specified",
                                                          "unable to find user", "unable to find group"});
  return !is_hook_error(message) && says_one_of(message, signs);
}

Termination::Cause cause_of(std::string_view reason, std::string_view message) {
  if (reason == "OOMKilled") return Termination::Cause::oom_killed;
  if (reason == "ContainerStatusUnknown") return Termination::Cause::end_unseen;
  if (std::ranges::find(no_start, reason) == no_start.end()) return Termination::Cause::program;
  return is_command_error(message) ? Termination::Cause::bad_command : Termination::Cause::not_started;
}

std::optional<result::VerdictClass> class_without_program(const Termination& ending) {
  if (ending.agent_class) return std::nullopt;
  switch (ending.cause) {
    case Termination::Cause::bad_command:
      return result::VerdictClass::input;
    case Termination::Cause::not_started:
    case Termination::Cause::end_unseen:
      return result::VerdictClass::system;
    default:
      break;
  }
  const bool nothing_known = ending.vanished && ending.reason.empty();
  return nothing_known || ending.init_container == agent_container ? std::optional(result::VerdictClass::system) : std::nullopt;
}

}  // namespace trainstep::follow
