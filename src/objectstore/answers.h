// Parses the responses of an object store (Amazon S3 API Reference; pure).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace trainstep::objectstore {

// Object metadata: the job that created the object.
inline constexpr std::string_view mark_header = "x-amz-meta-trainstep-job";

// An object in a listing or in the response to HEAD.
struct Object {
  std::string key;  // decoded
  std::int64_t size = 0;
  std::string etag;    // without quotes; the MD5 of the content if it was uploaded in one piece and not encrypted with KMS
  std::string mark{};  // only from HEAD: the value of `mark_header`
};

struct ListPage {
  std::vector<Object> objects;
  std::string next;  // continuation token; empty: the last page
};

// A multipart upload in progress.
struct MultipartUpload {
  std::string key;
  std::string upload;  // the upload ID
};

struct UploadPage {
  std::vector<MultipartUpload> uploads;
  MultipartUpload next{};  // the markers of the next page; no key: this is the last
};

// An error response, or no response at all.
struct StoreError {
  Error error;       // its message has the operation, the store's message, and the remedy if it is known
  int status = 0;    // 0: no response
  std::string code;  // "NoSuchKey", "SlowDown", …; empty: the response was not from the store
  std::optional<Duration> retry_after{};
  std::string region{};         // the bucket's region, if the store says that this one is wrong
  std::optional<Time> clock{};  // the store's time, if it may have rejected ours
};

// ListObjectsV2 with encoding-type=url. Error: unavailable, for any other response (a truncated body, a proxy's page).
Result<ListPage> read_list_page(std::string_view body);
// ListMultipartUploads. Error: unavailable.
Result<UploadPage> read_uploads(std::string_view body);
// CreateMultipartUpload → the upload ID. Error: unavailable.
Result<std::string> read_upload_id(std::string_view body);
// An <Error> in the body of a response with a status of success: it counts as a server error. nullopt: the body is something else.
std::optional<StoreError> late_error(const std::string& what, std::string_view body);
// CompleteMultipartUpload → the object's ETag. S3 answers 200 before it has finished and may then send an <Error>. Errors: as for refused().
tl::expected<std::string, StoreError> read_completed(const std::string& what, std::string_view body);
// The request body of CompleteMultipartUpload: the ETags of the parts, in order.
std::string completion(const std::vector<std::string>& etags);
// The error for a response that is not 2xx. `what`: "put s3://bucket/key". 404 of an object or upload (NoSuchKey, …): not_found; 404 without a code:
// not the store's, and unavailable, but not_found if the response may have no body (to HEAD, DELETE): only a listing shows then that nothing is
// there. 403 and 401: denied; 409, 412 and 416: conflict; 408, 429, 5xx except 501 and 507, and transient error codes whatever their status
// (RequestTimeout, SlowDown, …): unavailable; others (a missing bucket): input.
StoreError refused(const std::string& what, const http::Response& response, Time now, bool has_body = true);
// Whether a retry may help: no response, or a transient error.
bool retryable(const StoreError& error);

// The ETag header without its quotes, or "".
std::string etag_of(const http::Response& response);
// The MD5 of the content of an object or part according to the response, in lower case; "" if unknown. An ETag is an MD5 if it looks like one and no
// header says that the object is encrypted with a customer's key or KMS (Amazon S3 API Reference, "Object"); the ETag of a multipart object is not.
std::string md5_told(const http::Response& response);

}  // namespace trainstep::objectstore
