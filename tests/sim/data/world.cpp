// SPDX-License-Identifier: Apache-2.0
#include "sim/data/world.h"

#include <algorithm>

namespace trainstep::sim::data {
namespace {

namespace fs = std::filesystem;

constexpr Duration max_step_time = std::chrono::hours(4);
constexpr auto stranger = "models/run/model-of-others";

class NoToken : public kube::TokenSource {
 public:
  Result<std::string> token(Time) override { return std::string(); }
  void refused() override {}
};

std::shared_ptr<kube::Credentials> nobodys() {
  auto credentials = std::make_shared<kube::Credentials>();
  credentials->token = std::make_unique<NoToken>();
  return credentials;
}

}  // namespace

World::World(std::uint64_t seed, fs::path folder, bool trace)
    : m_trace(m_loop, trace),
      m_random(seed),
      m_scenario(m_random.split()),
      m_folder(std::move(folder)),
      m_store(m_random.split(), m_scenario.ways),
      m_truth(m_scenario, m_trace) {
  for (auto& outage : m_scenario.faults.outages) {
    outage.from = m_loop.now() + outage.from.time_since_epoch();
    outage.to = m_loop.now() + outage.to.time_since_epoch();
  }
  m_plan.data = m_scenario.plan();
}

World::~World() {
  std::error_code ignored;
  fs::remove_all(m_folder, ignored);
}

std::vector<std::string> World::run() {
  m_trace.log("world", "{}", m_scenario.describe());
  furnish();
  if (upload_inputs() && train()) collect();
  return m_truth.violations;
}

void World::furnish() {
  m_store.make_bucket("data");
  if (m_scenario.ailment != Ailment::no_bucket) m_store.make_bucket("models");
  for (const auto& [name, tree] : m_scenario.inputs) {
    m_truth.inputs[name] = tree;
    for (const auto& [path, content] : tree)
      if (m_scenario.through_prefix)
        write_at(below(m_folder / "step" / name, path), content, m_loop.now());
      else if (m_scenario.ailment != Ailment::no_input)
        m_store.put("data/sets/" + name + (path.empty() ? "" : "/" + path), content);
    if (m_scenario.odd_keys && !m_scenario.through_prefix && m_scenario.ailment != Ailment::no_input && !tree.contains(""))
      for (const auto* key : {"/../escaped", "//double", "/./dot", "/sub//x", "/a/../../b"}) m_store.put("data/sets/" + name + key, "odd");
  }
  for (auto& upload : m_plan.data.uploads) upload.path = m_folder / "step" / upload.name;
  if (m_scenario.ailment != Ailment::no_bucket) leave_stale();
  if (m_scenario.ailment == Ailment::may_not_write) m_store.forbidden.emplace("PUT", "models");
  if (m_scenario.ailment == Ailment::keys_withdrawn) {
    m_loop.after(m_scenario.withdrawn, [this] { m_store.forbidden.emplace("PUT", "models"); });
    m_loop.after(m_scenario.withdrawn + m_scenario.withdrawn_for, [this] { m_store.forbidden.clear(); });
  }
  m_promises = std::make_unique<Promises>(m_truth, m_store, m_plan.data);
}

// Of an earlier attempt, and of another client.
void World::leave_stale() {
  m_store.put(stranger, "not ours");
  if (m_scenario.foreign) leave_foreign();
  if (m_scenario.plain_checkpoints) {
    const auto folder = where(m_plan.data.task.checkpoints.to);
    for (const auto& [name, content] : m_scenario.checkpoint(m_truth.read(), 1)) m_store.put(folder + "/epoch-1/" + name, content);
    m_store.put(folder + "/latest", "1");
  }
  if (m_scenario.stale) leave_attempt();
}

// As an agent leaves it: the objects carry the job's mark, the list beside the record has their keys. Where it was about to put more, others have put
// their own since. Without the list the origin of the objects is unknown.
void World::leave_attempt() {
  constexpr auto attempt = "another-attempt";
  const auto& task = m_plan.data.task;
  const auto mark = task.job + '.' + attempt;
  const std::map<std::string, std::string> marks_of_others{{"taken-over.bin", "train-2." + std::string(attempt)}, {"taken-over.txt", ""}};
  Json outputs = Json::array();
  for (const auto& output : task.outputs) {
    if (!output.to.in_store()) continue;
    Json objects = Json::array();
    const auto leave = [&](const std::string& path, const std::string& content, const std::string& whose, bool stays) {
      const auto place = where(output.to) + (path.empty() ? "" : "/" + path);
      m_store.put(place, content, whose);
      objects.push_back({path, ""});
      m_truth.foreign.erase(place);
      if (stays) m_truth.foreign[place] = content;
    };
    for (const auto& [path, content] : m_scenario.written(output.name, 1, -1))
      leave(path, content, mark, !m_scenario.through_prefix && !m_scenario.stale_manifest);
    for (const auto& [path, whose] : marks_of_others)
      if (!m_scenario.through_prefix) leave(path, "of others: " + path, whose, true);
    outputs.push_back({{"uri", output.to.uri}, {"objects", objects}});
  }
  result::PodReport record;
  record.attempt = attempt;
  record.primary = true;
  record.verdict_class = result::VerdictClass::succeeded;
  m_store.put(where(task.record), to_text(record));
  if (m_scenario.stale_manifest) m_store.put(where(m_plan.data.prefix) + "/outputs.json", to_text(Json{{"mark", mark}, {"outputs", outputs}}));
}

void World::leave_foreign() {
  for (const auto& output : m_plan.data.task.outputs) {
    if (!output.to.in_store() || m_scenario.through_prefix) continue;
    for (const auto* name : {"/another-weights.bin", "/step-2/part", "/notes/readme"})
      m_truth.foreign.emplace(where(output.to) + name, fmt::format("of others: {}", name));
    m_truth.foreign_uploads.insert(m_store.begin_upload(where(output.to) + "/strange.bin"));
  }
  for (const auto& [place, content] : m_truth.foreign) m_store.put(place, content);
}

StoreNetwork& World::network(bool calm) {
  m_networks.push_back(std::make_unique<StoreNetwork>(m_loop, m_store, m_trace, m_random.split(), m_scenario.faults));
  if (calm) m_networks.back()->calm();
  return *m_networks.back();
}

Result<void> World::step(const std::function<void(cluster::StepData&, std::function<void(Result<void>)>)>& work) {
  for (int lives = 1;; ++lives) {
    auto& between = network(false);
    Life life(m_loop, m_loop.now() + max_step_time);
    if (lives < 4 && m_random.chance(m_scenario.kills)) life.doom_after(static_cast<int>(m_random.between(1, 150)));
    life.on_end([&] { between.kill(); });
    kube::Client home(life, between, nobodys(), 1);
    cluster::StepData data(m_plan, {.home = home,
                                    .transport = between,
                                    .name_space = "default",
                                    .environment = {{"AWS_ACCESS_KEY_ID", "key"}, {"AWS_SECRET_ACCESS_KEY", "secret"}},
                                    .keys = {},
                                    .seed = 1,
                                    .log = [this](const std::string& line) { m_trace.log("step", "{}", line); }});
    std::optional<Result<void>> result;
    try {
      work(data, [&](Result<void> done) {
        result = std::move(done);
        life.stop();
      });
      if (!result) life.run();
      if (!*result) m_trace.log("step", "{}", result->error().message);
      return *result;
    } catch (const Killed&) {
      m_trace.log("step", "killed");
      if (m_after_kill) m_after_kill();
    } catch (const Stuck& stuck) {
      m_truth.violated("the step hangs: {}", stuck.why);
      return internal_error(stuck.why);
    }
    m_loop.run_for(Duration{1'000});
  }
}

bool World::upload_inputs() {
  if (m_plan.data.uploads.empty()) return true;
  const auto brought = step([](auto& data, auto done) { data.upload(std::move(done)); });
  if (brought) leave_strangers(m_plan.data.uploads);
  if (brought) return true;
  const auto kind = brought.error().kind;
  const bool ill =
      m_scenario.ailment == Ailment::no_bucket || m_scenario.ailment == Ailment::may_not_write || m_scenario.ailment == Ailment::keys_withdrawn;
  if (!ill && (m_scenario.faults.outages.empty() || kind != ErrorKind::unavailable))
    m_truth.violated("the step could not bring the inputs: {}", brought.error().message);
  return false;
}

bool World::attempt(Pod& pod, bool primary, bool calm) {
  auto& between = network(calm);
  const bool disturbed = !calm && m_random.chance(m_scenario.kills);
  const auto doom = disturbed ? some_doom(m_random, m_scenario, m_promises->kept(primary)) : Doom{};
  const auto end = !calm && m_random.chance(m_scenario.bad_ends)
                       ? m_random.pick({End::fails, End::fails, End::no_value, End::no_model, End::only_folders, End::writes_on})
                       : End::well;
  const auto runs = m_truth.runs.size();
  const bool finished = m_promises->finished();
  m_trace.log("kubelet", "a container begins{}", primary ? "" : " (a replica)");
  m_promises->hands_off(!primary);
  const auto ended = pod.live(m_loop, between, primary, doom, end, m_promises->kept(primary));
  const bool trained = m_truth.runs.size() > runs;
  const bool own = primary || m_scenario.indexed;  // what it makes is its own, not the primary's
  if (finished && trained && !(m_scenario.indexed && !primary)) m_truth.violated("it trains again although the training is finished and delivered");
  if (!primary && own && !trained && ended && ended->exit_code == 0) m_truth.violated("it does not train, as if another one's training were its own");
  if (ended) m_promises->judge(*ended, primary);
  if (own && trained)
    m_promises->judge_checkpoints(m_truth.runs.back(), ended && m_truth.runs.back().ended && m_truth.runs.back().code != 0, primary);
  // What it has sent arrives before the next one begins.
  m_loop.run_for(m_random.between(StoreNetwork::max_transfer_time + Duration{100}, Duration{40'000}));
  m_promises->hands_off(false);
  return primary && ended && ended->exit_code == 0;
}

bool World::train() {
  std::unique_ptr<Pod> pod;
  for (int count = 1; count <= m_scenario.attempts; ++count) {
    const bool same = pod != nullptr && m_random.chance(m_scenario.restarts_in_pod);
    if (!same) pod = std::make_unique<Pod>(fresh_folder(), m_truth, m_plan.data.task);
    const bool last = count == m_scenario.attempts;
    const auto replica_lives = [this](bool calm) {
      Pod replica(fresh_folder(), m_truth, m_plan.data.task);
      attempt(replica, false, calm);
    };
    if (m_random.chance(m_scenario.indexed ? 0.5 : 0.1)) replica_lives(false);
    if (!attempt(*pod, true, last)) continue;
    if (m_scenario.indexed) replica_lives(last);
    if (last || !m_random.chance(m_scenario.lost_ends)) return true;
    m_trace.log("world", "the success is not reported");
  }
  return false;
}

// Uploaded inputs are in their list: these objects are not fetched, and are removed with the prefix at the end.
void World::leave_strangers(const std::vector<plan::StagedPath>& beside) {
  if (!m_scenario.strangers) return;
  for (const auto& carried : beside) m_store.meddle(where(carried.at) + "/stranger.bin", "of somebody else");
}

// Of what was delivered to the job's prefix.
bool World::lose_an_object() {
  if (m_plan.data.downloads.empty() || !m_random.chance(m_scenario.losses)) return false;
  const auto& output = m_plan.data.downloads.front();
  const auto place = where(output.at);
  const auto there = m_store.tree(place);
  if (there.empty() || !m_promises->told()->wrote.contains(output.name)) return false;
  const auto lost = std::next(there.begin(), m_random.between(0, static_cast<std::int64_t>(there.size()) - 1));
  const bool replaced = m_random.chance(0.5);
  m_trace.log("world", "{} is {}", lost->first, replaced ? "another one" : "gone");
  m_store.meddle(place + (lost->first.empty() ? "" : "/" + lost->first), replaced ? std::optional("of somebody else") : std::nullopt);
  return true;
}

void World::collect() {
  if (m_promises->told() == nullptr) return;
  const bool lost = lose_an_object();
  leave_strangers(m_plan.data.downloads);
  const auto& wrote = m_promises->told()->wrote;
  std::vector<run::OutputFound> outputs;
  for (auto& download : m_plan.data.downloads) {
    download.path = fresh_folder() / "data";
    if (m_random.chance(0.5)) write_at(fs::path(download.path) / "shard-of-an-older-one", "old", m_loop.now());
    outputs.push_back({.name = download.name, .artifact = true, .path = download.path, .present = wrote.contains(download.name), .value = {}});
  }
  std::map<std::string, Tree> before;
  for (const auto& output : outputs) before[output.name] = read_tree_at(output.path);
  m_after_kill = [&] {
    for (const auto& output : outputs)
      if (output.present) m_promises->judge_half_fetched(output.name, read_tree_at(output.path), before[output.name]);
  };
  const auto fetched = step([&](auto& data, auto done) {
    data.download(outputs, [&data, done](Result<void> got) {
      if (got)
        if (const auto placed = data.commit(); !placed) got = placed.error();
      done(std::move(got));
    });
  });
  if (!fetched) m_after_kill();
  m_after_kill = nullptr;
  if (lost && fetched) return m_truth.violated("the step has fetched what the run has not written");
  if (!fetched && fetched.error().kind != ErrorKind::unavailable) m_truth.violated("not the user's fault: {}", fetched.error().message);
  if (!fetched && !lost && m_scenario.faults.outages.empty() && !m_scenario.faults.truncates)
    m_truth.violated("the step could not fetch the outputs: {}", fetched.error().message);
  if (!fetched) return;
  for (const auto& output : outputs)
    if (output.present) m_promises->judge_fetched(output.name, read_tree_at(output.path));
  m_promises->clean_up();
  const auto removed = step([](auto& data, auto done) { data.remove_prefix(std::move(done)); });
  if (removed) m_promises->judge_rest();
}

}  // namespace trainstep::sim::data
