// What a job has put at the addresses of its outputs, or was about to: only that may it remove there (docs/adr/0020).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "objectstore/sync.h"
#include "plan/task.h"

namespace trainstep::staging {

class Manifest {
 public:
  // Beside the record of the finished training; none, where there is no record.
  static plan::TaskPlace beside(const plan::TaskPlace& record);
  // What cannot be read is an empty one: then nothing is removed.
  static Manifest read(std::string_view text);
  [[nodiscard]] std::string text() const;
  // What each object carries that the job puts where others look; the first attempt chooses it.
  [[nodiscard]] const std::string& mark() const { return m_mark; }
  void set_mark(std::string mark) { m_mark = std::move(mark); }

  // `files` are to be put at `uri`, where `there` lies now. True: that was not all known.
  bool add(const std::string& uri, const std::vector<objectstore::LocalFile>& files, const std::vector<objectstore::Object>& there);
  // Whether an object at `uri` may be what the job has put there: it was about to, and it is not what was there before. Its mark tells.
  [[nodiscard]] bool may_be_ours(const std::string& uri, const objectstore::Object& object) const;
  // Whether the job has put, or begun to put, something at this key.
  [[nodiscard]] bool names(const std::string& uri, const std::string& key) const;
  // Somebody else's object was there before.
  [[nodiscard]] bool replaces(const std::string& uri, const std::string& key) const;

 private:
  using Keys = std::map<std::string, std::string, std::less<>>;  // relative key → ETag of what was there before and was not ours, or ""
  [[nodiscard]] const std::string* before(const std::string& uri, const std::string& key) const;
  std::string m_mark;
  std::map<std::string, Keys> m_outputs;  // by address
};

}  // namespace trainstep::staging
