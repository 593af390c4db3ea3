// SPDX-License-Identifier: Apache-2.0
#include "agent/completion_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <variant>

#include "agent/await.h"
#include "base/files.h"
#include "base/regular_file.h"
#include "data/path_snapshot.h"
#include "data/signature.h"

namespace trainstep::agent {
namespace {

using objectstore::Address;
namespace fs = std::filesystem;

constexpr std::size_t max_record_size = std::size_t{32} << 20U;

template <typename T>
Result<T> without_status(objectstore::Answer<T> answer) {
  if (!answer) return std::move(answer.error().error);
  return std::move(*answer);
}

Result<std::string> read_text(RunningLoop& loop, staging::Stores& stores, const plan::TaskPlace& place) {
  if (!place.in_store()) return read_regular_file(place.path, max_record_size);
  ASSIGN(const auto address, Address::parse(place.uri));
  objectstore::PendingCall call;
  return await<std::string>(loop, [&](const auto& done) {
    call = stores.of(place).get(address, std::nullopt, "", [done](auto answer) { done(without_status<std::string>(std::move(answer))); });
  });
}

// Whether an output is in its place: on a claim what this job has put there, in a store any object. If reading is denied, it is assumed to be there.
Result<bool> lies_at(RunningLoop& loop, staging::Stores& stores, const plan::Task& task, const plan::TaskOutput& output) {
  const auto nothing = [](const Error& error) { return error.kind == ErrorKind::not_found; };
  if (!output.to.in_store()) {
    if (output.folder_is.empty()) return true;
    const auto place = plan::place_on_claim(output);
    const auto ours = signed_by(place, task.attempt);
    return ours == Signed::yes || ours == Signed::touched || (ours == Signed::unknown && may_hold_files(place));
  }
  ASSIGN(const auto address, Address::parse(output.to.uri));
  auto& client = stores.of(output.to);
  objectstore::PendingCall call;
  const auto head = await<objectstore::Object>(
      loop, [&](const auto& done) { call = client.head(address, [done](auto a) { done(without_status<objectstore::Object>(a)); }); });
  if (head || head.error().kind == ErrorKind::denied) return true;
  if (!nothing(head.error())) return head.error();
  const auto page = await<objectstore::ListPage>(loop, [&](const auto& done) {
    call = client.list(address.bucket, address.key + '/', "", [done](auto a) { done(without_status<objectstore::ListPage>(a)); });
  });
  if (page) return std::ranges::any_of(page->objects, [&](const auto& object) { return object.key.starts_with(address.key + '/'); });
  if (page.error().kind == ErrorKind::denied) return true;
  return nothing(page.error()) ? Result<bool>(false) : Result<bool>(page.error());
}

// It was there when the record was written; it may have been removed since.
Result<bool> is_there(RunningLoop& loop, staging::Stores& stores, const plan::Task& task, const result::PodReport& report) {
  for (const auto& output : task.outputs) {
    const auto told = std::ranges::find(report.outputs, output.name, &result::ReportedOutput::name);
    if (told == report.outputs.end() || !told->artifact || !told->present || told->no_file || !told->uri.empty()) continue;
    ASSIGN(const auto there, lies_at(loop, stores, task, output));
    if (!there) return false;
  }
  return true;
}

Result<void> put(RunningLoop& loop, staging::Stores& stores, const plan::TaskPlace& place, const Address& address, std::string text) {
  objectstore::PendingCall call;
  TRY(await<objectstore::Object>(loop, [&](const auto& done) {
    call = stores.of(place).put(
        address, [text]() -> Result<std::string> { return text; },
        [done](auto answer) { done(without_status<objectstore::Object>(std::move(answer))); }, {{"Content-Type", "application/json"}});
  }));
  return {};
}

}  // namespace

Result<std::optional<result::PodReport>> find_record(RunningLoop& loop, staging::Stores& stores, const plan::Task& task) {
  if (!task.record.somewhere()) return std::optional<result::PodReport>();
  auto text = read_text(loop, stores, task.record);
  if (!text && (text.error().kind == ErrorKind::not_found || text.error().kind == ErrorKind::denied)) return std::optional<result::PodReport>();
  if (!text) return std::move(text.error());
  auto report = result::read_pod_report(*text);
  if (report && report->attempt != task.attempt) report.reset();
  if (!report) return report;
  ASSIGN(const auto there, is_there(loop, stores, task, *report));
  if (!there) report.reset();
  return report;
}

Result<void> write_record(RunningLoop& loop, staging::Stores& stores, const plan::Task& task, const result::PodReport& report) {
  if (!task.record.somewhere()) return {};
  auto text = to_text(report);
  if (!task.record.in_store()) return write_file_atomically(task.record.path, text);
  ASSIGN(const auto address, Address::parse(task.record.uri));
  return put(loop, stores, task.record, address, std::move(text));
}

}  // namespace trainstep::agent
