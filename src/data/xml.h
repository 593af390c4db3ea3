// XML as a small tree: what the answers of object stores need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace trainstep {

// An element without its namespace and attributes.
struct XmlElement {
  std::string name;
  std::string text;  // its own, with entities resolved
  std::vector<XmlElement> children;

  // The first child of that name, or nullptr.
  [[nodiscard]] const XmlElement* child(std::string_view child_name) const;
  // The text of the first child of that name, or "".
  [[nodiscard]] std::string_view text_of(std::string_view child_name) const;
};

// The root element. Errors: input, with the position; also for what is nested deeper than 32 elements or is no UTF-8. No entities but XML's own five
// and numbers are resolved, nothing is ever loaded.
Result<XmlElement> parse_xml(std::string_view text);

// `text` as the content of an element.
std::string xml_escaped(std::string_view text);

}  // namespace trainstep
