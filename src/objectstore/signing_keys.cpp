// SPDX-License-Identifier: Apache-2.0
#include "objectstore/signing_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "data/digest.h"
#include "data/json.h"

namespace trainstep::objectstore {
namespace {

// "20130524"
std::string basic_date(Time day) {
  auto text = to_rfc3339(day).substr(0, 10);
  std::erase(text, '-');
  return text;
}

}  // namespace

std::string signing_scope(std::string_view region, Time day) { return fmt::format("{}/{}", basic_date(day), region); }

std::string signing_key(std::string_view secret_key, std::string_view region, Time day) {
  auto key = hmac_sha256(fmt::format("AWS4{}", secret_key), basic_date(day));
  for (const auto part : {region, std::string_view("s3"), std::string_view("aws4_request")}) key = hmac_sha256(key, part);
  return key;
}

SigningKeys signing_keys(std::string_view secret_key, const std::vector<std::string>& regions, Time now, int days_ahead) {
  SigningKeys keys;
  for (int day = -1; day <= days_ahead; ++day)
    for (const auto& region : regions) {
      const auto then = now + std::chrono::days(day);
      keys[signing_scope(region, then)] = signing_key(secret_key, region, then);
    }
  return keys;
}

std::string to_text(const SigningKeys& keys) {
  auto json = Json::object();
  for (const auto& [scope, key] : keys) json[scope] = hex(key);
  return trainstep::to_text(json);
}

Result<SigningKeys> read_signing_keys(std::string_view text, std::string_view what) {
  const auto json = parse_json(text, what);
  const auto no_keys = [&] { return input_error(fmt::format("{}: expected an object with signing keys", what)); };
  if (!json || !json->is_object()) return no_keys();
  SigningKeys keys;
  for (const auto& [scope, value] : json->items()) {
    const auto key = value.is_string() ? from_hex(value.get_ref<const std::string&>()) : std::nullopt;
    if (!key || key->empty()) return no_keys();
    keys[scope] = *key;
  }
  return keys;
}

}  // namespace trainstep::objectstore
