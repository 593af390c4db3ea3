// TensorBoard logs by hand: messages, events, records.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "result/crc32c.h"

namespace trainstep::tb {

inline std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8U * static_cast<unsigned>(i)) & 0xFFU);
  return text;
}
inline std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7U) text += static_cast<char>((value & 0x7FU) | 0x80U);
  return text + static_cast<char>(value);
}
inline std::string key(unsigned number, unsigned type) { return varint(number << 3U | type); }
inline std::string whole(unsigned number, std::uint64_t value) { return key(number, 0) + varint(value); }
inline std::string text(unsigned number, std::string_view value) { return key(number, 2) + varint(value.size()) + std::string(value); }
inline std::string real(unsigned number, float value) { return key(number, 5) + little(std::bit_cast<std::uint32_t>(value), 4); }
inline std::string real(unsigned number, double value) { return key(number, 1) + little(std::bit_cast<std::uint64_t>(value), 8); }

inline std::string plugin(std::string_view name) { return text(9, text(1, text(1, name))); }
inline std::string simple(std::string_view tag, float value) { return text(1, text(1, tag) + real(2, value)); }
inline std::string event(std::int64_t step, std::string_view values, double wall_time = 1'700'000'000) {
  return real(1, wall_time) + whole(2, static_cast<std::uint64_t>(step)) + text(5, values);
}
inline std::string restart(std::int64_t step, double wall_time = 1'700'000'000) {
  return real(1, wall_time) + whole(2, static_cast<std::uint64_t>(step)) + text(7, whole(1, 1));
}

inline std::string sum(std::string_view bytes) { return little(result::masked(result::crc32c(bytes)), 4); }
inline std::string head(std::uint64_t size) { return little(size, 8) + sum(little(size, 8)); }
inline std::string record(std::string_view message) { return head(message.size()) + std::string(message) + sum(message); }

}  // namespace trainstep::tb
