// All pages of a listing; and removal of the listed objects.
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

// The objects of the tree at an address, with keys relative to it: all below it, or, if there are none, the object itself (key ""). Sorted by key,
// each once, with its last listed state; keys outside the prefix are ignored.
class Listing {
 public:
  using Done = std::function<void(Answer<std::vector<Object>>)>;
  // References must outlive this object. `done`: called once, from the loop; it may destroy this object.
  Listing(Client& client, Address at, Done done);
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

 private:
  void ask(const std::string& token);
  bool take(std::vector<Object> objects);
  std::vector<Object> all();
  void check_own_key();
  void look_for_itself();

  struct ByKey {
    bool operator()(const Object& a, const Object& b) const { return a.key < b.key; }
  };

  Client& m_client;
  Address m_at;
  Done m_done;
  std::set<Object, ByKey> m_objects;
  std::set<std::string> m_tokens;  // received so far
  int m_vain = 0;                  // consecutive pages without anything new
  bool m_folder = false;           // there is a folder marker: the tree exists, even if empty
  PendingCall m_call;
};

// Multipart uploads in progress at an address, and below it: all pages, sorted by key, each once.
class UploadListing {
 public:
  using Done = std::function<void(Answer<std::vector<MultipartUpload>>)>;
  // References must outlive this object. `done`: called once, from the loop; it may destroy this object.
  UploadListing(Client& client, Address at, Done done);
  UploadListing(const UploadListing&) = delete;
  UploadListing& operator=(const UploadListing&) = delete;

 private:
  using Mark = std::pair<std::string, std::string>;  // key and upload ID
  void ask(const MultipartUpload& from);
  [[nodiscard]] std::vector<MultipartUpload> all() const;

  Client& m_client;
  Address m_at;
  Done m_done;
  std::set<Mark> m_found, m_pages;  // listed uploads; markers of the pages
  int m_vain = 0;                   // consecutive pages without anything new
  PendingCall m_call;
};

// Whether an object's mark is that of the job, or of one of its pods: "JOB/POD".
bool has_mark(std::string_view mark, std::string_view job);

// Removes the tree at an address, and what multipart uploads have left there, if they can be listed; or certain objects; or those of them that have a
// certain mark.
class Removal {
 public:
  using Done = std::function<void(Answer<std::size_t> objects)>;  // their number
  // References must outlive this object. `done`: called once, from the loop; it may destroy this object. Error: input, for a whole bucket; otherwise
  // the first error encountered.
  Removal(Client& client, Address at, Done done);
  Removal(Client& client, std::vector<Address> objects, Done done);
  // An object that cannot be accessed by HEAD counts as unmarked; no object matches an empty mark.
  Removal(Client& client, std::vector<Address> objects, std::string mark, Done done);
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;
  // Objects without the mark, which were kept.
  [[nodiscard]] const std::vector<Address>& unmarked() const { return m_unmarked; }

 private:
  using Call = std::function<PendingCall(Client::Done<std::monostate>)>;
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
  PendingCalls m_calls;
  std::size_t m_objects = 0;
  std::vector<Address> m_unmarked;
  bool m_all = false;  // objects are removed, only uploads are left; true from the start for given objects, which have none
  std::optional<StoreError> m_error;
  Timer m_timer;
};

}  // namespace trainstep::objectstore
