// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/files.h"
#include "objectstore/transfer.h"

namespace trainstep::objectstore {
namespace {

// Memory per range: the kernel's socket buffers are charged to this pod, and more than a few connections do not help.
constexpr std::int64_t in_memory = std::int64_t{4} << 20;
constexpr std::size_t write_size = 131'072;
// Number of files whose ranges are fetched alternately: threads writing to one file block each other, and incomplete files are lost on a kill.
constexpr std::size_t concurrent_files = 4;

// A file being written.
struct IncompleteFile {
  const LocalFile& local;
  const Object& object;
  std::unique_ptr<PartialFile> file;
  std::int64_t left;
};

// Free space on the file system that `root` will be on; nullopt: unknown.
std::optional<std::int64_t> free_space(std::filesystem::path root) {
  std::error_code unknown;
  root = std::filesystem::absolute(root, unknown);
  while (!std::filesystem::exists(root, unknown) && root.has_relative_path()) root = root.parent_path();
  const auto space = std::filesystem::space(root, unknown);
  if (unknown || space.available > static_cast<std::uintmax_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(space.available);
}

// Buffers the bytes of one range: some servers send TLS records of 4 KiB, and each would be a system call. Ranges may be written by different threads
// concurrently.
class RangeWriter {
 public:
  RangeWriter(IncompleteFile& growing, Range range) : m_growing(growing), m_range(range) {}

  Result<void> take(std::int64_t offset, std::string_view bytes) {
    if (offset == 0) m_waiting.clear();  // a retry
    if (m_waiting.empty()) m_begin = offset;
    if (m_waiting.empty() && bytes.size() >= write_size) return write(bytes);
    m_waiting += bytes;
    return m_waiting.size() < write_size ? Result<void>() : flush();
  }
  Result<void> flush() {
    TRY(write(m_waiting));
    m_waiting.clear();
    return {};
  }

 private:
  Result<void> write(std::string_view bytes) { return m_growing.file->write(m_range.first + m_begin, bytes); }

  IncompleteFile& m_growing;
  Range m_range;
  std::int64_t m_begin = 0;
  std::string m_waiting;
};

class Download : public Transfer {
 public:
  Download(Client& client, SyncPlan plan, std::filesystem::path root, Address from, Sink sink, TransferLimits limits)
      : Transfer(client, std::move(root), std::move(from), std::move(sink), limits), m_plan(std::move(plan)) {}

 private:
  void begin() override {
    if (const auto free = free_space(m_root); free && m_plan.bytes > *free)
      return fail(internal_error(
          fmt::format("cannot write {}: No space left on device: {} needs {} bytes, {} free", m_root.string(), m_at.text(), m_plan.bytes, *free)));
    for (const auto& folder : m_plan.folders)
      if (auto made = make_directories(place(folder)); !made) return fail(std::move(made.error()));
  }

  // Queues little more than can be started: an object can have more ranges than fit into memory.
  void more() override {
    while (m_queue.waiting() < static_cast<std::size_t>(m_limits.requests) && (!m_active.empty() || next_turn())) {
      for (const auto& growing : m_active) queue(growing, m_first);
      m_first += m_limits.range;
      std::erase_if(m_active, [this](const auto& growing) { return growing->object.size <= m_first; });
    }
  }

  // The files of a turn are fetched range by range, concurrently.
  bool next_turn() {
    const auto& items = m_plan.items;
    const auto end = std::min(items.size(), m_begun + concurrent_files);
    for (; m_begun < end; ++m_begun) {
      const auto& [local, object] = items[m_begun];
      m_active.push_back(std::make_shared<IncompleteFile>(IncompleteFile{local, object, nullptr, object.size}));
    }
    m_first = 0;
    return !m_active.empty();
  }

  // Empty objects have no range that could be requested.
  void queue(const std::shared_ptr<IncompleteFile>& growing, std::int64_t first) {
    const Range range{first, std::min(m_limits.range, growing->object.size - first)};
    m_queue.add(std::min(range.size, in_memory), [this, growing, range](std::function<void()> over) { fetch(growing, range, std::move(over)); });
  }

  void fetch(const std::shared_ptr<IncompleteFile>& growing, const Range& range, std::function<void()> over) {
    if (auto opened = open(*growing); !opened) return fail(std::move(opened.error()));
    const auto writer = std::make_shared<RangeWriter>(*growing, range);
    const auto start = call<std::int64_t>([=, this](const auto& done) { return ask(growing, writer, range, done); },
                                          [=, this](std::int64_t came) { arrived(*growing, *writer, range, came); });
    start(std::move(over));
  }

  PendingCall ask(const std::shared_ptr<IncompleteFile>& growing, const std::shared_ptr<RangeWriter>& writer, const Range& range,
                  const Client::Done<std::int64_t>& done) {
    const auto& object = growing->object;
    // The hash of a large object is computed outside the loop thread, where ranges are received.
    const auto part = range.size == object.size && range.size < in_memory ? std::nullopt : std::optional(range);
    auto take = [=, this](std::int64_t offset, std::string_view bytes) -> Result<void> {
      if (offset + static_cast<std::int64_t>(bytes.size()) > range.size) return changed(growing->object);
      return writer->take(offset, bytes);
    };
    return m_client.fetch(address(object.key), part, object.etag, std::move(take), done);
  }

  Result<void> open(IncompleteFile& growing) const {
    if (growing.file) return {};
    ASSIGN(growing.file, PartialFile::create(place(growing.local.path)));
    return {};
  }

  void arrived(IncompleteFile& growing, RangeWriter& writer, const Range& range, std::int64_t came) {
    if (auto finished = try_to_finish(growing, writer, range, came); !finished) return fail(std::move(finished.error()));
    moved(came);
  }

  Result<void> try_to_finish(IncompleteFile& growing, RangeWriter& writer, const Range& range, std::int64_t came) {
    const auto& object = growing.object;
    if (came != range.size) return changed(object);
    TRY(writer.flush());
    growing.left -= range.size;
    if (growing.left > 0) return {};
    TRY(growing.file->finish());
    growing.file.reset();
    ASSIGN(const auto state, read_state(m_root, growing.local.path));
    if (state.size != object.size)
      return internal_error(fmt::format("{} was truncated while it was being written", place(growing.local.path).string()));
    same(state, object.etag);
    return {};
  }

  [[nodiscard]] Error changed(const Object& object) const {
    return {ErrorKind::conflict, address(object.key).text() + " changed while it was being fetched"};
  }

  SyncPlan m_plan;
  std::vector<std::shared_ptr<IncompleteFile>> m_active;  // files with ranges that are not queued yet
  std::int64_t m_first = 0;                               // offset of their next range
  std::size_t m_begun = 0;                                // number of items begun
};

}  // namespace

std::unique_ptr<Transfer> download(Client& client, SyncPlan plan, std::filesystem::path root, Address from, Transfer::Sink sink,
                                   TransferLimits limits) {
  return std::make_unique<Download>(client, std::move(plan), std::move(root), std::move(from), std::move(sink), limits);
}

}  // namespace trainstep::objectstore
