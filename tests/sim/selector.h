// labelSelector and fieldSelector.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace trainstep::sim {

class Selector {
 public:
  Selector() = default;
  // Labels: "a=b,c!=d,e in (f,g),h,!i". Fields: "metadata.name=x,involvedObject.uid=y".
  Selector(std::string_view labels, std::string_view fields);
  [[nodiscard]] bool matches(const Json& object) const;

 private:
  struct Term {
    std::string key;
    std::vector<std::string> values;  // empty: it is enough that the key exists
    bool negated = false;
  };
  static bool holds(const Term& term, const Json* value);
  std::vector<Term> m_labels, m_fields;
};

}  // namespace trainstep::sim
