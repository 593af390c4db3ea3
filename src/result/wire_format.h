// The wire format of protocol buffers (protobuf.dev/programming-guides/encoding), field by field. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace trainstep::result {

// Bytes that are looked at where they lie, in a file perhaps: those from `at` on, `size` of them or fewer, where they end. What it returned before
// may be gone then.
using Bytes = std::function<std::string_view(std::uint64_t at, std::size_t size)>;
// Of a text, which must outlive it.
Bytes bytes_of(std::string_view text);

struct WireField {
  enum class Type { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
  std::uint32_t number = 0;
  Type type{};
  std::uint64_t value = 0;            // of a varint, or a fixed number's bits
  std::uint64_t begin = 0, size = 0;  // of bytes: where they lie
};

// A message of more fields is none.
inline constexpr std::size_t most_fields = 100'000;

// The fields of the message from `begin` to `end`. No bytes of a field are looked at but its head, so that any size costs the same.
class WireReader {
 public:
  WireReader(const Bytes& bytes, std::uint64_t begin, std::uint64_t end) : m_bytes(bytes), m_at(begin), m_end(end) {}
  // None: the message has ended, or is none; a group, which nothing here has, is none.
  std::optional<WireField> next();
  // It is no message.
  [[nodiscard]] bool broken() const { return m_broken; }

 private:
  const Bytes& m_bytes;
  std::uint64_t m_at;
  std::uint64_t m_end;
  std::size_t m_left = most_fields;
  bool m_broken = false;
};

// The number at the beginning of `text`, which is cut off. None: there is no whole one.
std::optional<std::uint64_t> take_varint(std::string_view& text);
// Little-endian; `text` has as many bytes.
std::uint32_t fixed32(std::string_view text);
std::uint64_t fixed64(std::string_view text);

}  // namespace trainstep::result
