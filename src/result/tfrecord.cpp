// SPDX-License-Identifier: Apache-2.0
#include "result/tfrecord.h"

#include <algorithm>
#include <string_view>

#include "result/crc32c.h"

namespace trainstep::result {

Found find_record(const Bytes& bytes, std::uint64_t size, std::uint64_t at, Record& record) {
  constexpr std::uint64_t head_size = 12, tail_size = 4;
  if (at >= size) return Found::end;
  if (size - at < head_size) return Found::cut;
  const auto head = bytes(at, head_size);
  if (head.size() < head_size) return Found::cut;
  if (fixed32(head.substr(8)) != masked(crc32c(head.substr(0, 8)))) return Found::damaged;
  record = {at + head_size, fixed64(head)};
  const auto left = size - record.begin;
  return left < tail_size || record.size > left - tail_size ? Found::cut : Found::record;
}

bool is_whole(const Bytes& bytes, const Record& record) {
  constexpr std::uint64_t piece = 16'384;
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < record.size;) {
    const auto part = bytes(record.begin + done, std::min(piece, record.size - done));
    if (part.empty()) return false;
    crc = crc32c(part, crc);
    done += part.size();
  }
  const auto sum = bytes(record.begin + record.size, 4);
  return sum.size() == 4 && fixed32(sum) == masked(crc);
}

}  // namespace trainstep::result
