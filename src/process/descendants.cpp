// SPDX-License-Identifier: Apache-2.0
#include "process/descendants.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/files.h"

namespace trainstep::process {
namespace {

constexpr std::size_t max_stat_size = 4096;
constexpr std::size_t max_environment_size = std::size_t{8} << 20U;

// proc(5): "pid (name) state ppid pgrp …", the number of threads is field 20; the name may contain blanks and parentheses. A process whose first
// thread has ended looks like a zombie while other threads are still running.
std::optional<Process> read_process(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid), max_stat_size);
  if (!text) return std::nullopt;  // it has ended
  const auto name_begin = text->find('(');
  const auto name_end = text->rfind(')');
  if (name_begin == std::string::npos || name_end == std::string::npos) return std::nullopt;
  char state = 0;
  int parent = 0;
  int group = 0;
  long threads = 0;
  constexpr auto format = " %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld";
  if (std::sscanf(text->c_str() + name_end + 1, format, &state, &parent, &group, &threads) != 4) return std::nullopt;
  const bool ended = (state == 'Z' || state == 'X') && threads <= 1;
  return Process{pid, parent, group, ended, text->substr(name_begin + 1, name_end - name_begin - 1)};
}

std::multimap<pid_t, Process> processes_by_parent() {
  std::map<pid_t, Process> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), &::closedir);
  while (const auto* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc{} || parsed.ptr != name.data() + name.size()) continue;
    if (const auto process = read_process(pid)) all.emplace(pid, *process);
  }
  std::multimap<pid_t, Process> result;
  for (auto& [pid, process] : all) {
    if (process.parent > 0 && !all.contains(process.parent))  // its parent has ended since: it has a new one by now
      if (const auto again = read_process(pid)) process = *again;
    result.emplace(process.parent, process);
  }
  return result;
}

// Needed if the first thread has ended and others have not.
Result<std::string> environment_of_threads(pid_t pid) {
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone))
    if (auto environment = read_file(thread.path() / "environ", max_environment_size); environment && !environment->empty()) return environment;
  return std::string();
}

void reap_all() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

// The last pid assigned to a process or thread (proc(5)): if it is the same at two moments, none was created in between.
std::string last_number() {
  const auto text = read_file("/proc/loadavg", max_stat_size).value_or("");
  return text.substr(std::min(text.size(), text.rfind(' ') + 1));
}

// Reliable if there are no children at all, not even spared ones: an orphan becomes our child at the same moment.
bool has_no_child() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

// Fast, but unreliable: some may be omitted while others exit (proc(5)).
std::vector<pid_t> own_children() {
  const auto text = read_file(fmt::format("/proc/self/task/{}/children", ::getpid()), max_environment_size).value_or("");
  std::vector<pid_t> pids;
  for (const char *at = text.data(), *const end = at + text.size(); at < end;) {
    pid_t pid = 0;
    const auto parsed = std::from_chars(at, end, pid);
    if (parsed.ec != std::errc{}) break;
    pids.push_back(pid);
    at = parsed.ptr + 1;
  }
  return pids;
}

// The process groups of these processes that contain no unrelated processes: processes whose ancestors include one in `spared`, or do not include us.
// An ancestor that has ended meanwhile was one of ours.
std::set<pid_t> groups_of(const std::vector<Process>& processes, const std::vector<pid_t>& spared) {
  std::set<pid_t> groups;
  for (const auto& process : processes)
    if (process.group > 1) groups.insert(process.group);
  groups.erase(::getpgrp());
  if (groups.empty()) return groups;
  std::map<pid_t, Process> all;
  for (auto& [parent, process] : processes_by_parent()) all.emplace(process.pid, process);
  const auto is_stranger = [&](pid_t pid) {
    for (auto at = all.find(pid); at != all.end() && at->first != ::getpid(); at = all.find(at->second.parent))
      if (at->second.parent <= 0 || at->first == 1 || std::ranges::find(spared, at->first) != spared.end()) return true;
    return false;
  };
  for (const auto& [pid, process] : all)
    if (!process.zombie && groups.contains(process.group) && is_stranger(pid)) groups.erase(process.group);
  return groups;
}

// In a chain of processes that each fork and exit, the current orphan. Looks for a short time.
std::optional<Process> newcomer_besides(const std::vector<pid_t>& spared) {
  constexpr auto limit = std::chrono::milliseconds(2);
  for (const auto until = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < until;)
    for (const auto pid : own_children())
      if (std::ranges::find(spared, pid) == spared.end())
        if (const auto process = read_process(pid); process && !process->zombie) return process;
  return std::nullopt;
}

void kill_newcomers(const std::function<bool(const Process&)>& ours) {
  constexpr auto limit = std::chrono::milliseconds(20);
  constexpr int calm = 50;  // consecutive looks that found none
  const auto until = std::chrono::steady_clock::now() + limit;
  std::set<pid_t> killed;
  for (int quiet = 0; quiet < calm && std::chrono::steady_clock::now() < until; ++quiet) {
    for (const auto pid : own_children()) {
      if (killed.contains(pid)) continue;
      const auto process = read_process(pid);
      if (!process || process->zombie || !ours(*process)) continue;
      ::kill(pid, SIGKILL);
      killed.insert(pid);
      quiet = 0;
    }
  }
}

}  // namespace

bool sees_processes() {
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self", unknown) == std::to_string(::getpid());
}

void become_subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<Process> descendants(pid_t ancestor, const std::vector<pid_t>& spared) {
  const auto by_parent = processes_by_parent();
  std::vector<Process> found;
  const auto add_children = [&](pid_t parent) {
    const auto [first, last] = by_parent.equal_range(parent);
    for (auto child = first; child != last; ++child)
      if (std::find(spared.begin(), spared.end(), child->second.pid) == spared.end()) found.push_back(child->second);
  };
  add_children(ancestor);
  for (std::size_t next = 0; next < found.size(); ++next) add_children(found[next].pid);
  return found;
}

// If nothing is to be spared, no one else waits for our children, and the kernel knows exactly whether there are any.
std::vector<Process> alive_descendants(const std::vector<pid_t>& spared) {
  constexpr int max_polls = 20, enough_polls = 5;
  for (int look = 0; look < (spared.empty() ? max_polls : enough_polls); ++look) {
    if (spared.empty()) reap_all();
    if (has_no_child()) return {};
    const auto before = last_number();
    auto found = descendants(::getpid(), spared);
    std::erase_if(found, [](const Process& process) { return process.zombie; });
    if (!found.empty() || (!spared.empty() && before == last_number())) return found;
    if (const auto newcomer = newcomer_besides(spared)) return {*newcomer};
  }
  return {};
}

void kill_all(const std::vector<Process>& processes, const std::vector<pid_t>& spared, const std::function<bool(const Process&)>& ours) {
  if (processes.empty()) return;
  for (const auto group : groups_of(processes, spared)) ::kill(-group, SIGKILL);
  for (const auto& process : processes)
    if (!process.zombie) ::kill(process.pid, SIGKILL);
  kill_newcomers(ours);
}

std::string describe(const std::vector<Process>& processes) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < processes.size() && i < most; ++i) {
    auto name = processes[i].name;
    std::replace_if(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; }, '?');
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", processes[i].pid, name);
  }
  return processes.size() <= most ? text : fmt::format("{} and {} more", text, processes.size() - most);
}

std::optional<std::string> started_with(pid_t pid, std::string_view variable) {
  auto environment = read_file(fmt::format("/proc/{}/environ", pid), max_environment_size);
  if (!environment || environment->empty()) environment = environment_of_threads(pid);
  if (!environment) return std::nullopt;
  const auto all = '\0' + *environment;
  const auto name = fmt::format("{}{}=", '\0', variable);
  const auto at = all.find(name);
  if (at == std::string::npos) return std::nullopt;
  const auto begin = at + name.size();
  return all.substr(begin, all.find('\0', begin) - begin);
}

bool end_descendants(Duration limit, const std::vector<pid_t>& spared) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (auto pause = std::chrono::milliseconds(1);; pause = std::min(pause * 2, std::chrono::milliseconds(50))) {
    reap_all();
    const auto left = alive_descendants(spared);
    if (left.empty() && descendants(::getpid(), spared).empty()) return true;
    kill_all(left, spared, [&](const Process& process) { return std::ranges::find(spared, process.pid) == spared.end(); });
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace trainstep::process
