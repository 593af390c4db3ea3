// One call of a Client under way. Only for client*.cpp.
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
  http::Request request;  // without its place, body and signature
  Address at;             // with a bucket alone where that is meant
  http::Query query;
  std::string what;      // "put s3://bucket/key", for messages
  bool keyless = false;  // a verb for objects without a key: never sent
  Body body{};           // may be empty
  Read read{};
  std::function<void(std::optional<StoreError>)> done{};

  Take take{};  // of calls whose answer is not gathered, as are the next two
  std::function<std::optional<StoreError>(const http::Response& head)> check{};
  std::int64_t came = 0;                // bytes, in this try
  std::optional<StoreError> problem{};  // why no more of this try was wanted
  bool received(const http::Response& head, std::string_view bytes);

  // Whether the store has what was sent, or sent what it has, as far as its answer tells (md5_told).
  bool compares = false;                                           // the answer is of an object's or a part's content
  std::function<bool(const http::Response& head)> brings_whole{};  // with take: whether all of the object comes
  std::optional<Md5> sum{};                                        // in this try: all that came of a whole object
  std::string sent_md5{};                                          // in this try: of the body
  std::optional<StoreError> other_content(const http::Response& response);

  Duration patience{};
  bool late = false;  // no further try
  Loop::TimerId limit = 0;
  std::optional<StoreError> last{};  // why there is another try
  bool heard = false;                // the last try got an answer
  Loop::TimerId word = 0;
  std::size_t words = 0;
  int tries = 0;
  Credentials keys{};    // of this try
  bool renewed = false;  // the keys were asked for anew after a refusal
  std::string region{};  // of this try
  bool moved = false;    // another one was asked
  Duration clock{};      // of this try: what the store's was taken to show more than ours
  bool clocked = false;  // it was set anew
  http::Transport::Id exchange = 0;
  Loop::TimerId pause = 0;
};

// Of a call that wants an object as it was known, when there is another one.
inline StoreError another_object(const std::string& what) {
  return {{ErrorKind::conflict, what + ": it changed in the meantime"}, 412, {}, {}, {}, {}};
}

}  // namespace trainstep::objectstore
