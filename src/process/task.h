// A command from start to end: child process, output, stop, and processes it leaves behind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/poll_loop.h"
#include "base/pressure.h"
#include "base/result.h"
#include "process/child.h"
#include "process/descendants.h"
#include "process/output.h"
#include "process/reaper.h"

namespace trainstep::process {

class Task {
 public:
  using Ended = std::function<void(int wait_status)>;
  using ProcessesCallback = std::function<void(const std::vector<Process>&)>;

  // `mark` ("NAME=value") is added to the environment and identifies the processes of the task, even those that have left its group. `lines`: stdout
  // and stderr. `ended`: called once, from the loop, after the last line; it may destroy the task. Errors: as for spawn().
  static Result<std::unique_ptr<Task>> start(PollLoop& loop, Reaper& reaper, Command command, const std::string& mark, OutputReader::Lines lines,
                                             Ended ended);
  // SIGKILLs all remaining processes of the task.
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // `outlived`: the first process has exited with 0, these are still running; they get two seconds to exit. `killed`: these did not exit by
  // themselves, although the task was not stopped. Each is called at most once, from the loop.
  void on_rest(ProcessesCallback outlived, ProcessesCallback killed);

  // Adds another source of output: the read end of a FIFO that its processes write to. Must be non-blocking.
  void add_output(Fd fifo, OutputReader::Lines lines, OutputReader::Lines unfinished = {});

  // For its first two outputs: the beginning of a line that has not ended yet (output.h).
  void on_unfinished(const OutputReader::Lines& call);
  // The log's reader is too slow: the processes block in write(2), and nothing is lost. A task that is being stopped must be able to exit: if nothing
  // is read at all (stalled), its output is taken again.
  void hold_output(Pressure pressure);

  // Sends SIGTERM to its process group; after `grace`, SIGKILL to the group and to all descendants. A second call can only shorten the grace period.
  // After the first process of the group has exited, the others keep the rest of the grace period as long as they hold the output open; processes
  // that have left the group have two seconds once it is empty.
  void stop(Duration grace);

  [[nodiscard]] pid_t pid() const { return m_pid; }
  // Its living processes. Orphans that no other task claims count as its own.
  [[nodiscard]] std::vector<Process> remains() const;
  // After it has ended: its processes that could not be killed, for display; empty: none.
  [[nodiscard]] const std::string& survivors() const { return m_survivors; }

 private:
  Task(PollLoop& loop, Reaper& reaper, std::string mark, Ended ended);
  void signal_group(int signal);
  [[nodiscard]] bool group_lives() const;
  void limit_rest();
  void hold_or_read();
  void set_deadline(Duration delay);
  void on_exit(int wait_status);
  void on_output_end();
  void give_time(const std::vector<Process>& rest);
  void await_rest(Time until);
  [[nodiscard]] bool outputs_closed() const;
  [[nodiscard]] bool claimed_by_another(const Process& process) const;
  [[nodiscard]] bool is_own(const Process& orphan) const;
  void kill(const std::vector<Process>& processes) const;
  void end_remains(int looks);
  void finish(int wait_status);

  PollLoop& m_loop;
  Reaper& m_reaper;
  std::string m_mark, m_survivors;
  Ended m_ended;
  pid_t m_pid = 0;
  std::optional<int> m_wait_status;  // set when the first process has exited
  std::vector<std::unique_ptr<OutputReader>> m_outputs;
  Timer m_deadline;
  std::optional<Time> m_kill_at;  // set by stop()
  Pressure m_pressure = Pressure::none;
  ProcessesCallback m_outlived, m_killed;
  bool m_awaiting = false;  // waiting for other processes after the first one exited with 0
  bool m_gave_time = false;
  bool m_killing = false;
  bool m_finished = false;
};

}  // namespace trainstep::process
