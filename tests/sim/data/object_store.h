// An object store in memory: S3 as far as the program speaks it. Strongly consistent; it answers at once, faults are the network's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/loop.h"
#include "http/message.h"
#include "sim/random.h"

namespace trainstep::sim::data {

class ObjectStore {
 public:
  struct Object {
    std::string content, etag;
    std::string mark{};  // the job that put it, according to its metadata
  };
  struct Upload {
    std::string where;
    std::map<int, std::string> parts;
    std::string mark{};
  };
  // How stores differ.
  struct Ways {
    int page = 1'000;
    bool heeds_if_match = true;
    bool opaque_tags = false;  // an etag is no MD5, as where a key service encrypts
    std::string region{};      // of the bucket "models": requests that are signed for another one are refused; empty: all are taken
    bool overlaps = false;     // a page of a listing begins with the last object of the one before
    bool unsorted = false;     // within a page
    bool strays = false;       // a listing has also what was not asked for
    Duration clock{};          // it shows so much more than the world's; requests that are signed for another time are refused
  };
  ObjectStore(Random random, Ways ways) : m_random(random), m_ways(ways) {}
  [[nodiscard]] bool tags_are_sums() const { return !m_ways.opaque_tags; }

  // `sent`: when the request was begun; a part that was on its way when its upload was given up may bring it back.
  http::Response answer(const http::Request& request, Time sent, Time now);

  // All by "bucket/key".
  [[nodiscard]] const std::map<std::string, Object>& objects() const { return m_objects; }
  [[nodiscard]] const std::map<std::string, Upload>& uploads() const { return m_uploads; }  // by id
  // What lies below "bucket/key", by what follows; itself by "".
  [[nodiscard]] std::map<std::string, std::string> tree(const std::string& where) const;
  void put(const std::string& where, std::string content, std::string mark = {});
  // A change by an unrelated client, without on_change(). No content: removes the object.
  void meddle(const std::string& where, std::optional<std::string> content);
  // Creates a multipart upload of another client. Returns its id.
  std::string begin_upload(const std::string& where);
  void make_bucket(const std::string& name) { m_buckets.insert(name); }
  // Called with "bucket/key" of each object that has changed or gone.
  void on_change(std::function<void(const std::string& where)> changed) { m_changed = std::move(changed); }
  // The store is killed while it puts the parts together: from now on it takes the upload for complete, but there is no object.
  void break_upload(const std::string& id) { m_broken.insert(id); }
  // Keys that may not do this: "PUT" (all that writes), "GET" (objects; not listings), by bucket; "" is all of them.
  std::set<std::pair<std::string, std::string>> forbidden;

 private:
  struct Place {
    std::string bucket, key;
    [[nodiscard]] std::string where() const { return bucket + '/' + key; }
  };
  http::Response get(const http::Request& request, const Place& place) const;
  http::Response put(const http::Request& request, const Place& place);
  http::Response put_part(const http::Request& request, const Place& place, Time sent);
  http::Response post(const http::Request& request, const Place& place);
  http::Response complete(const http::Request& request, const Place& place);
  http::Response remove(const http::Request& request, const Place& place, Time now);
  http::Response list(const http::Request& request, const Place& place) const;
  http::Response list_uploads(const http::Request& request, const Place& place) const;
  [[nodiscard]] std::optional<http::Response> other_region(const http::Request& request, const Place& place) const;
  [[nodiscard]] std::optional<http::Response> other_time(const http::Request& request, Time now) const;
  [[nodiscard]] bool is_forbidden(const http::Request& request, const Place& place) const;
  std::string tag(const std::string& made) { return m_ways.opaque_tags ? m_random.uid() : made; }
  void set(const std::string& where, Object object);

  Random m_random;
  Ways m_ways;
  std::set<std::string> m_buckets;
  std::map<std::string, Object> m_objects;
  std::map<std::string, Upload> m_uploads;
  std::map<std::string, Time> m_given_up;
  std::set<std::string> m_broken;
  std::function<void(const std::string&)> m_changed;
  std::uint64_t m_last = 0;
};

// The value of an option of a request's query, or "".
std::string asked(const http::Request& request, std::string_view option);
bool asks(const http::Request& request, std::string_view option);
http::Response refusal(int status, const std::string& code);

}  // namespace trainstep::sim::data
