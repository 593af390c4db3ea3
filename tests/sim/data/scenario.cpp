// SPDX-License-Identifier: Apache-2.0
#include "sim/data/scenario.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainstep::sim::data {
namespace {

std::int64_t some_size(Random& random, const objectstore::TransferLimits& limits) {
  const auto part = limits.part, range = limits.range;
  const auto size = random.pick<std::int64_t>({0, 1, 17, 100, part - 1, part, part + 1, range, range + 1, 2 * part, 3 * part + 7, 2 * range + 5});
  return std::min(size, 9 * part + 1);  // more parts tell nothing new
}

// `single`: one file that is the artifact itself; else a few with names that need care.
Tree some_tree(Random random, std::uint64_t number, bool single, const objectstore::TransferLimits& limits) {
  Tree tree;
  const auto add = [&](const std::string& path) {
    tree[path] = bytes_of(random.next() ^ number, static_cast<std::size_t>(some_size(random, limits)));
  };
  if (single) {
    add("");
    return tree;
  }
  add("weights.bin");
  for (const auto* name : {"vocab.txt", "sub/shard 1+2.bin", "sub/deep/100%.txt", "\u00e4/\u00df"})
    if (random.chance(0.4)) add(name);
  if (random.chance(0.5)) add(fmt::format("step-{}/part", random.between(1, 3)));
  return tree;
}

std::vector<Outage> some_outages(Random& random, Time begin) {
  std::vector<Outage> outages;
  if (!random.chance(0.3)) return outages;
  using enum Outage::Sort;
  const auto from = begin + random.between(Duration{0}, Duration{150'000});
  const auto length = random.chance(0.5) ? random.between(Duration{1'000}, Duration{60'000}) : random.between(Duration{60'000}, Duration{5'400'000});
  outages.push_back({from, from + length, random.pick({refused, silent, unavailable})});
  return outages;
}

}  // namespace

Scenario::Scenario(Random random) : later(random.split()) {
  ways = {.page = static_cast<int>(random.pick({1, 2, 3, 1'000})),
          .heeds_if_match = random.chance(0.7),
          .opaque_tags = random.chance(0.15),
          .region = {},
          .overlaps = false,
          .unsorted = false,
          .strays = false,
          .clock = {}};
  limits.part = random.pick<std::int64_t>({64, 300, 1'000});
  limits.range = random.pick<std::int64_t>({100, 512, 4'000});
  limits.requests = static_cast<int>(random.pick({1, 3, 32}));
  faults.rate = random.pick({0.0, 0.0, 0.02, 0.1, 0.3});
  faults.slow = random.pick({0.0, 0.0, 0.02, 0.2});
  faults.truncates = random.chance(0.2);
  faults.outages = some_outages(random, Time{});
  through_prefix = random.chance(0.35);
  for (const auto* name : {"train", "validation"})
    if (inputs.empty() || random.chance(0.3)) inputs.emplace_back(name, some_tree(random.split(), 0, random.chance(0.2), limits));
  if (random.chance(0.3)) artifacts.emplace_back("metrics");
  if (random.chance(0.3)) single = random.pick({"model", "metrics"});
  checkpoints = random.chance(0.4);
  checkpoints_stay = random.chance(0.5);
  if (random.chance(0.1)) value_size = 5'000;
  if (random.chance(0.3)) finishing = random.between(Duration{0}, Duration{600'000});
  epochs = static_cast<int>(random.between(1, 6));
  epoch = random.between(Duration{100}, Duration{30'000});
  if (random.chance(0.12)) ailment = random.pick({Ailment::no_input, Ailment::no_bucket, Ailment::may_not_write, Ailment::keys_withdrawn});
  withdrawn = random.between(Duration{0}, Duration{120'000});
  withdrawn_for = random.between(Duration{1'000}, Duration{3'600'000});
  stale = random.chance(0.3);
  kills = random.pick({0.0, 0.3, 0.6});
  bad_ends = random.pick({0.0, 0.0, 0.3});
  lost_ends = random.pick({0.0, 0.2});
  restarts_in_pod = random.pick({0.0, 0.5, 0.5, 1.0});
  stale_manifest = random.chance(0.5);
  foreign = random.chance(0.3);
  if (random.chance(0.15)) ways.region = "eu-central-1";
  keep = static_cast<int>(random.between(1, 2));
  between_files = random.chance(0.5) ? Duration{1} : random.between(Duration{1}, Duration{3'000});
  links = random.chance(0.3);
  plain_checkpoints = checkpoints && random.chance(0.15);
  if (checkpoints && random.chance(0.5)) epochs += 3, epoch = std::max(epoch, Duration{12'000});  // there is something to bring back
  ways.overlaps = random.chance(0.1);
  ways.unsorted = random.chance(0.1);
  ways.strays = random.chance(0.1);
  if (random.chance(0.1)) ways.clock = random.between(-std::chrono::hours(30), std::chrono::hours(30));
  odd_keys = random.chance(0.1);
  faults.damages = random.chance(0.2);
  strangers = through_prefix && random.chance(0.3);
  if (through_prefix) losses = random.pick({0.0, 0.3});
  indexed = random.chance(0.2);
}

std::string Scenario::describe() const {
  constexpr const char* ailments[]{"", ", no input", ", no bucket", ", may not write", ", keys withdrawn"};
  auto text = fmt::format("{}, {} input(s), {} artifact(s), faults {}, slow {}, kills {}, bad ends {}, epochs {} × {}, finishing {}{}",
                          through_prefix ? "through the prefix" : "own addresses", inputs.size(), artifacts.size(), faults.rate, faults.slow, kills,
                          bad_ends, epochs, trainstep::describe(epoch), trainstep::describe(finishing), ailments[static_cast<int>(ailment)]);
  for (const auto& outage : faults.outages)
    text += fmt::format(", no store for {} after {}", trainstep::describe(outage.to - outage.from),
                        trainstep::describe(std::chrono::duration_cast<Duration>(outage.from.time_since_epoch())));
  return text + (checkpoints ? ", checkpoints" : "") + (stale ? ", stale" : "") + (ways.opaque_tags ? ", opaque tags" : "") +
         (foreign ? ", others' objects" : "") + (links ? ", links" : "") + (ways.region.empty() ? "" : ", another region") +
         (ways.overlaps || ways.unsorted || ways.strays ? ", odd listings" : "") + (ways.clock == Duration{} ? "" : ", another clock") +
         (odd_keys ? ", odd keys" : "") + (strangers ? ", strangers in the prefix" : "") + (indexed ? ", indexed" : "");
}

plan::DataPlan Scenario::plan() const {
  plan::DataPlan plan;
  plan.prefix = {through_prefix ? "s3://models/jobs/train-1" : "s3://models/run/.trainstep/train-1", 0, ""};
  auto& task = plan.task;
  task.job = "train-1";
  task.attempt = "this-attempt";
  task.stores.push_back({.endpoint = "http://store:9000", .ca_file = {}, .access_key_file = {}, .secret_key_file = {}});
  plan.secrets.push_back({.endpoint = "http://store:9000", .region = "us-east-1", .secret = {}, .access_key_key = {}, .secret_key_key = {}});
  for (const auto& [name, files] : inputs) {
    const auto uri = through_prefix ? plan.prefix.uri + "/inputs/" + name : "s3://data/sets/" + name;
    task.inputs.push_back({name, "", {uri, 0, ""}});
    if (through_prefix) plan.uploads.push_back({name, "", task.inputs.back().from});
  }
  for (const auto& name : artifacts) {
    const auto uri = through_prefix ? plan.prefix.uri + "/outputs/" + name : "s3://models/run/" + name;
    task.outputs.push_back({name, spec::Type::artifact, "system.Model", "", "", {uri, 0, ""}});
    if (through_prefix) plan.downloads.push_back({name, "", task.outputs.back().to});
  }
  task.outputs.push_back({"run", spec::Type::integer, "Integer", "", "", {}});
  task.outputs.push_back({"text", spec::Type::string, "String", "", "", {}});
  if (checkpoints) task.checkpoints.to = {plan.prefix.uri + "/checkpoints", 0, ""};
  task.record = {plan.prefix.uri + "/finished.json", 0, ""};
  task.finishing_limit = finishing;
  return plan;
}

Tree Scenario::written(const std::string& artifact, std::uint64_t read, int run) const {
  const auto number = read ^ Random(number_of({{artifact, std::to_string(run)}})).next();
  return some_tree(Random(number), number, artifact == single, limits);
}

Tree Scenario::checkpoint(std::uint64_t read, int at_epoch) const {
  const auto number = read ^ static_cast<std::uint64_t>(at_epoch);
  const auto size = 1 + number % (3 * static_cast<std::size_t>(limits.part));
  return {{"weights", bytes_of(number, size)}, {"optimizer", bytes_of(number ^ 0x5555U, size / 2)}};
}

std::string where(const plan::TaskPlace& place) { return place.uri.substr(place.uri.find("://") + 3); }

}  // namespace trainstep::sim::data
