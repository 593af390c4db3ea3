// SPDX-License-Identifier: Apache-2.0
#include "objectstore/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace trainstep::objectstore {
namespace {

constexpr std::array<std::string_view, 3> schemes{"s3", "minio", "gs"};

// The union of what stores allow: dots for virtual hosts; old buckets have underscores and capitals.
bool is_bucket(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  };
  return name.size() >= 3 && name.size() <= 255 && std::ranges::all_of(name, allowed) && name.find("..") == std::string_view::npos;
}

std::string_view without_slashes(std::string_view key) {
  while (key.starts_with('/')) key.remove_prefix(1);
  while (key.ends_with('/')) key.remove_suffix(1);
  return key;
}

}  // namespace

bool is_address(std::string_view text) {
  const auto colon = text.find("://");
  return colon != std::string_view::npos && std::ranges::find(schemes, text.substr(0, colon)) != schemes.end();
}

Result<Address> Address::parse(std::string_view text) {
  if (!is_address(text)) return input_error(fmt::format("\"{}\" is not an object store address; expected s3://…, minio://… or gs://…", text));
  Address address;
  const auto colon = text.find("://");
  address.scheme = text.substr(0, colon);
  text.remove_prefix(colon + 3);
  if (const auto question = text.find('?'); question != std::string_view::npos) {
    ASSIGN(const auto url, http::Url::parse(fmt::format("http://host/{}", text.substr(question))));
    address.query = url.query;
    text = text.substr(0, question);
  }
  const auto slash = std::min(text.find('/'), text.size());
  address.bucket = text.substr(0, slash);
  if (address.bucket.find('@') != std::string::npos)
    return input_error(fmt::format("{}://: an address cannot contain a user name or password; credentials are read from a Secret or the environment",
                                   address.scheme));
  if (!is_bucket(address.bucket)) return input_error(fmt::format("{}://{}: \"{}\" is not a valid bucket name", address.scheme, text, address.bucket));
  address.key = without_slashes(text.substr(slash));
  return address;
}

std::string Address::text() const { return fmt::format("{}://{}{}{}", scheme, bucket, key.empty() ? "" : "/", key); }

Address Address::child(std::string_view relative) const {
  auto result = *this;
  if (!key.empty()) result.key += '/';
  result.key += relative;
  return result;
}

}  // namespace trainstep::objectstore
