// SPDX-License-Identifier: Apache-2.0
#include "objectstore/listing.h"

#include <utility>

namespace trainstep::objectstore {

Listing::Listing(Client& client, Address at, Done done) : m_client(client), m_at(std::move(at)), m_done(std::move(done)) { ask(""); }

Listing::~Listing() { m_client.cancel(m_call); }

void Listing::ask(const std::string& token) {
  const auto prefix = m_at.key.empty() ? "" : m_at.key + '/';
  m_call = m_client.list(m_at.bucket, prefix, token, [this](Answer<ListPage> page) {
    const auto done = m_done;  // it may destroy this
    if (!page) return done(tl::unexpected(std::move(page.error())));
    take(std::move(page->objects));
    if (!page->next.empty() && !m_tokens.insert(page->next).second)
      return done(
          tl::unexpected(StoreError{{ErrorKind::unavailable, "list " + m_at.text() + ": the object store's pages go round in a circle"}, 0, {}}));
    if (!page->next.empty()) return ask(page->next);
    if (m_objects.empty() && !m_at.key.empty() && !m_folder) return look_at_itself();
    done(std::move(m_objects));
  });
}

void Listing::take(std::vector<Object> objects) {
  const auto skipped = m_at.key.empty() ? 0 : m_at.key.size() + 1;
  for (auto& object : objects) {
    if (object.key.size() <= skipped) {  // what some tools leave for the folder itself
      m_folder = true;
      continue;
    }
    object.key.erase(0, skipped);
    m_objects.push_back(std::move(object));
  }
}

void Listing::look_at_itself() {
  m_call = m_client.head(m_at, [this](Answer<Object> object) {
    const auto done = m_done;
    if (!object && object.error().status != 404) return done(tl::unexpected(std::move(object.error())));
    if (!object) return done(std::vector<Object>());
    object->key.clear();
    done(std::vector{std::move(*object)});
  });
}

}  // namespace trainstep::objectstore
