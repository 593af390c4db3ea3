// SPDX-License-Identifier: Apache-2.0
#include "agent/pod_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <variant>

#include "agent/await.h"
#include "base/files.h"
#include "data/digest.h"

namespace trainstep::agent {

PodLock::PodLock(const std::string& scratch, const std::string& what) {
  if (scratch.empty()) return;
  m_mark = (std::filesystem::path(scratch) / ("fetched-" + sha256_hex(what).substr(0, 16))).string();
  constexpr mode_t for_all = 0666;
  m_lock = Fd(::open((m_mark + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, for_all));
  m_users = Fd(::open((m_mark + ".users").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, for_all));
}

// Without a lock each process fetches for itself, into the same files, which appear only when complete.
Result<void> PodLock::take(RunningLoop& loop) const {
  constexpr Duration pause{50};
  while (m_lock && ::flock(m_lock.get(), LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR))
    TRY(await<std::monostate>(loop, [&](const auto& done) { loop.after(pause, [done] { done(std::monostate()); }); }));
  return {};
}

bool PodLock::is_done() const {
  std::error_code unknown;
  return !m_mark.empty() && std::filesystem::exists(m_mark, unknown);
}

Result<void> PodLock::done() const {
  if (m_mark.empty()) return {};
  return write_file_atomically(m_mark, "");
}

bool PodLock::is_in_use() const { return !m_users || ::flock(m_users.get(), LOCK_EX | LOCK_NB) != 0; }

Fd PodLock::use() {
  if (m_users) ::flock(m_users.get(), LOCK_SH | LOCK_NB);
  return std::move(m_users);
}

}  // namespace trainstep::agent
