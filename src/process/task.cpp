// SPDX-License-Identifier: Apache-2.0
#include "process/task.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "process/descendants.h"

namespace trainstep::process {
namespace {

// How long processes may outlive the first one: always if it exited with 0, otherwise as long as they hold the output open.
constexpr Duration straggler_limit{2'000};
constexpr Duration rest_pause{20};
// Interval between checks whether killed processes have died, and their number.
constexpr Duration death_pause{5};
constexpr int death_looks = 400;

}  // namespace

Result<std::unique_ptr<Task>> Task::start(PollLoop& loop, Reaper& reaper, Command command, const std::string& mark, OutputReader::Lines lines,
                                          Ended ended) {
  const auto equals = mark.find('=');
  set_variable(command.environment, mark.substr(0, equals), mark.substr(equals + 1));
  ASSIGN(auto child, spawn(command));
  std::unique_ptr<Task> task(new Task(loop, reaper, mark, std::move(ended)));
  task->m_pid = child.pid;
  task->add_output(std::move(child.out), lines);
  task->add_output(std::move(child.err), std::move(lines));
  reaper.watch(child.pid, [raw = task.get()](int wait_status) { raw->on_exit(wait_status); });
  return task;
}

Task::Task(PollLoop& loop, Reaper& reaper, std::string mark, Ended ended)
    : m_loop(loop), m_reaper(reaper), m_mark(std::move(mark)), m_ended(std::move(ended)) {}

Task::~Task() {
  m_reaper.forget_orphans(this);
  if (m_finished) return;
  if (!m_wait_status) m_reaper.forget(m_pid);
  kill(remains());
}

void Task::on_rest(ProcessesCallback outlived, ProcessesCallback killed) {
  m_outlived = std::move(outlived);
  m_killed = std::move(killed);
}

void Task::add_output(Fd fifo, OutputReader::Lines lines, OutputReader::Lines unfinished) {
  auto& output = m_outputs.emplace_back(std::make_unique<OutputReader>(m_loop, std::move(fifo), std::move(lines), [this] { on_output_end(); }));
  if (unfinished) output->on_unfinished(std::move(unfinished));
  hold_or_read();
}

void Task::on_unfinished(const OutputReader::Lines& call) {
  for (std::size_t i = 0; i < std::min<std::size_t>(2, m_outputs.size()); ++i) m_outputs[i]->on_unfinished(call);
}

void Task::hold_output(Pressure pressure) {
  m_pressure = pressure;
  hold_or_read();
}

void Task::hold_or_read() {
  const bool stalled_in_stop = m_pressure == Pressure::stalled && m_kill_at;
  for (const auto& output : m_outputs) output->hold(m_pressure != Pressure::none && !stalled_in_stop);
}

void Task::stop(Duration grace) {
  if (m_finished || m_killing) return;
  if (m_awaiting) return signal_group(SIGTERM);
  const auto kill_at = m_loop.now() + grace;
  if (m_kill_at && *m_kill_at <= kill_at) return;
  if (!m_kill_at) signal_group(SIGTERM);
  m_kill_at = kill_at;
  hold_or_read();
  set_deadline(grace);
  if (m_wait_status) limit_rest();
}

// The group's number is reserved only until its first process was reaped.
void Task::signal_group(int signal) {
  if (!m_wait_status) {
    ::kill(-m_pid, signal);
    return;
  }
  for (const auto& process : descendants(::getpid()))
    if (process.group == m_pid && !process.zombie) ::kill(process.pid, signal);
}

bool Task::group_lives() const {
  return std::ranges::any_of(descendants(::getpid()), [&](const Process& process) { return process.group == m_pid && !process.zombie; });
}

// The first process has exited. The grace period of a stop is for processes that got its signal: it ends with the last of them.
void Task::limit_rest() {
  if (m_kill_at && group_lives()) return m_reaper.watch_orphans(this, [this] { limit_rest(); });
  m_reaper.forget_orphans(this);
  if (m_killing) return;
  const auto left = m_kill_at ? std::chrono::duration_cast<Duration>(*m_kill_at - m_loop.now()) : straggler_limit;
  set_deadline(std::clamp(left, Duration(0), straggler_limit));
}

void Task::set_deadline(Duration delay) {
  m_deadline = m_loop.timer(delay, [this] { end_remains(death_looks); });
}

void Task::on_exit(int wait_status) {
  for (const auto& output : m_outputs)  // detects FIFOs that were never opened
    m_pressure == Pressure::none ? output->read() : output->take_all();
  m_wait_status = wait_status;
  if (m_killing) return;  // end_remains() checks again
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0 && !m_kill_at) {
    if (const auto rest = remains(); !rest.empty()) return give_time(rest);
  }
  if (outputs_closed()) {
    end_remains(death_looks);
    return;
  }
  limit_rest();
}

void Task::give_time(const std::vector<Process>& rest) {
  m_gave_time = true;
  if (m_outlived) m_outlived(rest);
  await_rest(m_loop.now() + straggler_limit);
}

void Task::await_rest(Time until) {
  m_awaiting = !remains().empty() && m_loop.now() < until;
  if (m_awaiting) {
    m_deadline = m_loop.timer(rest_pause, [this, until] { await_rest(until); });
    return;
  }
  if (outputs_closed() || m_loop.now() >= until)
    end_remains(death_looks);
  else
    set_deadline(straggler_limit);  // the rest of the output in the pipes comes first
}

void Task::on_output_end() {
  if (m_wait_status && !m_killing && !m_awaiting && outputs_closed()) end_remains(death_looks);
}

bool Task::outputs_closed() const {
  return std::none_of(m_outputs.begin(), m_outputs.end(), [](const auto& output) { return output->open(); });
}

std::vector<Process> Task::remains() const {
  std::vector<Process> result;
  if (!m_wait_status) {
    result.push_back({m_pid});
    for (auto& process : descendants(m_pid)) result.push_back(std::move(process));
  }
  for (auto& process : alive_descendants(m_reaper.claimed()))
    if (is_own(process)) result.push_back(std::move(process));
  std::erase_if(result, [](const Process& process) { return process.zombie; });
  return result;
}

bool Task::is_own(const Process& orphan) const { return orphan.group == m_pid || !claimed_by_another(orphan); }

void Task::kill(const std::vector<Process>& processes) const {
  auto others = m_reaper.claimed();
  if (!m_wait_status) std::erase(others, m_pid);
  kill_all(processes, others, [&](const Process& process) { return std::ranges::find(others, process.pid) == others.end() && is_own(process); });
}

// By the mark of another task of the same run ("NAME=run/task"), whose processes have their own deadline.
bool Task::claimed_by_another(const Process& process) const {
  const auto equals = m_mark.find('=');
  const auto value = started_with(process.pid, m_mark.substr(0, equals));
  const auto own = m_mark.substr(equals + 1);
  return value && *value != own && value->starts_with(own.substr(0, own.rfind('/') + 1));
}

// Kills the remaining processes and checks again until none is left. One that cannot be killed (uninterruptible sleep) must not prevent `ended`;
// survivors() names it.
void Task::end_remains(int looks) {
  const auto left = remains();
  const bool ended_well = m_wait_status && WIFEXITED(*m_wait_status) && WEXITSTATUS(*m_wait_status) == 0 && !m_kill_at;
  if (ended_well && !left.empty() && !m_killing && !m_gave_time) return give_time(left);  // a fork was in progress before
  if (m_wait_status && !left.empty() && !m_killing && !m_kill_at && m_killed) m_killed(left);
  m_killing = true;
  if (m_wait_status && (left.empty() || looks == 0)) {
    m_survivors = describe(left);
    finish(*m_wait_status);
    return;
  }
  kill(left);
  m_deadline = m_loop.timer(looks > 0 ? death_pause : straggler_limit, [this, looks] { end_remains(std::max(looks - 1, 0)); });
}

void Task::finish(int wait_status) {
  for (const auto& output : m_outputs) output->drain();
  m_deadline.cancel();
  m_reaper.forget_orphans(this);
  m_finished = true;
  const auto ended = std::move(m_ended);
  ended(wait_status);
}

}  // namespace trainstep::process
