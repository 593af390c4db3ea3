// SPDX-License-Identifier: Apache-2.0
#include "staging/output_delivery.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/files.h"
#include "data/place.h"
#include "staging/delivery_listing.h"

namespace trainstep::staging {
namespace {

using objectstore::Address;
using objectstore::Answer;
using objectstore::Object;

std::string described(std::size_t count, const std::string& example) {
  return count == 1 ? fmt::format("the object \"{}\"", example) : fmt::format("{} objects, such as \"{}\",", count, example);
}

// A file that cannot be read locally: no store can help.
std::optional<Error> unreadable_file(const std::string& output, const std::vector<objectstore::LocalFile>& files) {
  for (const auto& file : files) {
    const auto path = file.path.empty() ? std::filesystem::path(output) : std::filesystem::path(output) / file.path;
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd || errno == ENOENT) continue;
    auto problem = file_error("read", path, errno);
    if (problem.kind == ErrorKind::input) problem.kind = ErrorKind::internal;  // it could be read when the program ended
    return problem;
  }
  return std::nullopt;
}

}  // namespace

OutputDelivery::OutputDelivery(Context context, Sink sink) : m_context(std::move(context)), m_sink(std::move(sink)) {}

void OutputDelivery::begin(bool first) {
  m_first = first;
  m_listing.reset();
  m_uploads.reset();
  m_recognition.reset();
  m_removal.reset();
  m_transfer.reset();
  if (m_pass == 0) m_files.clear();  // of an earlier attempt
  m_unsure.clear();
  auto to = Address::parse(uri());
  if (!to) return m_sink.refused(std::move(to.error()));
  m_to = std::move(*to);
  m_listing = std::make_unique<objectstore::Listing>(store(), m_to, [this](auto there) {
    if (!there) return m_sink.failed(std::move(there.error().error));
    compare(std::move(*there));
  });
}

void OutputDelivery::compare(std::vector<Object> there) {
  if (m_context.options.nothing) return compare_with_nothing(std::move(there));
  if (m_pass > 0) return compare_again(std::move(there));
  auto tree = objectstore::read_tree(m_context.output.path);
  const bool gone = !tree && tree.error().kind == ErrorKind::not_found;
  if (auto change = tree || gone ? change_since_end(tree ? tree->files : std::vector<objectstore::LocalFile>()) : std::nullopt)
    return m_sink.changed(std::move(*change));
  if (!tree) return m_sink.refused(std::move(tree.error()));  // retrying cannot help
  if (tree->files.empty() && !tree->left_out.empty())
    return m_sink.refused(
        input_error(fmt::format("cannot deliver anything at {}; {}", m_context.output.path, objectstore::describe_left_out(tree->left_out))));
  // Valid names of files: that no object can have one is not the program's fault.
  if (const auto named = objectstore::check_names(tree->files); !named) return m_sink.refused({ErrorKind::conflict, named.error().message});
  look_at_folders(*tree);
  if (!tree->left_out.empty()) tell_once(objectstore::describe_left_out(tree->left_out));
  m_files = std::move(tree->files);
  m_there = std::move(there);
  look_for_successor();
}

// Removes everything that the job has written there and writes nothing in its place.
void OutputDelivery::compare_with_nothing(std::vector<Object> there) {
  m_there = std::move(there);
  find_others();
  send();
}

// The files were compared when the program had ended; once they are uploaded, changes to them no longer matter.
void OutputDelivery::compare_again(std::vector<Object> there) {
  m_there = std::move(there);
  find_others();
  keep_written();
}

// nullopt if the files that exist now are those to be delivered.
std::optional<Error> OutputDelivery::change_since_end(const std::vector<objectstore::LocalFile>& now) const {
  const auto& output = m_context.output;
  const auto at_end = m_context.options.at_end.find(output.name);
  const auto change = at_end == m_context.options.at_end.end() ? "" : objectstore::describe_change(at_end->second, now);
  if (change.empty()) return std::nullopt;
  return Error{ErrorKind::conflict, fmt::format("{} after the program had ended, before it was delivered ({})", change, output.path)};
}

std::optional<Error> OutputDelivery::why_vain(const Error& error) const {
  if (const auto tree = objectstore::read_tree(m_context.output.path); tree || tree.error().kind == ErrorKind::not_found)
    if (auto change = change_since_end(tree ? tree->files : std::vector<objectstore::LocalFile>())) return change;
  if (error.kind == ErrorKind::internal) return error;
  return unreadable_file(m_context.output.path, m_files);
}

// Empty folders exist only in a list: no object represents them.
void OutputDelivery::look_at_folders(objectstore::LocalTree& tree) {
  m_empty_folders.clear();
  for (const auto& folder : tree.empty_folders)
    if (is_own() && !find_invalid_utf8(folder))
      m_empty_folders.push_back(folder);
    else
      tree.left_out.push_back(folder + ": an empty folder");
}

// A successor that has delivered leaves its record in place until the step has reported the model. Checking one object suffices: both pods write the
// same names.
void OutputDelivery::look_for_successor() {
  const auto go_on = [this] {
    find_others();
    keep_written();
  };
  if (m_keys) return go_on();
  auto& keys = m_keys.emplace();
  for (const auto& object : m_there) keys.insert(object.key);
  const auto taken = std::ranges::find_if(m_files, [&](const auto& file) { return keys.contains(file.path); });
  const auto& job = m_context.options.mark;
  if (m_context.written.existed() || job.empty() || is_own() || taken == m_files.end()) return go_on();
  m_call = store().head(at(taken->path), [this, &job, go_on](const Answer<Object>& there) {
    if (!there || !objectstore::has_mark(there->mark, job)) return go_on();
    m_sink.refused(Error{ErrorKind::conflict, fmt::format("another pod of this job has delivered to {}, and the job has ended", uri())});
  });
}

// Objects at the address that are not among these files: those of the job are removed once the files are uploaded, others stay.
void OutputDelivery::find_others() {
  const auto& written = m_context.written.objects();
  std::set<std::string_view> ours;
  for (const auto& file : m_files) ours.insert(file.path);
  m_others.clear();
  std::vector<std::string> strange;
  for (const auto& object : m_there)
    if (!ours.contains(object.key))
      (is_own() || written.may_be_ours(uri(), object) || (m_keys && !m_keys->contains(object.key)) ? m_others : strange).push_back(object.key);
  if (!strange.empty() && !m_context.options.nothing)
    tell_once(fmt::format("{} at {} {} not written by this job: left as {}", described(strange.size(), strange.front()), uri(),
                          strange.size() == 1 ? "was" : "were", strange.size() == 1 ? "it is" : "they are"));
}

void OutputDelivery::tell_once(const std::string& what) {
  if (m_told.insert(what).second) m_context.log(fmt::format("{} {}: {}", m_context.options.what, m_context.output.name, what));
}

// Saved before the first upload.
void OutputDelivery::keep_written() {
  if (is_own() || !m_context.options.written.somewhere()) return recognise();
  auto& written = m_context.written;
  written.add(uri(), m_files, m_there);
  for (const auto& file : m_files)
    if (!written.objects().replaces(uri(), file.path)) m_context.put(at(file.path));
  for (const auto& key : m_others) m_context.put(at(key));
  written.save([this](Result<void> saved) { saved ? recognise() : m_sink.failed(std::move(saved.error())); });
}

void OutputDelivery::recognise() {
  if (m_context.options.equal == DeliveryOptions::Equal::known) return send();
  m_recognition = std::make_unique<objectstore::Recognition>(
      m_context.stores.loop(), m_files, m_there, m_context.output.path,
      [this](const auto& same) {
        m_context.stores.sync_state().add(m_context.output.path, uri(), same);
        send();
      },
      m_context.stores.limits());
}

void OutputDelivery::send() {
  m_plan = objectstore::plan_upload(m_files, m_there, m_context.stores.sync_state().known(m_context.output.path, uri()));
  if (m_pass == 0 && m_first) m_context.staged.equal += m_plan.equal;  // later attempts find what the first has sent
  m_pass == 0 ? transfer() : look_for_own();
}

// Objects of the right size that the second listing shows with another ETag than that of their upload: some stores list other ETags.
void OutputDelivery::look_for_own() {
  std::map<std::string_view, std::int64_t> sizes;
  for (const auto& object : m_there) sizes[object.key] = object.size;
  const auto same_size = [&](const auto& item) {
    const auto found = sizes.find(item.object.key);
    return found != sizes.end() && found->second == item.file.size;
  };
  m_unsure.clear();
  std::ranges::copy_if(m_plan.items, std::back_inserter(m_unsure), same_size);
  std::erase_if(m_plan.items, same_size);
  look_at_unsure();
}

// The mark shows which pod has written an object; without a mark, it is assumed to be ours.
void OutputDelivery::look_at_unsure() {
  if (m_unsure.empty()) return transfer();
  m_call = store().head(at(m_unsure.back().object.key), [this](const Answer<Object>& there) {
    const bool gone = !there && there.error().status == 404;
    if (!there && !gone && there.error().error.kind != ErrorKind::denied) return m_sink.failed(there.error().error);
    if (gone || (there && !there->mark.empty() && there->mark != mark())) m_plan.items.push_back(m_unsure.back());
    m_unsure.pop_back();
    look_at_unsure();
  });
}

std::string OutputDelivery::mark() const {
  const auto& pod = m_context.options.pod;
  return m_context.written.objects().mark() + (pod.empty() ? "" : '/' + pod);
}

// Everything below the job's own prefix is the job's.
std::vector<http::Header> OutputDelivery::headers() const {
  if (is_own() || m_context.written.objects().mark().empty()) return {};
  return {{std::string(objectstore::mark_header), mark()}};
}

void OutputDelivery::transfer() {
  m_sending = true;
  m_transfer = objectstore::upload(store(), m_plan, m_context.output.path, m_to, {nullptr, [this](const Result<void>& result) { sent(result); }},
                                   m_context.stores.limits(), headers());
}

void OutputDelivery::sent(const Result<void>& result) {
  m_sending = false;
  auto& known = m_context.stores.sync_state();
  known.add(m_context.output.path, uri(), m_transfer->settled());
  if (!m_plan.items.empty()) known.keep(m_context.output.path, uri());
  for (const auto& [path, state] : m_transfer->settled()) {
    m_context.staged.bytes += state.size;
    ++m_context.staged.files;
    if (!is_own()) m_context.put(at(path));
  }
  if (m_ending) {
    m_transfer.reset();
    return m_sink.stopped();
  }
  if (!result) return m_sink.failed(result.error());
  m_timer = m_context.stores.loop().timer(Duration(0), [this] { remove_others(); });
}

void OutputDelivery::remove_others() {
  m_transfer.reset();
  if (m_others.empty()) return list_uploads();
  std::vector<Address> others;
  others.reserve(m_others.size());
  for (const auto& key : m_others) others.push_back(at(key));
  const auto done = [this](auto removed) {
    if (!removed) return m_sink.failed(std::move(removed.error().error));
    tell_unmarked();
    list_uploads();
  };
  if (is_own())
    m_removal = std::make_unique<objectstore::Removal>(store(), std::move(others), done);
  else
    m_removal = std::make_unique<objectstore::Removal>(store(), std::move(others), m_context.written.objects().mark(), done);
}

// Another job may have written objects where a killed attempt had written, or was about to write.
void OutputDelivery::tell_unmarked() {
  const auto& stayed = m_removal->unmarked();
  if (stayed.empty()) return;
  tell_once(fmt::format("{} at {} {} apparently not written by this job: left as {}",
                        described(stayed.size(), stayed.front().key.substr(m_to.key.size() + 1)), uri(), stayed.size() == 1 ? "is" : "are",
                        stayed.size() == 1 ? "it is" : "they are"));
}

// Aborts uploads of a killed attempt, whose files may have had other names. They stay if the credentials may not list uploads, or if the store
// cannot.
void OutputDelivery::list_uploads() {
  if (m_pass > 0) return verify();
  m_uploads = std::make_unique<objectstore::UploadListing>(store(), m_to, [this](auto found) {
    if (!found && found.error().status == 0 && !m_context.limit.passed()) return m_sink.failed(std::move(found.error().error));
    if (!found) return keep_uploads(found.error());
    std::erase_if(*found, [&](const auto& pending) {
      const auto name = pending.key.size() > m_to.key.size() ? pending.key.substr(m_to.key.size() + 1) : "";
      return !is_own() && name != probe_name && !m_context.written.objects().names(uri(), name);
    });
    give_up_uploads(std::move(*found));
  });
}

void OutputDelivery::give_up_uploads(std::vector<objectstore::MultipartUpload> uploads) {
  if (uploads.empty()) return verify();
  const auto last = std::move(uploads.back());
  uploads.pop_back();
  m_call = store().abort_upload({m_to.scheme, m_to.bucket, last.key}, last.upload,
                                [this, uploads](const auto& given_up) { given_up ? give_up_uploads(uploads) : keep_uploads(given_up.error()); });
}

// The output is delivered; uploads that cannot be listed or aborted are not a reason to fail.
void OutputDelivery::keep_uploads(const objectstore::StoreError& why) {
  if (why.status == 0 || retryable(why)) tell_once(fmt::format("{}; incomplete uploads of an earlier attempt may remain there", why.error.message));
  verify();
}

// The last writer checks last: of two concurrent writers, at least one finds what the other has written.
void OutputDelivery::verify() {
  if (is_own()) return keep_list();
  if (m_context.options.nothing || (m_pass > 0 && m_plan.items.empty())) return m_sink.delivered();
  if (m_pass++ > 0)
    return m_sink.failed(
        {ErrorKind::unavailable, fmt::format("\"{}\" at {} differs from what was written: another client is writing there at the same time",
                                             m_plan.items.front().object.key, uri())});
  m_timer = m_context.stores.loop().timer(Duration(0), [this] { begin(m_first); });
}

// A fetch from the job's own prefix takes exactly what this list contains.
void OutputDelivery::keep_list() {
  const auto at = Address::parse(delivery_list_of(uri()));
  if (!at) return m_sink.refused(at.error());
  const auto& known = m_context.stores.sync_state().known(m_context.output.path, uri());
  std::vector<Object> objects;
  for (const auto& file : m_files) {
    const auto same = known.find(file.path);
    objects.push_back({.key = file.path, .size = file.size, .etag = same == known.end() ? "" : same->second.etag});
  }
  for (const auto& folder : m_empty_folders) objects.push_back({.key = folder + '/', .size = 0, .etag = ""});
  m_call = store().put(
      *at, [text = list_of(objects)] { return Result<std::string>(text); },
      [this](Answer<Object> answer) { answer ? m_sink.delivered() : m_sink.failed(std::move(answer.error().error)); },
      {{"Content-Type", "application/json"}});
}

void OutputDelivery::stop(const Error& why) {
  m_ending = true;
  m_timer.cancel();
  m_call.cancel();
  m_listing.reset();
  m_uploads.reset();
  m_recognition.reset();
  m_removal.reset();
  if (m_sending) return m_transfer->give_up(why);
  m_transfer.reset();
  m_sink.stopped();
}

}  // namespace trainstep::staging
