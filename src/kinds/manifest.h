// A Kubernetes object under construction that remembers which input set each field.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "data/json.h"

namespace trainstep::kinds {

class Manifest {
 public:
  // `pointer`: RFC 6901; missing objects are made, a number makes or extends a list. `source`: the input ("distribution_specification.worker_cpus"), or a
  // reason ("default", "MPIJob needs it"). Setting a field twice keeps the later value.
  void set(const std::string& pointer, Json value, std::string_view source);
  // Appends to the list at `pointer`; returns the new element's pointer.
  std::string append(const std::string& pointer, Json value, std::string_view source);
  // The same as set() for every member of another manifest, below `pointer`.
  void merge(const std::string& pointer, const Manifest& part);
  // job_options.patch: RFC 7396 (object) or RFC 6902 (list). Error: input, when an operation does not apply.
  Result<void> patch(const Json& patch);

  [[nodiscard]] const Json& json() const { return m_json; }
  // The source of the field or of the nearest one above it; empty if none is known.
  [[nodiscard]] std::string source_of(const std::string& pointer) const;

 private:
  Json m_json = Json::object();
  std::map<std::string, std::string> m_sources;
};

}  // namespace trainstep::kinds
