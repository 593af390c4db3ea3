// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <list>

#include "objectstore/listing.h"
#include "objectstore/recognition.h"
#include "objectstore/transfer.h"

namespace trainstep::objectstore {
namespace {

constexpr Duration second_look{1'000};
constexpr std::int64_t max_part_size = std::int64_t{5} << 30;  // Amazon S3 User Guide, "multipart upload limits"

class Upload : public Transfer {
 public:
  Upload(Client& client, SyncPlan plan, std::filesystem::path root, Address to, Sink sink, TransferLimits limits, std::vector<http::Header> headers)
      : Transfer(client, std::move(root), std::move(to), std::move(sink), limits), m_plan(std::move(plan)), m_headers(std::move(headers)) {}
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

 private:
  // A multipart upload in progress.
  struct Parts {
    const LocalFile& file;
    const std::string& key;
    std::string upload;
    std::vector<std::string> etags;
    std::size_t left;
  };

  void begin() override {
    for (const auto& item : m_plan.items)
      if (item.file.size <= m_limits.part)
        whole(item);
      else if (m_limits.part_of(item.file.size) <= max_part_size)
        in_parts(item);
      else
        return fail(input_error(fmt::format("{} exceeds the maximum size of an object", place(item.file.path).string())));
  }

  Body part(const LocalFile& file, std::int64_t first, std::int64_t size) const {
    return [path = place(file.path), first, size] { return read_part(path, first, size); };
  }

  void whole(const TransferItem& item) {
    const auto& file = item.file;
    m_queue.add(file.size, call<Object>([this, &file, &key = item.object.key](
                                            const auto& done) { return m_client.put(address(key), part(file, 0, file.size), done, m_headers); },
                                        [this, &file](const Object& object) {
                                          moved(file.size);
                                          uploaded(file, object.etag);
                                        }));
  }

  void in_parts(const TransferItem& item) {
    m_queue.add(0, call<std::string>(
                       [this, &key = item.object.key](const auto& done) {
                         m_begun.insert(key);
                         return m_client.begin_upload(address(key), done, m_headers);
                       },
                       [this, &item](std::string upload) { queue_parts(item, std::move(upload)); }));
  }

  void queue_parts(const TransferItem& item, std::string upload) {
    const auto& file = item.file;
    const auto size = m_limits.part_of(file.size);
    const auto count = static_cast<std::size_t>((file.size + size - 1) / size);
    auto& parts =
        m_parts.emplace(item.object.key, Parts{file, item.object.key, std::move(upload), std::vector<std::string>(count), count}).first->second;
    for (auto i = count; i-- > 0;) {  // files begun earlier first: fewer are left incomplete
      const auto first = static_cast<std::int64_t>(i) * size;
      const auto length = std::min(size, file.size - first);
      m_queue.add_next(length, call<std::string>(
                                   [this, &parts, i, first, length](const auto& done) {
                                     return m_client.put_part(address(parts.key), parts.upload, static_cast<int>(i) + 1,
                                                              part(parts.file, first, length), done);
                                   },
                                   [this, &parts, i, length](std::string etag) {
                                     moved(length);
                                     parts.etags[i] = std::move(etag);
                                     if (--parts.left == 0) complete(parts);
                                   }));
    }
  }

  void complete(Parts& parts) {
    if (changed(parts.file)) return;
    m_queue.add_next(0, call<Object>([this, &parts](auto done) { return ask_to_complete(parts, std::move(done)); },
                                     [this, &parts](const Object& object) {
                                       const auto& key = parts.key;
                                       uploaded(parts.file, object.etag);
                                       m_parts.erase(key);
                                       m_begun.erase(key);
                                       m_queue.add(0, [this, &key](const std::function<void()>& over) {
                                         give_up_others(key, [this, over] {
                                           over();
                                           go_on();
                                         });
                                       });
                                     }));
  }

  // The store's response is not sufficient. If a response was lost, the retry finds no upload; and a store killed in between may then report an
  // incomplete upload as complete (versitygw 1.8.0, a folder of an upload in progress). So the object is checked by HEAD.
  PendingCall ask_to_complete(Parts& parts, Client::Done<Object> done) {
    return m_client.complete_upload(address(parts.key), parts.upload, parts.etags, [this, &parts, done = std::move(done)](Answer<Object> answer) {
      if (!answer && answer.error().code != "NoSuchUpload") return done(std::move(answer));
      keep(m_client.head(address(parts.key), [this, &parts, done, answer](Answer<Object> there) { done(judge(parts, answer, std::move(there))); }));
    });
  }

  // `told`: the store's response to the completion; `there`: the object now.
  Answer<Object> judge(const Parts& parts, const Answer<Object>& told, Answer<Object> there) const {
    if (told && !there && there.error().error.kind == ErrorKind::denied) return told;  // permission to write may not include reading
    if (!there && there.error().status != 404) return there;
    const bool whole = there && there->size == parts.file.size;
    const bool same_tag = there && (there->etag == etag_of_parts(parts.etags) || (told && there->etag == told->etag));
    if (whole && same_tag) return there;
    if (!told) return told;
    const auto what = fmt::format("complete upload of {}", address(parts.key).text());
    return tl::unexpected(
        StoreError{{ErrorKind::unavailable, what + ": the object store reports success, but the object does not exist"}, 0, {}, {}});
  }

  void uploaded(const LocalFile& file, const std::string& etag) {
    if (!changed(file)) same(file, etag);
  }

  // Returns true, and fails the transfer, if the file differs from the plan. A new ctime alone counts as well: a program that rewrites a file in
  // place may reset its modification time (rsync --inplace -t, cp -p).
  bool changed(const LocalFile& file) {
    const auto now = read_state(m_root, file.path);
    if (now && *now == file && now->touched == file.touched) return false;
    fail(now ? input_error(fmt::format("{} changed while it was being uploaded", place(file.path).string())) : now.error());
    return true;
  }

  // Aborts uploads that will not be completed: their parts would remain, invisible and billed. Keys are copied: an upload being completed is no
  // longer in m_begun when the responses arrive.
  void undo(const std::function<void()>& done) override {
    if (m_begun.empty()) return done();
    const auto left = std::make_shared<std::size_t>(m_begun.size());
    for (const auto& key : m_begun) {
      const auto one_less = [left, done] {
        if (--*left == 0) done();
      };
      // A part that was in transit when we cancelled it may arrive after the upload was aborted, and restore it (Amazon S3 API Reference,
      // AbortMultipartUpload): so uploads are listed a second time.
      const auto twice = [this, key, one_less] {
        give_up_others(key, [this, key, one_less] {
          m_second_looks.push_back(m_client.loop().timer(second_look, [this, key, one_less] { give_up_others(key, one_less); }));
        });
      };
      const auto known = m_parts.find(key);
      if (known == m_parts.end())
        twice();
      else
        give_up(key, {known->second.upload}, twice);
    }
  }

  // Aborts other uploads of the same object that will not be completed: from an attempt that was killed, or a request whose response was lost.
  // Without permission to list them they are left, and it is not tried again for each file.
  void give_up_others(const std::string& key, const std::function<void()>& then) {
    if (m_blind) return then();
    auto& looks = m_looks.emplace_back();
    looks = std::make_unique<UploadListing>(m_client, address(key), [this, key, then](const Answer<std::vector<MultipartUpload>>& found) {
      m_blind = m_blind || (!found && !retryable(found.error()));
      std::vector<std::string> uploads;
      for (const auto& pending : found.value_or(std::vector<MultipartUpload>()))
        if (pending.key == address(key).key) uploads.push_back(pending.upload);
      give_up(key, uploads, then);
    });
  }

  void give_up(const std::string& key, const std::vector<std::string>& uploads, const std::function<void()>& then) {
    if (uploads.empty()) return then();
    const auto left = std::make_shared<std::size_t>(uploads.size());
    for (const auto& upload : uploads)
      keep(m_client.abort_upload(address(key), upload, [left, then](const auto&) {
        if (--*left == 0) then();
      }));
  }

  SyncPlan m_plan;
  std::vector<Timer> m_second_looks;
  std::map<std::string, Parts> m_parts;  // by key
  std::list<std::unique_ptr<UploadListing>> m_looks;
  std::vector<http::Header> m_headers;
  bool m_blind = false;           // uploads cannot be listed
  std::set<std::string> m_begun;  // keys whose multipart upload may have begun and is not complete
};

}  // namespace

std::unique_ptr<Transfer> upload(Client& client, SyncPlan plan, std::filesystem::path root, Address to, Transfer::Sink sink, TransferLimits limits,
                                 std::vector<http::Header> headers) {
  return std::make_unique<Upload>(client, std::move(plan), std::move(root), std::move(to), std::move(sink), limits, std::move(headers));
}

}  // namespace trainstep::objectstore
