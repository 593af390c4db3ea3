// How checkpoints are stored: files under unique keys and, for each scan that read all of them, a set that lists them, written last. Files that no
// set lists do not count (docs/adr/0019-checkpoint-sets.md).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "objectstore/listing.h"

namespace trainstep::agent {

// The state of a file when it was saved.
struct SavedFile {
  std::string key;  // relative to the address of the checkpoints
  std::int64_t size = 0;
  std::int64_t changed = 0;  // modification time, in nanoseconds
  std::string etag{};        // of its object, as reported by the store; empty: unknown
  bool operator==(const SavedFile&) const = default;
};

struct CheckpointSet {
  std::string key;                              // of the set itself
  std::map<std::string, SavedFile> files;       // by path
  std::map<std::string, std::string> links;     // links within the folder, by path: their text
  std::map<std::string, std::int64_t> folders;  // by path: modification times, in nanoseconds
  [[nodiscard]] bool is_same_state(const CheckpointSet& other) const {
    return files == other.files && links == other.links && folders == other.folders;
  }
};

// Keys, relative to the address of the checkpoints. The set with the highest number is the newest. `writer`: unique for each process that saves, so
// that none overwrites what another has saved.
std::string key_of_set(std::uint64_t number, std::string_view writer);
std::string key_of_file(std::string_view writer, std::uint64_t count, std::string_view path);
// 0: not the key of a set.
std::uint64_t number_of_set(std::string_view key);
// The writer in the key of a set; empty: not the key of a set.
std::string writer_of_set(std::string_view key);
// The prefix of all sets, relative to the address of the checkpoints.
inline constexpr std::string_view sets_folder = ".trainstep/sets/";
// Neither a set nor a file of a set: a checkpoint under its own path, as saved by versions before 0.2.
bool is_plain(std::string_view key);

// The set as JSON text, as read by read_set().
std::string text_of(const CheckpointSet& set);
// nullopt: the text is not a valid set.
std::optional<CheckpointSet> read_set(std::string_view text, std::string key);
// Whether all its files exist and, as far as the store reports, are those that were saved.
bool is_complete(const CheckpointSet& set, const std::vector<objectstore::Object>& there);

// Finds the newest complete set. `done` is called once, and may destroy this object; the destructor cancels. Errors: those of the listing and of GET.
class NewestSet {
 public:
  struct Found {
    std::vector<objectstore::Object> there;  // all objects at the address
    std::optional<CheckpointSet> set;
    std::size_t incomplete = 0;  // newer sets of which some files are missing
  };
  using Done = std::function<void(Result<Found>)>;
  // References must outlive it. `done`: called once, from the loop; it may destroy this.
  NewestSet(objectstore::Client& client, objectstore::Address at, Done done);
  NewestSet(const NewestSet&) = delete;
  NewestSet& operator=(const NewestSet&) = delete;

 private:
  void read_next();
  void take(const objectstore::Object& object, const std::string& text);

  objectstore::Client& m_client;
  objectstore::Address m_at;
  Done m_done;
  Found m_found;
  std::vector<objectstore::Object> m_sets;  // the newest last
  objectstore::PendingCall m_call;
  std::unique_ptr<objectstore::Listing> m_listing;
};

}  // namespace trainstep::agent
