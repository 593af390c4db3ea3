// SPDX-License-Identifier: Apache-2.0
#include "objectstore/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace trainstep::objectstore {
namespace {

// Stores may return pages without anything new, for hidden or removed objects, but only a bounded number.
constexpr int max_empty_pages = 1'000;

tl::unexpected<StoreError> endless(const std::string& what) {
  return tl::unexpected(StoreError{
      {ErrorKind::unavailable, fmt::format("{}: the object store's listing does not end: {} pages in a row had nothing new", what, max_empty_pages)},
      0,
      {}});
}

}  // namespace

Listing::Listing(Client& client, Address at, Done done) : m_client(client), m_at(std::move(at)), m_done(std::move(done)) { ask(""); }

void Listing::ask(const std::string& token) {
  const auto prefix = m_at.key.empty() ? "" : m_at.key + '/';
  m_call = m_client.list(m_at.bucket, prefix, token, [this](Answer<ListPage> page) {
    const auto done = m_done;  // it may destroy this object
    if (!page) return done(tl::unexpected(std::move(page.error())));
    m_vain = take(std::move(page->objects)) ? 0 : m_vain + 1;
    if (m_vain >= max_empty_pages) return done(endless("list " + m_at.text()));
    if (!page->next.empty() && !m_tokens.insert(page->next).second)
      return done(tl::unexpected(StoreError{{ErrorKind::unavailable, "list " + m_at.text() + ": the object store's listing repeats itself"}, 0, {}}));
    if (!page->next.empty()) return ask(page->next);
    if (m_objects.empty() && !m_at.key.empty() && !m_folder) return check_own_key();
    done(all());
  });
}

// false: it contains nothing new.
bool Listing::take(std::vector<Object> objects) {
  const auto prefix = m_at.key.empty() ? "" : m_at.key + '/';
  const auto before = m_objects.size();
  for (auto& object : objects) {
    if (!object.key.starts_with(prefix)) continue;
    object.key.erase(0, prefix.size());
    if (object.key.empty()) m_folder = true;  // the folder marker that some tools create
    if (object.key.empty()) continue;
    const auto at = m_objects.lower_bound(object);
    const bool known = at != m_objects.end() && at->key == object.key;
    m_objects.insert(known ? m_objects.erase(at) : at, std::move(object));
  }
  return m_objects.size() > before;
}

std::vector<Object> Listing::all() {
  std::vector<Object> objects;
  objects.reserve(m_objects.size());
  while (!m_objects.empty()) objects.push_back(std::move(m_objects.extract(m_objects.begin()).value()));
  return objects;
}

void Listing::check_own_key() {
  m_call = m_client.head(m_at, [this](Answer<Object> object) {
    const auto done = m_done;
    const auto kind = object ? ErrorKind::internal : object.error().error.kind;
    if (kind == ErrorKind::denied || kind == ErrorKind::not_found) return look_for_itself();
    if (!object) return done(tl::unexpected(std::move(object.error())));
    object->key.clear();
    done(std::vector{std::move(*object)});
  });
}

// With permission to list and put, but not to read, HEAD is denied; and its 404, which has no body, may be a gateway's. The object is in the listing
// of keys that start with its own, normally as the first.
void Listing::look_for_itself() {
  m_call = m_client.list(m_at.bucket, m_at.key, "", [this](Answer<ListPage> page) {
    const auto done = m_done;
    if (!page) return done(tl::unexpected(std::move(page.error())));
    const auto itself = std::ranges::find(page->objects, m_at.key, &Object::key);
    if (itself == page->objects.end()) return done(std::vector<Object>());
    itself->key.clear();
    done(std::vector{std::move(*itself)});
  });
}

UploadListing::UploadListing(Client& client, Address at, Done done) : m_client(client), m_at(std::move(at)), m_done(std::move(done)) { ask({}); }

void UploadListing::ask(const MultipartUpload& from) {
  m_call = m_client.list_uploads(m_at, from, [this](Answer<UploadPage> page) {
    const auto done = m_done;  // it may destroy this object
    if (!page) return done(tl::unexpected(std::move(page.error())));
    const auto before = m_found.size();
    for (auto& upload : page->uploads) m_found.emplace(std::move(upload.key), std::move(upload.upload));
    m_vain = m_found.size() > before ? 0 : m_vain + 1;
    if (page->next.key.empty()) return done(all());
    if (m_vain >= max_empty_pages) return done(endless("list the uploads of " + m_at.text()));
    if (!m_pages.emplace(page->next.key, page->next.upload).second)
      return done(tl::unexpected(
          StoreError{{ErrorKind::unavailable, "list the uploads of " + m_at.text() + ": the object store's listing repeats itself"}, 0, {}}));
    ask(page->next);
  });
}

std::vector<MultipartUpload> UploadListing::all() const {
  std::vector<MultipartUpload> uploads;
  for (const auto& [key, upload] : m_found)
    if (key == m_at.key || key.starts_with(m_at.key + '/')) uploads.push_back({key, upload});
  return uploads;
}

namespace {

constexpr int removals_at_once = 32;
constexpr std::int64_t no_limit = 1;

}  // namespace

bool has_mark(std::string_view mark, std::string_view job) {
  return !job.empty() && mark.starts_with(job) && (mark.size() == job.size() || mark[job.size()] == '/');
}

Removal::Removal(Client& client, Address at, Done done)
    : m_client(client), m_at(std::move(at)), m_done(std::move(done)), m_queue(removals_at_once, no_limit) {
  m_listing = std::make_unique<Listing>(client, m_at, [this](Answer<std::vector<Object>> there) {
    if (!there) m_error = std::move(there.error());
    if (there) remove(*there);
    pump();
  });
}

Removal::Removal(Client& client, std::vector<Address> objects, Done done)
    : m_client(client), m_done(std::move(done)), m_queue(removals_at_once, no_limit), m_all(true) {
  m_timer = client.loop().timer(Duration(0), [this, objects = std::move(objects)]() mutable {
    remove_each(std::move(objects));
    pump();
  });
}

Removal::Removal(Client& client, std::vector<Address> objects, std::string mark, Done done)
    : m_client(client), m_done(std::move(done)), m_queue(removals_at_once, no_limit), m_all(true) {
  m_timer = client.loop().timer(Duration(0), [this, objects = std::move(objects), mark = std::move(mark)] {
    remove_marked(objects, mark);
    pump();
  });
}

void Removal::remove(const std::vector<Object>& objects) {
  if (m_at.key.empty()) {
    m_error = StoreError{input_error("remove " + m_at.text() + ": refusing to remove a whole bucket"), 0, {}};
    return;
  }
  std::vector<Address> all;
  all.reserve(objects.size());
  for (const auto& object : objects) all.push_back(object.key.empty() ? m_at : m_at.child(object.key));
  remove_each(std::move(all));
}

void Removal::remove_each(std::vector<Address> objects) {
  m_objects = objects.size();
  for (auto& object : objects) add([this, what = std::move(object)](auto done) { return m_client.remove(what, std::move(done)); });
}

// Another object may be put there between HEAD and DELETE: the interval is kept as short as possible.
void Removal::remove_marked(const std::vector<Address>& objects, const std::string& mark) {
  for (const auto& what : objects)
    add([this, what, mark](const Client::Done<std::monostate>& done) {
      return m_client.head(what, [this, what, mark, done](Answer<Object> there) {
        const bool refused = !there && there.error().error.kind == ErrorKind::denied;
        if (!there && !refused && there.error().status != 404) return done(tl::unexpected(std::move(there.error())));
        if (there && has_mark(there->mark, mark)) return remove_now(what, done);
        if (there || refused) m_unmarked.push_back(what);
        done(std::monostate());
      });
    });
}

void Removal::remove_now(const Address& what, const Client::Done<std::monostate>& done) {
  ++m_objects;
  m_calls.add<Answer<std::monostate>>([&](auto removed) { return m_client.remove(what, std::move(removed)); }, done);
}

void Removal::add(Call call) {
  m_queue.add(0, [this, call = std::move(call)](const std::function<void()>& over) {
    m_calls.add<Answer<std::monostate>>(call, [this, over](Answer<std::monostate> removed) {
      over();
      if (!removed && !m_error) m_error = std::move(removed.error());
      pump();
    });
  });
}

// After an error nothing more is started; calls in progress are completed.
void Removal::pump() {
  if (m_error) m_queue.clear();
  m_queue.pump();
  if (!m_queue.idle()) return;
  if (m_error || m_all) return tell();
  m_all = true;
  give_up_uploads();
}

// Without permission to list them, uploads are left there; a store that does not respond is an error.
void Removal::give_up_uploads() {
  m_uploads = std::make_unique<UploadListing>(m_client, m_at, [this](const Answer<std::vector<MultipartUpload>>& found) {
    if (!found && retryable(found.error())) m_error = found.error();
    for (const auto& pending : found.value_or(std::vector<MultipartUpload>()))
      add([this, pending](auto done) { return m_client.abort_upload({m_at.scheme, m_at.bucket, pending.key}, pending.upload, std::move(done)); });
    pump();
  });
}

// Deferred: the callback may destroy this object, which is in use.
void Removal::tell() {
  m_timer = m_client.loop().timer(Duration(0), [this] {
    const auto done = std::exchange(m_done, nullptr);
    if (m_error) return done(tl::unexpected(std::move(*m_error)));
    done(m_objects);
  });
}

}  // namespace trainstep::objectstore
