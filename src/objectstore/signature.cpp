// SPDX-License-Identifier: Apache-2.0
#include "objectstore/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "data/digest.h"

namespace trainstep::objectstore {
namespace {

constexpr std::string_view algorithm = "AWS4-HMAC-SHA256";

// By lower-case name, the order in which headers are signed.
using Headers = std::map<std::string, std::string>;

// "20130524T000000Z"
std::string basic_time(Time now) {
  auto text = to_rfc3339(now);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text;
}

std::string scope_of(const std::string& time, std::string_view region) { return fmt::format("{}/{}/s3/aws4_request", time.substr(0, 8), region); }

// As clients send it: without the scheme's default port.
std::string host_of(const http::Url& url) {
  const bool usual = url.port == 0 || url.port == (url.scheme == "https" ? 443 : 80);
  auto plain = url;
  if (usual) plain.port = 0;
  return plain.origin().substr(url.scheme.size() + 3);
}

// Sorted by the encoded names, then values: '%' sorts before letters.
std::string canonical_query(const http::Query& query) {
  std::vector<std::pair<std::string, std::string>> encoded;
  for (const auto& [name, value] : query) encoded.emplace_back(http::percent_encoded(name), http::percent_encoded(value));
  std::ranges::sort(encoded);
  std::string result;
  for (const auto& [name, value] : encoded) result += (result.empty() ? "" : "&") + name + '=' + value;
  return result;
}

std::string names_of(const Headers& headers) {
  std::vector<std::string> names;
  for (const auto& [name, value] : headers) names.push_back(name);
  return join(names, ";");
}

std::string signature(std::string_view method, const http::Url& url, const Headers& headers, std::string_view payload, const Credentials& keys,
                      std::string_view region, const std::string& time) {
  std::string lines;
  for (const auto& [name, value] : headers) lines += fmt::format("{}:{}\n", name, trim(value));
  const auto canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", method, url.path.empty() ? "/" : url.path, canonical_query(url.query), lines, names_of(headers), payload);
  const auto to_sign = fmt::format("{}\n{}\n{}\n{}", algorithm, time, scope_of(time, region), sha256_hex(canonical));
  auto key = hmac_sha256("AWS4" + keys.secret_key, time.substr(0, 8));
  for (const auto part : {region, std::string_view("s3"), std::string_view("aws4_request")}) key = hmac_sha256(key, part);
  return hex(hmac_sha256(key, to_sign));
}

}  // namespace

void sign(http::Request& request, const Credentials& keys, std::string_view region, std::string_view payload, Time now) {
  const auto time = basic_time(now);
  auto& headers = request.headers;
  headers.push_back({"Host", host_of(request.url)});
  headers.push_back({"X-Amz-Date", time});
  headers.push_back({"X-Amz-Content-Sha256", std::string(payload)});
  if (!keys.session_token.empty()) headers.push_back({"X-Amz-Security-Token", keys.session_token});
  Headers signed_headers;
  for (const auto& [name, value] : headers) signed_headers[lower(name)] = value;
  headers.push_back(
      {"Authorization", fmt::format("{} Credential={}/{},SignedHeaders={},Signature={}", algorithm, keys.access_key, scope_of(time, region),
                                    names_of(signed_headers), signature(request.method, request.url, signed_headers, payload, keys, region, time))});
}

http::Url presigned(std::string_view method, http::Url url, const Credentials& keys, std::string_view region, Duration valid, Time now) {
  const auto time = basic_time(now);
  url.query.emplace_back("X-Amz-Algorithm", algorithm);
  url.query.emplace_back("X-Amz-Credential", keys.access_key + '/' + scope_of(time, region));
  url.query.emplace_back("X-Amz-Date", time);
  url.query.emplace_back("X-Amz-Expires", std::to_string(std::chrono::floor<std::chrono::seconds>(valid).count()));
  if (!keys.session_token.empty()) url.query.emplace_back("X-Amz-Security-Token", keys.session_token);
  url.query.emplace_back("X-Amz-SignedHeaders", "host");
  const auto signed_by = signature(method, url, {{"host", host_of(url)}}, unsigned_payload, keys, region, time);
  url.query.emplace_back("X-Amz-Signature", signed_by);
  return url;
}

}  // namespace trainstep::objectstore
