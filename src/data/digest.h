// Digests and encodings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace trainstep {

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

// Standard alphabet; line breaks and missing padding are accepted. Error: input, names the first wrong character's position.
Result<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

// 32 hexadecimal digits from the kernel's generator.
std::string random_hex();

}  // namespace trainstep
