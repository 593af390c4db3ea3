// Ends a delivery early: no upload is left open, and nothing that others could take for the complete output.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/fd.h"
#include "base/files.h"
#include "staging/staging.h"

namespace trainstep::staging {
namespace {

// Out of the 30 s that the kubelet grants: uploads that are nearly complete may still finish; the rest of the time is for removing objects.
constexpr Duration to_finish{5'000};
constexpr Duration to_retract{15'000};

}  // namespace

void Delivery::stop(Error why) {
  if (!m_sink.done || m_ending) return;
  if (std::exchange(m_stopped, true)) return stop_now();
  m_stop_reason = std::move(why);
  m_stop_timer = m_stores.loop().timer(to_finish, [this] { stop_now(); });
}

// Retrying cannot deliver files that have changed or cannot be read.
void Delivery::withdraw(Error why) {
  m_stopped = true;
  m_stop_reason = std::move(why);
  stop_now();
}

void Delivery::stop_now() {
  m_ending = true;
  m_stop_timer = m_stores.loop().timer(to_retract, [this] {
    m_transfer.reset();
    m_removal.reset();
    m_timer.cancel();
    finish(m_stop_reason);
  });
  m_timer.cancel();
  m_call.cancel();
  m_listing.reset();
  m_uploads.reset();
  m_recognition.reset();
  m_removal.reset();
  if (m_sending) return m_transfer->give_up(m_stop_reason);
  retract();
}

// Removes the objects of all outputs so far: without the record, nothing says that they are complete.
void Delivery::retract() {
  m_transfer.reset();
  if (m_put.empty()) return finish(m_stop_reason);
  const auto store = m_put.begin()->first.first;
  std::vector<objectstore::Address> objects;
  for (auto at = m_put.begin(); at != m_put.end() && at->first.first == store; at = m_put.erase(at)) objects.push_back(at->second);
  m_removal = std::make_unique<objectstore::Removal>(m_stores.of({"", store, ""}), std::move(objects), m_manifest.mark(),
                                                     [this](const auto&) { m_timer = m_stores.loop().timer(Duration(0), [this] { retract(); }); });
}

// Removes everything that the job has written there and writes nothing in its place.
void Delivery::compare_with_nothing(std::vector<objectstore::Object> there) {
  m_there = std::move(there);
  find_others();
  send();
}

// A file that cannot be read locally: no store can help.
std::optional<Error> Delivery::local_error(const Error& error) const {
  if (error.kind == ErrorKind::internal) return error;
  for (const auto& file : m_files) {
    const auto path = file.path.empty() ? std::filesystem::path(output().path) : std::filesystem::path(output().path) / file.path;
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd || errno == ENOENT) continue;
    auto problem = file_error("read", path, errno);
    if (problem.kind == ErrorKind::input) problem.kind = ErrorKind::internal;  // it could be read when the program ended
    return problem;
  }
  return std::nullopt;
}

}  // namespace trainstep::staging
