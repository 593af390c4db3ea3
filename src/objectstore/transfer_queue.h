// Limits concurrency: a queue that bounds requests and memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

namespace trainstep::objectstore {

class TransferQueue {
 public:
  // Starts something, and calls `over` when it has ended – later, never from within Start.
  using Start = std::function<void(std::function<void()> over)>;
  // At most `requests` at once, using at most `bytes` of memory; an item larger than that runs alone.
  TransferQueue(int requests, std::int64_t bytes) : m_free(requests), m_free_bytes(bytes), m_all_bytes(bytes) {}
  TransferQueue(const TransferQueue&) = delete;
  TransferQueue& operator=(const TransferQueue&) = delete;

  void add(std::int64_t bytes, Start start);       // at the end of the queue
  void add_next(std::int64_t bytes, Start start);  // at the front of the queue
  void pump();                                     // starts what can be started
  void clear() { m_waiting.clear(); }
  [[nodiscard]] std::size_t waiting() const { return m_waiting.size(); }
  [[nodiscard]] bool idle() const { return m_waiting.empty() && m_under_way == 0; }

 private:
  struct Waiting {
    std::int64_t bytes;
    Start start;
  };
  int m_free;
  std::int64_t m_free_bytes, m_all_bytes;
  int m_under_way = 0;
  std::deque<Waiting> m_waiting;
};

}  // namespace trainstep::objectstore
