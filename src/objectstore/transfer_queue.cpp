// SPDX-License-Identifier: Apache-2.0
#include "objectstore/transfer_queue.h"

#include <algorithm>
#include <utility>

namespace trainstep::objectstore {

void TransferQueue::add(std::int64_t bytes, Start start) { m_waiting.push_back({std::min(bytes, m_all_bytes), std::move(start)}); }

void TransferQueue::add_next(std::int64_t bytes, Start start) { m_waiting.push_front({std::min(bytes, m_all_bytes), std::move(start)}); }

void TransferQueue::pump() {
  while (!m_waiting.empty() && m_free > 0 && m_waiting.front().bytes <= m_free_bytes) {
    auto next = std::move(m_waiting.front());
    m_waiting.pop_front();
    --m_free;
    ++m_under_way;
    m_free_bytes -= next.bytes;
    next.start([this, bytes = next.bytes] {
      ++m_free;
      --m_under_way;
      m_free_bytes += bytes;
    });
  }
}

}  // namespace trainstep::objectstore
