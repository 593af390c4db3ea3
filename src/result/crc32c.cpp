// SPDX-License-Identifier: Apache-2.0
#include "result/crc32c.h"

#include <array>
#include <cstddef>

namespace trainstep::result {
namespace {

using Table = std::array<std::uint32_t, 256>;

constexpr Table make_table() {
  constexpr std::uint32_t polynomial = 0x82F63B78U;  // reflected
  Table table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    auto crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? polynomial : 0U);
    table.at(byte) = crc;
  }
  return table;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  static constexpr auto table = make_table();
  auto crc = ~before;
  for (const char byte : bytes) crc = (crc >> 8U) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFFU];
  return ~crc;
}

}  // namespace trainstep::result
