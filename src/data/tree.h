// Builds a Json from a stream of events, as both readers (JSON, YAML) produce them, and enforces the limits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/json.h"

namespace trainstep {

// What is wrong, without a position: the reader adds it. nullopt: no problem.
using Problem = std::optional<std::string>;

// An integer beyond 64 bits, as a double if that keeps all of its digits (a double written without exponent), otherwise nullopt.
std::optional<Json> big_integer(std::string_view digits);
// Whether a decimal literal is exactly 0: 0.0, -0e9.
bool is_zero(std::string_view decimal);
// The message for an integer for which big_integer() returns nullopt.
std::string big_integer_problem(std::string_view digits);

// The size of a finished value.
struct TreeSize {
  std::size_t nodes = 0;
  std::size_t depth = 0;
  std::size_t bytes = 0;  // of strings and keys
};
TreeSize size_of(const Json& json);

// The object with these members in this order; of equal names the last value, at the first one's place, as assignments to object[name] give. Takes
// time proportional to their number (times its logarithm), while each assignment compares with all members.
Json make_object(std::vector<std::pair<std::string, Json>> members);
void append_members(std::vector<std::pair<std::string, Json>>& members, const Json& object);  // those of the object, in its order

// Children are collected outside of their parent and moved in when it ends, because ordered_json compares with all members at each insertion.
class TreeBuilder {
 public:
  explicit TreeBuilder(const ReadLimits& limits) : m_limits(limits) {}

  Problem begin_object();
  Problem begin_list();
  Problem key(std::string name);
  // Instead of key(): the following value is an object, or a list of objects, whose members are added where the object lacks them.
  Problem merge_key();
  Problem value(Json json) { return attach(std::move(json), 1, 0); }
  // Adds a whole tree as value.
  Problem tree(Json json, const TreeSize& size) { return attach(std::move(json), size.nodes, size.bytes, size.depth); }
  Problem end();
  // Counts values that are held elsewhere against the limits.
  Problem count(std::size_t nodes, std::size_t bytes);

  [[nodiscard]] std::size_t depth() const { return m_open.size(); }
  [[nodiscard]] bool in_object() const { return !m_open.empty() && m_open.back().is_object; }
  [[nodiscard]] bool wants_key() const { return in_object() && !m_open.back().has_key; }
  // The last finished value; valid until the next event.
  [[nodiscard]] const Json& last() const { return *m_last; }
  [[nodiscard]] bool has_root() const { return m_root.has_value(); }
  // The finished root; the builder can then read another one, with the counts kept.
  Json take_root();

 private:
  struct Open {
    bool is_object = false;
    bool has_key = false;
    bool merging = false;
    std::vector<std::pair<std::string, Json>> members;
    std::vector<Json> items;
    std::unique_ptr<std::set<std::string, std::less<>>> names;  // of the members, once there are many
    std::vector<Json> merged;
  };
  Problem open(bool is_object);
  Problem attach(Json json, std::size_t nodes, std::size_t bytes, std::size_t depth = 0);
  static bool knows(Open& open, const std::string& name);
  static Problem merge(Open& open, Json&& json);
  static Json close(Open&& open);

  ReadLimits m_limits;
  std::size_t m_nodes = 0;
  std::size_t m_bytes = 0;
  std::vector<Open> m_open;
  std::optional<Json> m_root;
  const Json* m_last = nullptr;
};

}  // namespace trainstep
