// SPDX-License-Identifier: Apache-2.0
#include "process/descendants.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/files.h"

namespace trainstep::process {
namespace {

constexpr std::size_t largest_stat = 4096;
constexpr std::size_t largest_environment = std::size_t{8} << 20U;

// proc(5): "pid (name) state ppid pgrp …"; the name may hold blanks and parentheses.
std::optional<Process> read_process(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid), largest_stat);
  if (!text) return std::nullopt;  // it has gone
  const auto name_begin = text->find('(');
  const auto name_end = text->rfind(')');
  if (name_begin == std::string::npos || name_end == std::string::npos) return std::nullopt;
  char state = 0;
  int parent = 0;
  int group = 0;
  if (std::sscanf(text->c_str() + name_end + 1, " %c %d %d", &state, &parent, &group) != 3) return std::nullopt;
  return Process{pid, parent, group, state == 'Z' || state == 'X', text->substr(name_begin + 1, name_end - name_begin - 1)};
}

std::multimap<pid_t, Process> processes_by_parent() {
  std::multimap<pid_t, Process> result;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), &::closedir);
  if (!folder) return result;
  while (const auto* entry = ::readdir(folder.get())) {
    const std::string_view name = static_cast<const char*>(entry->d_name);
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc{} || parsed.ptr != name.data() + name.size()) continue;
    if (const auto process = read_process(pid)) result.emplace(process->parent, *process);
  }
  return result;
}

void reap_all() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace

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
  const auto environment = read_file(fmt::format("/proc/{}/environ", pid), largest_environment);
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
    const auto left = descendants(::getpid(), spared);
    if (left.empty()) return true;
    for (const auto& process : left)
      if (!process.zombie) ::kill(process.pid, SIGKILL);
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace trainstep::process
