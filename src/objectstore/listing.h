// All pages of a listing; and the removal of what it lists.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "objectstore/client.h"
#include "objectstore/transfer_queue.h"

namespace trainstep::objectstore {

// The objects of the tree at an address, keys relative to it: all below it, or, where there are none, the object itself (key ""). By key, each once,
// as it was told last; what a store lists beside them is not taken.
class Listing {
 public:
  using Done = std::function<void(Answer<std::vector<Object>>)>;
  // References must outlive it. `done`: once, from the loop; it may destroy this.
  Listing(Client& client, Address at, Done done);
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;
  ~Listing();

 private:
  void ask(const std::string& token);
  bool take(std::vector<Object> objects);
  std::vector<Object> all();
  void look_at_itself();
  void look_for_itself();

  struct ByKey {
    bool operator()(const Object& a, const Object& b) const { return a.key < b.key; }
  };

  Client& m_client;
  Address m_at;
  Done m_done;
  std::set<Object, ByKey> m_objects;
  std::set<std::string> m_tokens;  // that have come
  int m_vain = 0;                  // pages in a row that brought nothing new
  bool m_folder = false;           // it has a marker: an empty one, then
  Client::CallId m_call = 0;
};

// Uploads in parts at an address, and below it, that were begun and neither completed nor given up: all pages, by key, each once.
class UploadListing {
 public:
  using Done = std::function<void(Answer<std::vector<MultipartUpload>>)>;
  // References must outlive it. `done`: once, from the loop; it may destroy this.
  UploadListing(Client& client, Address at, Done done);
  UploadListing(const UploadListing&) = delete;
  UploadListing& operator=(const UploadListing&) = delete;
  ~UploadListing();

 private:
  using Mark = std::pair<std::string, std::string>;  // key and upload
  void ask(const MultipartUpload& from);
  [[nodiscard]] std::vector<MultipartUpload> all() const;

  Client& m_client;
  Address m_at;
  Done m_done;
  std::set<Mark> m_found, m_pages;  // what was listed; where pages began
  int m_vain = 0;                   // pages in a row that brought nothing new
  Client::CallId m_call = 0;
};

// Whether a mark, of an object, is this one of a job, or that of one of its pods: "JOB/POD".
bool bears(std::string_view mark, std::string_view job);

// Removes the tree at an address, and what uploads in parts have left there, as far as they may be listed; or certain objects; or those of them that
// carry a mark.
class Removal {
 public:
  using Done = std::function<void(Answer<std::size_t> objects)>;  // how many
  // References must outlive it. `done`: once, from the loop; it may destroy this. Error: input, for a whole bucket; the first, of what it met.
  Removal(Client& client, Address at, Done done);
  Removal(Client& client, std::vector<Address> objects, Done done);
  // An object that may not be looked at carries no mark; no object carries an empty one.
  Removal(Client& client, std::vector<Address> objects, std::string mark, Done done);
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;
  ~Removal();
  // Those that did not carry the mark, and stayed.
  [[nodiscard]] const std::vector<Address>& unmarked() const { return m_unmarked; }

 private:
  using Call = std::function<Client::CallId(Client::Done<std::monostate>)>;
  void remove(const std::vector<Object>& objects);
  void remove_each(std::vector<Address> objects);
  void remove_marked(const std::vector<Address>& objects, const std::string& mark);
  void remove_now(const Address& what, const Client::Done<std::monostate>& done);
  void add(Call call);
  void pump();
  void give_up_uploads();
  void tell();

  Client& m_client;
  Address m_at;
  Done m_done;
  TransferQueue m_queue;
  std::unique_ptr<Listing> m_listing;
  std::unique_ptr<UploadListing> m_uploads;
  std::set<Client::CallId> m_calls;
  std::size_t m_objects = 0;
  std::vector<Address> m_unmarked;
  bool m_all = false;  // objects are gone, uploads are left
  std::optional<StoreError> m_error;
  Loop::TimerId m_timer = 0;
};

}  // namespace trainstep::objectstore
