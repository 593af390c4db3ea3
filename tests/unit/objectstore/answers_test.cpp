// SPDX-License-Identifier: Apache-2.0
#include "objectstore/answers.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::objectstore;

namespace {

const Time now = from_rfc3339("2026-01-01T00:00:00Z").value();

std::string error_body(const std::string& code) {
  return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>because</Message><Resource>/b/k</Resource></Error>";
}

StoreError answered(int status, const std::string& body) { return refused("put s3://b/k", {status, {}, body}, now); }

}  // namespace

TEST_CASE("a page of a listing holds keys as they are meant") {
  const auto page = read_list_page(
      R"(<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>)"
      R"(<Contents><Key>a%2Fb+c%2Bd%C3%BC</Key><Size>12</Size><ETag>&quot;abc&quot;</ETag></Contents>)"
      R"(<Contents><Key>z%</Key><Size>0</Size><ETag>W/"d-2"</ETag></Contents><NextContinuationToken>t o</NextContinuationToken></ListBucketResult>)");
  REQUIRE(page);
  REQUIRE(page->objects.size() == 2);
  CHECK(page->objects[0].key == "a/b c+dü");
  CHECK(page->objects[0].size == 12);
  CHECK(page->objects[0].etag == "abc");
  CHECK(page->objects[1].key == "z%");
  CHECK(page->objects[1].etag == "d-2");
  CHECK(page->next == "t o");
  const auto plain = read_list_page("<ListBucketResult><Contents><Key>a+b%20c</Key><Size>1</Size></Contents></ListBucketResult>");
  REQUIRE(plain);
  CHECK(plain->objects.at(0).key == "a+b%20c");
  CHECK(plain->next.empty());
}

TEST_CASE("anything but a listing is an error") {
  for (const std::string body :
       {"", "<html>proxy</html>", "<ListBucketResult><Contents>", "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"}) {
    INFO(body);
    const auto page = read_list_page(body);
    REQUIRE_FALSE(page);
    CHECK(page.error().kind == ErrorKind::unavailable);
  }
}

TEST_CASE("an upload begins with an id and ends with an etag, or with an error after all") {
  CHECK(read_upload_id("<InitiateMultipartUploadResult><UploadId>u+1</UploadId></InitiateMultipartUploadResult>").value() == "u+1");
  CHECK_FALSE(read_upload_id("<InitiateMultipartUploadResult/>"));
  CHECK(
      completion({"a", "b\""}) ==
      R"(<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Part><PartNumber>1</PartNumber><ETag>&quot;a&quot;</ETag></Part>)"
      R"(<Part><PartNumber>2</PartNumber><ETag>&quot;b&quot;&quot;</ETag></Part></CompleteMultipartUpload>)");
  CHECK(read_completed("complete", "<CompleteMultipartUploadResult><ETag>\"x-2\"</ETag></CompleteMultipartUploadResult>").value() == "x-2");
  const auto late = read_completed("complete", error_body("InternalError"));
  REQUIRE_FALSE(late);
  CHECK(late.error().code == "InternalError");
  CHECK(retryable(late.error()));
  CHECK(retryable(read_completed("complete", "").error()));
}

TEST_CASE("an error has the operation, the store's message and the remedy") {
  struct Row {
    int status;
    const char* code;
    ErrorKind kind;
    bool again;
    const char* advice;
  };
  const Row rows[] = {
      {404, "NoSuchKey", ErrorKind::not_found, false, ""},
      {404, "NoSuchUpload", ErrorKind::not_found, false, ""},
      {404, "NoSuchWebsite", ErrorKind::input, false, ""},
      {404, "NoSuchBucket", ErrorKind::input, false, "; create the bucket, or correct its name"},
      {403, "AccessDenied", ErrorKind::denied, false, "; these credentials do not permit this"},
      {403, "SignatureDoesNotMatch", ErrorKind::denied, false, "; the secret key does not match the access key"},
      {400, "ExpiredToken", ErrorKind::input, false, "; the temporary credentials have expired"},
      {400, "RequestTimeout", ErrorKind::unavailable, true, ""},
      {301, "PermanentRedirect", ErrorKind::input, false, "; the bucket is in another region: correct region or endpoint"},
      {409, "OperationAborted", ErrorKind::unavailable, true, ""},
      {412, "PreconditionFailed", ErrorKind::conflict, false, ""},
      {429, "TooManyRequests", ErrorKind::unavailable, true, ""},
      {500, "InternalError", ErrorKind::unavailable, true, ""},
      {501, "NotImplemented", ErrorKind::input, false, ""},
      {503, "SlowDown", ErrorKind::unavailable, true, ""},
      {507, "InsufficientStorage", ErrorKind::input, false, ""},
  };
  for (const auto& row : rows) {
    INFO(row.code);
    const auto error = answered(row.status, error_body(row.code));
    CHECK(error.error.kind == row.kind);
    CHECK(error.code == row.code);
    CHECK(retryable(error) == row.again);
    CHECK(error.error.message ==
          "put s3://b/k: the object store answered " + std::to_string(row.status) + " " + row.code + " (because)" + row.advice);
  }
  CHECK(answered(502, "<html>bad gateway</html>").error.message == "put s3://b/k: the object store answered 502: <html>bad gateway</html>");
  CHECK(refused("x", {503, {{"Retry-After", "7"}}, ""}, now).retry_after == Duration{7'000});
}

TEST_CASE("only the store says that an object does not exist: a page without its code may be of any server before it") {
  const auto answered = [](const std::string& body, bool has_body) { return refused("get s3://b/k", {404, {}, body}, Time{}, has_body); };
  const auto page = answered("<html>\n<h1>no route</h1>" + std::string(200, 'x'), true);
  CHECK(retryable(page));
  CHECK_THAT(page.error.message, Catch::Matchers::StartsWith("get s3://b/k: the object store answered 404: <html> <h1>no route</h1>xxx") &&
                                     Catch::Matchers::EndsWith("x…"));
  CHECK(retryable(answered("", true)));
  CHECK(answered("", false).error.kind == ErrorKind::not_found);  // to HEAD
}
