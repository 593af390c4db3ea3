// CRC-32C, the checksum of the records in TFRecord files. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace trainstep::result {

// Castagnoli's polynomial, as in RFC 3720, B.4. `before`: the CRC of the preceding bytes.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// As stored in TFRecord files, because the CRC of data that contains CRCs is problematic (tensorflow/core/lib/hash/crc32c.h, Mask).
constexpr std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U; }

}  // namespace trainstep::result
