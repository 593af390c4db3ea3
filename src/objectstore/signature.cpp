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

std::string scope_of(std::string_view region, Time now) { return signing_scope(region, now) + "/s3/aws4_request"; }

Result<std::string> key_for(const Credentials& keys, std::string_view region, Time now) {
  if (!keys.secret_key.empty()) return signing_key(keys.secret_key, region, now);
  const auto scope = signing_scope(region, now);
  if (const auto found = keys.signing_keys.find(scope); found != keys.signing_keys.end()) return found->second;
  const bool other_day = std::ranges::any_of(keys.signing_keys, [&](const auto& entry) { return entry.first.ends_with(fmt::format("/{}", region)); });
  if (other_day)
    return Error{ErrorKind::unavailable,
                 fmt::format("there is no signing key for {} yet: the step renews them every day, if it follows the job", scope)};
  return input_error(fmt::format("there is no signing key for region {}; set minio-region in the Secret of cluster_configuration_secret", region));
}

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

// `scope`: scope_of(); `key`: key_for().
std::string signature(std::string_view method, const http::Url& url, const Headers& headers, std::string_view payload, const std::string& key,
                      const std::string& scope, const std::string& time) {
  std::string lines;
  for (const auto& [name, value] : headers) lines += fmt::format("{}:{}\n", name, trim(value));
  const auto canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", method, url.path.empty() ? "/" : url.path, canonical_query(url.query), lines, names_of(headers), payload);
  const auto to_sign = fmt::format("{}\n{}\n{}\n{}", algorithm, time, scope, sha256_hex(canonical));
  return hex(hmac_sha256(key, to_sign));
}

}  // namespace

Result<void> sign(http::Request& request, const Credentials& keys, std::string_view region, std::string_view payload, Time now) {
  ASSIGN(const auto key, key_for(keys, region, now));
  const auto scope = scope_of(region, now);
  const auto time = basic_time(now);
  auto& headers = request.headers;
  headers.push_back({"Host", host_of(request.url)});
  headers.push_back({"X-Amz-Date", time});
  headers.push_back({"X-Amz-Content-Sha256", std::string(payload)});
  if (!keys.session_token.empty()) headers.push_back({"X-Amz-Security-Token", keys.session_token});
  Headers signed_headers;
  for (const auto& [name, value] : headers) signed_headers[lower(name)] = value;
  headers.push_back(
      {"Authorization", fmt::format("{} Credential={}/{},SignedHeaders={},Signature={}", algorithm, keys.access_key, scope, names_of(signed_headers),
                                    signature(request.method, request.url, signed_headers, payload, key, scope, time))});
  return {};
}

}  // namespace trainstep::objectstore
