// A command from its start to its end: child, output, stop, and whatever it leaves behind.
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
  using Told = std::function<void(const std::vector<Process>&)>;

  // `mark` ("NAME=value") is put into the environment and tells the task's processes from those of others, wherever they have gone.
  // `lines`: stdout and stderr. `ended`: once, from the loop, after the last line; it may destroy the task.
  // Errors: as spawn().
  static Result<std::unique_ptr<Task>> start(PollLoop& loop, Reaper& reaper, Command command, const std::string& mark, OutputReader::Lines lines,
                                             Ended ended);
  // Kills (SIGKILL) everything that is left of it.
  ~Task();
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // `outlived`: the first process has ended well, these have not; they get two seconds to do so. `killed`: these did not end by themselves, though
  // nobody stopped the task. Each at most once, from the loop.
  void on_rest(Told outlived, Told killed);

  // A further source of its output: the reading end of a FIFO that its processes write to. Not blocking.
  void add_output(Fd fifo, OutputReader::Lines lines, OutputReader::Lines unfinished = {});

  // Of its first two outputs: the line that has begun (output.h).
  void on_unfinished(const OutputReader::Lines& call);
  // The log's reader does not keep up: its processes wait in their writing, and nothing is lost. One that was told to stop must be able to: where
  // nobody reads at all (stalled) its output is taken again.
  void hold_output(Pressure pressure);

  // SIGTERM to its process group; after `grace` SIGKILL to it and to all descendants. A second call can only shorten the grace.
  // When the first process of the group has gone, the others still have the rest of the grace as long as they hold the output open; what has left
  // the group has two seconds once nobody is in it.
  void stop(Duration grace);

  [[nodiscard]] pid_t pid() const { return m_pid; }
  // Its processes that are alive. Orphans that nobody claims count as its own.
  [[nodiscard]] std::vector<Process> remains() const;
  // Once it has ended: those of its processes that could not be killed, for people; empty: none.
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
  std::optional<int> m_wait_status;  // set when the first process has ended
  std::vector<std::unique_ptr<OutputReader>> m_outputs;
  std::optional<Loop::TimerId> m_deadline;
  std::optional<Time> m_kill_at;  // of a stop
  Pressure m_pressure = Pressure::none;
  Told m_outlived, m_killed;
  bool m_awaiting = false;  // the rest, after a good end
  bool m_gave_time = false;
  bool m_killing = false;
  bool m_finished = false;
};

}  // namespace trainstep::process
