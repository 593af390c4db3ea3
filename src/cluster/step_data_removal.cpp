// StepData: removes from the stores what a training that has not succeeded leaves.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "cluster/data.h"
#include "cluster/step_data.h"
#include "data/path_snapshot.h"
#include "data/signature.h"
#include "data/taking_back.h"

namespace trainstep::cluster {
void StepData::remove_unfinished(bool checkpoints_stay, Duration limit, Done done) {
  std::vector<plan::TaskOutput> seen;  // by others
  for (const auto& output : m_plan.data.task.outputs)
    if (output.to.in_store() && !output.to.uri.starts_with(m_plan.data.prefix.uri + '/')) seen.push_back(output);
  if (seen.empty() && on_claims(m_plan).empty()) return remove_rest(checkpoints_stay, done);
  unless_replaced(done, [this, checkpoints_stay, limit, seen, done] {
    const auto taken = take_back_from_claims();
    const auto removed = [taken, done](const Result<void>& rest) { done(rest ? taken : rest); };
    seen.empty() ? remove_rest(checkpoints_stay, removed) : retract(seen, checkpoints_stay, limit, removed);
  });
}

Result<void> StepData::take_back_from_claims() {
  Result<void> all;
  const auto attempt = m_context.job_attempt();
  for (const auto& [name, path] : on_claims(m_plan)) {
    const auto ours = signed_by(path, attempt);
    if (ours == Signed::unknown && may_hold_files(path))
      m_context.say(fmt::format("{}: whether {} belongs to this run is unknown; leaving it unchanged", name, path));
    if (ours == Signed::touched || ours == Signed::changed) m_context.say(describe_staying(name, path, attempt, Why::told));
    if (ours != Signed::yes) continue;
    const auto taken = take_back(path, attempt);
    if (taken && *taken) {
      const bool restored = (*taken)->restored == Restored::yes;
      m_context.say(fmt::format("{}: the training's output at {} was moved to {} until the next run; {}", name, path, (*taken)->where.string(),
                                restored ? "the previous contents are restored" : "nothing is there now"));
      continue;
    }
    all = taken ? Error{ErrorKind::denied, describe_staying(name, path, attempt, Why::told)}
                : Error{taken.error().kind, fmt::format("{}: {}", describe_staying(name, path, attempt, Why::untold), taken.error().message)};
  }
  return all;
}

std::vector<std::string> StepData::left_on_claims() const {
  std::vector<std::string> left;
  for (const auto& [name, path] : on_claims(m_plan))
    if (auto line = describe_staying(name, path, m_context.job_attempt(), Why::untold); !line.empty()) left.push_back(std::move(line));
  return left;
}

void StepData::retract(const std::vector<plan::TaskOutput>& seen, bool checkpoints_stay, Duration limit, const Done& done) {
  open([this, checkpoints_stay, limit, seen, done](Result<void> opened) {
    if (!opened) return done(std::move(opened));
    const auto& in_step = m_plan.data.record_in_step;
    const auto list = staging::WrittenObjects::beside(in_step.empty() ? m_plan.data.task.record : plan::TaskPlace{"", 0, in_step});
    const auto taken_back = [this, checkpoints_stay, done](const Result<staging::Staged>& taken) {
      taken ? remove_rest(checkpoints_stay, done) : done(taken.error());
    };
    m_retraction = std::make_unique<staging::Delivery>(
        *m_stores, seen, limit, staging::StagingSink{m_context.say, taken_back},
        staging::DeliveryOptions{.own = m_plan.data.prefix.uri, .written = list, .what = "the job's output for", .nothing = true});
  });
}

void StepData::remove_rest(bool checkpoints_stay, const Done& done) {
  const auto& prefix = m_plan.data.prefix;
  if (!checkpoints_stay || !prefix.in_store()) return remove_prefix(done);
  unless_replaced(done, [this, done] { remove_all_but_checkpoints(done); });
}

void StepData::remove_all_but_checkpoints(const Done& done) {
  const auto& prefix = m_plan.data.prefix;
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
      m_context.home.loop().post([this, alive = m_alive, &prefix, texts] {
        if (*alive) remove(prefix.uri + "/outputs", 1, texts);
      });
    });
  });
}

}  // namespace trainstep::cluster
