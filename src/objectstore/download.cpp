// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "objectstore/transfer.h"

namespace trainstep::objectstore {
namespace {

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
      const auto length = std::min(size, object.size - first);
      const auto range = length == object.size ? std::nullopt : std::optional(Range{first, length});
      m_lanes.add(length,
                  call<std::string>([this, growing, range](const auto& done) { return ask(growing->object, range, done); },
                                    [this, growing, first, length](const std::string& bytes) { write(*growing, Range{first, length}, bytes); }));
    }
  }

  Client::CallId ask(const Object& object, std::optional<Range> range, const Client::Done<std::string>& done) {
    return m_client.get(address(object.key), range, object.etag, done);
  }

  void write(Growing& growing, const Range& range, const std::string& bytes) {
    if (auto written = try_to_write(growing, range, bytes); !written) return fail(std::move(written.error()));
    moved(static_cast<std::int64_t>(bytes.size()));
  }

  Result<void> try_to_write(Growing& growing, const Range& range, const std::string& bytes) {
    const auto& object = growing.object;
    if (static_cast<std::int64_t>(bytes.size()) != range.size)
      return Error{ErrorKind::conflict, address(object.key).text() + " has changed while it was fetched"};
    if (!growing.file) {
      ASSIGN(growing.file, GrowingFile::create(place(object.key)));
    }
    TRY(growing.file->write(range.first, bytes));
    growing.left -= range.size;
    if (growing.left > 0) return {};
    TRY(growing.file->finish());
    growing.file.reset();
    ASSIGN(const auto state, read_state(m_root, object.key));
    if (state.size != object.size) return internal_error(fmt::format("{} has lost bytes while it was written", place(object.key).string()));
    same(state, object.etag);
    return {};
  }

  SyncPlan m_plan;
};

}  // namespace

std::unique_ptr<Transfer> download(Client& client, SyncPlan plan, std::filesystem::path root, Address from, Transfer::Sink sink,
                                   TransferLimits limits) {
  return std::make_unique<Download>(client, std::move(plan), std::move(root), std::move(from), std::move(sink), limits);
}

}  // namespace trainstep::objectstore
