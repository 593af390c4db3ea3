// SPDX-License-Identifier: Apache-2.0
#include "sim/data/training.h"

#include <algorithm>
#include <charconv>
#include <csignal>

namespace trainstep::sim::data {
namespace {

namespace fs = std::filesystem;
constexpr Duration between_writes{5};
constexpr int user_code = 17;

std::string text_of_value(const plan::TaskOutput& output, const Scenario& scenario, int run) {
  return output.name == "run" ? std::to_string(run) : std::string(scenario.value_size, static_cast<char>('a' + run % 26));
}

}  // namespace

Training::Training(Life& loop, Truth& truth, const plan::Task& task, int kept, End end)
    : m_loop(loop), m_truth(truth), m_task(task), m_kept(kept), m_run(truth.runs.emplace_back()) {
  m_run.number = static_cast<int>(truth.runs.size());
  m_run.end = end;
}

void Training::then(Duration pause, void (Training::*next)()) {
  m_loop.after(pause, [this, next] {
    if (!m_run.ended) (this->*next)();
  });
}

Result<agent::ProgramEnd> Training::go(const agent::Outlived& outlived) {
  m_truth.story.tell("program", "run {} begins", m_run.number);
  then(Duration{1}, &Training::look);
  m_loop.run();
  if (!m_run.ended) m_truth.violated("run {}: the agent did not wait for the program", m_run.number);
  if (m_run.end == End::writes_on) return write_on(outlived);
  return agent::ProgramEnd{m_run.code};
}

// A process that it has left running writes the outputs, until it is killed.
agent::ProgramEnd Training::write_on(const agent::Outlived& outlived) {
  if (outlived) outlived();
  for (const auto& output : m_task.outputs)
    if (output.type == spec::Type::artifact) write_at(below(output.path, "more"), "late", m_loop.now());
  return {m_run.code, "7 (saver)", true};
}

void Training::look() {
  Tree all;
  for (const auto& input : m_task.inputs) {
    const auto seen = read_tree_at(input.path);
    if (const auto wrong = differences(seen, m_truth.inputs.at(input.name)); !wrong.empty())
      m_truth.violated("run {}: the program sees another input {}: {}", m_run.number, input.name, wrong);
    for (const auto& [path, content] : m_truth.inputs.at(input.name)) all[input.name + ':' + path] = content;
  }
  m_read = number_of(all);
  if (!m_task.checkpoints.path.empty()) look_at_checkpoints();
  train();
}

void Training::look_at_checkpoints() {
  for (const auto& [path, content] : read_tree_at(m_task.checkpoints.path)) {
    int epoch = 0;
    if (path.starts_with("epoch-")) std::from_chars(path.data() + 6, path.data() + path.size(), epoch);
    if (epoch == 0 || content != m_truth.scenario.checkpoint(m_read, epoch))
      m_truth.violated("run {}: the checkpoint {} is not what was saved", m_run.number, path);
    m_epoch = std::max(m_epoch, epoch);
  }
  if (m_epoch < m_kept) m_truth.violated("run {}: goes on from epoch {} although epoch {} was kept", m_run.number, m_epoch, m_kept);
}

void Training::train() {
  if (m_epoch > 0 && !m_task.checkpoints.path.empty()) {
    const auto file = fs::path(m_task.checkpoints.path) / fmt::format("epoch-{}", m_epoch);
    if (!fs::exists(file)) write_at(file, m_truth.scenario.checkpoint(m_read, m_epoch), m_loop.now());
    fs::remove(fs::path(m_task.checkpoints.path) / fmt::format("epoch-{}", m_epoch - 2));
  }
  if (m_epoch >= m_truth.scenario.epochs) return write();
  ++m_epoch;
  then(m_truth.scenario.epoch, &Training::train);
}

// File by file: it may be killed between two of them.
void Training::write() {
  for (const auto& output : m_task.outputs) {
    if (output.type != spec::Type::artifact) {
      if (m_run.end == End::no_value) continue;
      m_writes.emplace_back([&] { write_at(output.path, text_of_value(output, m_truth.scenario, m_run.number), m_loop.now()); });
      continue;
    }
    if (m_run.end == End::no_model) continue;
    if (m_run.end == End::only_folders) {
      m_writes.emplace_back([&] { fs::create_directories(fs::path(output.path) / "variables"); });
      continue;
    }
    m_writes.emplace_back([&] { fs::remove_all(output.path); });  // of a container before
    auto& tree = m_run.wrote[output.name] = m_truth.scenario.written(output.name, m_read, m_run.number);
    for (const auto& [path, content] : tree) m_writes.emplace_back([&] { write_at(below(output.path, path), content, m_loop.now()); });
  }
  if (m_run.end == End::fails) m_writes.resize(m_writes.size() / 2);
  const auto count = static_cast<int>(m_writes.size());
  for (int i = 0; i < count; ++i)
    m_loop.after(between_writes * (i + 1), [this, i] {
      if (!m_run.ended) m_writes[static_cast<std::size_t>(i)]();
    });
  m_loop.after(between_writes * (count + 1), [this] { end(m_run.end == End::fails ? user_code : 0); });
}

void Training::end(int code) {
  if (m_run.ended) return;
  m_run.ended = true;
  m_run.code = code;
  m_run.at = m_loop.now();
  m_truth.story.tell("program", "run {} ends with {}", m_run.number, code);
  m_loop.stop();
}

void Training::stop() {
  if (m_run.ended) return;
  m_run.end = End::fails;
  end(128 + SIGTERM);
}

}  // namespace trainstep::sim::data
