// Serialization of values, one function for both directions: Out writes their members into a JSON object, In reads them from one. That of a type is
// `template <typename Io> void members(Io&, Type&)` in this namespace: io(key, member), … Durations and times are in milliseconds; what is empty,
// false or unset is omitted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "data/json.h"

namespace trainstep::follow {

struct Out {
  Json object = Json::object();
  void operator()(const char* key, const std::string& value) {
    if (!value.empty()) object[key] = value;
  }
  void operator()(const char* key, bool value) {
    if (value) object[key] = true;
  }
  void operator()(const char* key, int value) { object[key] = value; }
  void operator()(const char* key, std::size_t value) { object[key] = value; }
  void operator()(const char* key, Duration value) { object[key] = value.count(); }
  void operator()(const char* key, Time value) { object[key] = value.time_since_epoch().count(); }
  void operator()(const char* key, const std::vector<std::string>& value) { object[key] = value; }
  template <typename Value>
  void operator()(const char* key, const std::optional<Value>& value) {
    if (value) (*this)(key, *value);
  }
  template <typename Value>
  void operator()(const char* key, const std::vector<Value>& values) {
    auto list = Json::array();
    for (const auto& value : values) list.push_back(written(value));
    object[key] = std::move(list);
  }
  template <typename Value>
  void operator()(const char* key, const Value& value) {
    object[key] = written(value);
  }
  template <typename Value>
  static Json written(const Value& value) {
    Out out;
    members(out, const_cast<Value&>(value));  // members() only writes to it when it is given an In
    return std::move(out.object);
  }
};

// A missing member, or one of another type, keeps its default; a number out of range sets `fits` to false. `object` must outlive it.
struct In {
  const Json& object;
  bool fits = true;

  [[nodiscard]] const Json* at(const char* key) const { return object.is_object() ? trainstep::find(object, key) : nullptr; }
  void operator()(const char* key, std::string& value) {
    const auto* json = at(key);
    if (json != nullptr && json->is_string()) value = json->get<std::string>();
  }
  void operator()(const char* key, bool& value) {
    const auto* json = at(key);
    value = json != nullptr && json->is_boolean() && json->get<bool>();
  }
  void operator()(const char* key, int& value) { value = static_cast<int>(number(key)); }
  void operator()(const char* key, std::size_t& value) { value = static_cast<std::size_t>(number(key)); }
  void operator()(const char* key, Duration& value) { value = Duration(milliseconds(key)); }
  void operator()(const char* key, Time& value) { value = Time(Duration(milliseconds(key))); }
  void operator()(const char* key, std::vector<std::string>& value) {
    const auto* json = at(key);
    if (json == nullptr || !json->is_array()) return;
    value.clear();
    for (const auto& item : *json)
      if (item.is_string()) value.push_back(item.get<std::string>());
  }
  template <typename Value>
  void operator()(const char* key, std::optional<Value>& value) {
    if (at(key) == nullptr) return value.reset();
    value.emplace();
    (*this)(key, *value);
  }
  template <typename Value>
  void operator()(const char* key, std::vector<Value>& values) {
    const auto* json = at(key);
    values.clear();
    if (json == nullptr || !json->is_array()) return;
    for (const auto& item : *json) {
      In in{item};
      members(in, values.emplace_back());
      fits = fits && in.fits;
    }
  }
  template <typename Value>
  void operator()(const char* key, Value& value) {
    static const Json none = Json::object();
    const auto* json = at(key);
    In in{json != nullptr ? *json : none};
    members(in, value);
    fits = fits && in.fits;
  }

 private:
  // The range of a calendar.
  std::int64_t milliseconds(const char* key) {
    constexpr std::int64_t year_10000 = 253'402'300'800'000;
    const auto value = number(key);
    if (value > -year_10000 && value < year_10000) return value;
    fits = false;
    return 0;
  }
  std::int64_t number(const char* key) {
    const auto* json = at(key);
    if (json != nullptr && json->is_number_integer()) return json->get<std::int64_t>();
    fits = false;
    return 0;
  }
};

// An enumeration as its number.
template <typename Io, typename Enum>
void number(Io& io, const char* key, Enum& value, Enum last) {
  int code = static_cast<int>(value);
  io(key, code);
  value = static_cast<Enum>(std::clamp(code, 0, static_cast<int>(last)));
}

}  // namespace trainstep::follow
