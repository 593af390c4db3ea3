// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "objectstore/client_call.h"

namespace trainstep::objectstore {
namespace {

Answer<std::monostate> nothing(http::Response&) { return std::monostate(); }

StoreError garbled(const std::string& what, std::string_view why) {
  return {in_context(what, Error{ErrorKind::unavailable, std::string(why)}), 0, {}};
}

template <typename T>
Answer<T> or_garbled(const std::string& what, Result<T> read) {
  if (read) return std::move(*read);
  return tl::unexpected(StoreError{in_context(what, std::move(read.error())), 0, {}});
}

Body text_body(std::string text) {
  return [text = std::move(text)] { return Result<std::string>(text); };
}

}  // namespace

template <typename T>
PendingCall Client::call(std::unique_ptr<Call> call, std::function<Answer<T>(http::Response&)> read, Done<T> done) {
  auto value = std::make_shared<T>();
  call->read = [value, read = std::move(read)](http::Response& response, std::int64_t) -> std::optional<StoreError> {
    auto answer = read(response);
    if (!answer) return std::move(answer.error());
    *value = std::move(*answer);
    return std::nullopt;
  };
  call->done = [value, done = std::move(done)](std::optional<StoreError> error) {
    if (error) return done(tl::unexpected(std::move(*error)));
    done(std::move(*value));
  };
  return begin(std::move(call));
}

PendingCall Client::put(const Address& to, Body body, Done<Object> done, std::vector<http::Header> headers) {
  auto asked = prepared("put", "PUT", to);
  asked->body = std::move(body);
  asked->compares = true;
  for (auto& header : headers) asked->request.headers.push_back(std::move(header));
  auto read = [what = asked->what, key = to.key](http::Response& response) -> Answer<Object> {
    auto etag = etag_of(response);
    if (etag.empty()) return tl::unexpected(garbled(what, "an object without an etag"));  // the response was not from an object store
    return Object{key, 0, std::move(etag)};
  };
  return call<Object>(std::move(asked), std::move(read), std::move(done));
}

PendingCall Client::get(const Address& from, std::optional<Range> range, const std::string& etag, Done<std::string> done) {
  const auto text = std::make_shared<std::string>();
  auto take = [text, most = m_limits.largest_body](std::int64_t offset, std::string_view bytes) -> Result<void> {
    if (offset == 0) text->clear();
    if (bytes.size() > most - text->size()) return input_error("the object is too large to be read at once");
    *text += bytes;
    return {};
  };
  auto asked = prepared_fetch(from, range, etag, std::move(take), [text, done = std::move(done)](Answer<std::int64_t> answer) {
    if (!answer) return done(tl::unexpected(std::move(answer.error())));
    if (*answer == 0) text->clear();
    done(std::move(*text));
  });
  asked->request.limit = m_limits.timeout;
  return begin(std::move(asked));
}

PendingCall Client::fetch(const Address& from, std::optional<Range> range, const std::string& etag, Take take, Done<std::int64_t> done) {
  return begin(prepared_fetch(from, range, etag, std::move(take), std::move(done)));
}

std::unique_ptr<Client::Call> Client::prepared_fetch(const Address& from, std::optional<Range> range, const std::string& etag, Take take,
                                                     Done<std::int64_t> done) const {
  constexpr std::size_t buffer = 262'144;
  auto asked = prepared("get", "GET", from);
  auto& headers = asked->request.headers;
  if (range) headers.push_back({"Range", fmt::format("bytes={}-{}", range->first, range->first + range->size - 1)});
  if (!etag.empty()) headers.push_back({"If-Match", '"' + etag + '"'});
  if (range) asked->request.buffer = buffer;
  asked->take = std::move(take);
  asked->compares = true;
  asked->brings_whole = [range](const http::Response& head) {
    const auto all = range ? fmt::format("bytes 0-{}/{}", range->size - 1, range->size) : std::string();
    return range ? head.header("Content-Range").value_or("") == all : head.status == 200;
  };
  asked->check = [what = asked->what, range, etag](const http::Response& head) -> std::optional<StoreError> {
    // Some stores ignore If-Match.
    if (const auto came = etag_of(head); !etag.empty() && !came.empty() && came != etag) return another_object(what);
    const auto length = fmt::format("{}", range ? range->size : 0);
    const auto place = range ? fmt::format("bytes {}-{}/", range->first, range->first + range->size - 1) : std::string();
    if (range && (head.status != 206 || head.header("Content-Length").value_or(length) != length ||
                  !std::string_view(head.header("Content-Range").value_or(place)).starts_with(place)))
      return garbled(what, "got another range than requested");
    return std::nullopt;
  };
  const auto size = std::make_shared<std::int64_t>();
  asked->read = [size, what = asked->what, range, check = asked->check](const http::Response& head, std::int64_t came) -> std::optional<StoreError> {
    if (auto problem = came == 0 ? check(head) : std::nullopt) return problem;
    if (range && came != range->size) return garbled(what, fmt::format("expected {1} bytes, got {0}", came, range->size));
    *size = came;
    return std::nullopt;
  };
  asked->done = [size, done = std::move(done)](std::optional<StoreError> error) {
    if (error) return done(tl::unexpected(std::move(*error)));
    done(*size);
  };
  return asked;
}

PendingCall Client::head(const Address& of, Done<Object> done) {
  auto asked = prepared("look at", "HEAD", of);
  auto read = [what = asked->what, key = of.key](http::Response& response) -> Answer<Object> {
    Object object{key, 0, etag_of(response), std::string(response.header(mark_header).value_or(""))};
    const auto length = response.header("Content-Length").value_or("");
    if (std::from_chars(length.data(), length.data() + length.size(), object.size).ec != std::errc{})
      return tl::unexpected(garbled(what, "an object without a length"));
    return object;
  };
  return call<Object>(std::move(asked), std::move(read), std::move(done));
}

PendingCall Client::list(const std::string& bucket, const std::string& prefix, const std::string& token, Done<ListPage> done) {
  http::Query query{{"encoding-type", "url"}, {"list-type", "2"}, {"prefix", prefix}};
  if (!token.empty()) query.emplace_back("continuation-token", token);
  auto asked = prepared_for_bucket("list", bucket, prefix, std::move(query));
  auto read = [what = asked->what](http::Response& response) { return or_garbled(what, read_list_page(response.body)); };
  return call<ListPage>(std::move(asked), std::move(read), std::move(done));
}

PendingCall Client::list_uploads(const Address& of, const MultipartUpload& from, Done<UploadPage> done) {
  http::Query query{{"encoding-type", "url"}, {"prefix", of.key}, {"uploads", ""}};
  if (!from.key.empty()) query.emplace_back("key-marker", from.key);
  if (!from.upload.empty()) query.emplace_back("upload-id-marker", from.upload);
  auto asked = prepared_for_bucket("list the uploads of", of.bucket, of.key, std::move(query));
  asked->keyless = of.key.empty();
  asked->timeout = std::min(m_limits.timeout, m_limits.housekeeping);
  asked->request.silence = std::min(m_limits.silence, m_limits.housekeeping / 3);  // one lost response must not use up the whole timeout
  auto read = [what = asked->what](http::Response& response) { return or_garbled(what, read_uploads(response.body)); };
  return call<UploadPage>(std::move(asked), std::move(read), std::move(done));
}

PendingCall Client::remove(const Address& what, Done<std::monostate> done) {
  return call<std::monostate>(prepared("remove", "DELETE", what), nothing, [done = std::move(done)](Answer<std::monostate> answer) {
    if (!answer && answer.error().code == "NoSuchKey") return done(std::monostate());
    done(std::move(answer));
  });
}

PendingCall Client::begin_upload(const Address& to, Done<std::string> done, std::vector<http::Header> headers) {
  auto asked = prepared("begin to upload", "POST", to, {{"uploads", ""}});
  for (auto& header : headers) asked->request.headers.push_back(std::move(header));
  auto read = [what = asked->what](http::Response& response) { return or_garbled(what, read_upload_id(response.body)); };
  return call<std::string>(std::move(asked), std::move(read), std::move(done));
}

PendingCall Client::put_part(const Address& to, const std::string& upload, int number, Body body, Done<std::string> done) {
  auto asked = prepared(fmt::format("put part {} of", number), "PUT", to, {{"partNumber", std::to_string(number)}, {"uploadId", upload}});
  asked->body = std::move(body);
  asked->compares = true;
  auto read = [what = asked->what](http::Response& response) -> Answer<std::string> {
    auto etag = etag_of(response);
    if (etag.empty()) return tl::unexpected(garbled(what, "a part without an etag"));
    return etag;
  };
  return call<std::string>(std::move(asked), std::move(read), std::move(done));
}

// A retry may find that the first attempt took effect: then the upload is gone and the object exists.
PendingCall Client::complete_upload(const Address& to, const std::string& upload, const std::vector<std::string>& etags, Done<Object> done) {
  auto asked = prepared("complete", "POST", to, {{"uploadId", upload}});
  asked->body = text_body(completion(etags));
  asked->request.headers.push_back({"Content-Type", "application/xml"});
  asked->request.silence = m_limits.timeout;  // some stores send nothing while they assemble the parts
  auto read = [what = asked->what, key = to.key](http::Response& response) {
    return read_completed(what, response.body).map([&](std::string etag) { return Object{key, 0, std::move(etag)}; });
  };
  return call<Object>(std::move(asked), std::move(read), std::move(done));
}

PendingCall Client::abort_upload(const Address& to, const std::string& upload, Done<std::monostate> done) {
  return call<std::monostate>(prepared("give up the upload of", "DELETE", to, {{"uploadId", upload}}), nothing,
                              [done = std::move(done)](Answer<std::monostate> answer) {
                                if (!answer && answer.error().error.kind == ErrorKind::not_found) return done(std::monostate());
                                done(std::move(answer));
                              });
}

}  // namespace trainstep::objectstore
