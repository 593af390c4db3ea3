// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "staging/staging.h"

namespace trainstep::staging {
namespace {

constexpr Duration first_pause{1'000};
constexpr Duration longest_pause{60'000};

}  // namespace

Delivery::Delivery(Stores& stores, std::vector<plan::TaskOutput> outputs, Duration limit, StagingSink sink, Equal equal)
    : m_stores(stores),
      m_outputs(std::move(outputs)),
      m_sink(std::move(sink)),
      m_limit(stores.loop()),
      m_began(stores.loop().now()),
      m_equal(equal),
      m_pause(first_pause),
      m_timer(stores.loop().after(Duration(0), [this] { next(); })) {
  m_limit.set(limit);
}

Delivery::~Delivery() {
  m_stores.loop().cancel(m_timer);
  if (m_call != 0) m_stores.of(output().to).cancel(m_call);
}

void Delivery::next() {
  m_listing.reset();
  m_recognition.reset();
  m_transfer.reset();
  if (m_at == m_outputs.size()) return finish(m_staged);
  auto to = objectstore::Address::parse(output().to.uri);
  if (!to) return finish(std::move(to.error()));
  m_to = std::move(*to);
  m_listing = std::make_unique<objectstore::Listing>(m_stores.of(output().to), m_to, [this](auto there) {
    if (!there) return failed(std::move(there.error().error));
    compare(std::move(*there));
  });
}

void Delivery::compare(std::vector<objectstore::Object> there) {
  auto files = objectstore::read_tree(output().path);
  if (!files) return finish(std::move(files.error()));  // no store can help
  m_files = std::move(*files);
  m_there = std::move(there);
  std::set<std::string_view> ours;
  for (const auto& file : m_files) ours.insert(file.path);
  m_others.clear();
  for (const auto& object : m_there)
    if (!ours.contains(object.key)) m_others.push_back(object.key);
  if (m_equal == Equal::known) return send();
  m_recognition = std::make_unique<objectstore::Recognition>(
      m_stores.loop(), m_files, m_there, output().path,
      [this](const auto& same) {
        m_stores.ledger().add(output().path, output().to.uri, same);
        send();
      },
      m_stores.limits());
}

void Delivery::send() {
  m_plan = objectstore::plan_upload(m_files, m_there, m_stores.ledger().known(output().path, output().to.uri));
  if (m_pause == first_pause) m_staged.equal += m_plan.equal;  // later tries find what the first has sent
  m_transfer = objectstore::upload(m_stores.of(output().to), m_plan, output().path, m_to,
                                   {nullptr, [this](const Result<void>& result) { sent(result); }}, m_stores.limits());
}

void Delivery::sent(const Result<void>& result) {
  m_stores.ledger().add(output().path, output().to.uri, m_transfer->settled());
  if (!m_plan.travels.empty()) m_stores.ledger().keep(output().path, output().to.uri);
  for (const auto& [path, state] : m_transfer->settled()) {
    m_staged.bytes += state.size;
    ++m_staged.files;
  }
  if (!result) return failed(result.error());
  m_timer = m_stores.loop().after(Duration(0), [this] { remove_others(); });
}

void Delivery::remove_others() {
  m_transfer.reset();
  if (m_others.empty()) return give_up_uploads();
  auto what = m_others.back().empty() ? m_to : m_to.child(m_others.back());
  m_call = m_stores.of(output().to).remove(what, [this](auto removed) {
    m_call = 0;
    if (!removed) return failed(std::move(removed.error().error));
    m_others.pop_back();
    remove_others();
  });
}

// Of an attempt that was killed, whose files may have had other names. Who may not list uploads, and stores that cannot, leave them there.
void Delivery::give_up_uploads() {
  m_call = m_stores.of(output().to).list_uploads(m_to, [this](objectstore::Answer<std::vector<objectstore::Pending>> found) {
    m_call = 0;
    if (!found && found.error().status == 0) return failed(std::move(found.error().error));
    if (!found) return delivered();
    std::erase_if(*found, [this](const auto& pending) { return pending.key != m_to.key && !pending.key.starts_with(m_to.key + '/'); });
    give_up(std::move(*found));
  });
}

void Delivery::give_up(std::vector<objectstore::Pending> uploads) {
  if (uploads.empty()) return delivered();
  const auto last = std::move(uploads.back());
  uploads.pop_back();
  m_call = m_stores.of(output().to).abort_upload({m_to.scheme, m_to.bucket, last.key}, last.upload, [this, uploads](const auto&) {
    m_call = 0;
    give_up(uploads);
  });
}

void Delivery::delivered() {
  ++m_at;
  m_pause = first_pause;
  next();
}

void Delivery::failed(Error error) {
  if (m_limit.passed()) {
    // What a store does not want (400: expired tokens, for one) is no fault of the program whose output it is.
    if (error.kind == ErrorKind::input) error.kind = ErrorKind::denied;
    return finish(std::move(error));
  }
  m_sink.tell(fmt::format("output {}: {}; tried again in {}", output().name, error.message, trainstep::describe(m_pause)));
  m_timer = m_stores.loop().after(m_pause, [this] { next(); });
  m_pause = std::min(m_pause * 2, longest_pause);
}

void Delivery::finish(Result<Staged> result) {
  if (!result) result = in_context(fmt::format("output {}", output().name), std::move(result.error()));
  if (result) result->took = std::chrono::duration_cast<Duration>(m_stores.loop().now() - m_began);
  m_timer =
      m_stores.loop().after(Duration(0), [this, result = std::move(result)]() mutable { std::exchange(m_sink.done, nullptr)(std::move(result)); });
}

}  // namespace trainstep::staging
