// SPDX-License-Identifier: Apache-2.0
#include "cli/internal_error.h"

#include <fmt/format.h>

#include <cstdlib>

#include "agent/pod_message.h"
#include "cli/app.h"
#include "cli/termination_log.h"

namespace trainstep::cli {
namespace {

constexpr int internal_exit_code = 3;

}  // namespace

int report_internal_error(std::string_view command, const std::exception& exception) noexcept {
  try {
    const auto text = concealed(fmt::format("internal error: {}", exception.what()));
    complain(text);
    if (command == "run") write_termination_log(find_termination_log(), text);
    const char* place = std::getenv("TRAINSTEP_TERMINATION_LOG");
    if (command == "exec" && place != nullptr) agent::report_error(internal_error(text), place);
  } catch (const std::exception&) {  // there is no memory for a message
  }
  return internal_exit_code;
}

}  // namespace trainstep::cli
