// Keys that sign requests to one region on one day, derived from a secret key, which cannot be found from them (AWS Signature Version 4, "Create a
// signed AWS API request", "Calculate the signature"). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace trainstep::objectstore {

// 32 bytes each, by day (UTC) and region: "20130524/us-east-1". All secret.
using SigningKeys = std::map<std::string, std::string>;

// "20130524/us-east-1"
std::string signing_scope(std::string_view region, Time day);
std::string signing_key(std::string_view secret_key, std::string_view region, Time day);
// For each of the regions, from the day before `now`, as clocks differ, to `days_ahead` after it.
SigningKeys signing_keys(std::string_view secret_key, const std::vector<std::string>& regions, Time now, int days_ahead);

// JSON with the keys in hexadecimal digits, one line.
std::string to_text(const SigningKeys& keys);
// Errors (input): start with `what`, and have none of the text.
Result<SigningKeys> read_signing_keys(std::string_view text, std::string_view what);

}  // namespace trainstep::objectstore
