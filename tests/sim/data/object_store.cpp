// SPDX-License-Identifier: Apache-2.0
#include "sim/data/object_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <utility>
#include <vector>

#include "data/digest.h"
#include "data/xml.h"
#include "http/url.h"
#include "objectstore/answers.h"

namespace trainstep::sim::data {
namespace {

http::Response reply(int status, std::string body = {}, const std::string& etag = {}) {
  http::Response response{status, {{"Content-Length", std::to_string(body.size())}}, std::move(body)};
  if (!etag.empty()) response.headers.push_back({"ETag", '"' + etag + '"'});
  return response;
}

std::string decoded(std::string_view path) {
  std::string key;
  for (std::size_t at = 0; at < path.size(); ++at) {
    key += path[at] == '%' ? from_hex(path.substr(at + 1, 2)).value_or("?") : std::string(1, path[at]);
    if (path[at] == '%') at += 2;
  }
  return key;
}

std::string header(const http::Request& request, std::string_view name) {
  for (const auto& header : request.headers)
    if (header.name == name) return header.value;
  return "";
}

std::string http_date(Time time) {
  const auto seconds = std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::array<char, 40> text{};
  tm parts{};
  return {text.data(), std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", ::gmtime_r(&seconds, &parts))};
}

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

bool asks(const http::Request& request, std::string_view option) {
  return std::ranges::any_of(request.url.query, [option](const auto& entry) { return entry.first == option; });
}

std::string asked(const http::Request& request, std::string_view option) {
  for (const auto& [name, value] : request.url.query)
    if (name == option) return value;
  return "";
}

http::Response refusal(int status, const std::string& code) {
  return reply(status, "<Error><Code>" + code + "</Code><Message>simulated</Message></Error>");
}

http::Response ObjectStore::answer(const http::Request& request, Time sent, Time now) {
  const auto path = std::string_view(request.url.path).substr(1);
  const auto slash = std::min(path.find('/'), path.size());
  const Place place{std::string(path.substr(0, slash)), decoded(path.substr(std::min(slash + 1, path.size())))};
  if (!m_buckets.contains(place.bucket)) return refusal(404, "NoSuchBucket");
  if (auto refused = other_time(request, now)) return std::move(*refused);
  if (auto refused = other_region(request, place)) return std::move(*refused);
  if (is_forbidden(request, place)) return refusal(403, "AccessDenied");
  if (request.method == "PUT") return asks(request, "uploadId") ? put_part(request, place, sent) : put(request, place);
  if (request.method == "POST") return post(request, place);
  if (request.method == "DELETE") return remove(request, place, now);
  if (asks(request, "list-type")) return list(request, place);
  if (asks(request, "uploads")) return list_uploads(request, place);
  return get(request, place);
}

std::optional<http::Response> ObjectStore::other_region(const http::Request& request, const Place& place) const {
  const auto signature = header(request, "Authorization");
  if (m_ways.region.empty() || place.bucket != "models" || signature.find('/' + m_ways.region + "/s3/") != std::string::npos) return std::nullopt;
  auto refused = reply(400, request.method == "HEAD" ? ""
                                                     : "<Error><Code>AuthorizationHeaderMalformed</Code><Message>simulated</Message><Region>" +
                                                           m_ways.region + "</Region></Error>");
  if (request.method == "HEAD") refused.headers.push_back({"x-amz-bucket-region", m_ways.region});
  return refused;
}

std::optional<http::Response> ObjectStore::other_time(const http::Request& request, Time now) const {
  constexpr Duration most = std::chrono::minutes(15);
  const auto shown = now + m_ways.clock;
  auto text = header(request, "X-Amz-Date");  // 20130524T000000Z
  constexpr std::size_t length = 16;
  if (text.size() != length) return refusal(403, "AccessDenied");
  for (const auto& [at, sign] : {std::pair(13, ":"), std::pair(11, ":"), std::pair(6, "-"), std::pair(4, "-")})
    text.insert(static_cast<std::size_t>(at), sign);
  const auto signed_at = from_rfc3339(text);
  if (signed_at && std::chrono::abs(shown - *signed_at) <= most) return std::nullopt;
  auto refused = request.method == "HEAD" ? reply(403) : refusal(403, "RequestTimeTooSkewed");
  refused.headers.push_back({"Date", http_date(shown)});
  return refused;
}

bool ObjectStore::is_forbidden(const http::Request& request, const Place& place) const {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (reads && place.key.empty()) return false;
  const std::string sort = reads ? "GET" : "PUT";
  return forbidden.contains({sort, place.bucket}) || forbidden.contains({sort, ""});
}

std::map<std::string, std::string> ObjectStore::tree(const std::string& where) const {
  std::map<std::string, std::string> found;
  if (const auto itself = m_objects.find(where); itself != m_objects.end()) found[""] = itself->second.content;
  const auto prefix = where + '/';
  for (auto at = m_objects.lower_bound(prefix); at != m_objects.end() && at->first.starts_with(prefix); ++at)
    found[at->first.substr(prefix.size())] = at->second.content;
  return found;
}

void ObjectStore::set(const std::string& where, Object object) {
  m_objects[where] = std::move(object);
  if (m_changed) m_changed(where);
}

void ObjectStore::put(const std::string& where, std::string content, std::string mark) {
  auto etag = tag(md5_hex(content));
  set(where, {std::move(content), std::move(etag), std::move(mark)});
}

void ObjectStore::meddle(const std::string& where, std::optional<std::string> content) {
  const auto changed = std::exchange(m_changed, nullptr);
  content ? put(where, std::move(*content)) : static_cast<void>(m_objects.erase(where));
  m_changed = changed;
}

http::Response ObjectStore::get(const http::Request& request, const Place& place) const {
  const auto found = m_objects.find(place.where());
  if (found == m_objects.end()) return request.method == "HEAD" ? reply(404) : refusal(404, "NoSuchKey");
  const auto& [content, etag, mark] = found->second;
  if (const auto wanted = header(request, "If-Match"); !wanted.empty() && m_ways.heeds_if_match && wanted != '"' + etag + '"')
    return refusal(412, "PreconditionFailed");
  if (request.method == "HEAD")
    return {200, {{"Content-Length", std::to_string(content.size())}, {"ETag", '"' + etag + '"'}, {std::string(objectstore::mark_header), mark}}, ""};
  const auto range = header(request, "Range");
  if (range.empty()) return reply(200, content, etag);
  const auto dash = range.find('-');
  const auto first = number(std::string_view(range).substr(6, dash - 6));
  if (first >= content.size()) return refusal(416, "InvalidRange");
  return reply(206, content.substr(first, number(std::string_view(range).substr(dash + 1)) - first + 1), etag);
}

http::Response ObjectStore::put(const http::Request& request, const Place& place) {
  put(place.where(), request.body, header(request, objectstore::mark_header));
  return reply(200, "", m_objects.at(place.where()).etag);
}

http::Response ObjectStore::put_part(const http::Request& request, const Place& place, Time sent) {
  const auto id = asked(request, "uploadId");
  const auto given_up = m_given_up.find(id);
  const bool comes_back = given_up != m_given_up.end() && sent < given_up->second;
  if (!m_uploads.contains(id) && !comes_back) return refusal(404, "NoSuchUpload");
  auto& upload = m_uploads[id];
  upload.where = place.where();
  upload.parts[static_cast<int>(number(asked(request, "partNumber")))] = request.body;
  return reply(200, "", md5_hex(request.body));
}

std::string ObjectStore::begin_upload(const std::string& where) {
  auto id = fmt::format("upload-{}", ++m_last);
  m_uploads[id].where = where;
  return id;
}

http::Response ObjectStore::post(const http::Request& request, const Place& place) {
  if (asks(request, "uploadId")) return complete(request, place);
  const auto id = begin_upload(place.where());
  m_uploads.at(id).mark = header(request, objectstore::mark_header);
  return reply(200, "<InitiateMultipartUploadResult><UploadId>" + id + "</UploadId></InitiateMultipartUploadResult>");
}

http::Response ObjectStore::complete(const http::Request& request, const Place& place) {
  const auto id = asked(request, "uploadId");
  const auto found = m_uploads.find(id);
  if (found == m_uploads.end()) return refusal(404, "NoSuchUpload");
  const auto wanted = parse_xml(request.body);
  if (!wanted) return refusal(400, "MalformedXML");
  std::string content, digests;
  for (const auto& part : wanted->children) {
    const auto there = found->second.parts.find(static_cast<int>(number(part.text_of("PartNumber"))));
    if (there == found->second.parts.end()) return refusal(400, "InvalidPart");
    const auto digest = md5_hex(there->second);
    if (part.text_of("ETag") != '"' + digest + '"') return refusal(400, "InvalidPart");
    content += there->second;
    digests += from_hex(digest).value_or("");
  }
  const auto etag = tag(fmt::format("{}-{}", md5_hex(digests), wanted->children.size()));
  if (!m_broken.contains(id)) {
    auto mark = std::move(found->second.mark);
    m_uploads.erase(found);
    set(place.where(), {std::move(content), etag, std::move(mark)});
  }
  return reply(200, "<CompleteMultipartUploadResult><ETag>&quot;" + etag + "&quot;</ETag></CompleteMultipartUploadResult>");
}

http::Response ObjectStore::remove(const http::Request& request, const Place& place, Time now) {
  if (asks(request, "uploadId")) {
    const auto id = asked(request, "uploadId");
    if (m_uploads.erase(id) == 0) return refusal(404, "NoSuchUpload");
    m_given_up[id] = now;
  } else if (m_objects.erase(place.where()) != 0 && m_changed) {
    m_changed(place.where());
  }
  return reply(204);
}

http::Response ObjectStore::list(const http::Request& request, const Place& place) const {
  const auto prefix = place.bucket + '/' + asked(request, "prefix");
  const auto token = asked(request, "continuation-token");
  std::vector<decltype(m_objects)::const_iterator> page;
  auto at = token.empty() ? m_objects.lower_bound(prefix) : m_objects.upper_bound(token);
  for (; at != m_objects.end() && at->first.starts_with(prefix) && static_cast<int>(page.size()) < m_ways.page; ++at) page.push_back(at);
  std::string xml = "<ListBucketResult><EncodingType>url</EncodingType>";
  if (at != m_objects.end() && at->first.starts_with(prefix))
    xml += "<IsTruncated>true</IsTruncated><NextContinuationToken>" + xml_escaped(page.back()->first) + "</NextContinuationToken>";
  if (const auto before = m_objects.find(token); m_ways.overlaps && before != m_objects.end()) page.insert(page.begin(), before);
  const auto first = m_objects.lower_bound(place.bucket + '/');
  if (m_ways.strays && first != m_objects.end() && first->first.starts_with(place.bucket + '/') && !first->first.starts_with(prefix))
    page.push_back(first);
  if (m_ways.unsorted) std::ranges::reverse(page);
  for (const auto& object : page)
    xml += "<Contents><Key>" + http::percent_encoded(object->first.substr(place.bucket.size() + 1)) + "</Key><Size>" +
           std::to_string(object->second.content.size()) + "</Size><ETag>&quot;" + object->second.etag + "&quot;</ETag></Contents>";
  return reply(200, xml + "</ListBucketResult>");
}

http::Response ObjectStore::list_uploads(const http::Request& request, const Place& place) const {
  const auto prefix = place.bucket + '/' + asked(request, "prefix");
  const auto skipped = place.bucket.size() + 1;
  std::set<std::pair<std::string, std::string>> uploads;
  for (const auto& [id, upload] : m_uploads)
    if (upload.where.starts_with(prefix)) uploads.emplace(upload.where, id);
  std::string xml = "<ListMultipartUploadsResult><EncodingType>url</EncodingType>";
  std::pair<std::string, std::string> last{place.bucket + '/' + asked(request, "key-marker"), asked(request, "upload-id-marker")};
  int count = 0;
  for (auto at = uploads.upper_bound(last); at != uploads.end(); ++at) {
    if (count++ == m_ways.page) {
      xml += "<IsTruncated>true</IsTruncated><NextKeyMarker>" + http::percent_encoded(last.first.substr(skipped)) +
             "</NextKeyMarker><NextUploadIdMarker>" + last.second + "</NextUploadIdMarker>";
      break;
    }
    last = *at;
    xml += "<Upload><Key>" + http::percent_encoded(at->first.substr(skipped)) + "</Key><UploadId>" + at->second + "</UploadId></Upload>";
  }
  return reply(200, xml + "</ListMultipartUploadsResult>");
}

}  // namespace trainstep::sim::data
