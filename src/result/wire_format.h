// The wire format of protocol buffers (protobuf.dev/programming-guides/encoding), field by field. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace trainstep::result {

// Reads bytes in place, for example from a file: `size` bytes from `at` on, or fewer at the end. A call may invalidate what earlier calls returned.
using Bytes = std::function<std::string_view(std::uint64_t at, std::size_t size)>;
// Reads from a text, which must outlive it.
Bytes bytes_of(std::string_view text);

struct WireField {
  enum class Type { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  std::uint32_t number = 0;
  Type type{};
  std::uint64_t value = 0;            // of a varint, or the bits of a fixed-size number
  std::uint64_t begin = 0, size = 0;  // of bytes: their position
};

// A message with more fields is treated as invalid.
inline constexpr std::size_t max_fields = 100'000;

// The fields of the message from `begin` to `end`. Reads only the head of a field, so that the size of fields does not matter.
class WireReader {
 public:
  WireReader(const Bytes& bytes, std::uint64_t begin, std::uint64_t end) : m_bytes(bytes), m_at(begin), m_end(end) {}
  // None: the end of the message, or it is invalid. Groups count as invalid; no message read here contains any.
  std::optional<WireField> next();
  // The message is invalid.
  [[nodiscard]] bool broken() const { return m_broken; }

 private:
  const Bytes& m_bytes;
  std::uint64_t m_at;
  std::uint64_t m_end;
  std::size_t m_left = max_fields;
  bool m_broken = false;
};

// Consumes the number at the start of `text`. None: it is incomplete.
std::optional<std::uint64_t> take_varint(std::string_view& text);
// Little-endian; `text` has at least as many bytes.
std::uint32_t fixed32(std::string_view text);
std::uint64_t fixed64(std::string_view text);

}  // namespace trainstep::result
