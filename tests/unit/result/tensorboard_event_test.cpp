// Sums, records, messages: what one event of a TensorBoard log says.
// SPDX-License-Identifier: Apache-2.0
#include "result/tensorboard_event.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "result/crc32c.h"
#include "result/tfrecord.h"
#include "support/catch.h"
#include "support/tensorboard.h"

using namespace trainstep;
using namespace trainstep::result;

namespace {

std::optional<TensorboardEvent> read(std::string_view message) { return read_tensorboard_event(bytes_of(message), 0, message.size()); }

// "tag=number", with "?" where a plugin must be "scalars", and the plugin's name.
std::string said(std::string_view values) {
  const auto event = read(tb::event(1, values));
  if (!event) return "none";
  std::string all;
  for (const auto& value : event->values)
    all += fmt::format("{}{}={}{}{}", all.empty() ? "" : " ", value.tag, value.number, value.tensor ? "?" : "", value.plugin);
  return all;
}

std::string tensor(std::string_view message) { return tb::text(1, tb::text(1, "x") + tb::text(8, message) + tb::plugin("scalars")); }
std::string content(unsigned type, std::string_view bytes) { return tensor(tb::whole(1, type) + tb::text(4, bytes)); }

Found found(std::string_view bytes, std::uint64_t at = 0) {
  Record record;
  return find_record(bytes_of(bytes), bytes.size(), at, record);
}

}  // namespace

TEST_CASE("sums are those of RFC 3720") {
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAU);
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43U);
  CHECK(crc32c("123456789") == 0xE3069283U);
  CHECK(crc32c("56789", crc32c("1234")) == crc32c("123456789"));
  CHECK(masked(0xE3069283U) == 0xC78AB0E5U);
}

TEST_CASE("a record is found by its length, whole by its sum") {
  const auto two = tb::record("first") + tb::record("");
  Record record;
  REQUIRE(find_record(bytes_of(two), two.size(), 0, record) == Found::record);
  CHECK(two.substr(record.begin, record.size) == "first");
  CHECK(is_whole(bytes_of(two), record));
  REQUIRE(find_record(bytes_of(two), two.size(), record.end(), record) == Found::record);
  CHECK(record.size == 0);
  CHECK(is_whole(bytes_of(two), record));
  CHECK(find_record(bytes_of(two), two.size(), record.end(), record) == Found::end);

  auto changed = tb::record("first");
  changed[13] ^= 1;
  REQUIRE(find_record(bytes_of(changed), changed.size(), 0, record) == Found::record);
  CHECK_FALSE(is_whole(bytes_of(changed), record));
}

TEST_CASE("a record that extends beyond its file is truncated, one without a length is damaged") {
  const auto whole = tb::record("first");
  for (std::size_t size = 1; size < whole.size(); ++size) CHECK(found(whole.substr(0, size)) == Found::cut);
  for (const auto size : {std::uint64_t{1} << 63U, std::numeric_limits<std::uint64_t>::max(), std::uint64_t{5}})
    CHECK(found(tb::head(size) + "four") == Found::cut);
  auto damaged = whole;
  damaged[0] ^= 1;
  CHECK(found(damaged) == Found::damaged);
  CHECK(found(std::string(64, '\0')) == Found::damaged);
}

TEST_CASE("an event has a time, a step and its values") {
  const auto event = read(tb::event(-3, tb::simple("a", 0.5F) + tb::simple("b", 2), 12.5));
  REQUIRE(event);
  CHECK(event->wall_time == 12.5);
  CHECK(event->step == -3);
  CHECK_FALSE(event->restart);
  CHECK(event->values.size() == 2);
  CHECK(said(tb::simple("a", 0.5F) + tb::simple("b", 2)) == "a=0.5 b=2");
  CHECK(said(tb::simple("nan", std::nanf("")) + tb::simple("inf", -std::numeric_limits<float>::infinity())) == "nan=nan inf=-inf");
  CHECK(said(tb::simple("a", 0.1F) + tb::simple("b", -1.5e-38F)) == "a=0.1 b=-1.5e-38");
  CHECK(read(tb::restart(7))->restart);
  CHECK(read(tb::restart(7))->step == 7);
  CHECK_FALSE(read(tb::whole(2, 7) + tb::text(7, tb::whole(1, 2)))->restart);  // STOP
}

TEST_CASE("a tensor of one number is a value, whichever field holds it") {
  CHECK(said(content(1, tb::little(0x3F000000, 4))) == "x=0.5?scalars");
  CHECK(said(content(2, tb::little(0xC000000000000000, 8))) == "x=-2?scalars");
  CHECK(said(content(3, tb::little(0xFFFFFFFE, 4))) == "x=-2?scalars");
  CHECK(said(content(4, "\xFE")) == "x=254?scalars");
  CHECK(said(content(5, "\xFE\xFF")) == "x=-2?scalars");
  CHECK(said(content(6, "\xFE")) == "x=-2?scalars");
  CHECK(said(content(9, tb::little(~std::uint64_t{1}, 8))) == "x=-2?scalars");
  CHECK(said(content(10, "\x01")) == "x=1?scalars");
  CHECK(said(content(17, "\xFE\xFF")) == "x=65534?scalars");
  CHECK(said(content(22, tb::little(0xFFFFFFFE, 4))) == "x=4294967294?scalars");
  CHECK(said(content(23, tb::little(std::uint64_t{1} << 63U, 8))) == "x=9.223372036854776e+18?scalars");

  CHECK(said(tensor(tb::whole(1, 1) + tb::text(5, tb::little(0x3F000000, 4)))) == "x=0.5?scalars");
  CHECK(said(tensor(tb::whole(1, 1) + tb::real(5, 0.5F))) == "x=0.5?scalars");  // not packed
  CHECK(said(tensor(tb::whole(1, 2) + tb::text(6, tb::little(0xC000000000000000, 8)))) == "x=-2?scalars");
  CHECK(said(tensor(tb::whole(1, 3) + tb::text(7, tb::varint(~std::uint64_t{1})))) == "x=-2?scalars");
  CHECK(said(tensor(tb::whole(1, 9) + tb::whole(10, 7))) == "x=7?scalars");
  CHECK(said(tensor(tb::whole(1, 23) + tb::whole(17, 7))) == "x=7?scalars");
  CHECK(said(tensor(tb::whole(1, 1) + tb::text(2, ""))) == "x=0?scalars");  // zeros need not be written
  CHECK(said(tensor(tb::whole(1, 1) + tb::text(2, tb::text(2, tb::whole(1, 1))) + tb::real(5, 0.5F))) == "x=0.5?scalars");
}

TEST_CASE("anything but a single number is not a value") {
  CHECK(said(content(1, "123")).empty());
  CHECK(said(content(1, "12345678")).empty());  // two floats
  CHECK(said(content(7, "0.5")).empty());       // text
  CHECK(said(content(19, "12")).empty());       // half a float
  CHECK(said(tensor("")).empty());
  CHECK(said(tensor(tb::whole(1, 1) + tb::text(5, "12345678"))).empty());
  CHECK(said(tensor(tb::whole(1, 1) + tb::text(2, tb::text(2, tb::whole(1, 9))) + tb::real(5, 0.5F))).empty());  // nine times the same
  CHECK(said(tensor(tb::whole(1, 1) + tb::text(2, tb::text(2, "")))).empty());                                   // none at all
  CHECK(said(tb::text(1, tb::text(1, "picture") + tb::text(4, "png"))).empty());
  CHECK(said(tb::text(1, tb::real(2, 0.5F))).empty());  // without a tag
  CHECK(said(tb::text(1, tb::text(1, "large") + tb::real(2, 0.5F) + tb::text(9, std::string(max_scalar_length, 'x'))) + tb::simple("a", 1)) == "a=1");
  CHECK(said("\x0A\x7F" + tb::simple("a", 1)) == "");
}

TEST_CASE("an invalid message is not an event") {
  CHECK_FALSE(read(std::string("\0", 1)));
  CHECK_FALSE(read("\x0B"));                                         // a group
  CHECK_FALSE(read(tb::key(1, 1) + "1234567"));                      // too short
  CHECK_FALSE(read(tb::key(3, 2) + tb::varint(~std::uint64_t{0})));  // longer than all
  CHECK_FALSE(read(tb::key(2, 0) + std::string(11, '\xFF')));
  std::string many;
  for (std::size_t i = 0; i <= max_fields; ++i) many += tb::whole(2, 1);
  CHECK_FALSE(read(many));
  many.resize(many.size() - 2);
  CHECK(read(many));
}
