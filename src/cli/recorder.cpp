// SPDX-License-Identifier: Apache-2.0
#include "cli/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/redact.h"
#include "follow/record.h"
#include "process/child.h"

namespace trainstep::cli {

Result<std::unique_ptr<Recorder>> Recorder::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return input_error(fmt::format("--record: {} cannot be written: {}", path, std::strerror(errno)));
  return std::unique_ptr<Recorder>(new Recorder(File(::fdopen(fd, "w"), &std::fclose)));
}

Recorder::Recorder(File file) : m_file(std::move(file)) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : process::own_environment()) variables.push_back(fmt::format("{}={}", name, value));
  m_secrets = secrets_of_environment(variables);
}

void Recorder::begins(const follow::Machine& machine, Time at) { write(machine.record_head(at)); }

void Recorder::event(const follow::Event& event) { write(follow::record_of(event)); }

// A disk that is full ends no training: what can be written is.
void Recorder::write(const Json& line) {
  const auto text = redacted(to_text(line), m_secrets) + "\n";
  std::fwrite(text.data(), 1, text.size(), m_file.get());
  std::fflush(m_file.get());
}

}  // namespace trainstep::cli
