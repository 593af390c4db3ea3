// SPDX-License-Identifier: Apache-2.0
#include "objectstore/write_behind.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

namespace trainstep::objectstore {
namespace {

constexpr std::size_t most_waiting = 32;  // buffers

}  // namespace

int write_at(int fd, std::int64_t first, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::pwrite(fd, bytes.data(), bytes.size(), first);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    first += count;
  }
  return 0;
}

WriteBehind::~WriteBehind() {
  if (!m_thread.joinable()) return;
  {
    const std::lock_guard lock(m_mutex);
    m_ends = true;
  }
  m_added.notify_one();
  m_thread.join();
}

// Signals are the other thread's.
void WriteBehind::start() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  m_thread = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::string WriteBehind::buffer() {
  const std::lock_guard lock(m_mutex);
  if (m_free.empty()) return {};
  auto found = std::move(m_free.back());
  m_free.pop_back();
  return found;
}

int WriteBehind::add(File& file, std::int64_t first, std::string bytes) {
  if (!m_thread.joinable()) start();
  std::unique_lock lock(m_mutex);
  m_done.wait(lock, [this] { return m_writes.size() < most_waiting; });
  ++file.under_way;
  m_writes.push_back({&file, first, std::move(bytes)});
  m_added.notify_one();
  return file.error;
}

int WriteBehind::wait(File& file) {
  std::unique_lock lock(m_mutex);
  m_done.wait(lock, [&file] { return file.under_way == 0; });
  return file.error;
}

bool WriteBehind::idle(const File& file) {
  const std::lock_guard lock(m_mutex);
  return file.under_way == 0;
}

void WriteBehind::run() {
  std::unique_lock lock(m_mutex);
  while (true) {
    m_added.wait(lock, [this] { return m_ends || !m_writes.empty(); });
    if (m_writes.empty()) return;
    auto write = std::move(m_writes.front());
    m_writes.pop_front();
    const bool lost = write.file->error != 0;
    lock.unlock();
    const int error = lost ? 0 : write_at(write.file->fd, write.first, write.bytes);
    write.bytes.clear();
    lock.lock();
    if (error != 0 && write.file->error == 0) write.file->error = error;
    --write.file->under_way;
    m_free.push_back(std::move(write.bytes));
    m_done.notify_all();
  }
}

}  // namespace trainstep::objectstore
