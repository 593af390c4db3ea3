// SPDX-License-Identifier: Apache-2.0
#include "local/setup.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <utility>

#include "base/text.h"

namespace trainstep::local {
namespace {

constexpr auto setup_mark = "TRAINSTEP_MEMBER=setup";

// "a, b" from one word per line.
std::string listed(std::string_view lines) {
  std::vector<std::string> words;
  for (const auto line : split(trim(lines), '\n')) words.emplace_back(trim(line));
  return join(words, ", ");
}

}  // namespace

Setup::Setup(PollLoop& loop, process::Reaper& reaper, process::Command host, process::OutputReader::Lines lines, Done done)
    : m_loop(loop),
      m_reaper(reaper),
      m_surroundings(std::move(host)),
      m_lines(std::move(lines)),
      m_done(std::move(done)),
      m_installers(find_installers(m_surroundings.argv)) {}

void Setup::begin(bool needs_mpi) {
  if (needs_mpi)
    ask_mpirun();
  else
    next_installer();
}

void Setup::run(std::vector<std::string> argv, bool show, Next next) {
  m_output.clear();
  auto task = process::Task::start(
      m_loop, m_reaper, {std::move(argv), m_surroundings.environment, m_surroundings.folder}, setup_mark,
      [this, show](std::string_view lines) {
        m_output += lines;
        if (show) m_lines(lines);
      },
      [this, next = std::move(next)](int wait_status) {
        const auto ended = std::move(m_task);  // it is about to be replaced
        next(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0, std::exchange(m_output, {}));
      });
  if (!task) return finish(std::move(task.error()));
  m_task = std::move(*task);
  m_task->hold_output(m_pressure);
}

void Setup::hold_output(Pressure pressure) {
  m_pressure = pressure;
  if (m_task) m_task->hold_output(pressure);
}

void Setup::ask_mpirun() {
  const process::Command mpirun{{"mpirun", "--version"}, m_surroundings.environment, m_surroundings.folder};
  if (!process::find_program(mpirun))
    return finish(input_error("distribution_type MPI requires mpirun, which is not on this machine: install it (apt-get install openmpi-bin)"));
  run(mpirun.argv, false, [this](bool, const std::string& output) {
    m_outcome.mpi = mpi_flavour(output);
    if (m_outcome.mpi) return next_installer();
    finish(input_error(
        fmt::format("mpirun on this machine is neither Open MPI, MPICH nor Intel MPI; its version output is: {}", trim(output).substr(0, 200))));
  });
}

void Setup::next_installer() {
  if (m_next == m_installers.size()) return finish(std::move(m_outcome));
  const auto& installer = m_installers[m_next++];
  std::vector<std::string> query{"python3", "-c", std::string(missing_packages_program)};
  query.insert(query.end(), installer.requirements.begin(), installer.requirements.end());
  run(std::move(query), false, [this, &installer](bool succeeded, const std::string& output) {
    if (!succeeded || !trim(output).empty()) return install(installer, succeeded ? listed(output) : join(installer.requirements, ", "));
    m_outcome.done.push_back(installer);
    next_installer();
  });
}

void Setup::install(const Installer& installer, const std::string& missing) {
  if (installer.makes_environment) return next_installer();  // an environment that it creates is only used by its own process
  m_lines(fmt::format("installing {}\n", missing));
  run(install_command(m_surroundings.argv, installer), true, [this, &installer, missing](bool succeeded, const std::string&) {
    if (!succeeded)
      return finish(input_error(fmt::format(
          "the program requires Python packages that could not be installed: {}; install them, or select an interpreter that has them with --python",
          missing)));
    m_outcome.done.push_back(installer);
    next_installer();
  });
}

void Setup::finish(Result<Outcome> outcome) {
  const auto done = std::move(m_done);
  done(std::move(outcome));
}

}  // namespace trainstep::local
