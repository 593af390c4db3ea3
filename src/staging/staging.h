// Transfers inputs into the pod and outputs out of it: one after another, each with parallel transfers. Runs on any loop, over any transport.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "objectstore/listing.h"
#include "objectstore/recognition.h"
#include "objectstore/transfer.h"
#include "plan/task.h"
#include "staging/manifest.h"
#include "staging/stores.h"

namespace trainstep::staging {

struct Staged {
  std::int64_t bytes = 0;  // of the contents transferred
  std::size_t files = 0;
  Duration took{};
  std::size_t equal = 0;  // files that were there already
};

struct StagingSink {
  std::function<void(const std::string& line)> tell;  // progress messages
  std::function<void(Result<Staged>)> done;           // once, from the loop
};

// Downloads every input to its path and overwrites what is there; files that are identical according to the stores' sync state stay. A file appears
// only when it is complete. Below `own`, an address of the job, an input is exactly what its list says was delivered; what is not there as it was
// delivered, or is refused, is requested again for a while. Errors: input (nothing is at the address), denied, unavailable, internal (no space).
class Fetching {
 public:
  // References must outlive it. `what`: for messages.
  Fetching(Stores& stores, const std::vector<plan::TaskInput>& inputs, StagingSink sink, std::string own = "", std::string_view what = "input");
  Fetching(const Fetching&) = delete;
  Fetching& operator=(const Fetching&) = delete;
  // What was still missing below `own` after waiting. some: objects are not there as they were delivered; all: the list of what was delivered is not
  // there, nor is anything, unless a listing shows it.
  enum class Lost { nothing, some, all };
  [[nodiscard]] Lost lost() const { return m_lost; }

 private:
  void next();
  void ask_for_list();
  void failed(Error error, Lost lost = Lost::some);
  void look_at_itself(const objectstore::Address& at, std::vector<objectstore::Object> there);
  void fetch(const std::vector<objectstore::Object>& there);
  void make_folder();
  void moved(std::int64_t bytes);
  void fetched_one();
  void fetched(const Result<void>& result);
  void finish(Result<Staged> result);
  [[nodiscard]] const plan::TaskInput& input() const { return m_inputs[m_at]; }
  [[nodiscard]] bool is_own() const { return !m_own.empty() && input().from.uri.starts_with(m_own + '/'); }

  Stores& m_stores;
  const std::vector<plan::TaskInput>& m_inputs;
  StagingSink m_sink;
  std::string m_own;
  std::string_view m_what;
  std::optional<Deadline> m_limit;  // for objects that are not as they were delivered
  Lost m_lost = Lost::nothing;
  Duration m_pause{};
  objectstore::PendingCall m_call;
  std::size_t m_at = 0;
  Time m_began;
  Staged m_staged;
  objectstore::SyncPlan m_plan;  // of the current input
  Time m_told;
  std::int64_t m_moved = 0;
  std::unique_ptr<objectstore::Listing> m_listing;
  std::unique_ptr<objectstore::Transfer> m_transfer;
  Timer m_timer;
};

struct DeliveryOptions {
  // Which files count as already there: those that the stores' sync state knows, or also those with the same contents, for which files are read.
  enum class Equal { known, content };
  Equal equal = Equal::known;
  std::string own{};                 // an address: everything below it is the job's own
  plan::TaskPlace manifest{};        // outside `own`, only what it lists is the job's; if unset, nothing is
  std::string_view what = "output";  // for messages
  std::string pod{};                 // identifies the pod within the job, in characters valid in an address: also part of the mark of its objects
  // Distinguishes the job's objects from others, in characters valid in an address; if empty, the job's objects outside `own` stay.
  std::string mark{};
  // By output name: the files to deliver, as they were when the program ended. If absent: those that exist when the output is read.
  std::map<std::string, std::vector<objectstore::LocalFile>> at_end{};
  // Deliver nothing: remove what the job has written outside `own`, according to its manifest; without a manifest nothing is removed.
  bool nothing = false;
};

// Uploads every output to its address, except for files that are already there, and removes what an earlier attempt of the job left there, including
// incomplete uploads; objects that the job has not written stay. Outside the job's own prefix, it completes once a listing shows everything that it
// has written and nothing that another pod of the job has written meanwhile; if another pod has, and its manifest is gone, the job is over: conflict.
// Failures are retried until `limit` has passed: the result of a training is worth it, and credentials and permissions can be fixed meanwhile. An
// output that has changed since the program ended is not delivered, and what was written outside the job's prefix is removed again. Errors: that of
// the last attempt; `denied` if the store rejects an output, `input` if the files are invalid, `conflict` if they were changed; cancelled.
class Delivery {
 public:
  // References must outlive it. `outputs`: those that exist at their paths and have an address in a store.
  Delivery(Stores& stores, std::vector<plan::TaskOutput> outputs, Duration limit, StagingSink sink, DeliveryOptions options = {});
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  // Ends it soon: what is not delivered by then is abandoned, and what it has written outside the job's prefix is removed again. `why`: the error
  // that it ends with.
  void stop(Error why);

 private:
  void load_manifest();
  void next();
  void compare(std::vector<objectstore::Object> there);
  void compare_with_nothing(std::vector<objectstore::Object> there);
  [[nodiscard]] std::string mark() const;
  [[nodiscard]] std::vector<http::Header> headers() const;
  void tell_unmarked();
  void keep_uploads(const objectstore::StoreError& why);
  [[nodiscard]] std::optional<Error> change_since_end(const std::vector<objectstore::LocalFile>& now) const;
  void withdraw(Error why);
  void find_others();
  void tell_once(const std::string& what);
  void note_put(const std::string& key);
  void keep_manifest();
  void recognise();
  void send();
  void look_at_folders(objectstore::LocalTree& tree);
  void look_for_successor();
  void look_again(std::vector<objectstore::Object> there);
  void look_for_own();
  void look_at_unsure();
  void transfer();
  void sent(const Result<void>& result);
  void remove_others();
  void list_uploads();
  void give_up_uploads(std::vector<objectstore::MultipartUpload> uploads);
  void delivered();
  void keep_list();
  void next_output();
  [[nodiscard]] std::optional<Error> local_error(const Error& error) const;
  void failed(Error error);
  void stop_now();
  void retract();
  void finish(Result<Staged> result);
  [[nodiscard]] const plan::TaskOutput& output() const { return m_outputs[m_at]; }
  [[nodiscard]] objectstore::Client& store() { return m_stores.of(output().to); }
  [[nodiscard]] bool is_own(const std::string& uri) const { return !m_options.own.empty() && uri.starts_with(m_options.own + '/'); }
  [[nodiscard]] objectstore::Address at(const std::string& key) const { return key.empty() ? m_to : m_to.child(key); }

  Stores& m_stores;
  std::vector<plan::TaskOutput> m_outputs;
  StagingSink m_sink;
  DeliveryOptions m_options;
  Deadline m_limit;
  std::size_t m_at = 0;
  Time m_began;
  Staged m_staged;
  Manifest m_manifest;
  bool m_loaded = false;   // the manifest
  bool m_unsaved = false;  // the manifest has changed since it was written
  objectstore::Address m_to;
  std::vector<objectstore::Object> m_there;
  std::vector<objectstore::LocalFile> m_files;
  std::vector<std::string> m_empty_folders;  // in addition to m_files, where a list can record them
  objectstore::SyncPlan m_plan;
  int m_pass = 0;                                                             // 0: upload; after that: verify
  std::optional<std::set<std::string>> m_keys;                                // what was there at first
  std::vector<objectstore::TransferItem> m_unsure;                            // listed with another ETag than that of their upload
  bool m_listed = true;                                                       // the manifest existed
  std::vector<std::string> m_others;                                          // keys relative to m_to, to be removed
  std::map<std::pair<std::size_t, std::string>, objectstore::Address> m_put;  // by store and address: what we have written outside the job's prefix
  std::set<std::pair<std::size_t, std::string>> m_told;                       // already logged: number of the output, message
  std::unique_ptr<objectstore::Recognition> m_recognition;
  objectstore::PendingCall m_call;
  Duration m_pause;
  std::unique_ptr<objectstore::Listing> m_listing;
  std::unique_ptr<objectstore::UploadListing> m_uploads;
  std::unique_ptr<objectstore::Removal> m_removal;
  std::unique_ptr<objectstore::Transfer> m_transfer;
  bool m_sending = false, m_ending = false;
  bool m_stopped = false;
  Error m_stop_reason{};
  Timer m_timer, m_stop_timer, m_hurry_timer;
};

// "12 files, 1.5 GB in 3.1 s", "1 file, 5 B in 0.1 s, 11 were there already"
std::string describe(const Staged& staged);

}  // namespace trainstep::staging
