// SPDX-License-Identifier: Apache-2.0
#include "agent/checkpoint_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace trainstep::agent {
namespace {

using objectstore::Address;
using objectstore::LocalFile;

constexpr int max_rounds = 5;      // per scan; if exceeded, the program writes faster than we read
constexpr int unstable_scans = 4;  // scans in which a file kept changing: then an older state of it is accepted

// Each attempt has its own key: problems that differ only in numbers are the same.
std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

// The folder at one moment: read again until nothing has changed in between.
Result<objectstore::LocalTree> snapshot(const std::string& folder) {
  constexpr int max_reads = 10;
  ASSIGN(auto tree, objectstore::read_tree(folder, objectstore::Links::kept));
  for (int reads = 1; reads < max_reads; ++reads) {
    ASSIGN(auto again, objectstore::read_tree(folder, objectstore::Links::kept));
    const auto before = std::exchange(tree, std::move(again));
    if (before.files == tree.files && before.links == tree.links) break;
  }
  std::erase_if(tree.files, [](const LocalFile& file) { return file.path == restoring_mark; });  // exists while another pod fills the folder
  return tree;
}

Result<void> check_all_names(const objectstore::LocalTree& tree) {
  std::vector<LocalFile> links;
  for (const auto& [path, target] : tree.links) links.insert(links.end(), {{.path = path}, {.path = target}});
  TRY(objectstore::check_names(links));
  return objectstore::check_names(tree.files);
}

}  // namespace

CheckpointSync::CheckpointSync(RunningLoop& loop, staging::Stores& stores, const plan::TaskCheckpoints& checkpoints, Log log, std::uint64_t seed,
                               Duration interval)
    : m_loop(loop),
      m_stores(stores),
      m_checkpoints(checkpoints),
      m_log(std::move(log)),
      m_writer(fmt::format("{:016x}", seed)),
      m_interval(interval) {
  m_timer = m_loop.timer(m_interval, [this] { scan(); });
}

void CheckpointSync::scan() {
  m_rounds = 0;
  m_problem.clear();
  m_changed.clear();
  if (m_loaded) return begin_round();
  // No folder: nothing has been saved yet.
  if (const auto tree = objectstore::read_tree(m_checkpoints.path); !tree && tree.error().kind == ErrorKind::not_found) return end_scan();
  load();
}

// Loads what earlier attempts have saved: only what has changed since must be sent, and what no set lists any more is removed.
void CheckpointSync::load() {
  auto at = Address::parse(m_checkpoints.to.uri);
  if (!at) return fail(at.error().message);
  m_at = std::move(*at);
  m_newest = std::make_unique<NewestSet>(m_stores.of(m_checkpoints.to), m_at, [this](Result<NewestSet::Found> found) {
    if (!found) return fail(found.error().message);
    for (auto& object : found->there) {
      m_number = std::max(m_number, number_of_set(object.key));
      m_before.insert(writer_of_set(object.key));
      m_there.insert(std::move(object.key));
    }
    if (found->set) m_set = std::move(*found->set);
    m_saved = m_set.files;
    m_loaded = true;
    m_timer = m_loop.timer(Duration(0), [this] { begin_round(); });
  });
}

bool CheckpointSync::is_saved(const LocalFile& file) const {
  const auto found = m_saved.find(file.path);
  const auto status = m_touched.find(file.path);
  const bool replaced = status != m_touched.end() && status->second != file.touched;  // by a file with the same modification time, as cp -p does
  return found != m_saved.end() && found->second.size == file.size && found->second.changed == file.changed && !replaced;
}

void CheckpointSync::begin_round() {
  m_newest.reset();
  ++m_rounds;
  auto tree = snapshot(m_checkpoints.path);
  if (!tree && tree.error().kind == ErrorKind::not_found) return end_scan();
  if (!tree) return fail(tree.error().message);
  if (!tree->files.empty() && tree->files.front().path.empty())
    return fail(fmt::format("checkpoint_dir: {} is a file; checkpoints are kept only in a folder of this name", m_checkpoints.path));
  if (const auto named = check_all_names(*tree); !named) return fail(named.error().message);
  if (auto left_out = objectstore::describe_left_out(tree->left_out); left_out != m_left_out) {
    m_left_out = std::move(left_out);
    if (!m_left_out.empty()) m_log("checkpoints: " + m_left_out);
  }
  m_seen = std::move(*tree);
  m_left.clear();
  for (const auto& file : m_seen.files)
    if (!is_saved(file)) m_left.push_back(file);
  // Small files first: a file that points to a large one is read before it changes again.
  std::ranges::sort(m_left, [](const LocalFile& a, const LocalFile& b) { return std::pair(a.size, a.path) > std::pair(b.size, b.path); });
  next();
}

void CheckpointSync::next() {
  m_transfer.reset();
  if (m_left.empty()) return end_round();
  const auto file = std::move(m_left.back());
  m_left.pop_back();
  m_key = key_of_file(m_writer, ++m_count, file.path);
  objectstore::SyncPlan one;
  one.items.push_back({file, {m_key, file.size, ""}});
  m_transfer = objectstore::upload(m_stores.of(m_checkpoints.to), std::move(one), m_checkpoints.path, m_at,
                                   {nullptr, [this, file](const Result<void>& result) { sent(file, result); }}, m_stores.limits());
}

void CheckpointSync::sent(const LocalFile& file, const Result<void>& result) {
  m_there.insert(m_key);  // it may exist even if the response was an error
  for (const auto& [path, state] : m_transfer->settled()) {
    m_saved[path] = {m_key, state.size, state.changed, state.etag};
    m_touched[path] = state.touched;
  }
  if (!result) {
    const auto now = objectstore::read_state(m_checkpoints.path, file.path);
    const bool as_seen = now && *now == file && now->touched == file.touched;
    if (as_seen)
      m_problem = result.error().message;
    else
      m_changed.insert(file.path);  // or it was removed
  }
  m_timer = m_loop.timer(Duration(0), [this] { next(); });
}

// nullopt: not all files could be read in the state in which they were seen.
std::optional<CheckpointSet> CheckpointSync::whole_set() const {
  CheckpointSet set{key_of_set(m_number + 1, m_writer), {}, m_seen.links, m_seen.folders};
  for (const auto& file : m_seen.files) {
    const auto found = m_saved.find(file.path);
    const auto looks = m_unstable_scans.find(file.path);
    const bool never_at_rest = looks != m_unstable_scans.end() && looks->second >= unstable_scans;
    if (!is_saved(file) && !never_at_rest) return std::nullopt;
    if (found != m_saved.end()) set.files.insert(*found);
  }
  return set;
}

void CheckpointSync::end_round() {
  auto set = whole_set();
  // An empty folder is not a state to resume from: the last set stays.
  if (set && (set->files.empty() || set->is_same_state(m_set))) return clean_up();
  if (set) return write_set(std::move(*set));
  if (!m_problem.empty()) return fail(m_problem);
  if (m_rounds < max_rounds) {
    m_timer = m_loop.timer(Duration(0), [this] { begin_round(); });
    return;
  }
  std::erase_if(m_unstable_scans, [this](const auto& entry) { return !m_changed.contains(entry.first); });
  for (const auto& path : m_changed)
    if (++m_unstable_scans[path] == unstable_scans)
      m_log(fmt::format("checkpoints: {} keeps changing; keeping its last saved version, if any", path));
  m_problem =
      fmt::format("{} changed or disappeared while being read; trying again at the next scan", m_changed.empty() ? "a file" : *m_changed.begin());
  remove_superseded();
}

void CheckpointSync::write_set(CheckpointSet set) {
  m_call = m_stores.of(m_checkpoints.to)
               .put(
                   m_at.child(set.key), [text = text_of(set)] { return Result<std::string>(text); },
                   [this, set](const objectstore::Answer<objectstore::Object>& answer) {
                     m_there.insert(set.key);
                     ++m_number;  // it may exist even if the response was an error
                     if (!answer) return fail(answer.error().error.message);
                     m_set = set;
                     for (const auto& file : m_seen.files)
                       if (is_saved(file)) m_unstable_scans.erase(file.path);
                     clean_up();
                   },
                   {{"Content-Type", "application/json"}});
}

// Removes what the last set does not list: older states, what the program has removed, what a killed attempt has left.
void CheckpointSync::clean_up() {
  if (m_set.files.empty()) return end_scan();
  m_saved = m_set.files;
  std::set<std::string> wanted{m_set.key};
  for (const auto& [path, file] : m_set.files) wanted.insert(file.key);
  std::vector<Address> rest;
  for (const auto& key : m_there)
    if (!wanted.contains(key)) rest.push_back(m_at.child(key));
  if (rest.empty()) return give_up_uploads();
  unless_shared([this, wanted, rest = std::move(rest)] {
    remove(rest, [this, wanted] {
      std::erase_if(m_there, [&](const auto& key) { return !wanted.contains(key); });
      give_up_uploads();
    });
  });
}

// A pod on a disconnected node keeps running, while its successor restores what it saved and lists those files in its own sets.
void CheckpointSync::unless_shared(const std::function<void()>& then) {
  if (m_shared) return end_scan();
  m_listing = std::make_unique<objectstore::Listing>(
      m_stores.of(m_checkpoints.to), m_at.child(sets_folder.substr(0, sets_folder.size() - 1)), [this, then](const auto& sets) {
        if (!sets) return fail(sets.error().error.message);
        m_shared = std::ranges::any_of(*sets, [this](const objectstore::Object& set) {
          const auto writer = writer_of_set(std::string(sets_folder) + set.key);
          return !writer.empty() && writer != m_writer && !m_before.contains(writer);
        });
        if (!m_shared) return then();
        m_log("checkpoints: another pod is saving to the same location; no longer removing anything there");
        end_scan();
      });
}

// Removes states of files that no set will list: as long as no set is complete, they would accumulate.
void CheckpointSync::remove_superseded() {
  std::set<std::string> wanted;
  for (const auto* files : {&m_set.files, &m_saved})
    for (const auto& [path, file] : *files) wanted.insert(file.key);
  auto ours = key_of_file(m_writer, 0, "");
  ours.pop_back();  // for any count
  const auto superseded = [wanted, ours](const std::string& key) { return key.starts_with(ours) && !wanted.contains(key); };
  std::vector<Address> rest;
  for (const auto& key : m_there)
    if (superseded(key)) rest.push_back(m_at.child(key));
  if (rest.empty()) return end_scan();
  unless_shared([this, superseded, rest = std::move(rest)] {
    remove(rest, [this, superseded] {
      std::erase_if(m_there, superseded);
      end_scan();
    });
  });
}

void CheckpointSync::remove(std::vector<Address> rest, const std::function<void()>& then) {
  m_removal = std::make_unique<objectstore::Removal>(m_stores.of(m_checkpoints.to), std::move(rest), [this, then](const auto& removed) {
    if (!removed) return fail(removed.error().error.message);
    then();
  });
}

// Aborts uploads of killed attempts. If the store does not answer now, this is retried at the next scans.
void CheckpointSync::give_up_uploads() {
  constexpr int max_tries = 3;
  if (m_uploads_tries == max_tries) return end_scan();
  ++m_uploads_tries;
  m_uploads = std::make_unique<objectstore::UploadListing>(m_stores.of(m_checkpoints.to), m_at, [this](const auto& found) {
    if (found || !retryable(found.error())) m_uploads_tries = max_tries;
    for (const auto& pending : found.value_or(std::vector<objectstore::MultipartUpload>()))
      m_aborts.add<objectstore::Answer<std::monostate>>(
          [&](auto done) {
            return m_stores.of(m_checkpoints.to).abort_upload({m_at.scheme, m_at.bucket, pending.key}, pending.upload, std::move(done));
          },
          [](const auto&) {});
    end_scan();
  });
}

void CheckpointSync::fail(const std::string& what) {
  m_problem = what;
  end_scan();
}

// A problem is reported once, until it changes or is gone.
void CheckpointSync::end_scan() {
  if (m_problem.empty() && !m_told.empty()) m_log("checkpoints: saving works again");
  if (!m_problem.empty() && without_digits(m_problem) != without_digits(m_told)) m_log(fmt::format("checkpoints: {}", m_problem));
  m_told = m_problem;
  m_timer = m_loop.timer(m_done ? Duration(0) : m_interval, [this] {
    if (m_done) return m_done();
    scan();
  });
}

void CheckpointSync::finish(Duration limit) {
  m_done = [this] { m_loop.stop(); };
  const Timer too_long = m_loop.timer(limit, [this, limit] {
    m_log(fmt::format("checkpoints: the store did not answer within {}; the last checkpoint may be lost", trainstep::describe(limit)));
    m_loop.stop();
  });
  m_timer.cancel();
  m_call.cancel();
  m_aborts.clear();
  m_newest.reset();
  if (m_transfer) m_there.insert(m_key);  // it may have arrived, and no set lists it
  m_transfer.reset();                     // what was being sent may be outdated
  m_listing.reset();
  m_removal.reset();
  m_uploads.reset();
  m_timer = m_loop.timer(Duration(0), [this] { scan(); });
  m_loop.run();
}

}  // namespace trainstep::agent
