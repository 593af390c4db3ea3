// SPDX-License-Identifier: Apache-2.0
#include "follow/runtime_words.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"

namespace trainstep::follow {
namespace {

constexpr std::array<std::string_view, 2> no_start{"StartError", "ContainerCannotRun"};

bool says_one_of(std::string_view message, std::span<const std::string_view> signs) {
  const auto words = lower(message);
  return std::ranges::any_of(signs, [&](std::string_view sign) { return words.find(sign) != std::string::npos; });
}

}  // namespace

bool is_of_a_hook(std::string_view message) {
  constexpr auto signs = std::to_array<std::string_view>({"nvidia-container-", "running hook", "prestart hook", "createruntime hook"});
  return says_one_of(message, signs);
}

bool is_of_the_command(std::string_view message) {
  constexpr auto signs = std::to_array<std::string_view>({"executable file not found", "no such file or directory", "permission denied",
                                                          "exec format error", "is a directory", "argument list too long", "no command specified",
                                                          "unable to find user", "unable to find group"});
  return !is_of_a_hook(message) && says_one_of(message, signs);
}

bool tells_no_start(std::string_view reason) { return std::ranges::find(no_start, reason) != no_start.end(); }

std::optional<result::VerdictClass> class_without_program(const Termination& ending) {
  if (ending.told) return std::nullopt;
  std::string_view reason = ending.reason;
  const bool agents_own = reason.starts_with("init container trainstep failed");  // which installs the agent (job_types/agent.cpp)
  constexpr std::string_view failed = " failed: ";
  if (const auto name = reason.find(failed); reason.starts_with("init container ") && name != std::string_view::npos)
    reason.remove_prefix(name + failed.size());
  const auto word = reason.substr(0, reason.find(':'));
  if (word == end_unseen || (ending.vanished && reason.empty())) return result::VerdictClass::system;
  if (!tells_no_start(word)) return agents_own ? std::optional(result::VerdictClass::system) : std::nullopt;
  return is_of_the_command(reason) ? result::VerdictClass::input : result::VerdictClass::system;
}

}  // namespace trainstep::follow
