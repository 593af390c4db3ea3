// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "objectstore/transfer.h"

namespace trainstep::objectstore {
namespace {

constexpr std::int64_t in_memory = 524'288;  // of a file that is fetched: libcurl's buffer, and what it has handed over

class Download : public Transfer {
 public:
  Download(Client& client, SyncPlan plan, std::filesystem::path root, Address from, Sink sink, TransferLimits limits)
      : Transfer(client, std::move(root), std::move(from), std::move(sink), limits), m_plan(std::move(plan)) {}

 private:
  // A file that is being written.
  struct Growing {
    const Object& object;
    std::unique_ptr<GrowingFile> file;
    std::int64_t left;
  };

  void begin() override {
    for (const auto& folder : m_plan.folders)
      if (auto made = make_directories(place(folder)); !made) return fail(std::move(made.error()));
    for (const auto& travel : m_plan.travels) queue(travel.object);
  }

  // Empty objects have no range that could be asked for.
  void queue(const Object& object) {
    const auto size = m_limits.part;
    const auto growing = std::make_shared<Growing>(Growing{object, nullptr, object.size});
    for (std::int64_t first = 0; first == 0 || first < object.size; first += size) {
      const Range range{first, std::min(size, object.size - first)};
      m_lanes.add(std::min(range.size, in_memory), call<std::int64_t>([this, growing, range](const auto& done) { return ask(growing, range, done); },
                                                                      [this, growing, range](std::int64_t came) { arrived(*growing, range, came); }));
    }
  }

  Client::CallId ask(const std::shared_ptr<Growing>& growing, const Range& range, const Client::Done<std::int64_t>& done) {
    const auto& object = growing->object;
    const auto part = range.size == object.size ? std::nullopt : std::optional(range);
    return m_client.fetch(
        address(object.key), part, object.etag,
        [this, growing, range](std::int64_t offset, std::string_view bytes) { return write(*growing, range, offset, bytes); }, done);
  }

  Result<void> write(Growing& growing, const Range& range, std::int64_t offset, std::string_view bytes) {
    if (offset + static_cast<std::int64_t>(bytes.size()) > range.size) return changed(growing.object);
    if (!growing.file) {
      ASSIGN(growing.file, GrowingFile::create(place(growing.object.key)));
    }
    return growing.file->write(range.first + offset, bytes);
  }

  void arrived(Growing& growing, const Range& range, std::int64_t came) {
    if (auto finished = try_to_finish(growing, range, came); !finished) return fail(std::move(finished.error()));
    moved(came);
  }

  Result<void> try_to_finish(Growing& growing, const Range& range, std::int64_t came) {
    const auto& object = growing.object;
    if (came != range.size) return changed(object);
    growing.left -= range.size;
    if (growing.left > 0) return {};
    if (!growing.file) {  // it is empty
      ASSIGN(growing.file, GrowingFile::create(place(object.key)));
    }
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
