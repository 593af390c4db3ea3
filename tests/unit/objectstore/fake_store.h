// An object store in memory behind the scripted transport: it keeps what is put, and can be told to fail.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/digest.h"
#include "objectstore/client.h"
#include "support/catch.h"
#include "support/fake_transport.h"

namespace trainstep::objectstore::test {

using trainstep::test::FakeTransport;
using trainstep::test::Reply;
using trainstep::test::VirtualLoop;

struct FakeStore {
  VirtualLoop loop;
  FakeTransport transport{loop};
  Client client{loop, transport, Store{{"http", "store", 9000, "", {}}}, std::shared_ptr(fixed_credentials({"key", "secret"})), 1};
  std::map<std::string, std::string> objects;                              // key → content; of any bucket
  std::map<std::string, std::map<int, std::string>> uploads;               // id → parts
  std::map<std::string, std::string> upload_keys;                          // id → key
  std::map<std::string, std::string> marks;                                // key → whose it is; of those that were put with one
  bool lose_beginnings = false;                                            // the effect happens, its answer is lost, once
  std::function<std::optional<Reply>(const FakeTransport::Asked&)> fault;  // instead of the answer; the effect does not happen
  bool lose_completions = false;                                           // the effect happens, its answer is lost, once
  std::size_t max_at_once = 0;
  bool heeds_if_match = true;

  FakeStore() {
    transport.serve([this](const FakeTransport::Asked& asked) {
      max_at_once = std::max(max_at_once, transport.open() + 1);
      if (fault)
        if (auto reply = fault(asked)) return *reply;
      return answer(asked);
    });
  }

  static Reply refusal(int status, const std::string& code) {
    return Reply::text("<Error><Code>" + code + "</Code><Message>m</Message></Error>", status);
  }
  static std::string etag(const std::string& content) { return md5_hex(content); }

  // What a store without faults answers, and does.
  Reply answer(const FakeTransport::Asked& asked) { return do_answer(asked); }

 private:
  static std::string decoded(std::string_view path) {
    std::string key;
    for (std::size_t at = 0; at < path.size(); ++at) {
      key += path[at] == '%' ? from_hex(path.substr(at + 1, 2)).value() : std::string(1, path[at]);
      if (path[at] == '%') at += 2;
    }
    return key;
  }
  static Reply with_etag(const std::string& tag, std::string body = "", int status = 200) {
    auto reply = Reply::text(std::move(body), status);
    reply.headers = {{"ETag", '"' + tag + '"'}};
    return reply;
  }

  Reply do_answer(const FakeTransport::Asked& asked) {
    const auto& request = asked.request;
    if (asked.header("X-Amz-Content-Sha256") != sha256_hex(request.body)) return refusal(400, "XAmzContentSHA256Mismatch");
    const auto slash = std::min(request.url.path.find('/', 1), request.url.path.size() - 1);  // behind the bucket
    const auto key = decoded(request.url.path.substr(slash + 1));
    if (request.method == "GET" && asked.query("list-type") == "2") return list(asked);
    if (request.method == "GET" && key.empty()) return list_uploads(asked);
    if (request.method == "GET" || request.method == "HEAD") return get(asked, key);
    if (request.method == "DELETE" && !asked.query("uploadId").empty())
      return uploads.erase(asked.query("uploadId")) != 0 ? Reply::text("", 204) : refusal(404, "NoSuchUpload");
    if (request.method == "DELETE") return objects.erase(key) != 0 ? Reply::text("", 204) : refusal(404, "NoSuchKey");
    if (request.method == "POST" && asked.query("uploadId").empty()) {
      const auto id = "u" + std::to_string(++m_last_upload);
      uploads[id];
      upload_keys[id] = key;
      m_upload_marks[id] = asked.header(std::string(mark_header));
      if (std::exchange(lose_beginnings, false)) return Reply::lost();
      return Reply::text("<InitiateMultipartUploadResult><UploadId>" + id + "</UploadId></InitiateMultipartUploadResult>");
    }
    if (request.method == "POST") return complete(asked, key);
    if (const auto id = asked.query("uploadId"); !id.empty()) {
      if (!uploads.contains(id)) return refusal(404, "NoSuchUpload");
      uploads[id][std::stoi(asked.query("partNumber"))] = request.body;
      return with_etag(etag(request.body));
    }
    objects[key] = request.body;
    marks[key] = asked.header(std::string(mark_header));
    m_whole.erase(key);
    return with_etag(tag_of(key));
  }

  Reply complete(const FakeTransport::Asked& asked, const std::string& key) {
    const auto upload = uploads.extract(asked.query("uploadId"));
    if (upload.empty()) return refusal(404, "NoSuchUpload");
    auto& content = objects[key];
    content.clear();
    std::string digests;
    for (const auto& [number, part] : upload.mapped()) {
      content += part;
      digests += from_hex(etag(part)).value();
    }
    m_etags[key] = etag(digests) + "-" + std::to_string(upload.mapped().size());
    m_whole[key] = content;
    marks[key] = m_upload_marks[upload.key()];
    if (std::exchange(lose_completions, false)) return Reply::lost();
    return Reply::text("<CompleteMultipartUploadResult><ETag>" + m_etags[key] + "</ETag></CompleteMultipartUploadResult>");
  }

  Reply get(const FakeTransport::Asked& asked, const std::string& key) {
    if (!objects.contains(key)) return refusal(404, "NoSuchKey");
    const auto& content = objects[key];
    const auto tag = tag_of(key);
    if (const auto wanted = asked.header("If-Match"); !wanted.empty() && heeds_if_match && wanted != '"' + tag + '"')
      return refusal(412, "PreconditionFailed");
    if (asked.request.method == "HEAD") {
      auto head = with_etag(tag);
      head.headers.push_back({"Content-Length", std::to_string(content.size())});
      if (const auto& mark = marks[key]; !mark.empty()) head.headers.push_back({"X-Amz-Meta-Trainstep-Job", mark});
      return head;
    }
    const auto range = asked.header("Range");
    if (range.empty()) return with_etag(tag, content);
    const auto dash = range.find('-');
    const auto first = std::stoul(range.substr(6, dash - 6));
    return with_etag(tag, content.substr(first, std::stoul(range.substr(dash + 1)) - first + 1), 206);
  }

  // A test may have changed the object itself.
  std::string tag_of(const std::string& key) { return m_whole.contains(key) && m_whole[key] == objects[key] ? m_etags[key] : etag(objects[key]); }

  Reply list_uploads(const FakeTransport::Asked& asked) {
    std::string xml = "<ListMultipartUploadsResult>";
    for (const auto& [id, parts] : uploads)
      if (upload_keys[id].starts_with(asked.query("prefix")))
        xml += "<Upload><Key>" + upload_keys[id] + "</Key><UploadId>" + id + "</UploadId></Upload>";
    return Reply::text(xml + "</ListMultipartUploadsResult>");
  }

  Reply list(const FakeTransport::Asked& asked) {
    constexpr int page = 3;
    std::string xml = "<ListBucketResult><EncodingType>url</EncodingType>", last;
    int count = 0;
    for (const auto& [key, content] : objects) {
      if (!key.starts_with(asked.query("prefix")) || key <= asked.query("continuation-token")) continue;
      if (count++ == page) {
        xml += "<IsTruncated>true</IsTruncated><NextContinuationToken>" + last + "</NextContinuationToken>";
        break;
      }
      last = key;
      const auto tag = tag_of(key);
      xml += "<Contents><Key>" + http::percent_encoded(key) + "</Key><Size>" + std::to_string(content.size()) + "</Size><ETag>" + tag +
             "</ETag></Contents>";
    }
    return Reply::text(xml + "</ListBucketResult>");
  }

  std::map<std::string, std::string> m_upload_marks;    // by id
  std::map<std::string, std::string> m_etags, m_whole;  // of objects that were put in parts
  int m_last_upload = 0;
};

}  // namespace trainstep::objectstore::test
