// SPDX-License-Identifier: Apache-2.0
#include "cli/termination_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/fd.h"
#include "base/redact.h"
#include "base/written_secrets.h"
#include "process/child.h"
#include "result/termination_message.h"

namespace trainstep::cli {
namespace {

constexpr const char* usual_place = "/dev/termination-log";

bool is_set(const char* variable) {
  const auto* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool is_main_process_of_a_pod() {
  constexpr std::array argo{"ARGO_NODE_ID", "ARGO_CONTAINER_NAME", "ARGO_TEMPLATE"};
  return is_set("KUBERNETES_SERVICE_HOST") && (::getpid() == 1 || std::ranges::any_of(argo, is_set));
}

}  // namespace

std::string find_termination_log() {
  if (is_set("TRAINSTEP_TERMINATION_LOG")) return std::getenv("TRAINSTEP_TERMINATION_LOG");
  return is_main_process_of_a_pod() ? usual_place : "";
}

void write_termination_log(const std::string& path, std::string_view sentence, std::vector<std::string> variables) {
  if (path.empty()) return;
  const Fd file(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || ::ftruncate(file.get(), 0) != 0) return;
  for (const auto& [name, value] : process::own_environment()) variables.push_back(fmt::format("{}={}", name, value));
  const auto line = result::termination_message(without_quoted_secrets(redacted(sentence, secrets_of_environment(variables))));
  static_cast<void>(!::write(file.get(), line.data(), line.size()));  // the log says the same
}

}  // namespace trainstep::cli
