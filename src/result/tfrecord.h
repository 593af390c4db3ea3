// The records of a TFRecord file (tensorflow/core/lib/io/record_reader.h): length, its sum, the bytes, their sum. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "result/wire_format.h"

namespace trainstep::result {

struct Record {
  std::uint64_t begin = 0, size = 0;  // of its bytes
  // Where the next one begins.
  [[nodiscard]] std::uint64_t end() const { return begin + size + 4; }
};

// `cut`: it ends behind the bytes that there are, as one does whose writer was killed. `damaged`: what stands there is no length, so that nobody
// knows where the next one begins.
enum class Found { record, end, cut, damaged };

// The record that begins at `at`; its bytes are not looked at. `size`: of all bytes.
Found find_record(const Bytes& bytes, std::uint64_t size, std::uint64_t at, Record& record);

// Whether the record's bytes have its sum.
bool is_whole(const Bytes& bytes, const Record& record);

}  // namespace trainstep::result
