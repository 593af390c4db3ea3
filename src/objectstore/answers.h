// What an object store answers, read (Amazon S3 API Reference; pure).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace trainstep::objectstore {

// Metadata of an object: which job has put it there.
inline constexpr std::string_view mark_header = "x-amz-meta-trainstep-job";

// An object as a listing or its head shows it.
struct Object {
  std::string key;  // as it is meant
  std::int64_t size = 0;
  std::string etag;    // without quotes; the MD5 of the content where it was put in one piece and not encrypted by a key service
  std::string mark{};  // of its head: what `mark_header` says of it
};

struct ListPage {
  std::vector<Object> objects;
  std::string next;  // continuation token; empty: the last page
};

// An upload in parts that was begun.
struct MultipartUpload {
  std::string key;
  std::string upload;  // its id
};

struct UploadPage {
  std::vector<MultipartUpload> uploads;
  MultipartUpload next{};  // where the next page begins; no key: this is the last
};

// A refusal, or no answer at all.
struct StoreError {
  Error error;       // its message tells what was tried, the store's words, and what to do about it where that is known
  int status = 0;    // 0: no answer
  std::string code;  // "NoSuchKey", "SlowDown", …; empty: the answer was not the store's
  std::optional<Duration> retry_after{};
  std::string region{};         // where the bucket lies, if the store says that this was not its region
  std::optional<Time> clock{};  // what the store's shows, if it may be that it found ours wrong
};

// ListObjectsV2 with encoding-type=url. Error: unavailable, for what is no such answer (a body that was cut, a proxy's page).
Result<ListPage> read_list_page(std::string_view body);
// ListMultipartUploads. Error: unavailable.
Result<UploadPage> read_uploads(std::string_view body);
// CreateMultipartUpload → the upload's id. Error: unavailable.
Result<std::string> read_upload_id(std::string_view body);
// CompleteMultipartUpload → the object's etag. S3 answers 200 before it is done and may then send an <Error>. Error: as of refused().
tl::expected<std::string, StoreError> read_completed(const std::string& what, std::string_view body);
// CompleteMultipartUpload's request: the parts' etags, in order.
std::string completion(const std::vector<std::string>& etags);
// From an answer without success. `what`: "put s3://bucket/key". 404: not_found; 403 and 401: denied; 409, 412 and 416: conflict;
// 408, 429, 5xx but 501 and 507, and codes that say so whatever their status (RequestTimeout, SlowDown, …): unavailable; others: input.
StoreError refused(const std::string& what, const http::Response& response, Time now);
// Worth another try: no answer, or one that says that it is not the last word.
bool retryable(const StoreError& error);

// The etag header without its quotes, or "".
std::string etag_of(const http::Response& response);
// The MD5 of an object's or part's content as its answer tells it, in small letters; "": it does not. An ETag is one where it looks like one and
// nothing says that a key of the caller's or of a key service encrypts (Amazon S3 API Reference, "Object"); of several parts it is another sum.
std::string md5_told(const http::Response& response);

}  // namespace trainstep::objectstore
