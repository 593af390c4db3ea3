// Delivers one output: compares what is at its address, uploads, removes, and looks again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "objectstore/listing.h"
#include "objectstore/recognition.h"
#include "objectstore/transfer.h"
#include "plan/task.h"
#include "staging/delivery_options.h"
#include "staging/staged.h"
#include "staging/stores.h"
#include "staging/written_record.h"

namespace trainstep::staging {

// Two pods of a job may run at the same time: one that its API server has lost contact with, and its successor. What is at an address in the end must
// come from only one of them (docs/adr/0020).
class OutputDelivery {
 public:
  struct Context {
    Stores& stores;
    const plan::TaskOutput& output;
    const DeliveryOptions& options;
    const Deadline& limit;   // of the delivery
    WrittenRecord& written;  // loaded at the latest when begin() is called
    Staged& staged;          // gets what was transferred, or was there
    std::function<void(const std::string& line)> log;
    std::function<void(const objectstore::Address& object)> put{};  // outside the job's prefix it has written, or is about to write, an object
  };
  struct Sink {
    std::function<void()> delivered;
    std::function<void(Error why)> failed;   // another attempt may succeed
    std::function<void(Error why)> refused;  // none can
    std::function<void(Error why)> changed;  // the files are no longer those to be delivered
    std::function<void()> stopped;           // after stop()
  };

  // References must outlive it.
  OutputDelivery(Context context, Sink sink);
  OutputDelivery(const OutputDelivery&) = delete;
  OutputDelivery& operator=(const OutputDelivery&) = delete;

  // An attempt: calls one function of the sink. A later one continues with what the ones before have delivered. `first`: files that are there already
  // are counted.
  void begin(bool first);
  // Why no attempt can succeed after this error: files have changed, or cannot be read. nullopt: another one may.
  [[nodiscard]] std::optional<Error> why_vain(const Error& error) const;
  // Ends what is in progress, and no file is sent any more: calls `stopped`, perhaps immediately.
  void stop(const Error& why);
  // Waits for nothing.
  void abandon() { m_transfer.reset(); }

 private:
  void compare(std::vector<objectstore::Object> there);
  void compare_with_nothing(std::vector<objectstore::Object> there);
  void compare_again(std::vector<objectstore::Object> there);
  void look_at_folders(objectstore::LocalTree& tree);
  void look_for_successor();
  void find_others();
  void keep_written();
  void recognise();
  void send();
  void look_for_own();
  void look_at_unsure();
  void transfer();
  void sent(const Result<void>& result);
  void remove_others();
  void tell_unmarked();
  void list_uploads();
  void give_up_uploads(std::vector<objectstore::MultipartUpload> uploads);
  void keep_uploads(const objectstore::StoreError& why);
  void verify();
  void keep_list();
  void tell_once(const std::string& what);
  [[nodiscard]] std::optional<Error> change_since_end(const std::vector<objectstore::LocalFile>& now) const;
  [[nodiscard]] std::string mark() const;
  [[nodiscard]] std::vector<http::Header> headers() const;
  [[nodiscard]] const std::string& uri() const { return m_context.output.to.uri; }
  [[nodiscard]] bool is_own() const { return m_context.options.is_own(uri()); }
  [[nodiscard]] objectstore::Client& store() { return m_context.stores.of(m_context.output.to); }
  [[nodiscard]] objectstore::Address at(const std::string& key) const { return key.empty() ? m_to : m_to.child(key); }

  Context m_context;
  Sink m_sink;
  objectstore::Address m_to;
  std::vector<objectstore::Object> m_there;
  std::vector<objectstore::LocalFile> m_files;
  std::vector<std::string> m_empty_folders;  // in addition to m_files, where a list can record them
  objectstore::SyncPlan m_plan;
  bool m_first = true;                              // attempt
  int m_pass = 0;                                   // 0: upload; after that: verify
  std::optional<std::set<std::string>> m_keys;      // what was there at first
  std::vector<objectstore::TransferItem> m_unsure;  // listed with another ETag than that of their upload
  std::vector<std::string> m_others;                // keys relative to m_to, to be removed
  std::set<std::string> m_told;
  objectstore::PendingCall m_call;
  std::unique_ptr<objectstore::Listing> m_listing;
  std::unique_ptr<objectstore::Recognition> m_recognition;
  std::unique_ptr<objectstore::Transfer> m_transfer;
  std::unique_ptr<objectstore::Removal> m_removal;
  std::unique_ptr<objectstore::UploadListing> m_uploads;
  bool m_sending = false, m_ending = false;
  Timer m_timer;
};

}  // namespace trainstep::staging
