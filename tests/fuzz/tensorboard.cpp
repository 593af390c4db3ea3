// Any bytes as a file of TensorBoard. A seed is text, as the corpus holds no others: what is hexadecimal digits stands for its bytes; sums are made
// to fit, which no fuzzer finds.
#include "support/tensorboard.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "data/digest.h"
#include "result/crc32c.h"
#include "result/tensorboard_curves.h"
#include "result/tensorboard_event.h"
#include "result/tfrecord.h"

using namespace trainstep;

namespace {

std::string bytes_of(std::string text) {
  auto digits = text;
  std::erase(digits, '\n');
  return from_hex(digits).value_or(std::move(text));
}

// Each record with the sums that its length and bytes have.
std::string with_sums(std::string text) {
  for (std::size_t at = 0; text.size() - at >= 16;) {
    const std::uint64_t size = result::fixed64(std::string_view(text).substr(at));
    text.replace(at + 8, 4, tb::sum(std::string_view(text).substr(at, 8)));
    if (size > text.size() - at - 16) break;
    text.replace(at + 12 + size, 4, tb::sum(std::string_view(text).substr(at + 12, size)));
    at += size + 16;
  }
  return text;
}

void read(std::string_view text) {
  const auto bytes = result::bytes_of(text);
  result::TensorboardCurves curves;
  result::Record record;
  int runs = 0;
  for (std::uint64_t at = 0; result::find_record(bytes, text.size(), at, record) == result::Found::record; at = record.end()) {
    if (record.end() <= at || record.end() > text.size()) __builtin_trap();
    const auto event = result::read_tensorboard_event(bytes, record.begin, record.begin + record.size);
    if (!event) continue;
    for (const auto& value : event->values)
      if (value.tag.empty() || value.tag.size() > result::max_scalar_length) __builtin_trap();
    if (result::is_whole(bytes, record)) curves.add(++runs % 3 == 0 ? "train" : "", *event);
  }
  for (const auto& series : curves.series()) {
    if (series.points.empty() || series.points.size() > 2001 || series.name.empty()) __builtin_trap();
    for (std::size_t i = 1; i < series.points.size(); ++i)
      if (!(series.points[i].x > series.points[i - 1].x)) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = bytes_of(std::string(reinterpret_cast<const char*>(data), size));
  read(text);
  read(with_sums(text));
  return 0;
}
