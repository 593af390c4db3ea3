// SPDX-License-Identifier: Apache-2.0
#include "agent/replica_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "agent/await.h"
#include "agent/checkpoint_sync.h"
#include "agent/checkpoints.h"
#include "agent/completion_record.h"
#include "agent/outputs.h"
#include "agent/pod_lock.h"
#include "agent/probe.h"
#include "base/deadline.h"
#include "staging/delivery.h"
#include "staging/fetching.h"
#include "tensorboard/event_files.h"

namespace trainstep::agent {
namespace {

using result::PodReport;
using result::VerdictClass;

// Each of the replicas that share nothing has its own address, next to the primary's, which removes everything else below its own.
plan::TaskCheckpoints checkpoints_of(const plan::Task& task, bool primary, const std::string& index) {
  auto checkpoints = task.checkpoints;
  if (!primary && !index.empty()) checkpoints.to.uri += '-' + index;
  return checkpoints;
}

class ReplicaRun {
 public:
  ReplicaRun(const plan::Task& task, bool primary, const std::string& scratch, const Context& with)
      : m_task(task),
        m_primary(primary),
        m_alone(primary || !with.index.empty()),
        m_checkpoints(checkpoints_of(task, primary, with.index)),
        m_scratch(scratch),
        m_with(with),
        m_loop(with.loop) {}

  Result<void> go(PodReport& report) {
    ASSIGN(m_stores, staging::Stores::open(m_loop, m_with.transport, m_task.stores, m_with.environment, m_with.seed, m_with.limits));
    m_stores->on_waiting(m_with.log);
    if (!m_scratch.empty()) m_stores->sync_state() = staging::SyncState(std::filesystem::path(m_scratch) / "staged");
    ASSIGN(auto before, until_stopped([&] { return prepare(report); }));
    if (!before) return {};
    if (m_with.run_program) {
      std::optional<PathSnapshots> at_end;
      ASSIGN(const auto end, run_with_checkpoints([&] {
               at_end = snapshots_at_end(m_task);
               record_output_trees();
             }));
      if (end.killed_any) m_with.log(fmt::format("the program has ended; killed the processes it left running: {}", end.outlived));
      report.exit_code = end.code;
      report.verdict_class = end.succeeded() ? VerdictClass::succeeded : VerdictClass::user;
      if (end.left_at != 0)
        return Error{ErrorKind::cancelled, fmt::format("the program exited with code 0 after {}; it is unknown whether the training was complete",
                                                       result::signal_name(end.left_at))};
      if (!end.succeeded()) return {};
      if (!end.survivors.empty())
        return Error{ErrorKind::internal,
                     fmt::format("cannot stop processes left running by the program: {}; they may still write its outputs, which are not delivered",
                                 end.survivors)};
      auto unchanged = m_primary && at_end ? check_unchanged(*at_end, end.outlived) : Result<void>();
      if (m_primary && unchanged) unchanged = check_no_open_files(m_task, end.held);
      if (!unchanged) return report_program_fault(report, unchanged.error());
    }
    record_output_trees();
    report.verdict_class = VerdictClass::succeeded;
    m_trained = true;
    if (m_primary) TRY(deliver(report, *before));
    return {};
  }
  ReplicaRun(const ReplicaRun&) = delete;
  ReplicaRun& operator=(const ReplicaRun&) = delete;
  // The program, if there is one, has succeeded.
  [[nodiscard]] bool trained() const { return m_trained; }

 private:
  // Retries on a conflict: a pod that was replaced may take some time to end.
  Result<void> open_claims() {
    constexpr Duration timeout{300'000}, pause{2'000};
    Deadline limit(m_loop);
    limit.set(timeout);
    while (true) {
      auto opened = open_outputs(m_task);
      if (opened) {
        m_pending = std::move(*opened);
        return {};
      }
      if (opened.error().kind != ErrorKind::conflict || limit.passed()) return std::move(opened.error());
      m_with.log(opened.error().message);
      TRY(await<std::monostate>(m_loop, [&](const auto& done) { m_loop.after(pause, [done] { done(std::monostate()); }); }));
    }
  }

  // Handles stop signals while there is no program to forward them to.
  Result<std::optional<PathSnapshots>> until_stopped(const std::function<Result<std::optional<PathSnapshots>>()>& work) {
    constexpr Duration soon{100};
    int received = 0;
    Timer timer;
    const std::function<void()> stop = [&] {
      m_loop.stop();
      timer = m_loop.timer(soon, stop);  // a result may have arrived with the signal: end the next wait, too
    };
    const auto listening = m_with.signals([&](int signal) {
      if (std::exchange(received, signal) == 0) stop();
    });
    auto done = work();
    timer.cancel();
    if (received == 0 || (done && !*done)) return done;
    return Error{ErrorKind::cancelled, fmt::format("stopped by {} before the program started", result::signal_name(received))};
  }

  // Everything up to the start of the program. nullopt: nothing is left to do.
  Result<std::optional<PathSnapshots>> prepare(PodReport& report) {
    std::optional<PodReport> finished;  // of the primary; irrelevant for the independent replicas of an Indexed Job
    if (!m_alone || m_primary) {
      ASSIGN(finished, find_record(m_loop, *m_stores, m_task));
    }
    if (finished) {
      m_with.log("training finished in an earlier attempt and its outputs are delivered; nothing to do");
      finished->primary = m_primary;
      finished->repeated = true;
      report = std::move(*finished);
      return std::optional<PathSnapshots>();
    }
    if (m_primary && delivers()) TRY(probe(m_loop, *m_stores, m_task, m_with.log));
    if (m_primary) TRY(open_claims());
    ASSIGN(auto before, prepare_outputs(m_task, m_pending));
    m_began = {.wall = m_loop.now()};
    TRY(fetch(report));
    if (m_with.run_program && !m_checkpoints.path.empty()) TRY(restore());
    return std::optional(std::move(before));
  }

  Result<void> fetch(PodReport& report) {
    if (m_task.inputs.empty()) return {};
    PodLock turn(m_scratch, to_text(plan::to_json(m_task)));  // one of the ranks of a pod fetches for all
    TRY(turn.take(m_loop));
    // A restarted program gets its inputs unchanged, even if its predecessor has modified them.
    const bool there = turn.is_done() && turn.is_in_use();
    m_in_use = turn.use();
    if (there) return {};
    std::optional<staging::Fetching> fetching;
    ASSIGN(const auto staged, await<staging::Staged>(m_loop, [&](const auto& done) {
             fetching.emplace(*m_stores, m_task.inputs, staging::StagingSink{m_with.log, done}, own_folder());
           }));
    m_with.log(fmt::format("inputs: {}", describe(staged)));
    report.bytes_in = staged.bytes;
    report.seconds_in = std::chrono::duration<double>(staged.took).count();
    return turn.done();
  }

  Result<ProgramEnd> run_with_checkpoints(const OnOutlived& outlived) {
    constexpr Duration final_scan_timeout{60'000};
    if (m_checkpoints.path.empty()) return m_with.run_program(outlived);
    std::optional<CheckpointSync> sync;
    if (m_alone) sync.emplace(m_loop, *m_stores, m_checkpoints, m_with.log, m_with.seed);
    ASSIGN(const auto end, m_with.run_program(outlived));
    if (sync && !end.succeeded()) sync->finish(final_scan_timeout);
    return end;
  }

  // One of the ranks of a pod restores for all. A container that was killed meanwhile has left only some of the checkpoints.
  Result<void> restore() {
    PodLock turn(m_scratch, "checkpoints of " + m_task.attempt);
    TRY(turn.take(m_loop));
    const bool all_there = turn.is_kept() ? turn.is_done() && has_checkpoints(m_checkpoints) : has_checkpoints(m_checkpoints);
    if (!all_there) TRY(in_context("checkpoints", restore_checkpoints(m_loop, *m_stores, m_checkpoints, m_with.log)));
    return turn.done();
  }

  [[nodiscard]] bool delivers() const {
    return std::ranges::any_of(m_task.outputs, [](const auto& output) { return output.to.in_store(); });
  }

  static Result<void> report_program_fault(PodReport& report, const Error& error) {
    report.verdict_class = VerdictClass::user;
    report.exit_code = 1;
    report.message = error.message;
    return {};
  }

  // Call when the program has ended, even if other processes are still running.
  void record_output_trees() {
    if (m_primary && !m_at_end) m_at_end = trees_at_end(m_task);
  }

  // An output that is reported as absent is not sent; one that is reported as present is sent, or the delivery fails.
  static bool goes(const plan::TaskOutput& output, const PathSnapshots& before, const PodReport& report) {
    const auto told = std::ranges::find(report.outputs, output.name, &result::ReportedOutput::name);
    if (told != report.outputs.end() && told->no_file) return false;
    const bool written = told != report.outputs.end() && told->present && told->uri.empty();
    return output.to.in_store() && (written || before.at(output.name).written());
  }

  Result<void> deliver(PodReport& report, const PathSnapshots& before) {
    for (const auto& [name, pending] : m_pending) TRY(in_context(name, pending.check_kept()));
    TRY(check_trees(m_task, *m_at_end));
    auto outputs = read_outputs(m_task, before);
    if (!outputs) return report_program_fault(report, outputs.error());
    report.outputs = std::move(*outputs);
    for (const auto& line : read_logs(m_task, before, m_began.earliest({.wall = m_loop.now()}), report.outputs)) m_with.log(line);
    Deadline limit(m_loop);
    limit.set(m_task.finishing_limit);
    m_hurry = m_loop.timer(m_task.finishing_limit, [this] { m_stores->hurry(); });
    std::vector<plan::TaskOutput> to_send;
    for (const auto& output : m_task.outputs)
      if (goes(output, before, report)) to_send.push_back(output);
    std::optional<staging::Delivery> delivery;
    bool stopped = false;
    Error incomplete{ErrorKind::cancelled, {}};
    Deadline last_moment(m_loop);
    const auto try_once_more = [&] {
      last_moment.set(last_try);
      m_loop.after(last_try, [this] { m_loop.stop(); });
    };
    const auto listening = m_with.signals([&](int signal) {
      const bool again = std::exchange(stopped, true);
      incomplete.message = fmt::format("training succeeded, but {} arrived before its outputs were complete", result::signal_name(signal));
      if (delivery)
        delivery->stop(incomplete);
      else if (!again)
        try_once_more();
    });
    if (!to_send.empty()) TRY(deliver(report, to_send, delivery));
    delivery.reset();
    if (stopped) try_once_more();
    const auto go_on = [&]() -> Result<void> {
      process_pending(m_loop);
      return last_moment.passed() ? Result<void>(incomplete) : Result<void>();
    };
    auto done = put_on_claims(report, go_on);
    if (done) done = keep_record(report, limit, stopped);
    if (!done && stopped) take_back(std::move(to_send));
    return done;
  }

  Result<void> put_on_claims(const PodReport& report, const CheckCancelled& go_on) {
    if (!m_pending.empty()) TRY(check_trees(m_task, claims_only(*m_at_end)));
    ASSIGN(const auto told, commit_outputs(m_pending, report.outputs, go_on));
    for (const auto& line : told) m_with.log(line);
    return {};
  }

  // If the training is not reported, none of its outputs may remain visible to others.
  void take_back(std::vector<plan::TaskOutput> sent) {
    if (!m_pending.empty()) {
      m_pending.clear();
      const auto opened = open_outputs(m_task);
      if (!opened) m_with.log(opened.error().message);
      for (const auto& output : m_task.outputs)
        if (const auto stays = what_stays(m_task, output); !stays.empty()) m_with.log(stays);
    }
    if (sent.empty()) return;
    auto options = delivery_options();
    options.nothing = true;
    options.what = "the output for";
    std::optional<staging::Delivery> delivery;
    m_loop.after(last_try, [this] { m_loop.stop(); });
    const auto taken = await<staging::Staged>(
        m_loop, [&](const auto& done) { delivery.emplace(*m_stores, std::move(sent), last_try, staging::StagingSink{m_with.log, done}, options); });
    if (!taken) m_with.log(fmt::format("delivered outputs may remain: {}", taken.error().message));
  }

  [[nodiscard]] staging::DeliveryOptions delivery_options() const {
    return {.own = own_folder(),
            .written = staging::WrittenObjects::beside(m_task.record),
            .pod = fmt::format("{:x}", m_with.seed),
            .mark = mark(),
            .at_end = *m_at_end};
  }

  // In characters valid in a header and in an address.
  [[nodiscard]] std::string mark() const { return http::percent_encoded(m_task.job + '.' + m_task.attempt); }

  // The folder that belongs to this job alone; "" if the record is not in a store.
  [[nodiscard]] std::string own_folder() const {
    const auto& record = m_task.record;
    return record.in_store() ? record.uri.substr(0, record.uri.rfind('/')) : std::string();
  }

  // Local files of outputs that are already in a store may disappear.
  [[nodiscard]] Trees claims_only(Trees trees) const {
    std::erase_if(trees, [this](const auto& tree) { return !m_pending.contains(tree.first); });
    return trees;
  }

  Result<void> deliver(PodReport& report, std::vector<plan::TaskOutput> outputs, std::optional<staging::Delivery>& delivery) {
    ASSIGN(const auto staged, await<staging::Staged>(m_loop, [&](const auto& done) {
             delivery.emplace(*m_stores, std::move(outputs), m_task.finishing_limit, staging::StagingSink{m_with.log, done}, delivery_options());
           }));
    m_with.log(fmt::format("outputs: {}", describe(staged)));
    report.bytes_out = staged.bytes;
    report.seconds_out = std::chrono::duration<double>(staged.took).count();
    return {};
  }

  // Without the record the training is lost. On a claim a failed write is not retried: it would fail again.
  Result<void> keep_record(const PodReport& report, const Deadline& limit, const bool& stopped) {
    constexpr Duration pause{10'000};
    while (true) {
      auto written = write_record(m_loop, *m_stores, m_task, report);
      if (!written && written.error().kind == ErrorKind::input) written.error().kind = ErrorKind::internal;  // not caused by the program
      if (written || limit.passed() || stopped || !m_task.record.in_store()) return written;
      m_with.log(fmt::format("record of the finished training: {}; trying again in {}", written.error().message, trainstep::describe(pause)));
      TRY(await<std::monostate>(m_loop, [&](const auto& done) { m_loop.after(pause, [done] { done(std::monostate()); }); }));
    }
  }

  static constexpr Duration last_try{5'000};  // for the record, once we are asked to stop

  const plan::Task& m_task;
  bool m_primary;
  bool m_alone;  // the primary, or one that shares nothing with it: it saves its own checkpoints
  plan::TaskCheckpoints m_checkpoints;
  const std::string& m_scratch;
  const Context& m_with;
  RunningLoop& m_loop;
  tensorboard::Start m_began;  // when the outputs were read before the program started
  bool m_trained = false;
  std::optional<Trees> m_at_end;
  Fd m_in_use;  // marks the inputs as in use
  Timer m_hurry;
  Pending m_pending;
  std::unique_ptr<staging::Stores> m_stores;
};

}  // namespace

PodReport work(const plan::Task& task, bool primary, const std::string& scratch, const Context& context) {
  PodReport report;
  report.attempt = task.attempt;
  report.primary = primary;
  ReplicaRun run(task, primary, scratch, context);
  if (const auto done = run.go(report); !done) {
    const bool lost = run.trained() && done.error().kind != ErrorKind::cancelled;
    auto verdict = lost ? result::lost_outputs(done.error()) : result::from_error(done.error());
    report.verdict_class = verdict.verdict_class;
    report.exit_code = result::exit_code(verdict);
    report.message = std::move(verdict.message);
  }
  return report;
}

}  // namespace trainstep::agent
