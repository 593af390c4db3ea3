// SPDX-License-Identifier: Apache-2.0
#include "objectstore/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/printable.h"
#include "base/text.h"
#include "data/xml.h"
#include "http/retry.h"

namespace trainstep::objectstore {
namespace {

std::string unquoted(std::string_view etag) {
  etag = trim(etag);
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

// Keys in listings are encoded like query values: '+' is a space.
std::string decoded(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    if (text[at] == '%' && at + 2 < text.size() &&
        std::from_chars(text.data() + at + 1, text.data() + at + 3, byte, 16).ptr == text.data() + at + 3) {
      result += static_cast<char>(byte);
      at += 2;
    } else {
      result += text[at] == '+' ? ' ' : text[at];
    }
  }
  return result;
}

Error no_answer(std::string_view why) { return {ErrorKind::unavailable, fmt::format("cannot parse the object store's answer: {}", why)}; }

Result<XmlElement> root_of(std::string_view body, std::string_view name) {
  auto root = parse_xml(body);
  if (root && root->name == name) return root;
  const auto why = root ? fmt::format("<{}> instead of <{}>", root->name, name) : root.error().message;
  return no_answer(fmt::format("{}: {}", why, excerpt(body)));
}

// Only the store itself says that something does not exist, and then says what. A missing bucket is a wrong name, or the page of another server.
ErrorKind kind_of(int status, std::string_view code, bool has_body) {
  constexpr std::array<std::string_view, 3> missing{"NoSuchKey", "NoSuchUpload", "NoSuchVersion"};
  if (status == 404 && code.empty()) return has_body ? ErrorKind::unavailable : ErrorKind::not_found;
  if (status == 404 && std::ranges::find(missing, code) != missing.end()) return ErrorKind::not_found;
  if (status == 401 || status == 403) return ErrorKind::denied;
  if (status == 409 || status == 412 || status == 416) return ErrorKind::conflict;
  if (status == 408 || status == 429 || (status >= 500 && status != 501 && status != 507)) return ErrorKind::unavailable;
  return ErrorKind::input;
}

// Error codes that are transient whatever the status.
bool passes(std::string_view code) {
  constexpr std::array<std::string_view, 7> codes{
      "RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable", "OperationAborted", "BadDigest", "XAmzContentSHA256Mismatch"};
  return std::ranges::find(codes, code) != codes.end();
}

// Remedies for common errors.
std::string_view advice(std::string_view code) {
  struct Row {
    std::string_view code, text;
  };
  constexpr std::array<Row, 8> rows{{
      {"NoSuchBucket", "; create the bucket, or correct its name"},
      {"InvalidAccessKeyId", "; unknown access key"},
      {"SignatureDoesNotMatch", "; the secret key does not match the access key"},
      {"ExpiredToken", "; the temporary credentials have expired"},
      {"AccessDenied", "; these credentials do not permit this"},
      {"RequestTimeTooSkewed", "; the clocks of this machine and the store differ too much"},
      {"PermanentRedirect", "; the bucket is in another region: correct region or endpoint"},
      {"AuthorizationHeaderMalformed", "; correct the region (minio-region in the Secret of the bucket)"},
  }};
  const auto* found = std::ranges::find(rows, code, &Row::code);
  return found == rows.end() ? std::string_view() : found->text;
}

// `page`: the beginning of a body that is not the store's.
StoreError error_in(const std::string& what, int status, const XmlElement* root, bool has_body = true, const std::string& page = "") {
  StoreError result;
  result.status = status;
  if (root != nullptr && root->name == "Error") result.code = root->text_of("Code");
  const auto from_store = !result.code.empty();
  const auto said = from_store ? fmt::format(" {} ({})", result.code, root->text_of("Message")) : page.empty() ? std::string() : ": " + page;
  const auto kind = passes(result.code) ? ErrorKind::unavailable : kind_of(status, result.code, has_body);
  const auto* code = said.empty() && status == 403 ? "AccessDenied" : result.code.c_str();  // a response to HEAD has no body
  result.error = {kind, fmt::format("{}: the object store answered {}{}{}", what, status, said, advice(code))};
  return result;
}

}  // namespace

Result<ListPage> read_list_page(std::string_view body) {
  ASSIGN(const auto root, root_of(body, "ListBucketResult"));
  const bool encoded = root.text_of("EncodingType") == "url";
  ListPage page;
  for (const auto& child : root.children) {
    if (child.name != "Contents") continue;
    auto& object = page.objects.emplace_back();
    object.key = encoded ? decoded(child.text_of("Key")) : std::string(child.text_of("Key"));
    object.etag = unquoted(child.text_of("ETag"));
    const auto size = child.text_of("Size");
    if (std::from_chars(size.data(), size.data() + size.size(), object.size).ec != std::errc{} || object.size < 0)
      return no_answer("an object without a size");
  }
  if (root.text_of("IsTruncated") != "true") return page;
  page.next = root.text_of("NextContinuationToken");
  if (page.next.empty()) return no_answer("a truncated listing without a continuation token");
  return page;
}

Result<UploadPage> read_uploads(std::string_view body) {
  ASSIGN(const auto root, root_of(body, "ListMultipartUploadsResult"));
  const bool encoded = root.text_of("EncodingType") == "url";
  const auto key_in = [encoded](std::string_view text) { return encoded ? decoded(text) : std::string(text); };
  UploadPage page;
  for (const auto& child : root.children)
    if (child.name == "Upload") page.uploads.push_back({key_in(child.text_of("Key")), std::string(child.text_of("UploadId"))});
  if (root.text_of("IsTruncated") != "true") return page;
  page.next = {key_in(root.text_of("NextKeyMarker")), std::string(root.text_of("NextUploadIdMarker"))};
  if (page.next.key.empty()) return no_answer("a truncated listing without a continuation token");
  return page;
}

Result<std::string> read_upload_id(std::string_view body) {
  ASSIGN(const auto root, root_of(body, "InitiateMultipartUploadResult"));
  const auto id = root.text_of("UploadId");
  if (id.empty()) return no_answer("an upload without an id");
  return std::string(id);
}

std::optional<StoreError> late_error(const std::string& what, std::string_view body) {
  if (body.find("<Error") == std::string_view::npos) return std::nullopt;
  const auto root = parse_xml(body);
  if (!root || root->name != "Error") return std::nullopt;
  return error_in(what, root->text_of("Code") == "NoSuchUpload" ? 404 : 500, &*root);
}

tl::expected<std::string, StoreError> read_completed(const std::string& what, std::string_view body) {
  const auto root = parse_xml(body);
  if (root && root->name == "CompleteMultipartUploadResult") return unquoted(root->text_of("ETag"));
  if (auto late = late_error(what, body)) return tl::unexpected(std::move(*late));
  return tl::unexpected(StoreError{in_context(what, no_answer(root ? "<" + root->name + ">" : root.error().message)), 0, {}});
}

std::string completion(const std::vector<std::string>& etags) {
  std::string xml = R"(<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">)";
  for (std::size_t i = 0; i < etags.size(); ++i)
    xml += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>&quot;{}&quot;</ETag></Part>", i + 1, xml_escaped(etags[i]));
  return xml + "</CompleteMultipartUpload>";
}

StoreError refused(const std::string& what, const http::Response& response, Time now, bool has_body) {
  const auto root = parse_xml(response.body);
  auto result = error_in(what, response.status, root ? &*root : nullptr, has_body, excerpt(response.body));
  if (root && result.code == "AuthorizationHeaderMalformed") result.region = root->text_of("Region");
  if (const auto region = response.header("x-amz-bucket-region"); region && response.status < 500 && response.status != 403) result.region = *region;
  if (result.code == "RequestTimeTooSkewed" || (result.code.empty() && response.status == 403)) result.clock = http::server_time(response);
  result.retry_after = http::retry_after(response, now);
  return result;
}

bool retryable(const StoreError& error) {
  return error.error.kind == ErrorKind::unavailable || (error.status == 0 && error.error.kind == ErrorKind::timeout);
}

std::string etag_of(const http::Response& response) { return unquoted(response.header("ETag").value_or("")); }

std::string md5_told(const http::Response& response) {
  constexpr std::size_t digits = 32;
  const bool by_service = response.header("x-amz-server-side-encryption").value_or("").starts_with("aws:");
  if (by_service || response.header("x-amz-server-side-encryption-customer-algorithm")) return {};
  auto etag = lower(etag_of(response));
  const bool is_one = etag.size() == digits && etag.find_first_not_of("0123456789abcdef") == std::string::npos;
  return is_one ? etag : std::string();
}

}  // namespace trainstep::objectstore
