// SPDX-License-Identifier: Apache-2.0
#include "objectstore/store.h"

#include <utility>

namespace trainstep::objectstore {
namespace {

std::string encoded_key(std::string_view key) {
  std::string path;
  for (std::size_t at = 0; at <= key.size();) {
    const auto slash = std::min(key.find('/', at), key.size());
    path += '/' + http::percent_encoded(key.substr(at, slash - at));
    at = slash + 1;
  }
  return path;
}

}  // namespace

http::Url url_of(const Store& store, const std::string& bucket, const std::string& key, http::Query query) {
  auto url = store.endpoint;
  while (url.path.ends_with('/')) url.path.pop_back();
  if (store.path_style)
    url.path += '/' + http::percent_encoded(bucket);
  else
    url.host = bucket + '.' + url.host;
  url.path += key.empty() ? (store.path_style ? "" : "/") : encoded_key(key);
  url.query = std::move(query);
  return url;
}

}  // namespace trainstep::objectstore
