// SPDX-License-Identifier: Apache-2.0
#include "cluster/data_preparation.h"

#include <fmt/format.h>

#include <utility>

namespace trainstep::cluster {
namespace {

constexpr Duration slow_credentials{10'000};

// Such a job is followed, or refused: its inputs belong to it. Any other is created again, with the present inputs.
bool keeps_its_inputs(Existing existing) {
  using enum Existing;
  return existing == earlier_attempt || existing == later_attempt || existing == other_spec || existing == unknown_spec;
}

}  // namespace

std::string describe_wait(const plan::Plan& plan, const Error& why) {
  return fmt::format("a job of this run exists; {}: {}", plan.data.downloads.empty() ? "following it" : "its outputs cannot be fetched yet",
                     why.message);
}

DataPreparation::DataPreparation(Context context, Sink sink) : m_context(std::move(context)), m_sink(std::move(sink)) {}

// The job of an earlier attempt; nullopt: there is none.
void DataPreparation::find_earlier_job(const std::function<void(Result<std::optional<Existing>>)>& done) {
  const auto& plan = m_context.plan;
  if (plan.fresh_run) return done(std::nullopt);
  m_context.job.look(plan, [this, &plan, done](const JobSearch::Answer& found) {
    if (m_left) return;
    if (!found) return done(found.error().error);
    if (!*found) return done(std::nullopt);
    m_context.job.judge((*found)->object, plan, [this, done](Existing existing) {
      if (!m_left) done(existing);
    });
  });
}

void DataPreparation::upload_inputs() {
  m_in_progress = true;
  find_earlier_job([this](const Result<std::optional<Existing>>& existing) {
    const auto job = existing.value_or(std::nullopt);
    m_unwanted = job == Existing::unwanted;
    if (!job || !keeps_its_inputs(*job)) return upload();
    m_context.log("a job of this run exists; its inputs are kept");
    m_context.data.read_credentials([this](const Result<void>& found) {
      if (!found && !m_left) m_context.log(describe_wait(m_context.plan, found.error()));
    });
    finish({});
  });
}

void DataPreparation::upload() {
  m_context.data.upload([this](Result<void> uploaded) {
    if (m_left) return;
    if (!uploaded && !m_unwanted) {
      m_in_progress = false;
      return m_sink.failed(std::move(uploaded.error()));
    }
    finish(uploaded ? std::optional<Error>() : std::move(uploaded.error()));
  });
}

void DataPreparation::read_credentials() {
  m_in_progress = true;
  m_context.data.read_credentials([this](const Result<void>& found) {
    if (m_left) return;
    if (!m_in_progress) return found ? void() : m_context.log(describe_wait(m_context.plan, found.error()));
    if (found) return finish({});
    m_slow.cancel();
    find_earlier_job([this, error = found.error()](const Result<std::optional<Existing>>& existing) { unreadable(error, existing); });
  });
  m_slow = m_context.loop.timer(slow_credentials, [this] {
    if (m_in_progress && !m_left) find_earlier_job([this](const Result<std::optional<Existing>>& existing) { still_unread(existing); });
  });
}

void DataPreparation::unreadable(Error error, const Result<std::optional<Existing>>& existing) {
  if (!existing) {
    error.message += fmt::format("; cannot tell whether a job of this run exists: {}", existing.error().message);
    if (existing.error().kind == ErrorKind::unavailable) error.kind = ErrorKind::unavailable;
  }
  const auto job = existing.value_or(std::nullopt);
  const bool goes_on = job && keeps_its_inputs(*job);
  if (!goes_on && job != Existing::unwanted) return m_sink.failed(std::move(error));
  if (goes_on) m_context.log(describe_wait(m_context.plan, error));
  finish(std::move(error));
}

void DataPreparation::still_unread(const Result<std::optional<Existing>>& existing) {
  const auto job = existing.value_or(std::nullopt);
  if (!m_in_progress || (job != Existing::earlier_attempt && job != Existing::later_attempt)) return;
  Error why{ErrorKind::unavailable, "the credentials of the object store are not available yet"};
  m_context.log(describe_wait(m_context.plan, why));
  finish(std::move(why));
}

void DataPreparation::finish(std::optional<Error> why) {
  m_slow.cancel();
  m_in_progress = false;
  m_sink.prepared(std::move(why));
}

// We were not told to stop.
void DataPreparation::ask_replaced() {
  if (!m_in_progress || m_context.plan.data.uploads.empty() || m_left) return;
  m_context.order.ask_replaced(m_lifetime.bind([this](const Result<bool>& replaced) {
    if (!m_in_progress || m_left || !replaced || !*replaced) return;
    m_in_progress = false;
    m_sink.replaced();
  }));
}

}  // namespace trainstep::cluster
