// SPDX-License-Identifier: Apache-2.0
#include "cli/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/links.h"
#include "base/redact.h"
#include "base/write.h"
#include "cli/exit_code_file.h"
#include "data/secrets.h"
#include "follow/record.h"

namespace trainstep::cli {
namespace {

constexpr std::size_t max_waiting = std::size_t{64} << 20U;
constexpr Duration record_timeout{2'000};  // for a reader of a pipe
constexpr int looks_for_a_reader = 100;
constexpr auto poll_interval = std::chrono::milliseconds(20);

bool is_fifo(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

// Non-blocking: a FIFO without a reader would never open, and a slow reader would block the run. A reader that has just been started may need a
// moment.
Fd open_for_writing(const std::string& path) {
  const auto open = [&] { return Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600)); };
  auto fd = open();
  for (int look = 1; !fd && errno == ENXIO && is_fifo(path) && look < looks_for_a_reader; ++look) {
    std::this_thread::sleep_for(poll_interval);
    fd = open();
  }
  return fd;
}

// A file that is already open is written at its current position; a pipe of another process would block.
std::optional<int> open_file(const std::string& path) {
  const auto opened = named_descriptor(path);
  struct stat status{};
  return opened && ::fstat(*opened, &status) == 0 && S_ISREG(status.st_mode) ? opened : std::nullopt;
}

// Each as the log and the report quote it: also without parts of secrets.
std::string redacted_each(std::string_view lines, const std::vector<std::string>& secrets) {
  std::string result;
  while (!lines.empty()) {
    const auto line = lines.substr(0, lines.find('\n'));
    result += redacted(line, secrets);
    if (line.size() < lines.size()) result += '\n';
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  return result;
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::open(const std::string& path, std::vector<std::string> secrets) {
  const auto opened = open_file(path);
  auto fd = opened ? Fd(::fcntl(*opened, F_DUPFD_CLOEXEC, 3)) : open_for_writing(path);
  if (!fd && errno == ENXIO && is_fifo(path))
    return input_error(fmt::format("--record: {} is a FIFO without a reader; start the reader first, or choose a regular file", path));
  if (!fd) return input_error(fmt::format("--record: cannot write {}: {}", path, std::strerror(errno)));
  FileLock lock;
  struct stat status{};
  if (!opened && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    auto taken = FileLock::take(fd);
    if (!taken) return input_error(fmt::format("--record: another run is writing {}; choose another file", path));
    lock = std::move(*taken);
    if (::ftruncate(fd.get(), 0) != 0) return input_error(fmt::format("--record: cannot write {}: {}", path, std::strerror(errno)));
    ::fchmod(fd.get(), 0600);  // it may have existed
  }
  return std::unique_ptr<Recorder>(new Recorder(std::move(fd), std::move(lock), path, std::move(secrets)));
}

Recorder::Recorder(Fd fd, FileLock lock, std::string path, std::vector<std::string> secrets)
    : m_fd(std::move(fd)), m_lock(std::move(lock)), m_path(std::move(path)), m_secrets(std::move(secrets)) {}

Recorder::~Recorder() { write_within(m_fd.get(), m_waiting, record_timeout); }

void Recorder::begins(const follow::RunState& machine, Time at) {
  m_begun = true;
  write(machine.record_head(at));
}

void Recorder::event(const follow::Event& event) {
  const auto* output = std::get_if<follow::MemberOutput>(&event.what);
  if (output == nullptr) return write(follow::record_of(event));
  auto shown = *output;
  const auto lines = redacted_each(redacted_lines(output->lines, m_secrets, m_split[output->member]), m_secrets);
  shown.lines = lines;
  write(follow::record_of({event.at, shown}));
}

void Recorder::ends(const result::Verdict& verdict, Time at) {
  if (m_begun) write(follow::record_of(verdict, at));
}

// A full disk does not end a training run: what can be written is written, and the problem is reported.
void Recorder::write(const Json& line) {
  if (m_broken) return;
  m_waiting += to_text(redacted_json(line, m_secrets)) + "\n";
  std::size_t written = 0;
  while (written < m_waiting.size()) {
    const auto count = ::write(m_fd.get(), m_waiting.data() + written, m_waiting.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN) return give_up(std::strerror(errno));
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  m_waiting.erase(0, written);
  if (m_waiting.size() > max_waiting) give_up("it has no reader");
}

void Recorder::give_up(const std::string& why) {
  m_broken = true;
  m_waiting.clear();
  if (m_tell) m_tell(fmt::format("--record: cannot write {}: {}; the record is incomplete", m_path, why));
}

}  // namespace trainstep::cli
