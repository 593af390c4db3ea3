// Transfers the files of a SyncPlan: concurrently, with bounded memory; all of them, or an error.
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
  int requests = 32;                            // concurrent requests
  std::int64_t bytes = std::int64_t{32} << 20;  // in memory
  std::int64_t part = std::int64_t{8} << 20;    // part size of multipart uploads; larger for files that would have more than 10,000 parts
  std::int64_t range = std::int64_t{32} << 20;  // range size of downloads of large objects
  [[nodiscard]] std::int64_t part_of(std::int64_t size) const;  // part size for a file of that size
};

// Common to both directions: the queue, calls in progress, the first error.
class Transfer {
 public:
  struct Sink {
    std::function<void(std::int64_t bytes)> moved;  // optional; called for each further number of transferred bytes
    std::function<void(Result<void>)> done;         // called once, from the loop
  };
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;  // cancels calls in progress
  // Aborts the transfer with this error: incomplete uploads are cleaned up, then `done` is called.
  void give_up(Error error) { fail(std::move(error)); }
  // Transferred files that are now identical on both sides, also after an error.
  [[nodiscard]] const KnownFiles& settled() const { return m_same; }

 protected:
  // References must outlive this object. `root`: the tree on this machine; `at`: in the store.
  Transfer(Client& client, std::filesystem::path root, Address at, Sink sink, TransferLimits limits);

  // A call for the queue: `ask` starts it; `then` gets its value; an error ends the transfer.
  template <typename T>
  TransferQueue::Start call(std::function<PendingCall(Client::Done<T>)> ask, std::function<void(T value)> then) {
    return [this, ask = std::move(ask), then = std::move(then)](std::function<void()> over) {
      m_calls.add<Answer<T>>(ask, [this, then, over = std::move(over)](Answer<T> answer) {
        over();
        if (!answer) return fail(std::move(answer.error().error));
        then(std::move(*answer));
        go_on();
      });
    };
  }
  // A call outside the queue: it is cancelled with this object.
  void keep(PendingCall call) { m_calls.keep(std::move(call)); }
  // Starts nothing more, cancels calls in progress.
  void fail(Error error);
  void moved(std::int64_t bytes) const;
  void same(const LocalFile& file, const std::string& etag) { m_same[file.path] = {file.size, file.changed, etag, file.touched}; }
  // Call it when all known work has been queued, and after each call.
  void go_on();
  [[nodiscard]] std::filesystem::path place(const std::string& path) const { return path.empty() ? m_root : m_root / path; }
  [[nodiscard]] Address address(const std::string& key) const { return key.empty() ? m_at : m_at.child(key); }
  // Called from the loop: queues the work.
  virtual void begin() = 0;
  // Called whenever something can be started: queues more if not everything was queued at once.
  virtual void more() {}
  // After the first error: cleans up what is incomplete, then calls `done`.
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

  PendingCalls m_calls;
  KnownFiles m_same;
  std::optional<Error> m_error;
  Timer m_timer;
};

// Files to objects. A large file becomes visible when all its parts are uploaded. Errors: also input, if a file changes meanwhile, or is larger than
// the maximum size of an object. `headers`: metadata for each object.
std::unique_ptr<Transfer> upload(Client& client, SyncPlan plan, std::filesystem::path root, Address to, Transfer::Sink sink,
                                 TransferLimits limits = {}, std::vector<http::Header> headers = {});
// Objects to files, below `root` (or `root` itself). A file becomes visible when it is complete. Errors: also conflict, if an object changes
// meanwhile; internal, if the file system has less free space than needed.
std::unique_ptr<Transfer> download(Client& client, SyncPlan plan, std::filesystem::path root, Address from, Transfer::Sink sink,
                                   TransferLimits limits = {});

}  // namespace trainstep::objectstore
