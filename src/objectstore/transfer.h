// The files of a SyncPlan on their way: parallel, within bounds of memory, all or an error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "objectstore/client.h"
#include "objectstore/local_tree.h"
#include "objectstore/sync.h"
#include "objectstore/transfer_queue.h"

namespace trainstep::objectstore {

struct TransferLimits {
  int requests = 32;                            // at once
  std::int64_t bytes = std::int64_t{32} << 20;  // in memory
  std::int64_t part = std::int64_t{8} << 20;    // of a large file that is uploaded; larger where there would be more than 10,000 of them
  std::int64_t range = std::int64_t{32} << 20;  // of a large object that is fetched
  [[nodiscard]] std::int64_t part_of(std::int64_t size) const;  // of a file of that size
};

// What both directions share: the queue, calls under way, the first error.
class Transfer {
 public:
  struct Sink {
    std::function<void(std::int64_t bytes)> moved;  // optional: further bytes have arrived
    std::function<void(Result<void>)> done;         // once, from the loop
  };
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer();  // cancels what is under way
  // Ends it with this error: what is half done is undone, then `done` is called.
  void give_up(Error error) { fail(std::move(error)); }
  // Of what had to travel: what is the same on both sides now, also after an error.
  [[nodiscard]] const KnownFiles& settled() const { return m_same; }

 protected:
  // References must outlive it. `root`: the tree on this machine; `at`: in the store.
  Transfer(Client& client, std::filesystem::path root, Address at, Sink sink, TransferLimits limits);

  // A call in a lane: `ask` begins it; `then` gets its value, an error ends the transfer.
  template <typename T>
  TransferQueue::Start call(std::function<Client::CallId(Client::Done<T>)> ask, std::function<void(T value)> then) {
    return [this, ask = std::move(ask), then = std::move(then)](std::function<void()> over) {
      const auto id = std::make_shared<Client::CallId>();
      *id = ask([this, id, then, over = std::move(over)](Answer<T> answer) {
        m_calls.erase(*id);
        over();
        if (!answer) return fail(std::move(answer.error().error));
        then(std::move(*answer));
        go_on();
      });
      m_calls.insert(*id);
    };
  }
  // A call besides the queue: it ends with this object.
  void keep(Client::CallId id) { m_calls.insert(id); }
  // Nothing more is begun, what is under way is cancelled.
  void fail(Error error);
  void moved(std::int64_t bytes) const;
  void same(const LocalFile& file, const std::string& etag) { m_same[file.path] = {file.size, file.changed, etag, file.touched}; }
  // Once all that is known of has been queued, and after each call.
  void go_on();
  [[nodiscard]] std::filesystem::path place(const std::string& path) const { return path.empty() ? m_root : m_root / path; }
  [[nodiscard]] Address address(const std::string& key) const { return key.empty() ? m_at : m_at.child(key); }
  // Called from the loop: queues what is to be done.
  virtual void begin() = 0;
  // Called whenever something may be started: queues more, where not all was queued at once.
  virtual void more() {}
  // After the first error: undoes what is half done, then calls `done`.
  virtual void undo(const std::function<void()>& done) { done(); }

  Client& m_client;
  std::filesystem::path m_root;
  Address m_at;
  Sink m_sink;
  TransferLimits m_limits;
  TransferQueue m_queue;

 private:
  void end();
  void tell();

  std::set<Client::CallId> m_calls;
  KnownFiles m_same;
  std::optional<Error> m_error;
  Loop::TimerId m_timer = 0;
};

// Files to objects. A large file becomes visible when all its parts are there. Errors: also input, when a file changes meanwhile, or is larger than
// an object can be. `headers`: of each object, its metadata.
std::unique_ptr<Transfer> upload(Client& client, SyncPlan plan, std::filesystem::path root, Address to, Transfer::Sink sink,
                                 TransferLimits limits = {}, std::vector<http::Header> headers = {});
// Objects to files, below `root` (or `root` itself). A file becomes visible when it is whole. Errors: also conflict, when an object changes
// meanwhile; internal, when the file system has less space than they say they need.
std::unique_ptr<Transfer> download(Client& client, SyncPlan plan, std::filesystem::path root, Address from, Transfer::Sink sink,
                                   TransferLimits limits = {});

}  // namespace trainstep::objectstore
