// Digests and encodings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace trainstep {

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

// 32 bytes (RFC 2104).
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// Two lower-case digits for each byte.
std::string hex(std::string_view bytes);
// nullopt: an odd number of digits, or other characters.
std::optional<std::string> from_hex(std::string_view digits);

// 32 digits; empty where the machine's OpenSSL disables MD5 (FIPS). Only for comparison with values computed by others; not for security.
std::string md5_hex(std::string_view bytes);

// Standard alphabet; line breaks and missing padding are accepted. Error: input, with the position of the first invalid character.
Result<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

// 32 hexadecimal digits from the kernel's random number generator.
std::string random_hex();

}  // namespace trainstep
