// The user's program: it looks at its inputs, goes on from its checkpoints, and writes what follows from them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/program.h"
#include "sim/data/life.h"
#include "sim/data/scenario.h"

namespace trainstep::sim::data {

// One run of it.
struct Run {
  int number = 0;
  bool ended = false;
  int code = 0;
  End end = End::well;
  Time at{};                                // its end
  std::map<std::string, Tree> wrote;        // by artifact
  std::map<std::string, Tree> linked;       // what its links lead to
  std::vector<std::pair<int, Time>> saved;  // epochs, and when their checkpoints were whole
  [[nodiscard]] bool good() const { return ended && end != End::fails && end != End::no_value && end != End::writes_on; }
};

// All that belongs to a world and is true of it.
struct Truth {
  Truth(const Scenario& drawn, Trace& told) : scenario(drawn), trace(told) {}
  const Scenario& scenario;
  Trace& trace;
  std::map<std::string, Tree> inputs;  // by name: what must be seen
  std::deque<Run> runs;
  std::map<std::string, std::string> foreign;  // objects of others where outputs belong, by "bucket/key"
  std::set<std::string> foreign_uploads;       // by id
  std::set<std::set<int>> saved_at_once{{1}};  // epochs whose checkpoints lay in the folder at one moment; the first may be an earlier version's
  bool uploads_may_stay = false;               // reported by an agent that could not list them for a minute
  int lives = 0;                               // of agents
  [[nodiscard]] std::uint64_t read() const;    // what a program knows that has read its inputs
  std::vector<std::string> violations;
  template <typename... Arguments>
  void violated(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    violations.push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
    trace.log("VIOLATED", "{}", violations.back());
  }
};

// It must live as long as its loop.
class Training {
 public:
  // `kept`: the last epoch whose checkpoint the store holds; 0: none.
  Training(Life& loop, Truth& truth, const plan::Task& task, int kept, End end);
  // To its end, on the loop.
  Result<agent::ProgramEnd> go(const agent::OnOutlived& outlived);
  // It was killed with all the others.
  void died();
  // A signal that ends it.
  void stop();
  [[nodiscard]] const Run& run() const { return m_run; }

 private:
  void look();
  void look_at_checkpoints();
  void train();
  void save();
  void go_on();
  void write();
  void link(const plan::TaskOutput& output, Tree& linked);
  void end(int code);
  agent::ProgramEnd write_on(const agent::OnOutlived& outlived);
  void then(Duration pause, void (Training::*next)());

  Life& m_loop;
  Truth& m_truth;
  const plan::Task& m_task;
  int m_kept;
  Run& m_run;
  std::uint64_t m_read = 0;
  int m_epoch = 0;
  std::deque<std::function<void()>> m_saves;    // what is left of the checkpoint
  std::vector<std::function<void()>> m_writes;  // what is left to be written
};

}  // namespace trainstep::sim::data
