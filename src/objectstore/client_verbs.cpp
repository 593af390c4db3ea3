// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <utility>

#include "objectstore/client.h"

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
Client::CallId Client::call(http::Request request, std::string what, Body body, std::function<Answer<T>(http::Response&)> read, Done<T> done) {
  auto value = std::make_shared<T>();
  auto take = [value, read = std::move(read)](http::Response& response) -> std::optional<StoreError> {
    auto answer = read(response);
    if (!answer) return std::move(answer.error());
    *value = std::move(*answer);
    return std::nullopt;
  };
  return begin(std::move(request), std::move(what), std::move(body), std::move(take),
               [value, done = std::move(done)](std::optional<StoreError> error) {
                 if (error) return done(tl::unexpected(std::move(*error)));
                 done(std::move(*value));
               });
}

Client::CallId Client::put(const Address& to, Body body, Done<Object> done, std::vector<http::Header> headers) {
  auto asked = request("PUT", to);
  for (auto& header : headers) asked.headers.push_back(std::move(header));
  return call<Object>(
      std::move(asked), "put " + to.text(), std::move(body),
      [what = "put " + to.text(), key = to.key](http::Response& response) -> Answer<Object> {
        auto etag = etag_of(response);
        if (etag.empty()) return tl::unexpected(garbled(what, "an object without an etag"));  // whoever answered was no object store
        return Object{key, 0, std::move(etag)};
      },
      std::move(done));
}

Client::CallId Client::get(const Address& from, std::optional<Range> range, const std::string& etag, Done<std::string> done) {
  auto asked = request("GET", from);
  if (range) asked.headers.push_back({"Range", fmt::format("bytes={}-{}", range->first, range->first + range->size - 1)});
  if (!etag.empty()) asked.headers.push_back({"If-Match", '"' + etag + '"'});
  const auto what = "get " + from.text();
  return call<std::string>(
      std::move(asked), what, {},
      [what, range, etag](http::Response& response) -> Answer<std::string> {
        // Some stores do not know If-Match.
        if (const auto came = etag_of(response); !etag.empty() && !came.empty() && came != etag)
          return tl::unexpected(StoreError{{ErrorKind::conflict, what + ": the object is another one by now"}, 412, {}});
        if (range && (response.status != 206 || static_cast<std::int64_t>(response.body.size()) != range->size))
          return tl::unexpected(garbled(what, fmt::format("{} bytes came instead of {}", response.body.size(), range->size)));
        return std::move(response.body);
      },
      std::move(done));
}

Client::CallId Client::head(const Address& of, Done<Object> done) {
  const auto what = "look at " + of.text();
  return call<Object>(
      request("HEAD", of), what, {},
      [what, key = of.key](http::Response& response) -> Answer<Object> {
        Object object{key, 0, etag_of(response)};
        const auto length = response.header("Content-Length").value_or("");
        if (std::from_chars(length.data(), length.data() + length.size(), object.size).ec != std::errc{})
          return tl::unexpected(garbled(what, "an object without a length"));
        return object;
      },
      std::move(done));
}

Client::CallId Client::list(const std::string& bucket, const std::string& prefix, const std::string& token, Done<ListPage> done) {
  // The one verb that is about a bucket.
  http::Query query{{"encoding-type", "url"}, {"list-type", "2"}, {"prefix", prefix}};
  if (!token.empty()) query.emplace_back("continuation-token", token);
  const auto what = fmt::format("list {}/{}", bucket, prefix);
  return call<ListPage>(
      request("GET", Address{"s3", bucket, ""}, std::move(query)), what, {},
      [what](http::Response& response) { return or_garbled(what, read_list_page(response.body)); }, std::move(done));
}

Client::CallId Client::remove(const Address& what, Done<std::monostate> done) {
  return call<std::monostate>(request("DELETE", what), "remove " + what.text(), {}, nothing, [done = std::move(done)](Answer<std::monostate> answer) {
    if (!answer && answer.error().code == "NoSuchKey") return done(std::monostate());
    done(std::move(answer));
  });
}

Client::CallId Client::begin_upload(const Address& to, Done<std::string> done) {
  const auto what = "begin to upload " + to.text();
  return call<std::string>(
      request("POST", to, {{"uploads", ""}}), what, {}, [what](http::Response& response) { return or_garbled(what, read_upload_id(response.body)); },
      std::move(done));
}

Client::CallId Client::put_part(const Address& to, const std::string& upload, int number, Body body, Done<std::string> done) {
  const auto what = fmt::format("put part {} of {}", number, to.text());
  return call<std::string>(
      request("PUT", to, {{"partNumber", std::to_string(number)}, {"uploadId", upload}}), what, std::move(body),
      [what](http::Response& response) -> Answer<std::string> {
        auto etag = etag_of(response);
        if (etag.empty()) return tl::unexpected(garbled(what, "a part without an etag"));
        return etag;
      },
      std::move(done));
}

// A second try may find that the first has been heard: then the upload is gone and the object is there.
Client::CallId Client::complete_upload(const Address& to, const std::string& upload, const std::vector<std::string>& etags, Done<Object> done) {
  const auto what = "complete " + to.text();
  auto asked = request("POST", to, {{"uploadId", upload}});
  asked.headers.push_back({"Content-Type", "application/xml"});
  asked.silence = m_limits.patience;  // some stores put the parts together without a word
  return call<Object>(
      std::move(asked), what, text_body(completion(etags)),
      [what, key = to.key](http::Response& response) {
        return read_completed(what, response.body).map([&](std::string etag) { return Object{key, 0, std::move(etag)}; });
      },
      std::move(done));
}

Client::CallId Client::abort_upload(const Address& to, const std::string& upload, Done<std::monostate> done) {
  return call<std::monostate>(request("DELETE", to, {{"uploadId", upload}}), "give up the upload of " + to.text(), {}, nothing,
                              [done = std::move(done)](Answer<std::monostate> answer) {
                                if (!answer && answer.error().status == 404) return done(std::monostate());
                                done(std::move(answer));
                              });
}

}  // namespace trainstep::objectstore
