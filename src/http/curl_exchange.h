// One exchange in terms of libcurl: an easy handle, its options, the data received. Only for curl_transport.cpp.
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

// A pending call of a handler.
struct Event {
  enum class What { head, data, done };
  Transport::Id id;
  What what;
  std::string bytes;
};
// What libcurl's callbacks have recorded.
struct Incoming {
  std::deque<Event> events;
  std::uint64_t pieces = 0;  // number of times that data arrived
};

// Must not move: its easy handle refers to it.
struct Exchange {
  Exchange(Transport::Id own_id, Request asked, Transport::Handler told, Incoming& noted)
      : id(own_id), request(std::move(asked)), handler(std::move(told)), reader(handler.data || handler.sink, request.body_limit), incoming(noted) {}
  Transport::Id id;
  Request request;
  Transport::Handler handler;
  ResponseReader reader;
  Incoming& incoming;
  std::optional<Error> error;       // the exchange has ended without a response
  std::optional<Fault> broken_off;  // why a callback has aborted the transfer
  Route route;
  std::vector<std::string> addresses;  // of route.host; empty if that is an address itself
  CurlList headers;
  CurlList connect_to;
  CurlList resolved;
  std::array<char, CURL_ERROR_SIZE> error_text{};
  std::chrono::steady_clock::time_point heard = std::chrono::steady_clock::now();  // monotonic: unaffected by changes of the system time
  curl_off_t sent = 0;
  bool held = false;
  Timer resolving;
  Timer limit;
  Timer silence;
  EasyHandle easy;  // destroyed first: it refers to the other members
};

// The TLS and proxy settings of the request, or the defaults if it has none.
const Endpoint& endpoint_of(const Request& request);

// Creates the exchange's easy handle, ready to be added to a multi handle.
CURLcode open(Exchange& exchange);

// Why the exchange has ended without a response; its handle must still exist.
Error error_of(const Exchange& exchange, CURLcode code);

}  // namespace trainstep::http
