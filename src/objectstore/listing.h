// All pages of a listing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "objectstore/client.h"

namespace trainstep::objectstore {

// The objects of the tree at an address, keys relative to it: all below it, or, where there are none, the object itself (key "").
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
  void take(std::vector<Object> objects);
  void look_at_itself();

  Client& m_client;
  Address m_at;
  Done m_done;
  std::vector<Object> m_objects;
  std::set<std::string> m_tokens;  // that have come
  bool m_folder = false;           // it has a marker: an empty one, then
  Client::CallId m_call = 0;
};

}  // namespace trainstep::objectstore
