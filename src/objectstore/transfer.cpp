// SPDX-License-Identifier: Apache-2.0
#include "objectstore/transfer.h"

#include <algorithm>

namespace trainstep::objectstore {

std::int64_t TransferLimits::part_of(std::int64_t size) const {
  constexpr std::int64_t max_parts = 10'000;  // Amazon S3 User Guide, "multipart upload limits"
  return std::max(part, (size + max_parts - 1) / max_parts);
}

Transfer::Transfer(Client& client, std::filesystem::path root, Address at, Sink sink, TransferLimits limits)
    : m_client(client),
      m_root(std::move(root)),
      m_at(std::move(at)),
      m_sink(std::move(sink)),
      m_limits(limits),
      m_queue(limits.requests, limits.bytes),
      m_timer(client.loop().timer(Duration(0), [this] {
        m_timer.cancel();
        begin();
        go_on();
      })) {}

void Transfer::moved(std::int64_t bytes) const {
  if (m_sink.moved) m_sink.moved(bytes);
}

void Transfer::go_on() {
  if (m_error) return;
  more();
  m_queue.pump();
  if (m_queue.idle()) end();
}

void Transfer::fail(Error error) {
  if (m_error) return;
  m_error = std::move(error);
  m_queue.clear();
  m_calls.clear();
  undo([this] { end(); });
}

// Deferred: the callback may destroy this object, which is in use.
void Transfer::end() {
  if (!m_timer) m_timer = m_client.loop().timer(Duration(0), [this] { tell(); });
}

void Transfer::tell() {
  const auto done = std::exchange(m_sink.done, nullptr);
  if (!done) return;
  if (m_error) return done(std::move(*m_error));
  done({});
}

}  // namespace trainstep::objectstore
