// Inputs into the pod, outputs out of it: one after another, each of them with parallel transfers. On any loop, over any transport.
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
  std::int64_t bytes = 0;  // of content that travelled
  std::size_t files = 0;
  Duration took{};
  std::size_t equal = 0;  // files that were there already
};

struct StagingSink {
  std::function<void(const std::string& line)> tell;  // the story
  std::function<void(Result<Staged>)> done;           // once, from the loop
};

// Fetches every input to its path, over what is there; what the stores' sync state knows to be the same stays. A file is there when it is whole.
// What lies below `own`, an address of the job, is what its list says that was brought there, no more and no less; what is not there as it was
// brought is asked for again for a while. Errors: input (nothing lies at the address), denied, unavailable, internal (no space).
class Fetching {
 public:
  // References must outlive it. `what`: for messages.
  Fetching(Stores& stores, const std::vector<plan::TaskInput>& inputs, StagingSink sink, std::string own = "", std::string_view what = "input");
  Fetching(const Fetching&) = delete;
  Fetching& operator=(const Fetching&) = delete;
  ~Fetching();
  // Of what it has waited for in vain, below `own`: it is not there as it was brought, or nothing says that anything ever was.
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
  std::optional<Deadline> m_limit;  // of what is not there as it was brought
  Lost m_lost = Lost::nothing;
  Duration m_pause{};
  objectstore::Client::CallId m_call = 0;
  std::size_t m_call_store = 0;
  std::size_t m_at = 0;
  Time m_began;
  Staged m_staged;
  objectstore::SyncPlan m_plan;  // of the one under way
  Time m_told;
  std::int64_t m_moved = 0;
  std::unique_ptr<objectstore::Listing> m_listing;
  std::unique_ptr<objectstore::Transfer> m_transfer;
  Loop::TimerId m_timer = 0;
};

struct DeliveryOptions {
  // What is there already: what the stores' sync state knows, or also what has the same content – files are read for that.
  enum class Equal { known, content };
  Equal equal = Equal::known;
  std::string own{};                 // an address: all that lies below it is the job's own
  plan::TaskPlace manifest{};        // elsewhere what stands here is; none: nothing is
  std::string_view what = "output";  // for messages
  std::string pod{};                 // which of the job's pods it is, in letters of an address: what it has put there carries that as well
  std::string mark{};                // what tells its objects from others', in letters of an address; without, those that it has put elsewhere stay
  // By output's name: the files that are to be delivered, as they were when the program had ended. Without: what is there when they are looked at.
  std::map<std::string, std::vector<objectstore::LocalFile>> at_end{};
  bool nothing = false;  // is to be there: what the job has put at addresses that others see goes, by its list; without a list nothing does
};

// Puts every output where it belongs, but for what is there already, and removes what an earlier attempt of the job left there beside it, begun
// uploads too; what the job has not put there stays. Where others look, it ends when all that it has put there is seen to stand there, and nothing
// that another pod of the job has put there meanwhile; where one has, and its list is gone, the job is over: conflict. What fails is tried again
// until `limit` has passed: the result of a training is worth it, and keys and rights can be mended meanwhile. What does not lie there any more as it
// did at the program's end is not delivered at all, and what was put at addresses that others see is removed again. Errors: of the last try; that a
// store does not want it is `denied`, `input` is what is wrong with the files, `conflict` that somebody has changed them; cancelled.
class Delivery {
 public:
  // References must outlive it. `outputs`: those that exist at their paths and have a place in a store.
  Delivery(Stores& stores, std::vector<plan::TaskOutput> outputs, Duration limit, StagingSink sink, DeliveryOptions options = {});
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  ~Delivery();

  // It has to end soon: what is not delivered by then is given up, and what it has put at addresses that others see is removed again. `why`: the
  // error that it ends with.
  void stop(Error why);

 private:
  using Call = objectstore::Client::CallId;
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
  void call(std::size_t store, const std::function<Call(objectstore::Client&)>& begin);
  void cancel_call();
  [[nodiscard]] const plan::TaskOutput& output() const { return m_outputs[m_at]; }
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
  std::optional<Manifest> m_manifest;  // once it is known
  bool m_unsaved = false;              // it has changed since it was written
  objectstore::Address m_to;
  std::vector<objectstore::Object> m_there;
  std::vector<objectstore::LocalFile> m_files;
  std::vector<std::string> m_empty_folders;  // beside them, where the list tells of folders
  objectstore::SyncPlan m_plan;
  int m_pass = 0;                                                             // 0: it is put there; then it is looked at
  std::optional<std::set<std::string>> m_keys;                                // what was there at first
  std::vector<objectstore::TransferItem> m_unsure;                            // it is there with another ETag than it was put there with
  bool m_listed = true;                                                       // the manifest was found
  std::vector<std::string> m_others;                                          // keys relative to m_to, to be removed
  std::map<std::pair<std::size_t, std::string>, objectstore::Address> m_put;  // by store and address: what others see there and is ours
  std::set<std::pair<std::size_t, std::string>> m_told;                       // of an output
  std::unique_ptr<objectstore::Recognition> m_recognition;
  Call m_call = 0;
  std::size_t m_call_store = 0;
  Duration m_pause;
  std::unique_ptr<objectstore::Listing> m_listing;
  std::unique_ptr<objectstore::UploadListing> m_uploads;
  std::unique_ptr<objectstore::Removal> m_removal;
  std::unique_ptr<objectstore::Transfer> m_transfer;
  bool m_sending = false, m_ending = false;
  std::optional<Error> m_stopped;
  Loop::TimerId m_timer = 0, m_stop_timer = 0, m_hurry_timer = 0;
};

// "12 files, 1.5 GB in 3.1 s", "1 file, 5 B in 0.1 s, 11 were there already"
std::string describe(const Staged& staged);

}  // namespace trainstep::staging
