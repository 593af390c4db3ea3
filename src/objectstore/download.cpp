// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "objectstore/transfer.h"

namespace trainstep::objectstore {
namespace {

// Of an object that is fetched: what the kernel holds for its connection counts as this pod's memory, and more connections than a few gain nothing.
constexpr std::int64_t in_memory = std::int64_t{4} << 20;
constexpr std::size_t write_size = 131'072;

// A file that is being written.
struct Growing {
  const Object& object;
  std::unique_ptr<GrowingFile> file;
  std::int64_t left;
};

// What has come of one range and is not yet in its file: some servers send TLS records of 4 KiB, and each would be a system call. A thread may call
// it beside those of other ranges.
class RangeWriter {
 public:
  RangeWriter(Growing& growing, Range range) : m_growing(growing), m_range(range) {}

  Result<void> take(std::int64_t offset, std::string_view bytes) {
    if (offset == 0) m_waiting.clear();  // a further try
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

  Growing& m_growing;
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
    for (const auto& folder : m_plan.folders)
      if (auto made = make_directories(place(folder)); !made) return fail(std::move(made.error()));
    for (const auto& travel : m_plan.travels) queue(travel.object);
  }

  // Empty objects have no range that could be asked for.
  void queue(const Object& object) {
    const auto size = m_limits.range;
    const auto growing = std::make_shared<Growing>(Growing{object, nullptr, object.size});
    for (std::int64_t first = 0; first == 0 || first < object.size; first += size) {
      const Range range{first, std::min(size, object.size - first)};
      m_lanes.add(std::min(range.size, in_memory), [this, growing, range](std::function<void()> over) { fetch(growing, range, std::move(over)); });
    }
  }

  void fetch(const std::shared_ptr<Growing>& growing, const Range& range, std::function<void()> over) {
    if (auto opened = open(*growing); !opened) return fail(std::move(opened.error()));
    const auto writer = std::make_shared<RangeWriter>(*growing, range);
    const auto start = call<std::int64_t>([=, this](const auto& done) { return ask(growing, writer, range, done); },
                                          [=, this](std::int64_t came) { arrived(*growing, *writer, range, came); });
    start(std::move(over));
  }

  Client::CallId ask(const std::shared_ptr<Growing>& growing, const std::shared_ptr<RangeWriter>& writer, const Range& range,
                     const Client::Done<std::int64_t>& done) {
    const auto& object = growing->object;
    const auto part = range.size == object.size ? std::nullopt : std::optional(range);
    auto take = [=, this](std::int64_t offset, std::string_view bytes) -> Result<void> {
      if (offset + static_cast<std::int64_t>(bytes.size()) > range.size) return changed(growing->object);
      return writer->take(offset, bytes);
    };
    return m_client.fetch(address(object.key), part, object.etag, std::move(take), done);
  }

  Result<void> open(Growing& growing) const {
    if (growing.file) return {};
    ASSIGN(growing.file, GrowingFile::create(place(growing.object.key)));
    return {};
  }

  void arrived(Growing& growing, RangeWriter& writer, const Range& range, std::int64_t came) {
    if (auto finished = try_to_finish(growing, writer, range, came); !finished) return fail(std::move(finished.error()));
    moved(came);
  }

  Result<void> try_to_finish(Growing& growing, RangeWriter& writer, const Range& range, std::int64_t came) {
    const auto& object = growing.object;
    if (came != range.size) return changed(object);
    TRY(writer.flush());
    growing.left -= range.size;
    if (growing.left > 0) return {};
    TRY(growing.file->finish());
    growing.file.reset();
    ASSIGN(const auto state, read_state(m_root, object.key));
    if (state.size != object.size) return internal_error(fmt::format("{} has lost bytes while it was written", place(object.key).string()));
    same(state, object.etag);
    return {};
  }

  [[nodiscard]] Error changed(const Object& object) const {
    return {ErrorKind::conflict, address(object.key).text() + " has changed while it was fetched"};
  }

  SyncPlan m_plan;
};

}  // namespace

std::unique_ptr<Transfer> download(Client& client, SyncPlan plan, std::filesystem::path root, Address from, Transfer::Sink sink,
                                   TransferLimits limits) {
  return std::make_unique<Download>(client, std::move(plan), std::move(root), std::move(from), std::move(sink), limits);
}

}  // namespace trainstep::objectstore
