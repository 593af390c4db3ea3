// One exchange as libcurl sees it: an easy handle, its options, what has come. Only for curl_transport.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "http/failure.h"
#include "http/response_reader.h"
#include "http/route.h"
#include "http/transport.h"

namespace trainstep::http {

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using EasyHandle = std::unique_ptr<CURL, EasyDeleter>;
using CurlList = std::unique_ptr<curl_slist, ListDeleter>;

// What is to be told to a handler.
struct Event {
  enum class What { head, data, done };
  Transport::Id id;
  What what;
  std::string bytes;
};
// What libcurl's callbacks have noted.
struct Incoming {
  std::deque<Event> events;
  std::uint64_t pieces = 0;  // how often anything has come
};

// At one address for its whole life: its handle refers to it.
struct Exchange {
  Exchange(Transport::Id own_id, Request asked, Transport::Handler told, Incoming& noted)
      : id(own_id), request(std::move(asked)), handler(std::move(told)), reader(handler.data || handler.sink, request.body_limit), incoming(noted) {}
  Transport::Id id;
  Request request;
  Transport::Handler handler;
  ResponseReader reader;
  Incoming& incoming;
  std::optional<Error> error;       // it is over, without an answer
  std::optional<Fault> broken_off;  // why a callback has ended the transfer
  Route route;
  std::vector<std::string> addresses;  // of route.host, unless that is one
  CurlList headers;
  CurlList connect_to;
  CurlList resolved;
  std::array<char, CURL_ERROR_SIZE> error_text{};
  std::chrono::steady_clock::time_point heard = std::chrono::steady_clock::now();  // must not mind that somebody sets the clock
  curl_off_t sent = 0;
  bool held = false;
  std::optional<Loop::TimerId> resolving;
  std::optional<Loop::TimerId> limit;
  std::optional<Loop::TimerId> silence;
  EasyHandle easy;  // the first to go: it refers to the others
};

const Endpoint& endpoint_of(const Request& request);

// Makes the exchange's handle, ready to be added to a multi handle.
CURLcode open(Exchange& exchange);

// Why the exchange has ended without an answer; its handle is still there.
Error error_of(const Exchange& exchange, CURLcode code);

}  // namespace trainstep::http
