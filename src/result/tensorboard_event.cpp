// SPDX-License-Identifier: Apache-2.0
#include "result/tensorboard_event.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <string_view>
#include <utility>

namespace trainstep::result {
namespace {

using Type = WireField::Type;

// Visits the fields of a small message in memory.
template <typename See>
bool each_field(std::string_view message, const See& see) {
  const auto bytes = bytes_of(message);
  WireReader reader(bytes, 0, message.size());
  while (const auto field = reader.next()) see(*field, field->type == Type::bytes ? message.substr(field->begin, field->size) : std::string_view());
  return !reader.broken();
}

// Returns the double with the shortest decimal form of the float: 0.1, not 0.10000000149011612, is the program's value.
double as_float(std::uint64_t bits) {
  const auto number = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  const auto text = fmt::format("{}", number);
  double decimal = number;
  std::from_chars(text.data(), text.data() + text.size(), decimal);
  return decimal;
}
double as_double(std::uint64_t bits) { return std::bit_cast<double>(bits); }

// DataType of tensorflow/core/framework/types.proto.
enum : std::uint64_t {
  dt_float = 1,
  dt_double = 2,
  dt_int32 = 3,
  dt_uint8 = 4,
  dt_int16 = 5,
  dt_int8 = 6,
  dt_int64 = 9,
  dt_bool = 10,
  dt_uint16 = 17,
  dt_uint32 = 22,
  dt_uint64 = 23,
};

// One number from `tensor_content`, little-endian; none if the size does not match the type.
std::optional<double> number_in(std::string_view content, std::uint64_t type) {
  std::uint64_t bits = 0;
  for (std::size_t i = content.size(); i > 0; --i) bits = bits << 8U | static_cast<unsigned char>(content[i - 1]);
  const auto fits = [&](std::size_t size, double number) { return content.size() == size ? std::optional(number) : std::nullopt; };
  switch (type) {
    case dt_float:
      return fits(4, as_float(bits));
    case dt_double:
      return fits(8, as_double(bits));
    case dt_int8:
      return fits(1, static_cast<std::int8_t>(bits));
    case dt_int16:
      return fits(2, static_cast<std::int16_t>(bits));
    case dt_int32:
      return fits(4, static_cast<std::int32_t>(bits));
    case dt_int64:
      return fits(8, static_cast<double>(static_cast<std::int64_t>(bits)));
    case dt_bool:
    case dt_uint8:
      return fits(1, static_cast<double>(bits));
    case dt_uint16:
      return fits(2, static_cast<double>(bits));
    case dt_uint32:
      return fits(4, static_cast<double>(bits));
    case dt_uint64:
      return fits(8, static_cast<double>(bits));
    default:
      return std::nullopt;
  }
}

// The field number of a tensor's list for the type.
std::uint32_t list_of(std::uint64_t type) {
  switch (type) {
    case dt_float:
      return 5;
    case dt_double:
      return 6;
    case dt_int64:
      return 10;
    case dt_bool:
      return 11;
    case dt_uint32:
      return 16;
    case dt_uint64:
      return 17;
    case dt_int32:
    case dt_int16:
    case dt_int8:
    case dt_uint16:
    case dt_uint8:
      return 7;
    default:
      return 0;  // none: strings, half-precision floats
  }
}

double number_of(std::uint64_t bits, std::uint64_t type) {
  if (type == dt_float) return as_float(bits);
  if (type == dt_double) return as_double(bits);
  return type == dt_uint64 || type == dt_uint32 ? static_cast<double>(bits) : static_cast<double>(static_cast<std::int64_t>(bits));
}

// Packed numbers, the encoding of lists since proto3.
void take_packed(std::string_view list, std::uint64_t type, std::vector<double>& numbers) {
  const std::size_t size = type == dt_float ? 4 : type == dt_double ? 8 : 0;
  while (!list.empty() && numbers.size() < 2) {
    if (size == 0) {
      const auto number = take_varint(list);
      if (!number) return;
      numbers.push_back(number_of(*number, type));
      continue;
    }
    if (list.size() < size) return;
    numbers.push_back(number_of(size == 4 ? fixed32(list) : fixed64(list), type));
    list.remove_prefix(size);
  }
}

// tensor_shape.proto: dim = 2, in it size = 1. A scalar has no dimensions, or only dimensions of size 1.
bool is_scalar(std::string_view shape) {
  bool scalar = true;
  each_field(shape, [&](const WireField& field, std::string_view dimension) {
    std::uint64_t size = 0;
    each_field(dimension, [&](const WireField& inner, std::string_view) { size = inner.number == 1 ? inner.value : size; });
    scalar = scalar && field.number == 2 && size == 1;
  });
  return scalar;
}

std::optional<double> read_tensor(std::string_view message) {
  std::uint64_t type = 0;
  bool scalar = true;
  std::string_view content;
  std::vector<std::pair<WireField, std::string_view>> lists;
  const bool whole = each_field(message, [&](const WireField& field, std::string_view text) {
    if (field.number == 1 && field.type == Type::varint) type = field.value;
    if (field.number == 2) scalar = is_scalar(text);
    if (field.number == 4) content = text;
    if (field.number >= 5 && field.number <= 17) lists.emplace_back(field, text);
  });
  if (!whole || !scalar || list_of(type) == 0) return std::nullopt;
  if (!content.empty()) return number_in(content, type);
  std::vector<double> numbers;
  for (const auto& [field, text] : lists) {
    if (field.number != list_of(type)) continue;
    if (field.type == Type::bytes)
      take_packed(text, type, numbers);
    else
      numbers.push_back(number_of(field.value, type));
  }
  if (numbers.size() > 1) return std::nullopt;
  return numbers.empty() ? 0 : numbers.front();  // zeros may be omitted
}

// summary.proto, SummaryMetadata: plugin_data = 1, in it plugin_name = 1.
std::string plugin_of(std::string_view metadata) {
  std::string name;
  each_field(metadata, [&](const WireField& field, std::string_view data) {
    if (field.number != 1) return;
    each_field(data, [&](const WireField& inner, std::string_view text) {
      if (inner.number == 1 && inner.type == Type::bytes) name = text;
    });
  });
  return name;
}

// Summary.Value: tag = 1, simple_value = 2, tensor = 8, metadata = 9; other fields hold no numbers and are ignored.
void read_value(std::string_view message, std::vector<TensorboardEvent::Value>& values) {
  TensorboardEvent::Value value;
  std::optional<double> number;
  const bool whole = each_field(message, [&](const WireField& field, std::string_view text) {
    if (field.number == 1 && field.type == Type::bytes) value.tag = text;
    if (field.number == 2 && field.type == Type::fixed32) number = as_float(field.value), value.tensor = false;
    if (field.number == 8 && field.type == Type::bytes) number = read_tensor(text), value.tensor = true;
    if (field.number == 9 && field.type == Type::bytes) value.plugin = plugin_of(text);
  });
  if (!whole || !number || value.tag.empty()) return;
  value.number = *number;
  values.push_back(std::move(value));
}

void read_summary(const Bytes& bytes, const WireField& summary, std::vector<TensorboardEvent::Value>& values) {
  WireReader reader(bytes, summary.begin, summary.begin + summary.size);
  while (const auto field = reader.next()) {
    if (field->number != 1 || field->type != Type::bytes || field->size > max_scalar_length || values.size() >= max_values) continue;
    read_value(std::string(bytes(field->begin, field->size)), values);
  }
}

// event.proto, SessionLog: status = 1, START = 1.
bool is_start(const Bytes& bytes, const WireField& log) {
  bool start = false;
  WireReader reader(bytes, log.begin, log.begin + log.size);
  while (const auto field = reader.next())
    if (field->number == 1 && field->type == Type::varint) start = field->value == 1;
  return start;
}

}  // namespace

std::optional<TensorboardEvent> read_tensorboard_event(const Bytes& bytes, std::uint64_t begin, std::uint64_t end) {
  TensorboardEvent event;
  WireReader reader(bytes, begin, end);
  while (const auto field = reader.next()) {
    if (field->number == 1 && field->type == Type::fixed64) event.wall_time = as_double(field->value);
    if (field->number == 2 && field->type == Type::varint) event.step = static_cast<std::int64_t>(field->value);
    if (field->number == 5 && field->type == Type::bytes) read_summary(bytes, *field, event.values);
    if (field->number == 7 && field->type == Type::bytes) event.restart = is_start(bytes, *field);
  }
  if (reader.broken()) return std::nullopt;
  return event;
}

}  // namespace trainstep::result
