// SPDX-License-Identifier: Apache-2.0
#include "sim/data/promises.h"

#include <algorithm>
#include <cstdlib>

namespace trainstep::sim::data {
namespace {

using result::PodReport;
using result::VerdictClass;

bool lies_below(const std::string& where, const std::string& place) { return where == place || where.starts_with(place + '/'); }

const result::ReportedOutput* output_of(const PodReport& report, const std::string& name) {
  const auto found = std::ranges::find(report.outputs, name, &result::ReportedOutput::name);
  return found == report.outputs.end() ? nullptr : &*found;
}

// As it must come to the step.
Tree fetched(const Run& run, const std::string& artifact) {
  auto tree = run.wrote.at(artifact);
  if (const auto linked = run.linked.find(artifact); linked != run.linked.end()) tree.insert(linked->second.begin(), linked->second.end());
  return tree;
}

}  // namespace

Promises::Promises(Truth& truth, ObjectStore& store, const plan::DataPlan& plan) : m_truth(truth), m_store(store), m_plan(plan) {
  m_store.on_change([this](const std::string& where) { changed(where); });
}

std::optional<PodReport> Promises::record() const {
  const auto found = m_store.objects().find(where(m_plan.task.record));
  auto report = found == m_store.objects().end() ? std::nullopt : result::read_pod_report(found->second.content);
  if (report && report->attempt != m_plan.task.attempt) report.reset();
  return report;
}

const Run* Promises::run_of(const PodReport& report) const {
  const auto* number = output_of(report, "run");
  if (number == nullptr || !number->value || !number->value->is_number_integer()) return nullptr;
  const auto index = number->value->get<std::size_t>();
  return index >= 1 && index <= m_truth.runs.size() ? &m_truth.runs[index - 1] : nullptr;
}

// By any run, for an output.
bool Promises::was_written(const std::string& place) const {
  return std::ranges::any_of(m_truth.runs, [&](const Run& run) {
    return std::ranges::any_of(run.wrote, [&](const auto& wrote) {
      const auto output = std::ranges::find(m_plan.task.outputs, wrote.first, &plan::TaskOutput::name);
      return std::ranges::any_of(wrote.second,
                                 [&](const auto& file) { return place == where(output->to) + (file.first.empty() ? "" : "/" + file.first); });
    });
  });
}

// What is not as this run left it, or "". Other things of others may be there, too.
std::string Promises::incomplete(const Run& run) const {
  for (const auto& [name, tree] : run.wrote) {
    const auto output = std::ranges::find(m_plan.task.outputs, name, &plan::TaskOutput::name);
    auto found = m_store.tree(where(output->to));
    auto wanted = tree;
    if (const auto linked = run.linked.find(name); linked != run.linked.end()) wanted.insert(linked->second.begin(), linked->second.end());
    std::erase_if(found, [&](const auto& file) {
      const auto foreign = m_truth.foreign.find(where(output->to) + (file.first.empty() ? "" : "/" + file.first));
      return foreign != m_truth.foreign.end() && foreign->second == file.second && !wanted.contains(file.first);
    });
    if (const auto wrong = differences(found, wanted); !wrong.empty()) return name + ": " + wrong;
  }
  return "";
}

void Promises::changed(const std::string& place) {
  const auto& task = m_plan.task;
  const bool artifact =
      std::ranges::any_of(task.outputs, [&](const auto& output) { return output.to.in_store() && lies_below(place, where(output.to)); });
  if (m_truth.foreign.contains(place) && !was_written(place)) m_truth.violated("{} was changed, but belongs to another client", place);
  if (!artifact && !lies_below(place, where(m_plan.prefix))) m_truth.violated("{} was changed and is none of the job's", place);
  const bool replicas = m_truth.scenario.indexed && m_truth.scenario.checkpoints && lies_below(place, checkpoints(false));
  if (m_hands_off && !replicas) m_truth.violated("a replica has changed {}", place);
  if (m_cleaning) return;
  if (replicas && !m_hands_off) m_truth.violated("{} was changed and is a replica's", place);
  if (artifact && m_finished != nullptr) m_truth.violated("{} was changed although run {} was told as finished", place, m_finished->number);
  if (place != where(task.record)) return;
  const auto there = record();
  if (!there && m_finished != nullptr) m_truth.violated("the record of run {} is gone", m_finished->number);
  if (!there) return;
  const auto* run = run_of(*there);
  if (run == nullptr || !run->good() || there->verdict_class != VerdictClass::succeeded)
    return m_truth.violated("there is a record of a training that did not end well");
  if (const auto wrong = incomplete(*run); !wrong.empty()) m_truth.violated("run {} is told as finished: {}", run->number, wrong);
  m_finished = run;
}

// Where they lie.
std::string Promises::checkpoints(bool primary) const {
  const auto place = where(m_plan.task.checkpoints.to);
  return primary || !m_truth.scenario.indexed ? place : place + '-' + other_index;
}

// The files of the newest complete set, by path; those of an earlier version where there is none.
std::map<std::string, std::string> Promises::newest_set(bool primary) const {
  const auto tree = m_store.tree(checkpoints(primary));
  constexpr std::string_view sets = ".trainstep/sets/";
  for (auto at = tree.rbegin(); at != tree.rend(); ++at) {
    if (!at->first.starts_with(sets)) continue;
    const auto set = Json::parse(at->second, nullptr, false);
    std::map<std::string, std::string> files;
    bool complete = set.is_object();
    for (const auto& file : complete ? set["files"] : Json::array()) {
      const auto found = tree.find(file[1].get<std::string>());
      complete = complete && found != tree.end() && found->second.size() == file[2].get<std::size_t>();
      if (complete) files[file[0].get<std::string>()] = found->second;
    }
    if (complete) return files;
  }
  std::map<std::string, std::string> plain;
  for (const auto& [path, content] : tree)
    if (!path.starts_with(".trainstep/")) plain[path] = content;
  return plain;
}

int Promises::kept(bool primary) const {
  if (!m_truth.scenario.checkpoints) return 0;
  const auto files = newest_set(primary);
  const auto latest = files.find("latest");
  return latest == files.end() ? 0 : std::atoi(latest->second.c_str());
}

void Promises::judge_checkpoints(const Run& run, bool looked_once_more, bool primary) {
  if (!m_truth.scenario.checkpoints || !m_truth.scenario.calm() || run.good()) return;
  constexpr Duration soon{60'000};
  for (const auto& [epoch, at] : run.saved)
    if ((looked_once_more || run.at - at > soon) && epoch > kept(primary))
      m_truth.violated("the checkpoint of epoch {} was there {} before the end, and is not kept (but that of {})", epoch,
                       trainstep::describe(std::chrono::duration_cast<Duration>(run.at - at)), kept(primary));
  if (!looked_once_more) return;
  const auto tree = m_store.tree(checkpoints(primary));
  const auto files = newest_set(primary);
  if (!files.empty() && !run.saved.empty() && tree.size() != files.size() + 1)
    m_truth.violated("{} objects are kept for the {} files of the last state", tree.size(), files.size());
}

void Promises::judge_half_fetched(const std::string& artifact, const Tree& tree, const Tree& before) {
  if (m_told == nullptr || !m_told->wrote.contains(artifact) || tree == before) return;
  if (const auto wrong = differences(tree, fetched(*m_told, artifact)); !wrong.empty())
    m_truth.violated("the step was killed, and its {} is neither what was there nor the new one: {}", artifact, wrong);
}

void Promises::judge_foreign() {
  for (const auto& [place, content] : m_truth.foreign)
    if (!m_store.objects().contains(place) && !was_written(place)) m_truth.violated("{} is gone, but belonged to another client", place);
  for (const auto& id : m_truth.foreign_uploads)
    if (!m_store.uploads().contains(id)) m_truth.violated("an upload of another client was aborted");
}

// Stopped after the program's end: nothing is left open, and nothing that could be taken for the model.
void Promises::judge_stopped(const Ended& ended) {
  if (!m_truth.scenario.calm() || m_truth.scenario.through_prefix) return;
  for (const auto& output : m_plan.task.outputs) {
    if (!output.to.in_store()) continue;
    for (const auto& [id, upload] : m_store.uploads())
      if (!m_truth.foreign_uploads.contains(id) && lies_below(upload.where, where(output.to)))
        m_truth.violated("stopped, but an upload of {} is left open", upload.where);
    const auto wrote = ended.run->wrote.find(output.name);
    if (wrote == ended.run->wrote.end()) continue;
    for (const auto& [path, content] : m_store.tree(where(output.to)))
      if (const auto file = wrote->second.find(path); file != wrote->second.end() && file->second == content)
        m_truth.violated("stopped, but {} of a model that is not whole can be seen", path);
  }
}

// Longer than half a minute: the rest is the network's.
bool Promises::store_was_away(Time from, Time to) const {
  constexpr Duration worth_it{30'000};
  return std::ranges::any_of(m_truth.scenario.faults.outages,
                             [&](const Outage& outage) { return outage.to - outage.from >= worth_it && outage.from < to && outage.to > from; });
}

// The limit for finishing has passed: a request that fails then is not tried again for long.
bool Promises::out_of_time(const Ended& ended) const {
  return ended.run != nullptr && ended.run->ended && ended.at - ended.run->at >= m_truth.scenario.finishing;
}

void Promises::judge(const Ended& ended, bool primary) {
  judge_foreign();
  const auto verdict = ended.told ? ended.told->verdict_class : VerdictClass::user;
  if (ended.told && ended.told->attempt != m_plan.task.attempt) m_truth.violated("the report belongs to another attempt");
  if (ended.told && ended.told->exit_code != ended.exit_code)
    m_truth.violated("exit code {}, but {} is told", ended.exit_code, ended.told->exit_code);
  if (ended.exit_code == 0 && verdict != VerdictClass::succeeded) m_truth.violated("exit code 0 without a success");
  if (verdict != VerdictClass::succeeded) return judge_failure(ended);
  if (ended.exit_code != 0) m_truth.violated("a success with exit code {}", ended.exit_code);
  if (primary) judge_success(ended);
}

void Promises::judge_success(const Ended& ended) {
  const auto record_there = record();
  if (!record_there) return m_truth.violated("a success without a record");
  const auto* run = run_of(ended.told->shortened ? *record_there : *ended.told);
  if (run == nullptr || !run->good()) return m_truth.violated("a success without a run that ended well");
  if (ended.run != nullptr && ended.run != run) m_truth.violated("run {} has ended, run {} is told", ended.run->number, run->number);
  if (run_of(*record_there) != run) m_truth.violated("run {} is told, but the record tells another one", run->number);
  if (const auto wrong = incomplete(*run); !wrong.empty()) m_truth.violated("run {} is told as a success: {}", run->number, wrong);
  for (const auto& output : m_plan.task.outputs) {
    const auto* told = output_of(*record_there, output.name);
    const bool written = output.type != spec::Type::artifact || run->wrote.contains(output.name);
    if (told == nullptr || told->present != written) m_truth.violated("output {} is told {}present", output.name, written ? "not " : "");
    if (output.name == "text" && told != nullptr && (!told->value || told->value->get<std::string>().size() != m_truth.scenario.value_size))
      m_truth.violated("what the program returned is lost");
    for (const auto& [id, upload] : m_store.uploads())
      if (!m_truth.foreign_uploads.contains(id) && written && output.to.in_store() && lies_below(upload.where, where(output.to)) &&
          !m_truth.uploads_may_stay && !store_was_away(ended.began, ended.at) && !out_of_time(ended))
        m_truth.violated("an upload of {} was never completed", upload.where);
  }
  m_told = run;
}

void Promises::judge_failure(const Ended& ended) {
  const auto& scenario = m_truth.scenario;
  if (!ended.told) {  // the log's last lines are the message
    if (ended.run == nullptr || !ended.run->ended || ended.run->code == 0 || ended.run->code != ended.exit_code)
      m_truth.violated("the program is told to have failed with {}", ended.exit_code);
    return;
  }
  if (ended.told->message.empty()) m_truth.violated("a failure without a word");
  const bool well = ended.run != nullptr && ended.run->good();
  switch (ended.told->verdict_class) {
    case VerdictClass::user:
      if (ended.run == nullptr || (ended.run->end != End::no_value && ended.run->end != End::writes_on) || ended.exit_code != 1)
        m_truth.violated("told as the program's failure: {}", ended.told->message);
      return;
    case VerdictClass::cancelled:
      if (!ended.terminated || (ended.run != nullptr && !well)) m_truth.violated("told as cancelled: {}", ended.told->message);
      if (well) judge_stopped(ended);
      return;
    case VerdictClass::input:
      if (well) m_truth.violated("training succeeded, and what follows is told as an error of input: {}", ended.told->message);
      return judge_input(ended);
    case VerdictClass::system:
      if (well && ended.at - ended.run->at < scenario.finishing)
        m_truth.violated("a training is lost before the limit for finishing has passed: {}", ended.told->message);
      if (!well && !ended.truncated && !store_was_away(ended.began, ended.at))
        m_truth.violated("told as the system's failure: {}", ended.told->message);
      return;
    default:
      m_truth.violated("told as {}: {}", result::name(ended.told->verdict_class), ended.told->message);
  }
}

void Promises::judge_input(const Ended& ended) {
  if (m_truth.scenario.ailment == Ailment::none) m_truth.violated("told as an error of input: {}", ended.told->message);
  if (ended.exit_code != 2) m_truth.violated("an error of input with exit code {}", ended.exit_code);
}

void Promises::judge_fetched(const std::string& artifact, const Tree& tree) {
  if (m_told == nullptr || !m_told->wrote.contains(artifact)) return;
  if (const auto wrong = differences(tree, fetched(*m_told, artifact)); !wrong.empty()) m_truth.violated("the step's {}: {}", artifact, wrong);
}

void Promises::judge_rest() {
  judge_foreign();
  if (!m_store.tree(where(m_plan.prefix)).empty()) m_truth.violated("something is left of the job's prefix");
  for (const auto& [id, upload] : m_store.uploads())
    if (lies_below(upload.where, where(m_plan.prefix))) m_truth.violated("an upload of {} is left", upload.where);
  if (!m_plan.downloads.empty() || m_told == nullptr) return;
  if (const auto wrong = incomplete(*m_told); !wrong.empty()) m_truth.violated("after the step's end: {}", wrong);
}

}  // namespace trainstep::sim::data
