// SPDX-License-Identifier: Apache-2.0
#include "result/wire_format.h"

namespace trainstep::result {
namespace {

constexpr std::size_t max_varint_length = 10;

std::uint64_t little_endian(std::string_view text) {
  std::uint64_t value = 0;
  for (std::size_t i = text.size(); i > 0; --i) value = value << 8U | static_cast<unsigned char>(text[i - 1]);
  return value;
}

}  // namespace

Bytes bytes_of(std::string_view text) {
  return [text](std::uint64_t at, std::size_t size) { return at < text.size() ? text.substr(at, size) : std::string_view(); };
}

std::optional<std::uint64_t> take_varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < text.size() && i < max_varint_length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << (7 * i);
    if ((byte & 0x80U) != 0) continue;
    text.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

std::uint32_t fixed32(std::string_view text) { return static_cast<std::uint32_t>(little_endian(text.substr(0, 4))); }
std::uint64_t fixed64(std::string_view text) { return little_endian(text.substr(0, 8)); }

std::optional<WireField> WireReader::next() {
  if (m_broken || m_at >= m_end) return std::nullopt;
  m_broken = true;  // until the field is complete
  if (m_left-- == 0) return std::nullopt;
  auto head = m_bytes(m_at, 2 * max_varint_length);
  const auto left = m_end - m_at;
  if (head.size() > left) head = head.substr(0, left);
  const auto all = head.size();
  const auto key = take_varint(head);
  if (!key || *key >> 3U == 0 || *key >> 3U > 0x1FFFFFFFU) return std::nullopt;
  WireField field;
  field.number = static_cast<std::uint32_t>(*key >> 3U);
  field.type = static_cast<WireField::Type>(*key & 7U);
  std::uint64_t after = 0;  // bytes of the field after `head`
  switch (field.type) {
    case WireField::Type::varint: {
      const auto value = take_varint(head);
      if (!value) return std::nullopt;
      field.value = *value;
      break;
    }
    case WireField::Type::fixed64:
    case WireField::Type::fixed32:
      after = field.type == WireField::Type::fixed64 ? 8 : 4;
      if (head.size() < after) return std::nullopt;
      field.value = after == 8 ? fixed64(head) : fixed32(head);
      break;
    case WireField::Type::bytes: {
      const auto size = take_varint(head);
      if (!size) return std::nullopt;
      field.size = after = *size;
      break;
    }
    default:
      return std::nullopt;
  }
  const auto used = all - head.size();
  field.begin = m_at + used;
  if (after > left - used) return std::nullopt;
  m_at += used + after;
  m_broken = false;
  return field;
}

}  // namespace trainstep::result
