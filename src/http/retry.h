// Retry delays: arithmetic without a clock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <random>

#include "http/message.h"

namespace trainstep::http {

// The delay after `tries` failed attempts (from 1): exponential back-off from 250 ms to 30 s, with jitter in [½, 1]. Never less than `floor`; jitter
// added to that spreads clients that were given the same value.
Duration retry_pause(int tries, std::optional<Duration> floor, std::mt19937_64& random);

// The server's clock from its Date header (whole seconds); nullopt: there is no such header.
std::optional<Time> server_time(const Response& response);

// Upper limit for a server's Retry-After: the client must notice when the server has recovered.
inline constexpr Duration max_retry_after{30'000};

// Retry-After in seconds or as an HTTP date, which is relative to the response's own Date if it has one, otherwise to `now`. At most max_retry_after.
// nullopt if absent or invalid.
std::optional<Duration> retry_after(const Response& response, Time now);

}  // namespace trainstep::http
