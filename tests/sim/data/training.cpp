// SPDX-License-Identifier: Apache-2.0
#include "sim/data/training.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>

namespace trainstep::sim::data {
namespace {

namespace fs = std::filesystem;
constexpr Duration between_writes{5};
constexpr int user_code = 17;

std::string text_of_value(const plan::TaskOutput& output, const Scenario& scenario, int run) {
  return output.name == "run" ? std::to_string(run) : std::string(scenario.value_size, static_cast<char>('a' + run % 26));
}

// Those with a checkpoint there, or the beginning of one.
std::set<int> epochs_in(const fs::path& folder) {
  std::set<int> epochs;
  for (const auto& entry : fs::directory_iterator(folder))
    if (const auto name = entry.path().filename().string(); name.starts_with("epoch-") && !fs::is_empty(entry))
      epochs.insert(std::atoi(name.c_str() + 6));
  return epochs;
}

}  // namespace

std::uint64_t Truth::read() const {
  Tree all;
  for (const auto& [name, tree] : inputs)
    for (const auto& [path, content] : tree) all[name + ':' + path] = content;
  return number_of(all);
}

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

Result<agent::ProgramEnd> Training::go(const agent::OnOutlived& outlived) {
  m_truth.trace.log("program", "run {} begins", m_run.number);
  then(Duration{1}, &Training::look);
  m_loop.run();
  if (!m_run.ended) m_truth.violated("run {}: the agent did not wait for the program", m_run.number);
  if (m_run.end == End::writes_on) return write_on(outlived);
  return agent::ProgramEnd{m_run.code};
}

// A process that it has left running writes the outputs, until it is killed.
agent::ProgramEnd Training::write_on(const agent::OnOutlived& outlived) {
  if (outlived) outlived();
  for (const auto& output : m_task.outputs)
    if (output.type == spec::Type::artifact) write_at(below(output.path, fs::is_regular_file(output.path) ? "" : "more"), "late", m_loop.now());
  return {m_run.code, "7 (saver)", true};
}

void Training::look() {
  for (const auto& input : m_task.inputs) {
    const auto seen = read_tree_at(input.path);
    if (const auto wrong = differences(seen, m_truth.inputs.at(input.name)); !wrong.empty())
      m_truth.violated("run {}: the program sees another input {}: {}", m_run.number, input.name, wrong);
  }
  m_read = m_truth.read();
  if (!m_task.checkpoints.path.empty()) look_at_checkpoints();
  go_on();
}

// What it finds must be what it had saved at one moment: a pointer leads to a checkpoint that is whole, and what it has removed is not there.
void Training::look_at_checkpoints() {
  const auto found = read_tree_at(m_task.checkpoints.path);
  std::map<int, Tree> epochs;
  for (const auto& [path, content] : found) {
    int epoch = 0;
    if (path.starts_with("epoch-")) std::from_chars(path.data() + 6, path.data() + path.size(), epoch);
    if (epoch != 0) epochs[epoch][path.substr(path.find('/') + 1)] = content;
  }
  for (const auto& [epoch, tree] : epochs) {
    const auto wanted = m_truth.scenario.checkpoint(m_read, epoch);
    for (const auto& [name, content] : tree)
      if (!wanted.contains(name) || wanted.at(name) != content)
        m_truth.violated("run {}: epoch-{}/{} is not what was saved", m_run.number, epoch, name);
  }
  std::set<int> there;
  for (const auto& [epoch, tree] : epochs) there.insert(epoch);
  if (!there.empty() && !m_truth.saved_at_once.contains(there))
    m_truth.violated("run {}: the checkpoints of {} epochs come back, and were never there together", m_run.number, there.size());
  if (const auto latest = found.find("latest"); latest != found.end()) m_epoch = std::atoi(latest->second.c_str());
  if (m_epoch > 0)
    if (const auto wrong = differences(epochs[m_epoch], m_truth.scenario.checkpoint(m_read, m_epoch)); !wrong.empty())
      m_truth.violated("run {}: its pointer leads to epoch {}: {}", m_run.number, m_epoch, wrong);
  const auto last = fs::path(m_task.checkpoints.path) / "last";
  if (fs::exists(fs::symlink_status(last)) && !(fs::is_symlink(last) && fs::is_directory(last)))
    m_truth.violated("run {}: what was a link to a checkpoint is none, or leads to none", m_run.number);
  if (m_epoch < m_kept) m_truth.violated("run {}: goes on from epoch {} although epoch {} was kept", m_run.number, m_epoch, m_kept);
}

void Training::go_on() {
  if (m_epoch >= m_truth.scenario.epochs) return write();
  ++m_epoch;
  then(m_truth.scenario.epoch, &Training::train);
}

void Training::train() {
  if (m_task.checkpoints.path.empty()) return go_on();
  const auto folder = fs::path(m_task.checkpoints.path);
  const auto epoch = m_epoch;
  m_saves.clear();
  for (const auto& [name, content] : m_truth.scenario.checkpoint(m_read, epoch))
    m_saves.emplace_back([=, this] { write_at(folder / fmt::format("epoch-{}", epoch) / name, content, m_loop.now()); });
  m_saves.emplace_back([=, this] {
    write_at(folder / "latest", std::to_string(epoch), m_loop.now());
    m_run.saved.emplace_back(epoch, m_loop.now());
  });
  if (m_truth.scenario.links)
    m_saves.emplace_back([=] {
      fs::remove(folder / "last");
      fs::create_directory_symlink(fmt::format("epoch-{}", epoch), folder / "last");
      ::mkfifo((folder / "pipe").c_str(), 0600);
    });
  m_saves.emplace_back([=, this] {
    for (int old = epoch - m_truth.scenario.keep; old > 0; --old) fs::remove_all(folder / fmt::format("epoch-{}", old));
  });
  save();
}

void Training::save() {
  if (m_saves.empty()) return go_on();
  m_saves.front()();
  m_saves.pop_front();
  m_truth.saved_at_once.insert(epochs_in(m_task.checkpoints.path));
  then(m_truth.scenario.between_files, &Training::save);
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
      m_writes.emplace_back([&] {
        std::error_code ignored;  // a file, where a container before has written one
        fs::create_directories(fs::path(output.path) / "variables", ignored);
      });
      continue;
    }
    m_writes.emplace_back([&] { fs::remove_all(output.path); });  // of a container before
    const auto tree = m_truth.scenario.written(output.name, m_read, m_run.number);
    for (const auto& file : tree)
      m_writes.emplace_back([this, &output, file] { write_at(below(output.path, file.first), file.second, m_loop.now()); });
    if (std::ranges::all_of(tree, [](const auto& file) { return file.second.empty(); })) continue;  // empty files are no artifact
    m_run.wrote[output.name] = tree;
    if (m_truth.scenario.links && !tree.contains("")) link(output, m_run.linked[output.name]);
  }
  if (m_run.end == End::fails) m_writes.resize(m_writes.size() / 2);
  const auto count = static_cast<int>(m_writes.size());
  for (int i = 0; i < count; ++i)
    m_loop.after(between_writes * (i + 1), [this, i] {
      if (!m_run.ended) m_writes[static_cast<std::size_t>(i)]();
    });
  m_loop.after(between_writes * (count + 1), [this] { end(m_run.end == End::fails ? user_code : 0); });
}

// Links that stay in the tree count as what they lead to; the rest of it is nothing that could travel.
void Training::link(const plan::TaskOutput& output, Tree& linked) {
  const fs::path root = output.path;
  for (const auto& [path, content] : m_run.wrote.at(output.name)) {
    if (path == "weights.bin") linked["alias.bin"] = content;
    if (path.starts_with("step-")) linked["latest" + path.substr(path.find('/'))] = content;
  }
  const auto step = m_run.wrote.at(output.name).lower_bound("step-");
  const auto target =
      step != m_run.wrote.at(output.name).end() && step->first.starts_with("step-") ? step->first.substr(0, step->first.find('/')) : "";
  m_writes.emplace_back([=] {
    fs::create_symlink("weights.bin", root / "alias.bin");
    if (!target.empty()) fs::create_directory_symlink(target, root / "latest");
    fs::create_directory_symlink(".", root / "again");
    fs::create_symlink("nowhere", root / "dangling");
    fs::create_directory_symlink("/", root / "elsewhere");
    ::mkfifo((root / "pipe").c_str(), 0600);
  });
}

void Training::end(int code) {
  if (m_run.ended) return;
  m_run.ended = true;
  m_run.code = code;
  m_run.at = m_loop.now();
  m_truth.trace.log("program", "run {} ends with {}", m_run.number, code);
  m_loop.stop();
}

void Training::died() {
  if (m_run.at == Time{}) m_run.at = m_loop.now();
}

void Training::stop() {
  if (m_run.ended) return;
  m_run.end = End::fails;
  end(128 + SIGTERM);
}

}  // namespace trainstep::sim::data
