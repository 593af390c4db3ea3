// SPDX-License-Identifier: Apache-2.0
#include "agent/checkpoints.h"

#include <fmt/format.h>

#include <utility>

#include "agent/await.h"
#include "objectstore/local_tree.h"
#include "staging/staging.h"

namespace trainstep::agent {
namespace {

using objectstore::Address;

// As objects that are there under the names of what we have sent: only what differs travels.
std::vector<objectstore::Object> objects_of(const objectstore::KnownFiles& known) {
  std::vector<objectstore::Object> objects;
  for (const auto& [path, state] : known) objects.push_back({path, state.size, state.etag});
  return objects;
}

}  // namespace

bool has_checkpoints(const plan::TaskCheckpoints& checkpoints) {
  const auto files = objectstore::read_tree(checkpoints.path);
  return files && !files->empty();
}

Result<void> restore_checkpoints(RunningLoop& loop, staging::Stores& stores, const plan::TaskCheckpoints& checkpoints, const Tell& tell) {
  ASSIGN(const auto from, Address::parse(checkpoints.to.uri));
  std::optional<objectstore::Listing> listing;
  ASSIGN(const auto there, await<std::vector<objectstore::Object>>(loop, [&](const auto& done) {
           listing.emplace(stores.of(checkpoints.to), from, [done](auto answer) {
             if (!answer) return done(std::move(answer.error().error));
             done(std::move(*answer));
           });
         }));
  if (there.empty()) return {};
  const std::vector<plan::TaskInput> inputs{{"checkpoints", checkpoints.path, checkpoints.to}};
  std::optional<staging::Fetching> fetching;
  ASSIGN(const auto staged,
         await<staging::Staged>(loop, [&](const auto& done) { fetching.emplace(stores, inputs, staging::StagingSink{tell, done}); }));
  tell(fmt::format("checkpoints of an earlier attempt: {}", describe(staged)));
  return {};
}

CheckpointSync::CheckpointSync(RunningLoop& loop, staging::Stores& stores, const plan::TaskCheckpoints& checkpoints, Tell tell,
                               Duration between_looks)
    : m_loop(loop), m_stores(stores), m_checkpoints(checkpoints), m_tell(std::move(tell)), m_between_looks(between_looks) {
  m_timer = m_loop.after(m_between_looks, [this] { look(); });
}

CheckpointSync::~CheckpointSync() { m_loop.cancel(m_timer); }

void CheckpointSync::look() {
  m_left.clear();
  // No folder: nothing was saved yet.
  if (const auto files = objectstore::read_tree(m_checkpoints.path)) m_left = plan_upload(*files, objects_of(m_known), m_known).travels;
  next();
}

void CheckpointSync::next() {
  m_transfer.reset();
  const auto to = Address::parse(m_checkpoints.to.uri);
  if (m_left.empty() || !to) {
    if (m_done) return m_done();
    m_timer = m_loop.after(m_between_looks, [this] { look(); });
    return;
  }
  objectstore::SyncPlan one;
  one.travels.push_back(std::move(m_left.back()));
  m_left.pop_back();
  m_transfer = objectstore::upload(m_stores.of(m_checkpoints.to), std::move(one), m_checkpoints.path, *to,
                                   {nullptr, [this](const Result<void>& result) { sent(result); }}, m_stores.limits());
}

void CheckpointSync::sent(const Result<void>& result) {
  for (const auto& [path, state] : m_transfer->settled()) m_known[path] = state;
  if (!result && (result.error().kind != ErrorKind::input || m_done))  // input: it changed, or has gone, meanwhile
    m_tell(fmt::format("checkpoints: {}", result.error().message));
  m_timer = m_loop.after(Duration(0), [this] { next(); });
}

void CheckpointSync::finish(Duration limit) {
  m_done = [this] { m_loop.stop(); };
  const auto too_long = m_loop.after(limit, [this] { m_loop.stop(); });
  m_loop.cancel(m_timer);
  m_transfer.reset();  // what was under way may have been overtaken
  m_timer = m_loop.after(Duration(0), [this] { look(); });
  m_loop.run();
  m_loop.cancel(too_long);
}

}  // namespace trainstep::agent
