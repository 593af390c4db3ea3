// How checkpoints lie in a store: files under names of their own, and for each look that saw all of them a set that lists them, written last. What no
// set lists does not count (docs/adr/0019-checkpoint-sets.md).
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

// One file as it was when it was saved.
struct SavedFile {
  std::string key;  // relative to the place of the checkpoints
  std::int64_t size = 0;
  std::int64_t changed = 0;  // its time of last change, in nanoseconds
  std::string etag{};        // of its object, as the store told it; empty: not known
  bool operator==(const SavedFile&) const = default;
};

struct CheckpointSet {
  std::string key;                              // its own
  std::map<std::string, SavedFile> files;       // by path
  std::map<std::string, std::string> links;     // to one another, by path: what they say
  std::map<std::string, std::int64_t> folders;  // by path: their times of last change, in nanoseconds
  [[nodiscard]] bool is_same_state(const CheckpointSet& other) const {
    return files == other.files && links == other.links && folders == other.folders;
  }
};

// Keys, relative to the place. The set of the highest number is the newest. `writer`: one for each process that saves, so that none overwrites what
// another has saved.
std::string key_of_set(std::uint64_t number, std::string_view writer);
std::string key_of_file(std::string_view writer, std::uint64_t count, std::string_view path);
// 0: the key is none of a set.
std::uint64_t number_of_set(std::string_view key);
// Of a set; empty: the key is none of a set.
std::string writer_of_set(std::string_view key);
// Where all sets lie, relative to the place.
inline constexpr std::string_view sets_folder = ".trainstep/sets/";
// Neither set nor file of a set: a checkpoint as versions before 0.2 have saved it, under its own path.
bool is_plain(std::string_view key);

std::string text_of(const CheckpointSet& set);
// None: it is no such text.
std::optional<CheckpointSet> read_set(std::string_view text, std::string key);
// Whether all its files are there, and, as far as the store tells, are the ones that were saved.
bool is_complete(const CheckpointSet& set, const std::vector<objectstore::Object>& there);

// Looks for the newest complete set.
class NewestSet {
 public:
  struct Found {
    std::vector<objectstore::Object> there;  // all that lies at the place
    std::optional<CheckpointSet> set;
    std::size_t incomplete = 0;  // sets that are newer, but not all of their files are there
  };
  using Done = std::function<void(Result<Found>)>;
  // References must outlive it. `done`: once, from the loop; it may destroy this.
  NewestSet(objectstore::Client& client, objectstore::Address at, Done done);
  NewestSet(const NewestSet&) = delete;
  NewestSet& operator=(const NewestSet&) = delete;
  ~NewestSet();

 private:
  void read_next();
  void take(const objectstore::Object& object, const std::string& text);

  objectstore::Client& m_client;
  objectstore::Address m_at;
  Done m_done;
  Found m_found;
  std::vector<objectstore::Object> m_sets;  // the newest last
  objectstore::Client::CallId m_call = 0;
  std::unique_ptr<objectstore::Listing> m_listing;
};

}  // namespace trainstep::agent
