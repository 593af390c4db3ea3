// SPDX-License-Identifier: Apache-2.0
#include "sim/data/pod.h"

#include <csignal>
#include <fstream>

#include "agent/pod_message.h"
#include "agent/replica_run.h"
#include "base/files.h"

namespace trainstep::sim::data {
namespace {

namespace fs = std::filesystem;

// As plan/data.cpp places them.
void place(plan::Task& task, const fs::path& folder, bool checkpoints) {
  for (auto& input : task.inputs) input.path = folder / "train/inputs" / input.name;
  for (auto& output : task.outputs) output.path = folder / "trainstep/outputs" / output.name / "data";
  task.executor_output_file = folder / "trainstep/outputs/executor_output.json";
  if (checkpoints) task.checkpoints.path = folder / "checkpoints";
}

}  // namespace

Doom some_doom(Random& random, const Scenario& scenario, int kept) {
  using enum Doom::Sort;
  constexpr Duration usual{3'000};
  if (kept > 1 && random.chance(0.6)) return {after_call, static_cast<int>(random.between(6, 20)), usual};
  const auto sort = random.pick({before_call, after_call, after_call, after_tasks, at_time, terminated});
  const bool calls = sort == before_call || sort == after_call;
  const auto whole = random.chance(0.5) ? usual : usual + scenario.epoch * scenario.epochs;
  return {sort, static_cast<int>(random.between(1, calls ? 50 : 300)), random.between(Duration{0}, whole)};
}

Pod::Pod(fs::path folder, Truth& truth, plan::Task task) : m_folder(std::move(folder)), m_truth(truth), m_task(std::move(task)) {
  place(m_task, m_folder, truth.scenario.checkpoints);
  fs::create_directories(m_folder / "trainstep");
}

Pod::~Pod() {
  std::error_code ignored;
  fs::remove_all(m_folder, ignored);
}

std::optional<Ended> Pod::live(SimLoop& world, StoreNetwork& network, bool primary, Doom doom, End end, int kept) {
  constexpr Duration longest = std::chrono::hours(12);
  constexpr Duration grace{30'000};
  std::error_code ignored;
  if (std::exchange(m_lived, true) && !m_truth.scenario.checkpoints_stay) fs::remove_all(m_folder / "checkpoints", ignored);
  const auto message = m_folder / "termination-log";
  std::ofstream(message).flush();
  Ended ended;
  ended.began = world.now();
  std::optional<Training> training;  // outlives the loop
  std::function<void(int)> stopped;
  Life life(world, world.now() + longest);
  // What destructors do to files is not to be seen.
  const auto dead = m_folder.string() + ".dead";
  life.on_end([&] {
    network.kill();
    fs::rename(m_folder, dead);
  });
  using enum Doom::Sort;
  network.on_call([&](int number, bool after) {
    if (doom.sort == (after ? after_call : before_call) && doom.count == number) life.doom();
    return !life.doomed();
  });
  if (doom.sort == after_tasks) life.doom_after(doom.count);
  if (doom.sort == at_time) life.after(doom.after, [&] { life.doom(); });
  if (doom.sort == terminated)
    life.after(doom.after, [&] {
      m_truth.trace.log("kubelet", "SIGTERM");
      ended.terminated = true;
      if (stopped) stopped(SIGTERM);
      if (training) training->stop();
      life.after(grace, [&] { life.doom(); });
    });
  const agent::Context with{
      .loop = life,
      .transport = network,
      .environment = {{"AWS_ACCESS_KEY_ID", "key"}, {"AWS_SECRET_ACCESS_KEY", "secret"}},
      .seed = static_cast<std::uint64_t>(++m_truth.lives),
      .log =
          [&](const std::string& line) {
            m_truth.trace.log("agent", "{}", line);
            m_truth.uploads_may_stay =
                m_truth.uploads_may_stay || line.find("incomplete uploads of an earlier attempt may remain") != std::string::npos;
          },
      .index = !m_truth.scenario.indexed ? ""
               : primary                 ? "0"
                                         : other_index,
      .run_program = [&](const agent::OnOutlived& outlived) { return training.emplace(life, m_truth, m_task, kept, end).go(outlived); },
      .signals =
          [&](auto listener) {
            stopped = std::move(listener);
            return std::shared_ptr<void>(nullptr, [&](void*) { stopped = nullptr; });
          },
      .limits = m_truth.scenario.limits};
  try {
    const auto report = agent::work(m_task, primary, m_folder / "trainstep", with);
    agent::write_termination_message(report, message);
    ended.exit_code = report.exit_code;
    m_truth.trace.log("agent", "ends with {} {}", report.exit_code, report.message);
  } catch (const Killed&) {
    m_truth.trace.log("kubelet", "the container is killed");
    fs::rename(dead, m_folder);
    if (doom.sort == terminated && m_truth.scenario.calm() && ended.terminated) m_truth.violated("it did not end within its grace");
    if (training) training->died();
    return std::nullopt;
  } catch (const Stuck& stuck) {
    m_truth.violated("the agent hangs: {}", stuck.why);
    network.kill();
    return std::nullopt;
  } catch (const std::exception& error) {  // the program's files: something stands in their way
    m_truth.violated("the program cannot write: {}", error.what());
    network.kill();
    return std::nullopt;
  }
  network.kill();
  constexpr std::size_t most = 65'536;
  ended.told = result::read_pod_report(read_file(message, most).value_or(""));
  ended.run = training ? &training->run() : nullptr;
  ended.at = world.now();
  ended.truncated = network.truncated() > 0;
  return ended;
}

}  // namespace trainstep::sim::data
