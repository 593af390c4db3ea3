// SPDX-License-Identifier: Apache-2.0
#include "agent/followed_program.h"

#include <fmt/format.h>

#include <utility>

#include "agent/await.h"
#include "objectstore/listing.h"
#include "result/verdict.h"
#include "staging/stores.h"

namespace trainstep::agent {
namespace {

constexpr Duration removal_timeout{120'000};

}  // namespace

FollowedProgram::FollowedProgram(Context context, const plan::Task& task, std::shared_ptr<kube::Credentials> credentials, const std::string& why)
    : m_context(std::move(context)), m_task(task) {
  if (!task.lease.wanted()) return;
  if (!credentials) {
    m_context.log(why + ": if the step that follows this job vanishes, nothing ends the training");
    return;
  }
  LeaseWatch::Context watch{m_context.loop, m_context.transport, m_context.seed, m_context.log,
                            [this](const std::string& reason) { lapsed(reason); }};
  m_watch.emplace(std::move(watch), std::move(credentials), task.job, task.lease);
}

void FollowedProgram::lapsed(const std::string& why) {
  m_context.log(why + "; ending the program");
  m_why = why;
  m_context.stop();
  m_kill = m_context.loop.timer(m_task.lease.grace, [this] { m_context.kill(); });
}

void FollowedProgram::ended() {
  m_watch.reset();
  m_kill.cancel();
}

void FollowedProgram::conclude(result::PodReport& report) {
  ended();
  if (m_why.empty() || report.verdict_class == result::VerdictClass::succeeded) return;
  result::Verdict verdict;
  verdict.verdict_class = report.verdict_class = result::VerdictClass::capacity;
  report.exit_code = result::exit_code(verdict);
  report.message = m_why;
  if (m_task.lease.inputs.in_store()) remove_inputs();
}

void FollowedProgram::remove_inputs() {
  const auto& inputs = m_task.lease.inputs;
  const auto removed = [&]() -> Result<std::size_t> {
    ASSIGN(const auto stores, staging::Stores::open(m_context.loop, m_context.transport, m_task.stores, m_context.environment, m_context.seed));
    ASSIGN(auto address, objectstore::Address::parse(inputs.uri));
    const auto limit = m_context.loop.timer(removal_timeout, [&] { stores->hurry(); });
    std::unique_ptr<objectstore::Removal> removal;
    return await<std::size_t>(m_context.loop, [&](const auto& done) {
      removal = std::make_unique<objectstore::Removal>(stores->of(inputs), std::move(address),
                                                       [done](const auto& count) { count ? done(*count) : done(count.error().error); });
    });
  }();
  m_context.log(removed ? fmt::format("removed the job's inputs at {}", inputs.uri)
                        : fmt::format("cannot remove the job's inputs at {}: {}", inputs.uri, removed.error().message));
}

}  // namespace trainstep::agent
