// SPDX-License-Identifier: Apache-2.0
#include "agent/probe.h"

#include <fmt/format.h>

#include <variant>

#include "agent/await.h"
#include "staging/delivery_listing.h"

namespace trainstep::agent {
namespace {

using objectstore::Address;
using objectstore::Client;

template <typename T>
Result<T> asked(RunningLoop& loop, const std::function<objectstore::PendingCall(Client::Done<T>)>& begin) {
  objectstore::PendingCall call;
  return await<T>(loop, [&](const auto& done) {
    call = begin([done](objectstore::Answer<T> answer) { answer ? done(std::move(*answer)) : done(std::move(answer.error().error)); });
  });
}

// Clean-up: worth neither an error nor much time.
Result<std::monostate> tidied(RunningLoop& loop, const std::function<objectstore::PendingCall(Client::Done<std::monostate>)>& begin) {
  constexpr Duration timeout{10'000};
  objectstore::PendingCall call;
  Timer limit;
  return await<std::monostate>(loop, [&](const auto& done) {
    call = begin([done](const auto& answer) { answer ? done(std::monostate()) : done(answer.error().error); });
    limit = loop.timer(timeout, [done] { done(Error{ErrorKind::unavailable, "timed out"}); });
  });
}

Result<void> probe_record(RunningLoop& loop, Client& client, Address address, const std::function<void(const std::string&)>& log) {
  address.key += ".probe";
  const std::vector<http::Header> json{{"Content-Type", "application/json"}};
  TRY(asked<objectstore::Object>(loop,
                                 [&](auto done) { return client.put(address, [] { return Result<std::string>(""); }, std::move(done), json); }));
  const auto removed = tidied(loop, [&](auto done) { return client.remove(address, std::move(done)); });
  if (!removed && removed.error().kind == ErrorKind::cancelled) return removed.error();
  if (!removed) log(fmt::format("{} remains until the step removes it: {}", address.text(), removed.error().message));
  return {};
}

// Unsupported operations, and failures other than missing permissions, do not show whether the delivery's own requests would fail.
Result<void> probe_upload(RunningLoop& loop, Client& client, const Address& address) {
  const auto upload = asked<std::string>(loop, [&](auto done) { return client.begin_upload(address, std::move(done)); });
  if (!upload) return upload.error().kind == ErrorKind::denied || upload.error().kind == ErrorKind::cancelled ? upload.error() : Result<void>();
  const auto given_up = tidied(loop, [&](auto done) { return client.abort_upload(address, *upload, std::move(done)); });
  if (!given_up && given_up.error().kind == ErrorKind::cancelled) return given_up.error();
  return {};
}

// The output may be a file or a folder: that is only known once the program has written it, and permissions may be granted for either.
Result<void> probe_output(RunningLoop& loop, Client& client, const Address& address, bool is_own) {
  const auto folder = address.key.empty() ? "" : address.key + '/';
  TRY(asked<objectstore::ListPage>(loop, [&](auto done) { return client.list(address.bucket, folder, "", std::move(done)); }));
  if (is_own) return {};
  auto tried = probe_upload(loop, client, address.child(staging::probe_name));
  if (tried || tried.error().kind != ErrorKind::denied || folder.empty()) return tried;
  return probe_upload(loop, client, address);
}

}  // namespace

Result<void> probe(RunningLoop& loop, staging::Stores& stores, const plan::Task& task, const std::function<void(const std::string&)>& log) {
  constexpr auto not_delivered = "cannot deliver outputs";
  const auto& record = task.record;
  const auto own = record.uri.substr(0, record.uri.rfind('/') + 1);
  if (record.in_store()) {
    ASSIGN(auto address, Address::parse(record.uri));
    TRY(in_context(not_delivered, probe_record(loop, stores.of(record), std::move(address), log)));
  }
  for (const auto& output : task.outputs) {
    if (!output.to.in_store()) continue;
    ASSIGN(const auto address, Address::parse(output.to.uri));
    const bool is_own = record.in_store() && output.to.uri.starts_with(own);
    TRY(in_context(not_delivered, in_context(output.name, probe_output(loop, stores.of(output.to), address, is_own))));
  }
  return {};
}

}  // namespace trainstep::agent
