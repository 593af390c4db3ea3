// A Kubernetes object under construction that records which input set each field.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "data/json.h"

namespace trainstep::job_types {

class Manifest {
 public:
  // `pointer`: RFC 6901; missing objects are created, a number creates or extends a list. `source`: the input
  // ("distribution_specification.worker_cpus"), or a reason ("default: …", "MPIJob needs it"). If a field is set twice, the later value is kept.
  void set(const std::string& pointer, Json value, std::string_view source);
  // Sets a member whose key is data (a label, a resource): the key is escaped, and never interpreted as a list index.
  void set_member(const std::string& pointer, std::string_view key, Json value, std::string_view source);
  // The same for many members, in time proportional to their number.
  struct Member {
    std::string key;
    Json value;
    std::string source;
  };
  void set_members(const std::string& pointer, std::vector<Member> members);
  // Appends to the list at `pointer`; returns the new element's pointer.
  std::string append(const std::string& pointer, Json value, std::string_view source);
  // Merges another manifest's fields and their sources below `pointer`; objects are merged, everything else is replaced.
  void merge(const std::string& pointer, const Manifest& part);
  // Applies job_options.patch: RFC 7396 (object) or RFC 6902 (list); null means no patch. What it sets has the source "job_options.patch".
  // Errors (input): an operation that does not apply, by index; then the manifest is unchanged. A patch that is neither object nor list.
  Result<void> patch(const Json& patch);

  [[nodiscard]] const Json& json() const { return m_json; }
  // The source of the field or of its nearest ancestor; empty if unknown.
  [[nodiscard]] std::string source_of(const std::string& pointer) const;

 private:
  void forget_below(const std::string& pointer);
  void move_elements(const std::string& list, std::size_t from, int by);
  void note_merge_patch(const std::string& pointer, const Json& patch);
  void note_operation(const Json& before, const std::string& operation, const std::string& path);

  Json m_json = Json::object();
  std::map<std::string, std::string> m_sources;
};

// Escapes a key as a token of a pointer: "a/b" → "a~1b".
std::string escaped(std::string_view key);

}  // namespace trainstep::job_types
