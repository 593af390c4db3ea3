// SPDX-License-Identifier: Apache-2.0
#include "sim/serve.h"

#include <iostream>
#include <string>

#include "sim/bare_server.h"

namespace trainstep::sim {
namespace {

constexpr Duration max_response_time{3'600'000};

Json answer(BareServer& server, const Json& request) {
  if (const auto* wait = dig(request, {"wait"})) {
    server.loop.run_for(Duration(wait->get<std::int64_t>()));
    return Json::object();
  }
  std::vector<http::Header> headers;
  for (const auto& [name, value] : part_of(request, {"headers"}).items()) headers.push_back({name, value.get<std::string>()});
  const auto heard = server.ask(request.at("method"), request.at("address"), request.value("body", Json()), std::move(headers), max_response_time);
  return {{"code", heard->code.value_or(0)}, {"text", heard->text}};
}

}  // namespace

void serve(std::istream& requests, std::ostream& answers) {
  BareServer server;
  for (std::string line; std::getline(requests, line);) answers << answer(server, Json::parse(line)).dump() << '\n' << std::flush;
}

}  // namespace trainstep::sim
