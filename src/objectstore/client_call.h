// One call of a Client in progress. Only for client*.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "data/md5.h"
#include "objectstore/client.h"

namespace trainstep::objectstore {

struct Client::Call {
  http::Request request;  // without URL, body and signature
  Address at;             // only a bucket for operations on a bucket
  http::Query query;
  std::string what;      // "put s3://bucket/key", for messages
  bool keyless = false;  // an operation on objects without a key: never sent
  Body body{};           // may be empty
  Read read{};
  std::function<void(std::optional<StoreError>)> done{};

  Take take{};  // set for calls that do not collect the response; the same for the next two
  std::function<std::optional<StoreError>(const http::Response& head)> check{};
  std::int64_t came = 0;                // bytes received in this attempt
  std::optional<StoreError> problem{};  // why this attempt was aborted
  bool received(const http::Response& head, std::string_view bytes);

  // Detection of corruption: compares the content with the MD5 in the response, if there is one (md5_told).
  bool compares = false;                                           // the response is about the content of an object or a part
  std::function<bool(const http::Response& head)> brings_whole{};  // with `take`: whether the response has the whole object
  std::optional<Md5> sum{};                                        // in this attempt: of the received whole object
  std::string sent_md5{};                                          // in this attempt: of the body sent
  std::optional<StoreError> other_content(const http::Response& response);

  Duration timeout{};
  bool late = false;  // no further attempt
  Timer limit;
  std::optional<StoreError> last{};  // the reason for the current retry
  bool heard = false;                // the last attempt got a response
  Timer word;
  std::size_t words = 0;
  int tries = 0;
  Credentials keys{};    // of this attempt
  bool renewed = false;  // the credentials were renewed after an error
  std::string region{};  // of this attempt
  bool moved = false;    // another region was tried
  Duration clock{};      // of this attempt: the assumed offset of the store's clock
  bool clocked = false;  // the offset was corrected
  http::Transport::Id exchange = 0;
  Timer pause;
};

// The error of a call that requires a certain version of an object, if it is another one.
inline StoreError another_object(const std::string& what) {
  return {{ErrorKind::conflict, what + ": it changed in the meantime"}, 412, {}, {}, {}, {}};
}

}  // namespace trainstep::objectstore
