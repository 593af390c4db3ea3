// The records of a TFRecord file (tensorflow/core/lib/io/record_reader.h): length, its CRC, the data, their CRC. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "result/wire_format.h"

namespace trainstep::result {

struct Record {
  std::uint64_t begin = 0, size = 0;  // of its data
  // Where the next record begins.
  [[nodiscard]] std::uint64_t end() const { return begin + size + 4; }
};

// `cut`: it extends beyond the available bytes, as if its writer was killed. `damaged`: the length is invalid, so that the start of the next record
// is unknown.
enum class Found { record, end, cut, damaged };

// Finds the record that begins at `at`, without reading its data. `size`: of all bytes.
Found find_record(const Bytes& bytes, std::uint64_t size, std::uint64_t at, Record& record);

// Whether the record's data match their CRC.
bool is_whole(const Bytes& bytes, const Record& record);

}  // namespace trainstep::result
