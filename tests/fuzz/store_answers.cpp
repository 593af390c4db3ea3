// Any bytes as what an object store answers.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "objectstore/answers.h"

using namespace trainstep;
using namespace trainstep::objectstore;

namespace {

// An unreadable response is a transient failure: it was truncated, or another server's.
template <typename T>
void check(const Result<T>& read) {
  if (!read && (read.error().kind != ErrorKind::unavailable || read.error().message.empty())) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto page = read_list_page(text);
  check(page);
  if (page)
    for (const auto& object : page->objects)
      if (object.key.size() > size || object.etag.size() > size) __builtin_trap();
  const auto uploads = read_uploads(text);
  check(uploads);
  check(read_upload_id(text));
  const auto completed = read_completed("complete s3://b/k", text);
  if (!completed && completed.error().error.message.empty()) __builtin_trap();
  const http::Response response{
      .status = size == 0 ? 500 : 300 + data[0], .headers = {{"Retry-After", std::string(text.substr(0, 30))}}, .body = std::string(text)};
  const auto refusal = refused("get s3://b/k", response, Time{});
  if (refusal.error.message.empty() || refusal.status != response.status) __builtin_trap();
  (void)retryable(refusal);
  return 0;
}
