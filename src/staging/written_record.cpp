// SPDX-License-Identifier: Apache-2.0
#include "staging/written_record.h"

#include <utility>

#include "base/files.h"
#include "base/regular_file.h"

namespace trainstep::staging {
namespace {

using objectstore::Address;

constexpr std::size_t max_written_record_size = std::size_t{64} << 20U;

}  // namespace

WrittenRecord::WrittenRecord(Stores& stores, plan::TaskPlace place, std::string mark)
    : m_stores(stores), m_place(std::move(place)), m_mark(std::move(mark)) {
  if (!m_place.somewhere()) do_without();
}

void WrittenRecord::do_without() {
  m_loaded = true;
  m_objects.set_mark(m_mark);
}

Result<void> WrittenRecord::check() const {
  if (m_place.in_store()) TRY(Address::parse(m_place.uri));
  return {};
}

void WrittenRecord::load(const Done& done) {
  const auto known = [this, done](Result<std::string> text) {
    const bool none = !text && (text.error().kind == ErrorKind::not_found || text.error().kind == ErrorKind::denied);
    if (!text && !none) return done(std::move(text.error()));
    m_existed = !none;
    m_objects = WrittenObjects::read(text.value_or(""));
    m_loaded = true;
    if (m_objects.mark().empty()) m_objects.set_mark(m_mark), m_unsaved = true;
    done({});
  };
  if (!m_place.in_store()) return known(read_regular_file(m_place.path, max_written_record_size));
  const auto address = Address::parse(m_place.uri);
  if (!address) return done(address.error());
  m_call = m_stores.of(m_place).get(*address, std::nullopt, "", [known](objectstore::Answer<std::string> text) {
    known(text ? Result<std::string>(std::move(*text)) : Result<std::string>(std::move(text.error().error)));
  });
}

void WrittenRecord::add(const std::string& uri, const std::vector<objectstore::LocalFile>& files, const std::vector<objectstore::Object>& there) {
  m_unsaved = m_objects.add(uri, files, there) || m_unsaved;
}

void WrittenRecord::save(const Done& done) {
  if (!m_unsaved) return done({});
  const auto written = [this, done](Result<void> result) {
    if (result) m_unsaved = false;
    done(std::move(result));
  };
  if (!m_place.in_store()) return written(write_file_atomically(m_place.path, m_objects.text()));
  const auto address = Address::parse(m_place.uri);
  if (!address) return done(address.error());
  m_call = m_stores.of(m_place).put(
      *address, [text = m_objects.text()] { return Result<std::string>(text); },
      [written](objectstore::Answer<objectstore::Object> answer) {
        written(answer ? Result<void>() : Result<void>(std::move(answer.error().error)));
      },
      {{"Content-Type", "application/json"}});
}

}  // namespace trainstep::staging
