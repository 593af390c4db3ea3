// SPDX-License-Identifier: Apache-2.0
#include "cluster/step_data_removal.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "cluster/data.h"
#include "data/path_snapshot.h"
#include "data/signature.h"
#include "data/taking_back.h"

namespace trainstep::cluster {
namespace {

constexpr Duration removal_pause{1'000};

}  // namespace

StepDataRemoval::StepDataRemoval(Context context) : m_context(std::move(context)) {}

void StepDataRemoval::open(Done done) {
  m_context.open([this, done = std::move(done)](Result<staging::Stores*> opened) {
    if (!opened) return done(std::move(opened.error()));
    m_stores = *opened;
    done({});
  });
}

void StepDataRemoval::remove_inputs(int looks, const Done& done) {
  unless_replaced(done, [this, looks, done] {
    open([this, looks, done](Result<void> opened) {
      if (!opened) return done(std::move(opened));
      remove(m_context.plan.data.prefix.uri + "/inputs", looks, done);
    });
  });
}

void StepDataRemoval::remove(const std::string& uri, int looks, Done done) {
  const auto pause = looks > 2 ? 8 * removal_pause : removal_pause;  // a slow store commits uploads that it has received completely
  auto address = objectstore::Address::parse(uri);
  if (!address) return done(std::move(address.error()));
  m_removal = std::make_unique<objectstore::Removal>(
      m_stores->of(m_context.plan.data.prefix), std::move(*address), [this, uri, looks, pause, done](auto removed) {
        if (!removed) return done(std::move(removed.error().error));
        if (looks == 1) return done({});
        m_next_removal = m_context.loop.timer(
            pause, [this, uri, looks, done] { unless_replaced(done, [this, uri, looks, done] { remove(uri, looks - 1, done); }); });
      });
}

void StepDataRemoval::remove_prefix(const Done& done) {
  unless_replaced(done, [this, done] {
    std::error_code ignored;
    if (const auto& record = m_context.plan.data.record_in_step; !record.empty()) {
      std::filesystem::remove(record, ignored);
      std::filesystem::remove(staging::WrittenObjects::beside({"", 0, record}).path, ignored);
    }
    if (!m_context.plan.data.prefix.in_store()) return later([done] { done({}); });
    open([this, done](Result<void> opened) {
      const auto& data = m_context.plan.data;
      const bool small = data.uploads.empty() && data.downloads.empty() && data.task.checkpoints.path.empty();  // only the record
      if (!opened && opened.error().kind == ErrorKind::denied && small) return done({});
      if (!opened) return done(std::move(opened));
      remove(data.prefix.uri, 1, done);
    });
  });
}

void StepDataRemoval::remove_unfinished(bool checkpoints_stay, Duration limit, const Done& done) {
  std::vector<plan::TaskOutput> seen;  // by others
  for (const auto& output : m_context.plan.data.task.outputs)
    if (output.to.in_store() && !output.to.uri.starts_with(m_context.plan.data.prefix.uri + '/')) seen.push_back(output);
  if (seen.empty() && on_claims(m_context.plan).empty()) return remove_rest(checkpoints_stay, done);
  unless_replaced(done, [this, checkpoints_stay, limit, seen, done] {
    const auto taken = take_back_from_claims();
    const auto removed = [taken, done](const Result<void>& rest) { done(rest ? taken : rest); };
    seen.empty() ? remove_rest(checkpoints_stay, removed) : retract(seen, checkpoints_stay, limit, removed);
  });
}

Result<void> StepDataRemoval::take_back_from_claims() {
  Result<void> all;
  const auto attempt = m_context.job_attempt();
  for (const auto& [name, path] : on_claims(m_context.plan)) {
    const auto ours = signed_by(path, attempt);
    if (ours == Signed::unknown && may_hold_files(path))
      m_context.log(fmt::format("{}: cannot tell whether {} belongs to this run; leaving it unchanged", name, path));
    if (ours == Signed::touched || ours == Signed::changed) m_context.log(describe_staying(name, path, attempt, Why::told));
    if (ours != Signed::yes) continue;
    const auto taken = take_back(path, attempt);
    if (const auto back = taken.value_or(std::nullopt)) {
      const bool restored = back->restored == Restored::yes;
      m_context.log(fmt::format("{}: the training's output at {} was moved to {} until the next run; {}", name, path, back->where.string(),
                                restored ? "the previous contents are restored" : "nothing is there now"));
      continue;
    }
    all = taken ? Error{ErrorKind::denied, describe_staying(name, path, attempt, Why::told)}
                : Error{taken.error().kind, fmt::format("{}: {}", describe_staying(name, path, attempt, Why::untold), taken.error().message)};
  }
  return all;
}

std::vector<std::string> StepDataRemoval::left_on_claims() const {
  std::vector<std::string> left;
  for (const auto& [name, path] : on_claims(m_context.plan))
    if (auto line = describe_staying(name, path, m_context.job_attempt(), Why::untold); !line.empty()) left.push_back(std::move(line));
  return left;
}

void StepDataRemoval::retract(const std::vector<plan::TaskOutput>& seen, bool checkpoints_stay, Duration limit, const Done& done) {
  open([this, checkpoints_stay, limit, seen, done](Result<void> opened) {
    if (!opened) return done(std::move(opened));
    const auto& in_step = m_context.plan.data.record_in_step;
    const auto list = staging::WrittenObjects::beside(in_step.empty() ? m_context.plan.data.task.record : plan::TaskPlace{"", 0, in_step});
    const auto taken_back = [this, checkpoints_stay, done](const Result<staging::Staged>& taken) {
      taken ? remove_rest(checkpoints_stay, done) : done(taken.error());
    };
    m_retraction = std::make_unique<staging::Delivery>(
        *m_stores, seen, limit, staging::StagingSink{m_context.log, taken_back},
        staging::DeliveryOptions{.own = m_context.plan.data.prefix.uri, .written = list, .what = "the job's output for", .nothing = true});
  });
}

void StepDataRemoval::remove_rest(bool checkpoints_stay, const Done& done) {
  const auto& prefix = m_context.plan.data.prefix;
  if (!checkpoints_stay || !prefix.in_store()) return remove_prefix(done);
  unless_replaced(done, [this, done] { remove_all_but_checkpoints(done); });
}

void StepDataRemoval::remove_all_but_checkpoints(const Done& done) {
  const auto& prefix = m_context.plan.data.prefix;
  open([this, &prefix, done](Result<void> opened) {
    if (!opened) return done(std::move(opened));
    const auto texts = [this, &prefix, done](const Result<void>& outputs) {
      if (!outputs) return done(outputs);
      std::vector<objectstore::Address> objects;
      for (const auto* name : {"/finished.json", "/finished.json.probe", "/outputs.json"}) {
        auto address = objectstore::Address::parse(prefix.uri + name);
        if (!address) return done(std::move(address.error()));
        objects.push_back(std::move(*address));
      }
      m_removal = std::make_unique<objectstore::Removal>(m_stores->of(prefix), std::move(objects),
                                                         [done](auto removed) { removed ? done({}) : done(std::move(removed.error().error)); });
    };
    remove(prefix.uri + "/inputs", 1, [this, &prefix, texts](const Result<void>& inputs) {
      if (!inputs) return texts(inputs);
      m_context.loop.post(m_lifetime.bind([this, &prefix, texts] { remove(prefix.uri + "/outputs", 1, texts); }));
    });
  });
}

void StepDataRemoval::unless_replaced(const Done& done, std::function<void()> task) {
  m_context.replaced(m_lifetime.bind([this, done, task = std::move(task)](const Result<bool>& replaced) {
    if (!replaced) return done(Error{ErrorKind::unavailable, fmt::format("another attempt of this step may use them: {}", replaced.error().message)});
    if (!*replaced) return task();
    m_context.log("this step's pod is gone: the job's data is left to the next attempt");
    done({});
  }));
}

// Results are never delivered from within the call.
void StepDataRemoval::later(std::function<void()> task) {
  m_context.loop.post(m_lifetime.bind([task = std::move(task)] { task(); }));
}

}  // namespace trainstep::cluster
