// SPDX-License-Identifier: Apache-2.0
#include "data/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "data/finite.h"
#include "data/json_reader.h"
#include "data/place.h"
#include "data/tree.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace trainstep {
namespace {

// Feeds the lexer and records how far it has read: nlohmann passes positions to a SAX handler only for syntax errors.
class CountingIterator {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the standard library's names
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  // NOLINTEND(readability-identifier-naming)

  CountingIterator(const char* at, const char** last) : m_at(at), m_last(last) {}
  reference operator*() const { return *m_at; }
  CountingIterator& operator++() {
    *m_last = ++m_at;
    return *this;
  }
  CountingIterator operator++(int) {
    auto old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& other) const { return m_at == other.m_at; }

 private:
  const char* m_at;
  const char** m_last;
};

bool belongs_to_number(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

// nlohmann's SAX interface; a method that returns false ends the parse.
class JsonHandler {
 public:
  JsonHandler(std::string_view text, std::string_view what, const ReadLimits& limits, BeyondNumbers beyond)
      : m_text(text), m_what(what), m_tree(limits), m_read(text.data()), m_beyond(beyond) {}

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(std::int64_t value) { return add_number(Json(value)); }
  bool number_unsigned(std::uint64_t value) { return add_number(Json(value)); }
  bool number_float(double value, const std::string& written) {
    if (m_beyond == BeyondNumbers::rounded) return add_number(Json(value));
    if (written.find_first_of(".eE") != std::string::npos) {
      if (value == 0 && m_beyond == BeyondNumbers::refused && !is_zero(written)) return end_number(), fail_at(last_number(), "number too small");
      return add_number(Json(value));
    }
    auto big = m_beyond == BeyondNumbers::kept ? big_integer(written) : std::nullopt;
    if (big) return add_number(std::move(*big));
    return end_number(), fail_at(last_number(), big_integer_problem(written));
  }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(Json::binary_t& /*value*/) { return false; }  // JSON texts have none
  bool start_object(std::size_t /*size*/) { return open('{', m_tree.begin_object()); }
  bool start_array(std::size_t /*size*/) { return open('[', m_tree.begin_list()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    m_stop.last_end = read_so_far();
    m_stop.after_key = true;
    if (auto problem = m_tree.key(std::move(name))) return fail_at(start_of_string(), *problem);
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const nlohmann::detail::exception& error) {
    constexpr int number_overflow = 406;
    if (error.id == number_overflow) return end_number(), fail_at(last_number(), "number too large");
    m_stop.position = read_so_far();
    m_stop.complete = m_tree.has_root();
    auto diagnosis = diagnose_json(m_text, m_stop);
    m_fault = diagnosis.fault;
    return fail_at(diagnosis.at, diagnosis.problem);
  }

  JsonReading reading(bool parsed) {
    if (parsed) return {m_tree.take_root(), {}, {}};
    return {std::nullopt, std::move(m_error), m_fault};
  }
  const char** read_mark() { return &m_read; }

 private:
  [[nodiscard]] std::size_t read_so_far() const { return static_cast<std::size_t>(m_read - m_text.data()); }

  bool fail_at(std::size_t offset, std::string_view problem) {
    m_error = error_at(m_what, m_text, offset, problem);
    return false;
  }
  bool add(Json json) {
    m_stop.last_end = read_so_far();
    m_stop.after_key = false;
    if (auto problem = m_tree.value(std::move(json))) return fail_at(m_stop.last_end, *problem);
    return true;
  }
  // The lexer reads one character beyond a number, unless the text ends there.
  void end_number() {
    if (read_so_far() > 0 && !belongs_to_number(*(m_read - 1))) --m_read;
  }
  bool add_number(Json json) {
    const auto* const read = m_read;
    end_number();
    const bool added = add(std::move(json));
    m_read = read;
    return added;
  }
  bool open(char bracket, const Problem& problem) {
    m_stop.last_end = read_so_far();
    m_stop.after_key = false;
    m_stop.open.push_back({bracket, read_so_far() - 1});
    return problem ? fail_at(read_so_far() - 1, *problem) : true;
  }
  bool close() {
    m_stop.last_end = read_so_far();
    m_stop.open.pop_back();
    if (auto problem = m_tree.end()) return fail_at(read_so_far(), *problem);
    return true;
  }
  [[nodiscard]] std::size_t last_number() const {
    auto at = read_so_far();
    while (at > 0 && belongs_to_number(m_text[at - 1])) --at;
    return at;
  }
  // The string read last ends with its closing quote; every other quote in it is escaped by a backslash.
  [[nodiscard]] std::size_t start_of_string() const {
    auto at = read_so_far() - 1;
    while (at > 0) {
      --at;
      auto backslashes = at;
      while (backslashes > 0 && m_text[backslashes - 1] == '\\') --backslashes;
      if (m_text[at] == '"' && (at - backslashes) % 2 == 0) break;
    }
    return at;
  }

  std::string_view m_text;
  std::string_view m_what;
  TreeBuilder m_tree;
  const char* m_read;
  BeyondNumbers m_beyond;
  JsonStop m_stop;
  Error m_error;
  JsonFault m_fault = JsonFault::rule;
};

std::string written(const Json& json, int indent) {
  const auto text = [indent](const Json& what) { return what.dump(indent, ' ', false, Json::error_handler_t::replace); };
  return all_finite(json) ? text(json) : text(portable(json));
}

}  // namespace

JsonReading read_json(std::string_view text, std::string_view what, const ReadLimits& limits, BeyondNumbers beyond) {
  JsonHandler handler(text, what, limits, beyond);
  const CountingIterator first(text.begin(), handler.read_mark());
  const CountingIterator last(text.end(), handler.read_mark());
  const bool parsed = Json::sax_parse(first, last, &handler);
  return handler.reading(parsed);
}

namespace {

Result<Json> read(std::string_view text, std::string_view what, const ReadLimits& limits, BeyondNumbers beyond) {
  ASSIGN(const auto checked, check_text(text, what, limits));
  auto reading = read_json(checked, what, limits, beyond);
  if (!reading.json) return std::move(reading.error);
  return std::move(*reading.json);
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what, const ReadLimits& limits) {
  return read(text, what, limits, BeyondNumbers::refused);
}

Result<Json> read_doubles(std::string_view text, std::string_view what, const ReadLimits& limits) {
  return read(text, what, limits, BeyondNumbers::kept);
}

Result<Json> read_answer(std::string_view text, std::string_view what, const ReadLimits& limits) {
  return read(text, what, limits, BeyondNumbers::rounded);
}

std::string to_text(const Json& json) { return written(json, -1); }

std::string to_pretty_text(const Json& json) { return written(json, 2); }

bool all_finite(const Json& json) {
  if (json.is_number_float()) return std::isfinite(json.get<double>());
  return !json.is_structured() || std::ranges::all_of(json, all_finite);
}

Json portable(Json json) {
  if (json.is_structured()) {
    for (auto& member : json) member = portable(std::move(member));
    return json;
  }
  if (!json.is_number_float() || std::isfinite(json.get<double>())) return json;
  const auto number = json.get<double>();
  return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
}

std::string_view type_name(const Json& json) {
  switch (json.type()) {
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return "a number";
    default:
      return "null";
  }
}

std::string text_of(const Json& object, std::string_view key) { return text_of(&object, {key}); }

std::string text_of(const Json* object, std::initializer_list<std::string_view> path) {
  const auto* value = find(object, path);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

const Json* find(const Json& object, std::string_view key) {
  const auto* members = object.get_ptr<const Json::object_t*>();
  if (members == nullptr) return nullptr;
  for (const auto& [name, member] : *members)
    if (name == key) return member.is_null() ? nullptr : &member;
  return nullptr;
}

const Json* find(const Json* object, std::initializer_list<std::string_view> path) {
  for (const auto key : path) {
    if (object == nullptr) return nullptr;
    object = find(*object, key);
  }
  return object;
}

}  // namespace trainstep
