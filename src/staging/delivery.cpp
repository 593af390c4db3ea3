// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/regular_file.h"
#include "staging/delivered.h"
#include "staging/staging.h"

namespace trainstep::staging {
namespace {

using objectstore::Address;

constexpr Duration first_pause{1'000};
constexpr Duration longest_pause{60'000};
constexpr std::size_t largest_manifest = std::size_t{64} << 20U;

std::string described(std::size_t count, const std::string& example) {
  return count == 1 ? fmt::format("the object \"{}\"", example) : fmt::format("{} objects, such as \"{}\",", count, example);
}

}  // namespace

Delivery::Delivery(Stores& stores, std::vector<plan::TaskOutput> outputs, Duration limit, StagingSink sink, DeliveryOptions options)
    : m_stores(stores),
      m_outputs(std::move(outputs)),
      m_sink(std::move(sink)),
      m_options(std::move(options)),
      m_limit(stores.loop()),
      m_began(stores.loop().now()),
      m_pause(first_pause),
      m_timer(stores.loop().timer(Duration(0), [this] { next(); })) {
  m_limit.set(limit);
  const bool all_own = std::ranges::all_of(m_outputs, [this](const auto& output) { return is_own(output.to.uri); });
  m_loaded = all_own || !m_options.manifest.somewhere();
  if (m_loaded) m_manifest.set_mark(m_options.mark);
  if (limit > Duration(0)) m_hurry_timer = m_stores.loop().timer(limit, [this] { m_stores.hurry(); });
}

// Credentials without read permission find no manifest: then nothing is removed.
void Delivery::load_manifest() {
  const auto known = [this](Result<std::string> text) {
    const bool none = !text && (text.error().kind == ErrorKind::not_found || text.error().kind == ErrorKind::denied);
    if (!text && !none) return failed(std::move(text.error()));
    m_listed = !none;
    m_manifest = Manifest::read(text.value_or(""));
    m_loaded = true;
    if (m_manifest.mark().empty()) m_manifest.set_mark(m_options.mark), m_unsaved = true;
    next();
  };
  const auto& place = m_options.manifest;
  if (!place.in_store()) return known(read_regular_file(place.path, largest_manifest));
  const auto address = Address::parse(place.uri);
  if (!address) return finish(address.error());
  m_call = m_stores.of(place).get(*address, std::nullopt, "", [known](objectstore::Answer<std::string> text) {
    known(text ? Result<std::string>(std::move(*text)) : Result<std::string>(std::move(text.error().error)));
  });
}

void Delivery::next() {
  m_listing.reset();
  m_uploads.reset();
  m_recognition.reset();
  m_removal.reset();
  m_transfer.reset();
  if (m_pass == 0) m_files.clear();  // of the previous output
  m_unsure.clear();
  if (!m_loaded) return load_manifest();
  if (m_at == m_outputs.size()) return finish(m_staged);
  auto to = Address::parse(output().to.uri);
  if (!to) return finish(std::move(to.error()));
  m_to = std::move(*to);
  m_listing = std::make_unique<objectstore::Listing>(m_stores.of(output().to), m_to, [this](auto there) {
    if (!there) return failed(std::move(there.error().error));
    compare(std::move(*there));
  });
}

void Delivery::compare(std::vector<objectstore::Object> there) {
  if (m_options.nothing) return compare_with_nothing(std::move(there));
  if (m_pass > 0) return look_again(std::move(there));
  auto tree = objectstore::read_tree(output().path);
  const bool gone = !tree && tree.error().kind == ErrorKind::not_found;
  if (auto change = tree || gone ? change_since_end(tree ? tree->files : std::vector<objectstore::LocalFile>()) : std::nullopt)
    return withdraw(std::move(*change));
  if (!tree) return finish(std::move(tree.error()));  // retrying cannot help
  if (tree->files.empty() && !tree->left_out.empty())
    return finish(input_error(fmt::format("cannot deliver anything at {}; {}", output().path, objectstore::describe_left_out(tree->left_out))));
  if (auto named = objectstore::check_names(tree->files); !named) return finish(std::move(named.error()));
  look_at_folders(*tree);
  if (!tree->left_out.empty()) tell_once(objectstore::describe_left_out(tree->left_out));
  m_files = std::move(tree->files);
  m_there = std::move(there);
  look_for_successor();
}

// nullopt if the files that exist now are those to be delivered.
std::optional<Error> Delivery::change_since_end(const std::vector<objectstore::LocalFile>& now) const {
  const auto at_end = m_options.at_end.find(output().name);
  const auto change = at_end == m_options.at_end.end() ? "" : objectstore::describe_change(at_end->second, now);
  if (change.empty()) return std::nullopt;
  return Error{ErrorKind::conflict, fmt::format("{} after the program had ended, before it was delivered ({})", change, output().path)};
}

// Objects at the address that are not among these files: those of the job are removed once the files are uploaded, others stay.
void Delivery::find_others() {
  const auto& uri = output().to.uri;
  std::set<std::string_view> ours;
  for (const auto& file : m_files) ours.insert(file.path);
  m_others.clear();
  std::vector<std::string> strange;
  for (const auto& object : m_there)
    if (!ours.contains(object.key))
      (is_own(uri) || m_manifest.may_be_ours(uri, object) || (m_keys && !m_keys->contains(object.key)) ? m_others : strange).push_back(object.key);
  if (!strange.empty() && !m_options.nothing)
    tell_once(fmt::format("{} at {} {} not written by this job: left as {}", described(strange.size(), strange.front()), uri,
                          strange.size() == 1 ? "was" : "were", strange.size() == 1 ? "it is" : "they are"));
}

void Delivery::tell_once(const std::string& what) {
  if (m_told.emplace(m_at, what).second) m_sink.tell(fmt::format("{} {}: {}", m_options.what, output().name, what));
}

void Delivery::note_put(const std::string& key) {
  auto address = at(key);
  m_put.insert_or_assign({output().to.store, address.text()}, std::move(address));
}

// Written before the first upload: a later attempt must know what to remove.
void Delivery::keep_manifest() {
  const auto& uri = output().to.uri;
  const auto& place = m_options.manifest;
  if (is_own(uri) || !place.somewhere()) return recognise();
  m_unsaved = m_manifest.add(uri, m_files, m_there) || m_unsaved;
  for (const auto& file : m_files)
    if (!m_manifest.replaces(uri, file.path)) note_put(file.path);
  for (const auto& key : m_others) note_put(key);
  if (!m_unsaved) return recognise();
  const auto written = [this](Result<void> result) {
    if (!result) return failed(std::move(result.error()));
    m_unsaved = false;
    recognise();
  };
  if (!place.in_store()) return written(write_file_atomically(place.path, m_manifest.text()));
  const auto address = Address::parse(place.uri);
  if (!address) return finish(address.error());
  m_call = m_stores.of(place).put(
      *address, [text = m_manifest.text()] { return Result<std::string>(text); },
      [written](objectstore::Answer<objectstore::Object> answer) {
        written(answer ? Result<void>() : Result<void>(std::move(answer.error().error)));
      },
      {{"Content-Type", "application/json"}});
}

void Delivery::recognise() {
  if (m_options.equal == DeliveryOptions::Equal::known) return send();
  m_recognition = std::make_unique<objectstore::Recognition>(
      m_stores.loop(), m_files, m_there, output().path,
      [this](const auto& same) {
        m_stores.sync_state().add(output().path, output().to.uri, same);
        send();
      },
      m_stores.limits());
}

void Delivery::send() {
  m_plan = objectstore::plan_upload(m_files, m_there, m_stores.sync_state().known(output().path, output().to.uri));
  if (m_pass == 0 && m_pause == first_pause) m_staged.equal += m_plan.equal;  // later attempts find what the first has sent
  m_pass == 0 ? transfer() : look_for_own();
}

void Delivery::transfer() {
  m_sending = true;
  m_transfer = objectstore::upload(m_stores.of(output().to), m_plan, output().path, m_to,
                                   {nullptr, [this](const Result<void>& result) { sent(result); }}, m_stores.limits(), headers());
}

void Delivery::sent(const Result<void>& result) {
  m_sending = false;
  m_stores.sync_state().add(output().path, output().to.uri, m_transfer->settled());
  if (!m_plan.items.empty()) m_stores.sync_state().keep(output().path, output().to.uri);
  for (const auto& [path, state] : m_transfer->settled()) {
    m_staged.bytes += state.size;
    ++m_staged.files;
    if (!is_own(output().to.uri)) note_put(path);
  }
  if (m_ending) return retract();
  if (!result) return failed(result.error());
  m_timer = m_stores.loop().timer(Duration(0), [this] { remove_others(); });
}

void Delivery::remove_others() {
  m_transfer.reset();
  if (m_others.empty()) return list_uploads();
  std::vector<Address> others;
  others.reserve(m_others.size());
  for (const auto& key : m_others) others.push_back(at(key));
  auto& client = m_stores.of(output().to);
  const auto done = [this](auto removed) {
    if (!removed) return failed(std::move(removed.error().error));
    tell_unmarked();
    list_uploads();
  };
  if (is_own(output().to.uri))
    m_removal = std::make_unique<objectstore::Removal>(client, std::move(others), done);
  else
    m_removal = std::make_unique<objectstore::Removal>(client, std::move(others), m_manifest.mark(), done);
}

// Another job may have written objects where a killed attempt had written, or was about to write.
void Delivery::tell_unmarked() {
  const auto& stayed = m_removal->unmarked();
  if (stayed.empty()) return;
  tell_once(fmt::format("{} at {} {} apparently not written by this job: left as {}",
                        described(stayed.size(), stayed.front().key.substr(m_to.key.size() + 1)), output().to.uri, stayed.size() == 1 ? "is" : "are",
                        stayed.size() == 1 ? "it is" : "they are"));
}

// Aborts uploads of a killed attempt, whose files may have had other names. They stay if the credentials may not list uploads, or if the store
// cannot.
void Delivery::list_uploads() {
  if (m_pass > 0) return delivered();
  m_uploads = std::make_unique<objectstore::UploadListing>(m_stores.of(output().to), m_to, [this](auto found) {
    if (!found && found.error().status == 0 && !m_limit.passed()) return failed(std::move(found.error().error));
    if (!found) return keep_uploads(found.error());
    const auto& uri = output().to.uri;
    std::erase_if(*found, [&](const auto& pending) {
      const auto name = pending.key.size() > m_to.key.size() ? pending.key.substr(m_to.key.size() + 1) : "";
      return !is_own(uri) && name != probe_name && !m_manifest.names(uri, name);
    });
    give_up_uploads(std::move(*found));
  });
}

void Delivery::give_up_uploads(std::vector<objectstore::MultipartUpload> uploads) {
  if (uploads.empty()) return delivered();
  const auto last = std::move(uploads.back());
  uploads.pop_back();
  m_call = store().abort_upload({m_to.scheme, m_to.bucket, last.key}, last.upload,
                                [this, uploads](const auto& given_up) { given_up ? give_up_uploads(uploads) : keep_uploads(given_up.error()); });
}

void Delivery::next_output() {
  ++m_at;
  m_pass = 0;
  m_keys.reset();
  m_pause = first_pause;
  m_timer = m_stores.loop().timer(Duration(0), [this] { next(); });
}

void Delivery::failed(Error error) {
  if (const auto tree = objectstore::read_tree(output().path); tree || tree.error().kind == ErrorKind::not_found)
    if (auto change = change_since_end(tree ? tree->files : std::vector<objectstore::LocalFile>())) return withdraw(std::move(*change));
  if (auto unreadable = local_error(error)) return withdraw(std::move(*unreadable));
  if (m_limit.passed()) {
    // A request that the store rejects (400: an expired token, for example) is not the fault of the program whose output it is.
    if (error.kind == ErrorKind::input) error.kind = ErrorKind::denied;
    return finish(std::move(error));
  }
  m_sink.tell(fmt::format("{} {}: {}; trying again in {}", m_options.what, output().name, error.message, trainstep::describe(m_pause)));
  m_timer = m_stores.loop().timer(m_pause, [this] { next(); });
  m_pause = std::min(m_pause * 2, longest_pause);
}

void Delivery::finish(Result<Staged> result) {
  m_ending = true;
  if (!result && m_at < m_outputs.size()) result = in_context(fmt::format("{} {}", m_options.what, output().name), std::move(result.error()));
  if (result) result->took = std::chrono::duration_cast<Duration>(m_stores.loop().now() - m_began);
  m_stop_timer.cancel();
  m_timer =
      m_stores.loop().timer(Duration(0), [this, result = std::move(result)]() mutable { std::exchange(m_sink.done, nullptr)(std::move(result)); });
}

}  // namespace trainstep::staging
