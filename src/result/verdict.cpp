// SPDX-License-Identifier: Apache-2.0
#include "result/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/printable.h"

namespace trainstep::result {
namespace {

struct Row {
  VerdictClass verdict_class;
  std::string_view name;
  int exit_code;
};
constexpr std::array<Row, 8> table{{
    {VerdictClass::succeeded, "succeeded", 0},
    {VerdictClass::user, "user", 1},
    {VerdictClass::input, "input", 2},
    {VerdictClass::system, "system", 3},
    {VerdictClass::timeout, "timeout", 4},
    {VerdictClass::capacity, "capacity", 5},
    {VerdictClass::interrupted, "interrupted", 75},
    {VerdictClass::cancelled, "cancelled", 128},  // plus the signal
}};

const Row& row(VerdictClass verdict_class) { return table.at(static_cast<std::size_t>(verdict_class)); }

VerdictClass class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::input:
    case ErrorKind::not_found:
    case ErrorKind::conflict:
    case ErrorKind::denied:
      return VerdictClass::input;
    case ErrorKind::timeout:
      return VerdictClass::timeout;
    case ErrorKind::cancelled:
      return VerdictClass::cancelled;
    case ErrorKind::unavailable:
    case ErrorKind::internal:
      break;
  }
  return VerdictClass::system;
}

}  // namespace

std::string_view name(VerdictClass verdict_class) { return row(verdict_class).name; }

// Signals that do not normally stop programs count as a system failure, as in a local run (process/guard.h).
int exit_code(const Verdict& verdict) {
  const auto code = row(verdict.verdict_class).exit_code;
  if (verdict.verdict_class != VerdictClass::cancelled) return code;
  const int signal = verdict.signal == 0 ? SIGTERM : verdict.signal;
  const bool usual = signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
  return usual ? code + signal : row(VerdictClass::system).exit_code;
}

Verdict from_error(const Error& error) {
  Verdict verdict;
  verdict.verdict_class = class_of(error.kind);
  verdict.message = error.message;
  verdict.retry_can_help = error.kind == ErrorKind::unavailable;
  return verdict;
}

Verdict lost_outputs(const Error& error) {
  const auto verdict_class = error.kind == ErrorKind::input ? VerdictClass::user : VerdictClass::system;
  return {verdict_class, "training succeeded, but its outputs are incomplete: " + error.message, std::nullopt, false, SIGTERM};
}

std::string describe(const FirstFailure& failure) {
  auto text = failure.signal      ? fmt::format("{} was killed by {}", failure.replica, signal_name(*failure.signal))
              : failure.exit_code ? fmt::format("{} exited with code {}", failure.replica, *failure.exit_code)
                                  : fmt::format("{} failed", failure.replica);
  if (!failure.reason.empty()) text += ": " + failure.reason;
  return text;
}

std::string describe(const Verdict& verdict) {
  std::string text;
  if (verdict.verdict_class == VerdictClass::succeeded || verdict.verdict_class == VerdictClass::interrupted)
    text = name(verdict.verdict_class);
  else if (verdict.verdict_class == VerdictClass::cancelled)
    text = verdict.signal == 0 ? "cancelled" : fmt::format("cancelled by {}", signal_name(verdict.signal));
  else
    text = fmt::format("failed ({})", name(verdict.verdict_class));
  if (!verdict.message.empty()) text += ": " + verdict.message;
  if (verdict.first_failure) text += "; first failure: " + describe(*verdict.first_failure);
  if (verdict.retry_can_help) text += "; retrying may help";
  return printable(text);
}

std::string describe_stop(int signal) {
  const auto name = signal_name(signal);
  return signal == SIGKILL ? fmt::format("trainstep's first process was killed by {}, from outside or out of memory", name) : name + " received";
}

std::string signal_name(int signal) {
  constexpr std::array<std::pair<int, std::string_view>, 20> names{
      {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"},
       {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"},
       {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"}, {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
       {SIGSTOP, "SIGSTOP"}, {SIGTSTP, "SIGTSTP"}, {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}}};
  const auto* const found = std::ranges::find(names, signal, &std::pair<int, std::string_view>::first);
  return found == names.end() ? fmt::format("signal {}", signal) : fmt::format("{} ({})", found->second, signal);
}

}  // namespace trainstep::result
