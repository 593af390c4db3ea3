// SPDX-License-Identifier: Apache-2.0
#include "process/reaper.h"

#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/checked_fd.h"
#include "process/descendants.h"

namespace trainstep::process {
namespace {

sigset_t child_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

}  // namespace

Reaper::Reaper(PollLoop& loop) : m_loop(loop) {
  const auto set = child_signal();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  m_signals = checked_fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd");
  for (const auto& process : descendants(::getpid())) m_preexisting.push_back(process.pid);
}

Reaper::~Reaper() {
  m_loop.forget(m_signals.get());
  const auto set = child_signal();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void Reaper::watch(pid_t pid, Ended ended) {
  listen();
  m_watched[pid] = std::move(ended);
}

void Reaper::forget(pid_t pid) {
  m_watched.erase(pid);
  if (m_watched.empty() && m_orphans.empty()) m_loop.forget(m_signals.get());
}

void Reaper::watch_orphans(const void* owner, std::function<void()> ended) {
  listen();
  m_orphans[owner] = std::move(ended);
}

void Reaper::forget_orphans(const void* owner) {
  m_orphans.erase(owner);
  if (m_watched.empty() && m_orphans.empty()) m_loop.forget(m_signals.get());
}

void Reaper::listen() {
  if (m_watched.empty() && m_orphans.empty()) m_loop.on_readable(m_signals.get(), [this] { reap(); });
}

std::vector<pid_t> Reaper::claimed() const {
  auto pids = m_preexisting;
  for (const auto& [pid, ended] : m_watched) pids.push_back(pid);
  return pids;
}

void Reaper::reap() {
  signalfd_siginfo info{};
  while (::read(m_signals.get(), &info, sizeof info) == sizeof info) {
  }
  // One signal may stand for several children: reaps all of them.
  int wait_status = 0;
  bool orphans = false;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    const auto watched = m_watched.find(pid);
    if (watched == m_watched.end()) {
      orphans = true;
      continue;
    }
    const auto ended = std::move(watched->second);
    forget(pid);
    ended(wait_status);
  }
  if (orphans) tell_of_orphans();
}

// A callback may forget other owners, which are then destroyed.
void Reaper::tell_of_orphans() {
  for (const auto& [owner, call] : std::map(m_orphans))
    if (m_orphans.contains(owner)) call();
}

}  // namespace trainstep::process
