// SPDX-License-Identifier: Apache-2.0
#include "staging/fetching.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/printable.h"
#include "staging/cleared.h"
#include "staging/delivery_listing.h"

namespace trainstep::staging {
namespace {

constexpr Duration progress_interval{30'000};
constexpr Duration settle_timeout{20'000};  // for objects that are not as they were delivered
constexpr Duration first_fetch_pause{1'000};

// A listed object has been replaced or removed meanwhile. A mix of two versions is not a data set: a retry gets the version that exists then.
Error as_transient(Error error) {
  if (error.kind != ErrorKind::conflict && error.kind != ErrorKind::not_found) return error;
  return {ErrorKind::unavailable, error.message + "; the data changed while it was being fetched"};
}

}  // namespace

Fetching::Fetching(Stores& stores, const std::vector<plan::TaskInput>& inputs, StagingSink sink, std::string own, std::string_view what)
    : m_stores(stores),
      m_inputs(inputs),
      m_sink(std::move(sink)),
      m_own(std::move(own)),
      m_what(what),
      m_pause(first_fetch_pause),
      m_began(stores.loop().now()),
      m_timer(stores.loop().timer(Duration(0), [this] { next(); })) {}

void Fetching::next() {
  m_listing.reset();
  m_transfer.reset();
  if (m_at == m_inputs.size()) return finish(m_staged);
  if (is_own()) return ask_for_list();
  auto from = objectstore::Address::parse(input().from.uri);
  if (!from) return finish(std::move(from.error()));
  m_listing = std::make_unique<objectstore::Listing>(m_stores.of(input().from), *from, [this, at = *from](auto there) {
    if (!there) return finish(std::move(there.error().error));
    const bool below = !there->empty() && !there->front().key.empty();
    below && !at.key.empty() ? check_own_key(at, std::move(*there)) : fetch(*there);
  });
}

// An object may exist at the input's own key while there are others below it; it is skipped. If HEAD is denied, fetching it would be denied too.
void Fetching::check_own_key(const objectstore::Address& at, std::vector<objectstore::Object> there) {
  m_call = m_stores.of(input().from).head(at, [this, there = std::move(there)](const objectstore::Answer<objectstore::Object>& itself) {
    if (itself) m_sink.log(fmt::format("{} {}: skipped the object {}: it is both a file and a folder", m_what, input().name, input().from.uri));
    fetch(there);
  });
}

void Fetching::ask_for_list() {
  auto at = objectstore::Address::parse(delivery_list_of(input().from.uri));
  if (!at) return finish(std::move(at.error()));
  m_call = m_stores.of(input().from).get(*at, std::nullopt, "", [this](objectstore::Answer<std::string> text) {
    if (!text) return failed(std::move(text.error().error), Lost::all);
    const auto brought = read_list(*text);
    if (brought) return fetch(*brought);
    failed({ErrorKind::conflict, fmt::format("{}: {}: {}", delivery_list_of(input().from.uri), brought.error().message, excerpt(*text))},
           Lost::nothing);
  });
}

// What was delivered belongs to the job, and nobody else may change it: it may still appear, but other contents are not accepted. A refusal may
// be temporary, too: credentials are being replaced, or another server answers for the store.
void Fetching::failed(Error error, Lost lost) {
  const bool other = error.kind == ErrorKind::not_found || error.kind == ErrorKind::conflict;
  const bool refused = error.kind == ErrorKind::denied || error.kind == ErrorKind::input;
  if (!is_own() || !(other || refused)) return finish(as_transient(std::move(error)));
  if (!m_limit) m_limit.emplace(m_stores.loop()).set(settle_timeout);
  if (m_limit->passed() && refused) return finish(std::move(error));
  if (m_limit->passed()) m_lost = lost;
  if (m_limit->passed()) return finish(Error{ErrorKind::unavailable, error.message + "; it is missing or was changed"});
  m_sink.log(fmt::format("{} {}: {}; trying again in {}", m_what, input().name, error.message, trainstep::describe(m_pause)));
  m_timer = m_stores.loop().timer(m_pause, [this] { next(); });
  m_pause *= 2;
}

void Fetching::fetch(const std::vector<objectstore::Object>& there) {
  if (there.empty() && is_own()) return make_folder();
  if (there.empty()) return finish(input_error(fmt::format("{} does not exist", input().from.uri)));
  const auto& known = m_stores.sync_state().known(input().path, input().from.uri);
  const auto here = known.empty() ? objectstore::LocalTree() : objectstore::read_tree(input().path).value_or(objectstore::LocalTree());
  m_plan = objectstore::plan_download(there, here.files, known);
  const auto is_known = [&known](const objectstore::LocalFile& file) { return objectstore::is_unchanged_since_download(file, known); };
  const auto cleared = known.empty() ? "" : clear(input().path, m_plan, std::ranges::any_of(here.files, is_known));
  if (!cleared.empty()) m_sink.log(fmt::format("{} {}: {}", m_what, input().name, cleared));
  const auto left_out = objectstore::describe_left_out(m_plan.left_out);
  if (m_plan.items.empty() && m_plan.equal == 0 && !left_out.empty())
    return finish(input_error(fmt::format("nothing at {} can be stored as a file; {}", input().from.uri, left_out)));
  if (!left_out.empty()) m_sink.log(fmt::format("{} {}: {}", m_what, input().name, left_out));
  m_moved = 0;
  m_last_progress = m_stores.loop().now();
  const auto from = objectstore::Address::parse(input().from.uri);
  m_transfer = objectstore::download(m_stores.of(input().from), m_plan, input().path, *from,
                                     {[this](std::int64_t bytes) { moved(bytes); }, [this](const Result<void>& result) { fetched(result); }},
                                     m_stores.limits());
}

// An empty folder was delivered.
void Fetching::make_folder() {
  std::error_code failed;
  std::filesystem::create_directories(input().path, failed);
  if (failed) return finish(Error{ErrorKind::internal, fmt::format("cannot create {}: {}", input().path, failed.message())});
  fetched_one();
}

void Fetching::moved(std::int64_t bytes) {
  m_moved += bytes;
  if (m_stores.loop().now() - m_last_progress < progress_interval) return;
  m_last_progress = m_stores.loop().now();
  m_sink.log(fmt::format("{} {}: {} of {}", m_what, input().name, describe_bytes(m_moved), describe_bytes(m_plan.bytes)));
}

void Fetching::fetched(const Result<void>& result) {
  m_stores.sync_state().add(input().path, input().from.uri, m_transfer->settled());
  if (!m_plan.items.empty()) m_stores.sync_state().keep(input().path, input().from.uri);
  if (!result) return failed(result.error());
  m_staged.bytes += m_plan.bytes;
  m_staged.files += m_plan.items.size();
  m_staged.equal += m_plan.equal;
  fetched_one();
}

void Fetching::fetched_one() {
  m_limit.reset();
  m_pause = first_fetch_pause;
  ++m_at;
  m_timer = m_stores.loop().timer(Duration(0), [this] { next(); });
}

void Fetching::finish(Result<Staged> result) {
  if (!result) result = in_context(fmt::format("{} {}", m_what, input().name), std::move(result.error()));
  if (result) result->took = std::chrono::duration_cast<Duration>(m_stores.loop().now() - m_began);
  m_timer =
      m_stores.loop().timer(Duration(0), [this, result = std::move(result)]() mutable { std::exchange(m_sink.done, nullptr)(std::move(result)); });
}

}  // namespace trainstep::staging
