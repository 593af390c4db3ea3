// What was there a moment ago: what an API server answers that is behind the others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/store.h"

namespace trainstep::sim {

class Past {
 public:
  // As it was at that time, or as far back as is remembered. The step's own pods are always there: a running step has been seen.
  Past(const Store& store, Time at);
  // Of its last change.
  [[nodiscard]] std::uint64_t number() const { return m_number; }
  [[nodiscard]] VersionPtr find(const Resource& resource, std::string_view name_space, std::string_view name) const;
  [[nodiscard]] std::vector<VersionPtr> list(const Resource& resource, std::string_view name_space) const;

 private:
  const Store& m_store;
  std::uint64_t m_number;
};

}  // namespace trainstep::sim
