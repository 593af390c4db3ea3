// SPDX-License-Identifier: Apache-2.0
#include "cli/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "data/secrets.h"
#include "follow/record.h"

namespace trainstep::cli {

Result<std::unique_ptr<Recorder>> Recorder::open(const std::string& path, std::vector<std::string> secrets) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return input_error(fmt::format("--record: {} cannot be written: {}", path, std::strerror(errno)));
  struct stat status{};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) ::fchmod(fd, 0600);  // it may have been there
  return std::unique_ptr<Recorder>(new Recorder(File(::fdopen(fd, "w"), &std::fclose), path, std::move(secrets)));
}

Recorder::Recorder(File file, std::string path, std::vector<std::string> secrets)
    : m_file(std::move(file)), m_path(std::move(path)), m_secrets(std::move(secrets)) {}

void Recorder::begins(const follow::Machine& machine, Time at) { write(machine.record_head(at)); }

void Recorder::event(const follow::Event& event) { write(follow::record_of(event)); }

// A disk that is full ends no training: what can be written is, and it is said.
void Recorder::write(const Json& line) {
  if (m_broken) return;
  const auto text = to_text(redacted_json(line, m_secrets)) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), m_file.get()) == text.size() && std::fflush(m_file.get()) == 0) return;
  m_broken = true;
  if (m_tell) m_tell(fmt::format("--record: {} cannot be written: {}; the record is not complete", m_path, std::strerror(errno)));
}

}  // namespace trainstep::cli
