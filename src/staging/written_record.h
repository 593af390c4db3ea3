// Keeps the WrittenObjects of a job where the next attempt finds them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "objectstore/client.h"
#include "objectstore/sync.h"
#include "plan/task.h"
#include "staging/stores.h"
#include "staging/written_objects.h"

namespace trainstep::staging {

class WrittenRecord {
 public:
  using Done = std::function<void(Result<void>)>;

  // References must outlive it. `place`: of the record; without one, nothing is kept. `mark`: of the job's objects, unless an earlier attempt has
  // chosen one.
  WrittenRecord(Stores& stores, plan::TaskPlace place, std::string mark);
  WrittenRecord(const WrittenRecord&) = delete;
  WrittenRecord& operator=(const WrittenRecord&) = delete;

  // It is not needed, and counts as loaded.
  void do_without();
  [[nodiscard]] bool is_loaded() const { return m_loaded; }
  // Error (input): the place is not a valid address; it could not be loaded.
  [[nodiscard]] Result<void> check() const;
  // Calls `done` once, perhaps immediately. That there is none, or that it may not be read, is not an error.
  void load(const Done& done);
  // Whether there was one.
  [[nodiscard]] bool existed() const { return m_existed; }
  [[nodiscard]] const WrittenObjects& objects() const { return m_objects; }
  // Call before `files` are written to `uri`, where `there` is stored now: a later attempt must know what to remove.
  void add(const std::string& uri, const std::vector<objectstore::LocalFile>& files, const std::vector<objectstore::Object>& there);
  // If it has changed. Calls `done` once, perhaps immediately. Errors: those of the store or file system.
  void save(const Done& done);
  // Ends what is in progress.
  void cancel() { m_call.cancel(); }

 private:
  Stores& m_stores;
  plan::TaskPlace m_place;
  std::string m_mark;
  WrittenObjects m_objects;
  bool m_loaded = false;
  bool m_existed = true;
  bool m_unsaved = false;  // it has changed since it was written
  objectstore::PendingCall m_call;
};

}  // namespace trainstep::staging
