// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cli/app.h"
#include "cli/connection.h"
#include "cli/finish_step.h"
#include "cli/one_job.h"
#include "cli/step_command.h"
#include "cluster/attach.h"
#include "cluster/jobs.h"
#include "data/secrets.h"
#include "log/back_pressure.h"
#include "process/child.h"
#include "process/signals.h"
#include "step/held_folders.h"
#include "step/secrets.h"
#include "step/targets.h"

namespace trainstep::cli {
namespace {

Result<step::Inputs> wanted_outputs(const JobsCommand& command) {
  step::Inputs inputs;
  std::map<std::string, std::string> environment;
  for (auto& [name, value] : process::own_environment()) environment.emplace(name, value);
  inputs.secrets = step::secrets_of(environment, {});
  for (const auto& [name, path] : {std::pair("metrics", &command.metrics), std::pair("report", &command.report)})
    if (!path->empty()) inputs.targets.push_back({.name = name, .path = *path, .uri = {}, .type = {}});
  TRY(step::check_outputs(inputs, "", command.exit_code_file));
  return inputs;
}

Result<int> attach(const JobsCommand& command) {
  ASSIGN(auto outputs, wanted_outputs(command));
  const step::HeldFolders folders(outputs);
  ToPipeline pipeline;
  pipeline.folders = &folders;
  TRY(cluster::check_run(command.run));
  ASSIGN(const auto connection, connect(command, Access::read));
  ASSIGN(auto job, find_one(*connection, command.run));
  ASSIGN(auto plan, cluster::plan_of(job));
  auto metrics = cluster::metrics_of(job);
  if (metrics) plan.options.metrics = std::move(*metrics);
  collect_secrets_of_containers(job.object, outputs.secrets);
  auto log_options = command.log_options;
  log_options.secrets = outputs.secrets;
  auto& loop = connection->loop;
  Listeners listeners(loop, std::move(log_options), nullptr);
  connection->tell = [&](const std::string& text) { listeners.console().warn(loop.now(), text); };
  if (!metrics) connection->tell(fmt::format("{}: {}; ignoring it", shown_name(job), metrics.error().message));
  int code = result::exit_code({result::VerdictClass::interrupted, "", std::nullopt, true, SIGTERM});
  // Detaching does not affect the job, which belongs to its step.
  std::optional<log::BackPressure> reader;
  bool over = false;
  const auto finish = [&](log::ReaderTimeout timeout) {
    listeners.console().finish();
    over = true;
    reader->finish(timeout, [&loop] { loop.stop(); });
  };
  const process::Signals signals(loop, [&](int) {
    if (over) return reader->hurry();
    listeners.console().info(loop.now(), "detached; the job keeps running");
    finish({Duration(2'000), Duration(10'000)});
  });
  LearnedSecrets learned(outputs);
  auto all = listeners.all();
  all.push_back(&learned);
  cluster::Attachment attachment(loop, connection->transport, connection->credentials,
                                 {connection->name_space, connection->description, random_seed()}, plan, std::move(job), all);
  reader.emplace(loop, listeners.own_log(), [&attachment](Pressure pressure) { attachment.hold_output(pressure); });
  attachment.begin([&](cluster::Session::Done done) {
    if (over) return;
    finish_step(loop, listeners, outputs, done.plan, done.outcome, pipeline, [&] {
      code = result::exit_code(done.outcome.verdict);
      finish(reader_timeout(done.outcome.verdict));  // the step cleans up
    });
  });
  loop.run();
  return code;
}

}  // namespace

int run_attach(const JobsCommand& command) { return exit_code_of(attach(command)); }

}  // namespace trainstep::cli
