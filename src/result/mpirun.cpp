// SPDX-License-Identifier: Apache-2.0
#include "result/mpirun.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/text.h"

namespace trainstep::result {
namespace {

std::optional<int> number(std::string_view text) {
  text = trim(text);
  int value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

// The number after `label`, if the line contains the label.
std::optional<int> number_after(std::string_view line, std::string_view label) {
  const auto at = line.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  return number(line.substr(at + label.size()));
}

std::string word_after(std::string_view line, std::string_view label) {
  const auto at = line.find(label);
  if (at == std::string_view::npos) return {};
  const auto rest = trim(line.substr(at + label.size()));
  return std::string(rest.substr(0, rest.find_first_of(" \t,")));
}

// "mpirun noticed that process rank 1 with PID 0 on node foo exited on signal 9 (Killed)."
std::optional<MpiFailure> open_mpi_signal(std::string_view line) {
  if (line.find("noticed that process rank ") == std::string_view::npos) return std::nullopt;
  const auto signal = number_after(line, "exited on signal ");
  if (!signal) return std::nullopt;
  return MpiFailure{number_after(line, "process rank "), std::nullopt, signal, word_after(line, "on node ")};
}

// "  Process name: [[4463,1],1]" (5: "[prterun-foo-17@1,1]"), below it "  Exit code:    3"
std::optional<MpiFailure> open_mpi_exit(std::span<const std::string> lines) {
  const std::string_view line = lines.front();
  const auto comma = line.rfind(',');
  if (line.find("Process name: [") == std::string_view::npos || comma == std::string_view::npos) return std::nullopt;
  for (const auto& below : lines.subspan(1, std::min<std::size_t>(lines.size() - 1, 3)))
    if (const auto code = number_after(below, "Exit code:")) return MpiFailure{number(line.substr(comma + 1)), code, std::nullopt, {}};
  return std::nullopt;
}

// "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD", below it "with errorcode 5." (5: "  Errorcode: 5")
std::optional<MpiFailure> open_mpi_abort(std::span<const std::string> lines) {
  const std::string_view line = lines.front();
  const auto rank = number_after(line, "MPI_ABORT was invoked on rank ");
  if (!rank) return std::nullopt;
  const bool world = line.find("MPI_COMM_WORLD") != std::string_view::npos;  // ranks in other communicators are not global ranks
  for (const auto& below : lines.subspan(1, std::min<std::size_t>(lines.size() - 1, 3))) {
    auto code = number_after(below, "with errorcode ");
    if (!code) code = number_after(below, "Errorcode:");
    if (code) return MpiFailure{world ? rank : std::nullopt, code, std::nullopt, {}};
  }
  return std::nullopt;
}

// "application called MPI_Abort(MPI_COMM_WORLD, 5) - process 1"
std::optional<MpiFailure> mpich_abort(std::string_view line) {
  const auto code = number_after(line, "application called MPI_Abort(MPI_COMM_WORLD, ");
  if (!code) return std::nullopt;
  return MpiFailure{number_after(line, ") - process "), code, std::nullopt, {}};
}

// "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", below it "=   PID 32323 RUNNING AT foo" (Intel: "=   RANK 1 PID 123 RUNNING AT foo"),
// "=   EXIT CODE: 9" or "=   KILLED BY SIGNAL: 9 (Killed)". A signal is printed once more: "… EXIT STRING: Killed (signal 9)", and only there it is
// correct.
std::optional<MpiFailure> hydra(std::span<const std::string> lines) {
  if (lines.front().find("BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES") == std::string::npos) return std::nullopt;
  MpiFailure failure;
  for (const auto& line : lines.subspan(1, std::min<std::size_t>(lines.size() - 1, 10))) {
    if (line.find("BAD TERMINATION") != std::string::npos) break;
    if (line.find("RUNNING AT") != std::string::npos) {
      failure.rank = number_after(line, "RANK ");
      failure.host = word_after(line, "RUNNING AT ");
    }
    if (const auto code = number_after(line, "EXIT CODE:")) failure.exit_code = code;
    if (const auto signal = number_after(line, "KILLED BY SIGNAL:")) failure.signal = signal;
    if (line.find("EXIT STRING:") != std::string::npos) failure.signal = number_after(line, "(signal ");
  }
  if (failure.signal) failure.exit_code.reset();
  if (!failure.signal && !failure.exit_code) return std::nullopt;
  return failure;
}

}  // namespace

std::optional<MpiFailure> find_mpi_failure(std::span<const std::string> tail) {
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const auto rest = tail.subspan(i);
    if (auto failure = open_mpi_signal(tail[i])) return failure;
    if (auto failure = open_mpi_exit(rest)) return failure;
    if (auto failure = open_mpi_abort(rest)) return failure;
    if (auto failure = mpich_abort(tail[i])) return failure;
    if (auto failure = hydra(rest)) return failure;
  }
  return std::nullopt;
}

}  // namespace trainstep::result
