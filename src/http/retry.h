// When to try again: arithmetic without a clock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <random>

#include "http/message.h"

namespace trainstep::http {

// After `tries` tries in vain (from 1): doubles from 250 ms to 30 s, of which a random half to whole is waited. `floor` is never undercut: what is
// added to it at random spreads those who were all told the same.
Duration retry_pause(int tries, std::optional<Duration> floor, std::mt19937_64& random);

// The server's clock, by its Date header (whole seconds); none: it has sent none.
std::optional<Time> server_time(const Response& response);

// So much of a server's Retry-After counts: whoever waits for it must see that it is well again.
inline constexpr Duration longest_wish{30'000};

// Retry-After in seconds or as an HTTP date, which counts from the answer's own Date if it has one, else from `now`. At most longest_wish. Absent or
// unreadable: none.
std::optional<Duration> retry_after(const Response& response, Time now);

}  // namespace trainstep::http
