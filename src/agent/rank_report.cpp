// SPDX-License-Identifier: Apache-2.0
#include "agent/rank_report.h"

#include <fmt/format.h>

#include "agent/pod_message.h"
#include "agent/program.h"
#include "base/text.h"
#include "base/time.h"
#include "process/signals.h"

namespace trainstep::agent {
namespace {

std::vector<std::string> command_for(const RankReportQuery& query, const std::string& host) {
  std::vector<std::string> words{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", host};
  const auto* const agent = process::find_variable(query.environment, "OMPI_MCA_plm_rsh_agent");
  if (agent != nullptr && !agent->empty()) words = {*agent, host};
  words.insert(words.end(), {query.program, "exec", "--report", "--scratch", query.scratch});
  return words;
}

// nullopt: rank 0 of this attempt has not run there. Errors (unavailable): the host cannot be asked.
Result<std::optional<result::PodReport>> ask(PollLoop& loop, const RankReportQuery& query, const std::string& host) {
  ASSIGN(auto text, output_of(loop, command_for(query, host), query.environment, max_report_size));
  std::erase(text, '\n');  // a report is one line; a long one has been split into several
  if (trim(text).empty()) return std::optional<result::PodReport>();
  auto report = result::read_pod_report(trim(text));
  if (!report) return Error{ErrorKind::unavailable, "its answer is not a report"};
  if (report->attempt != query.attempt) return std::optional<result::PodReport>();
  return report;
}

}  // namespace

RankReport fetch_rank_report(PollLoop& loop, const RankReportQuery& query) {
  bool stopped = false;
  const process::Signals signals(loop, [&](int) {
    stopped = true;
    loop.stop();
  });
  const auto until = loop.now() + query.retry_for;
  RankReport found;
  for (auto hosts = query.hosts; !hosts.empty();) {
    std::vector<std::string> unreachable;
    const bool first_round = found.unreachable.empty();
    found.unreachable.clear();
    for (const auto& host : hosts) {
      auto answer = ask(loop, query, host);
      if (stopped) return found;
      if (answer && *answer) return {.report = std::move(*answer), .unreachable = {}};
      if (answer) continue;
      unreachable.push_back(host);
      if (found.unreachable.empty()) found.unreachable = fmt::format("{}: {}", host, answer.error().message);
    }
    hosts = std::move(unreachable);
    if (hosts.empty() || loop.now() + query.pause > until) break;
    if (first_round) log(fmt::format("cannot query {}; retrying for {}", found.unreachable, describe(query.retry_for)));
    const Timer timer = loop.timer(query.pause, [&loop] { loop.stop(); });
    loop.run();
    if (stopped) break;
  }
  return found;
}

}  // namespace trainstep::agent
