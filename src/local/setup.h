// What has to be done once before the gang can start, and takes time: identifying mpirun, installing missing Python packages.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/poll_loop.h"
#include "base/result.h"
#include "local/mpi.h"
#include "local/packages.h"
#include "process/reaper.h"
#include "process/task.h"

namespace trainstep::local {

class Setup {
 public:
  struct Outcome {
    std::optional<MpiFlavour> mpi;
    std::vector<Installer> done;  // installers that need not run any more
  };
  using Done = std::function<void(Result<Outcome>)>;

  // `host`: environment and folder of the commands; its argv is the program's. `lines`: gets output for the user. `done`: called once, from the loop;
  // it may destroy this.
  Setup(PollLoop& loop, process::Reaper& reaper, process::Command host, process::OutputReader::Lines lines, Done done);

  // Errors (input): mpirun is missing or unknown; packages that cannot be installed.
  void begin(bool needs_mpi);
  // As in process::Task.
  void hold_output(Pressure pressure);

 private:
  using Next = std::function<void(bool succeeded, const std::string& output)>;
  void run(std::vector<std::string> argv, bool show, Next next);
  void ask_mpirun();
  void next_installer();
  void install(const Installer& installer, const std::string& missing);
  void finish(Result<Outcome> outcome);

  PollLoop& m_loop;
  process::Reaper& m_reaper;
  process::Command m_surroundings;
  process::OutputReader::Lines m_lines;
  Done m_done;
  Outcome m_outcome;
  std::vector<Installer> m_installers;
  std::size_t m_next = 0;
  std::string m_output;
  std::unique_ptr<process::Task> m_task;
  Pressure m_pressure = Pressure::none;
};

}  // namespace trainstep::local
