// SPDX-License-Identifier: Apache-2.0
#include "local/backend.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/lifetime.h"
#include "base/remove_tree.h"
#include "base/text.h"
#include "job_types/launch.h"
#include "local/environment.h"
#include "local/gang.h"
#include "local/gpus.h"
#include "local/interpreter.h"
#include "local/mpi_ranks.h"
#include "local/place.h"
#include "local/ports.h"
#include "local/run_folder.h"
#include "local/run_outputs.h"
#include "local/scratch.h"
#include "local/setup.h"
#include "process/descendants.h"
#include "process/reaper.h"
#include "process/task.h"
#include "result/verdict.h"

namespace trainstep::local {
namespace {

namespace fs = std::filesystem;

constexpr Duration sweep_limit{2'000};

struct Member {
  GangMember info;
  Place place;
  std::vector<std::string> argv;  // of the program; empty for mpirun and setup
  std::string devices;
  std::unique_ptr<process::Task> task;
  std::string late_failure{};  // how it ended after the primary's success, if it failed
};

// A rank that mpirun starts.
bool is_rank(const GangMember& info) { return info.output_only && !info.type.empty(); }

follow::Termination termination_of(int wait_status) {
  follow::Termination ending;
  if (WIFSIGNALED(wait_status))
    ending.signal = WTERMSIG(wait_status);
  else
    ending.exit_code = WEXITSTATUS(wait_status);
  return ending;
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> pids;
  for (const auto& process : process::descendants(::getpid())) pids.push_back(process.pid);
  return pids;
}

LocalOptions with_scratch(LocalOptions options) {
  if (options.scratch.empty()) options.scratch = make_scratch(options.environment, scratch_path(options.environment)).value_or(fs::path());
  return options;
}

}  // namespace

class LocalBackend::Impl {
 public:
  Impl(PollLoop& loop, const plan::Plan& plan, LocalOptions options)
      : m_loop(loop),
        m_plan(plan),
        m_options(with_scratch(std::move(options))),
        m_preexisting(own_children()),
        m_reaper(loop),
        m_scratch(m_options.scratch, m_options.environment),
        m_outputs(plan, m_scratch) {
    for (auto& info : gang(plan)) m_members.push_back({std::move(info), {}, {}, {}, nullptr, {}});
    m_wrapped_mpi = ranks_are_launched(plan);
    process::become_subreaper();
  }
  ~Impl() {
    m_setup.reset();
    for (auto& member : m_members) member.task.reset();
    process::end_descendants(sweep_limit, m_preexisting);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void prepare(Sink sink) {
    m_sink = std::move(sink);
    m_loop.post(m_lifetime.bind([this] {
      if (auto ready = set_up(); !ready) fail_to_begin(std::move(ready.error()));
    }));
  }

  void start(follow::MemberIndex index) {
    m_loop.post(m_lifetime.bind([this, index] {
      auto started = start_now(index);
      if (started) return emit(follow::MemberStarted{index, fmt::format("pid {}", m_members[index].task->pid())});
      fail(std::move(started.error()));
      emit(follow::MemberEnded{index, {.exit_code = 127, .signal = {}, .reason = "not started"}});
    }));
  }

  void stop(const follow::StopMember& order) {
    const auto& [info, place, argv, devices, task, failure] = m_members.at(order.member);
    if (!task) return;
    if (m_outputs.has_ended()) m_outputs.are_stopped(task->remains(), info.name);
    task->stop(order.grace);
  }

  void hold_output(Pressure pressure) {
    m_pressure = pressure;
    if (m_setup) m_setup->hold_output(pressure);
    for (auto& member : m_members)
      if (member.task) member.task->hold_output(pressure);
  }

  void on_unfinished(Unfinished call) { m_unfinished = std::move(call); }

  Result<std::vector<run::OutputFound>> collect();
  Result<std::vector<std::string>> commit(const CheckCancelled& go_on) { return m_outputs.commit(go_on); }
  [[nodiscard]] std::vector<std::string> left_behind() const { return m_outputs.left_behind(); }
  Result<void> remove_temporary();

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    result.reserve(m_members.size());
    for (const auto& member : m_members) result.push_back(member.info.name);
    return result;
  }

 private:
  template <typename What>
  void emit(What what) {
    m_sink({m_loop.now(), std::move(what)});
  }
  [[nodiscard]] process::OutputReader::Lines unfinished_of(follow::MemberIndex index) const {
    if (!m_unfinished) return {};
    return [this, index](std::string_view line) { m_unfinished(index, line); };
  }
  void fail(Error error) { emit(follow::BackendFailed{std::move(error)}); }
  void fail_to_begin(Error error) {
    if (m_folder)
      if (const auto gone = m_folder->discard(); !gone) emit(follow::BackendMessage{gone.error().message, true});
    fail(std::move(error));
  }
  void tell(const std::string& sentence) {
    if (!sentence.empty()) emit(follow::MemberOutput{m_members.size() - 1, sentence + "\n"});
  }

  [[nodiscard]] const fs::path& folder_of(const Place& place) const { return m_options.folder.empty() ? place.folder : m_options.folder; }
  Member& primary() {
    return *std::find_if(m_members.begin(), m_members.end(), [](const auto& member) { return member.info.primary; });
  }

  Result<void> set_up();
  Result<void> set_up_member(Member& member, const GpuDivision& gpus);
  Result<void> remove_outputs_of_earlier_runs(const Member& member);
  Result<void> check_inputs();
  Result<void> check_folder() const;
  Result<void> check_command(const Member& member);
  void set_up_done(Result<Setup::Outcome> outcome);
  process::Variables environment_of(const Member& member);
  Result<void> start_now(follow::MemberIndex index);
  [[nodiscard]] bool writes_outputs(const Member& member) const { return member.info.primary || m_wrapped_mpi; }
  void watch_rest(follow::MemberIndex index);
  Result<void> check_settled();
  void tell_undelivered(const run::OutputFound& output);
  void member_ended(follow::MemberIndex index, int wait_status);
  [[nodiscard]] MpiFiles files_of_ranks(const fs::path& folder, int ranks) const;
  Result<std::vector<Fd>> prepare_ranks(process::Command& mpirun, const fs::path& folder);
  void add_rank_outputs(process::Task& mpirun, std::vector<Fd> fifos);

  PollLoop& m_loop;
  const plan::Plan& m_plan;
  LocalOptions m_options;
  std::vector<pid_t> m_preexisting;  // children that existed before us
  process::Reaper m_reaper;
  std::optional<RunFolder> m_folder;
  Scratch m_scratch;
  Sink m_sink;
  Unfinished m_unfinished;
  Pressure m_pressure = Pressure::none;
  std::vector<Member> m_members;
  bool m_wrapped_mpi = false;  // we start mpirun; the program does not start it itself
  HostEnvironment m_surroundings;
  Ports m_ports;
  RunOutputs m_outputs;
  std::string m_survivors;  // processes that could not be killed
  MpiFlavour m_mpi = MpiFlavour::open_mpi;
  std::unique_ptr<Setup> m_setup;
  Lifetime m_lifetime;
};

Result<void> LocalBackend::Impl::set_up() {
  std::error_code ignored;
  if (!process::sees_processes()) return internal_error(std::string(process::cannot_see));
  m_options.run_dir = fs::absolute(m_options.run_dir, ignored).lexically_normal();
  TRY(check_inputs());
  ASSIGN(m_folder, RunFolder::claim(m_options.run_dir));
  ASSIGN(const auto interpreter, set_up_interpreter(m_options.run_dir, m_options.python, m_options.environment));
  m_surroundings = {m_options.environment, interpreter.tools, interpreter.folder, std::max(1, static_cast<int>(std::thread::hardware_concurrency()))};
  ASSIGN(const auto gpus, divide_gpus(m_plan, m_options.gpus ? *m_options.gpus : machine_gpus(m_options.environment)));
  for (auto& member : m_members)
    if (!member.info.type.empty()) TRY(set_up_member(member, gpus));
  m_outputs.begin_run();
  for (const auto& member : m_members)
    if (!member.argv.empty()) TRY(check_command(member));

  tell(gpus.warning);
  for (const auto& warning : environment_warnings(m_plan, m_options.environment)) tell(warning);
  m_setup = std::make_unique<Setup>(
      m_loop, m_reaper, process::Command{primary().argv, environment_of(primary()), m_options.run_dir.string()},
      [this](std::string_view lines) { emit(follow::MemberOutput{m_members.size() - 1, lines}); },
      [this](Result<Setup::Outcome> outcome) { set_up_done(std::move(outcome)); });
  m_setup->begin(m_wrapped_mpi);
  return {};
}

Result<void> LocalBackend::Impl::check_inputs() {
  for (const auto& input : m_plan.binding.inputs) {
    std::error_code ignored;
    if (input.path && !input.path->path.empty() && !fs::exists(input.path->path, ignored))
      return input_error(fmt::format("{}: {} does not exist (input {} of the program)", input.path->name, input.path->path, input.name));
  }
  return {};
}

// For a run that has begun: if its folder was moved or removed, that is not an input error.
Result<void> LocalBackend::Impl::check_folder() const {
  if (!m_folder) return {};
  if (auto kept = m_folder->check_kept(); !kept) return internal_error(std::move(kept.error().message));
  return {};
}

Result<void> LocalBackend::Impl::set_up_member(Member& member, const GpuDivision& gpus) {
  ASSIGN(member.place, place_of(m_plan, m_options.run_dir, member.info));
  if (member.info.primary) TRY(m_outputs.open(member.place));
  for (const auto& output : m_plan.binding.outputs)  // the primary comes before the others in its pod
    if (is_at_step_path(m_plan, member.info, output))
      member.place.placement.outputs.at(output.name) = primary().place.placement.outputs.at(output.name);
  TRY(make_folders(member.place));
  TRY(remove_outputs_of_earlier_runs(member));
  for (const auto& share : gpus.shares)
    if (share.type == member.info.type && share.index == member.info.index) member.devices = share.devices;
  if (m_wrapped_mpi && !member.info.output_only) return {};  // mpirun's command line depends on its flavour, not yet known
  ASSIGN(auto words, job_types::program_arguments(m_plan, member.place.placement));
  if (const auto own = job_types::find(m_plan.job_type).local_arguments) words = own(m_plan, std::move(words));
  member.argv = job_types::texts(words);
  return {};
}

// In a run folder that is used again: the program finds no outputs at first, as at the step's paths.
Result<void> LocalBackend::Impl::remove_outputs_of_earlier_runs(const Member& member) {
  for (const auto& output : m_plan.binding.outputs)
    if (!is_at_step_path(m_plan, member.info, output)) TRY(remove_tree(member.place.placement.outputs.at(output.name)));
  return {};
}

Result<void> LocalBackend::Impl::check_command(const Member& member) {
  if (process::find_program({member.argv, environment_of(member), folder_of(member.place).string()})) return {};
  const auto image =
      m_plan.image.value.empty() ? std::string("local runs use no image") : fmt::format("local runs do not use the image {}", m_plan.image.value);
  return input_error(fmt::format("{}: {} not found on this machine ({}); install it, or select the interpreter it belongs to with --python",
                                 m_plan.program.source, member.argv.empty() || member.argv.front().empty() ? "an empty command" : member.argv.front(),
                                 image));
}

void LocalBackend::Impl::set_up_done(Result<Setup::Outcome> outcome) {
  if (!outcome) return fail_to_begin(std::move(outcome.error()));
  m_mpi = outcome->mpi.value_or(m_mpi);
  for (auto& member : m_members)
    for (const auto& installer : outcome->done)
      if (installer.word < member.argv.size()) member.argv = without(std::move(member.argv), installer);
  emit(follow::Prepared{});
}

process::Variables LocalBackend::Impl::environment_of(const Member& member) {
  const auto addresses = [this](const std::string& type, int index) { return m_ports.address(type, index); };
  return member_environment(m_plan, member.info, member.place.placement, addresses, member.devices, m_surroundings);
}

Result<void> LocalBackend::Impl::start_now(follow::MemberIndex index) {
  auto& member = m_members.at(index);
  const bool alone = std::none_of(m_members.begin(), m_members.end(), [](const auto& other) { return other.task != nullptr; });
  if (alone) m_ports.renew();
  TRY(check_folder());
  TRY(make_folders(member.place));
  if (writes_outputs(member)) m_outputs.begin_attempt();
  member.late_failure.clear();
  process::Command command{member.argv, environment_of(member), folder_of(member.place).string()};
  command.subreaper = std::ranges::count_if(m_members, [](const Member& other) { return !other.info.output_only; }) > 1;
  std::vector<Fd> fifos;
  if (m_wrapped_mpi) {
    ASSIGN(fifos, prepare_ranks(command, member.place.folder));
  }
  ASSIGN(member.task, process::Task::start(
                          m_loop, m_reaper, std::move(command), fmt::format("TRAINSTEP_MEMBER={}/{}", m_plan.run_id, member.info.name),
                          [this, index](std::string_view lines) { emit(follow::MemberOutput{index, lines}); },
                          [this, index](int wait_status) { member_ended(index, wait_status); }));
  add_rank_outputs(*member.task, std::move(fifos));
  if (auto unfinished = unfinished_of(index)) member.task->on_unfinished(unfinished);
  member.task->hold_output(m_pressure);
  watch_rest(index);
  return {};
}

void LocalBackend::Impl::watch_rest(follow::MemberIndex index) {
  auto& member = m_members.at(index);
  const auto outlived = [this](const std::vector<process::Process>& rest) { m_outputs.leaves_running(rest); };
  const auto killed = [this, name = member.info.name](const std::vector<process::Process>& rest) {
    m_outputs.were_killed(rest);
    emit(follow::BackendMessage{fmt::format("{} has ended; killed the processes it left running: {}", name, describe(rest)), true});
  };
  member.task->on_rest(writes_outputs(member) ? outlived : process::Task::ProcessesCallback(), killed);
}

// The files contain the program's variables: even if we are killed, they are removed with the temporary folder. `folder`: used if there is none.
MpiFiles LocalBackend::Impl::files_of_ranks(const fs::path& folder, int ranks) const {
  return mpi_files(m_options.scratch.empty() ? folder : m_options.scratch / "ranks", ranks);
}

Result<std::vector<Fd>> LocalBackend::Impl::prepare_ranks(process::Command& mpirun, const fs::path& folder) {
  std::vector<RankCommand> ranks;
  for (const auto& [info, place, argv, devices, task, failure] : m_members) {
    if (!is_rank(info)) continue;
    TRY(make_folders(place));
    auto& rank = ranks.emplace_back(RankCommand{folder_of(place), {}, argv});
    for (auto& [name, value] : plan_variables(m_plan, info.type, place.placement)) process::set_variable(rank.variables, name, value);
    for (auto& [name, value] : job_types::find(m_plan.job_type).environment(m_plan, {}, info.type, info.index))
      process::set_variable(rank.variables, name, value);
  }
  const int count = static_cast<int>(ranks.size());
  const auto files = files_of_ranks(folder, count);
  adapt_launcher_environment(mpirun.environment, files, count, m_surroundings.cores);
  mpirun.argv = mpirun_command(m_plan, m_mpi, files, m_surroundings.cores);
  return write_ranks(files, m_mpi, ranks);
}

void LocalBackend::Impl::member_ended(follow::MemberIndex index, int wait_status) {
  auto& member = m_members[index];
  if (!member.task->survivors().empty()) m_survivors = member.task->survivors();
  member.task.reset();
  if (m_wrapped_mpi) remove_ranks(files_of_ranks(member.place.folder, static_cast<int>(m_members.size())));
  const auto ending = termination_of(wait_status);
  if (ending.succeeded() && writes_outputs(member))
    m_outputs.ended_well();
  else if (!ending.succeeded() && m_outputs.has_ended())
    member.late_failure = result::describe(result::FirstFailure{member.info.name, ending.exit_code, ending.signal, "", {}});
  if (!ending.succeeded())  // possibly because the folder is gone
    if (auto kept = check_folder(); !kept) fail(std::move(kept.error()));
  emit(follow::MemberEnded{index, ending});
}

// Checks that no process still writes, and that none has written that was not waited for.
Result<void> LocalBackend::Impl::check_settled() {
  for (const auto& member : m_members)
    if (member.task) m_survivors = describe(process::alive_descendants(m_preexisting));
  if (const auto left = process::alive_descendants(m_reaper.claimed()); !left.empty()) {
    emit(follow::BackendMessage{fmt::format("the training has ended; killed the processes it left running: {}", describe(left)), true});
    m_outputs.outlived_all(left);
    if (!process::end_descendants(sweep_limit, m_reaper.claimed())) m_survivors = describe(process::alive_descendants(m_reaper.claimed()));
  }
  if (!m_survivors.empty())
    return internal_error(fmt::format("cannot stop processes of the training: {}; they may still write its outputs", m_survivors));
  std::vector<std::string> late_failures;
  for (const auto& member : m_members)
    if (!member.late_failure.empty()) late_failures.push_back(member.late_failure);
  return m_outputs.check_settled(late_failures);
}

void LocalBackend::Impl::add_rank_outputs(process::Task& mpirun, std::vector<Fd> fifos) {
  auto fifo = fifos.begin();
  for (follow::MemberIndex index = 0; index < m_members.size() && fifo != fifos.end(); ++index) {
    if (!is_rank(m_members[index].info)) continue;
    for (int stream = 0; stream < 2; ++stream)
      mpirun.add_output(
          std::move(*fifo++), [this, index](std::string_view lines) { emit(follow::MemberOutput{index, lines}); }, unfinished_of(index));
  }
}

Result<std::vector<run::OutputFound>> LocalBackend::Impl::collect() {
  TRY(check_settled());
  TRY(check_folder());
  auto outputs = m_outputs.collect();
  if (outputs)
    for (const auto& output : *outputs)
      if (output.artifact) tell_undelivered(output);
  for (const auto& line : m_outputs.told_of_logs()) emit(follow::BackendMessage{line, true});
  if (const auto kept = m_scratch.kept(); !kept.empty())
    emit(follow::BackendMessage{fmt::format("the outputs are in the run's temporary folder, which is kept: {}", kept.string()), true});
  return outputs;
}

// Reports what other replicas have written to an output of which only the primary's copy is delivered: shards of a model, for example.
void LocalBackend::Impl::tell_undelivered(const run::OutputFound& output) {
  std::vector<std::string> writers;
  for (const auto& [info, place, argv, devices, task, failure] : m_members) {
    if (info.beside || info.local_rank > 0 || !place.placement.outputs.contains(output.name)) continue;
    const auto& path = place.placement.outputs.at(output.name);
    if (const auto files = describe_files(path); !files.empty()) writers.push_back(fmt::format("{} has written {} to {}", info.name, files, path));
  }
  if (writers.empty()) return;
  constexpr std::size_t shown = 4;
  const auto more = writers.size() > shown ? fmt::format(", and {} more replicas have written to theirs", writers.size() - shown) : std::string();
  writers.resize(std::min(writers.size(), shown));
  emit(follow::BackendMessage{
      fmt::format("{}: only the output of {} is delivered; {}{}", output.name, primary().info.name, join(writers, ", "), more), true});
}

// Nothing writes there any more: processes that are still alive belong to no member.
Result<void> LocalBackend::Impl::remove_temporary() {
  process::end_descendants(sweep_limit, m_reaper.claimed());
  return m_scratch.remove();
}

LocalBackend::LocalBackend(PollLoop& loop, const plan::Plan& plan, LocalOptions options)
    : m_impl(std::make_unique<Impl>(loop, plan, std::move(options))) {}
LocalBackend::~LocalBackend() = default;

void LocalBackend::prepare(Sink sink) { m_impl->prepare(std::move(sink)); }
void LocalBackend::start(const follow::StartMember& order) { m_impl->start(order.member); }
void LocalBackend::stop(const follow::StopMember& order) { m_impl->stop(order); }
void LocalBackend::hold_output(Pressure pressure) { m_impl->hold_output(pressure); }
void LocalBackend::on_unfinished(const Unfinished& call) { m_impl->on_unfinished(call); }
Result<std::vector<run::OutputFound>> LocalBackend::collect() { return m_impl->collect(); }
Result<std::vector<std::string>> LocalBackend::commit() { return m_impl->commit(m_go_on); }
Result<void> LocalBackend::remove_temporary() { return m_impl->remove_temporary(); }
std::vector<std::string> LocalBackend::left_behind() const { return m_impl->left_behind(); }
std::vector<std::string> LocalBackend::member_names() const { return m_impl->names(); }

}  // namespace trainstep::local
