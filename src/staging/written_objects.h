// Lists what a job has written, or was about to write, at the addresses of its outputs: it may remove only that (docs/adr/0020).
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

class WrittenObjects {
 public:
  // Next to the record of the finished training; none if there is no record.
  static plan::TaskPlace beside(const plan::TaskPlace& record);
  // Unreadable text counts as empty: then nothing is removed.
  static WrittenObjects read(std::string_view text);
  [[nodiscard]] std::string text() const;
  // The mark on each object that the job writes outside its own prefix; the first attempt chooses it.
  [[nodiscard]] const std::string& mark() const { return m_mark; }
  void set_mark(std::string mark) { m_mark = std::move(mark); }

  // Call before `files` are written to `uri`, where `there` is stored now. Returns true if any of that was not listed yet.
  bool add(const std::string& uri, const std::vector<objectstore::LocalFile>& files, const std::vector<objectstore::Object>& there);
  // Whether the job may have written this object at `uri`: it was about to write one, and this is not the one that was there before. The mark
  // decides.
  [[nodiscard]] bool may_be_ours(const std::string& uri, const objectstore::Object& object) const;
  // Whether the job has written, or started to write, an object with this key.
  [[nodiscard]] bool names(const std::string& uri, const std::string& key) const;
  // Whether the key had an object before that was not the job's.
  [[nodiscard]] bool replaces(const std::string& uri, const std::string& key) const;

 private:
  using Keys = std::map<std::string, std::string, std::less<>>;  // relative key → ETag of the object that was there before and was not ours, or ""
  [[nodiscard]] const std::string* before(const std::string& uri, const std::string& key) const;
  std::string m_mark;
  std::map<std::string, Keys> m_outputs;  // by address
};

}  // namespace trainstep::staging
