// XML as a small tree: what responses of object stores need.
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

  // The first child with that name, or nullptr.
  [[nodiscard]] const XmlElement* child(std::string_view child_name) const;
  // The text of the first child with that name, or "".
  [[nodiscard]] std::string_view text_of(std::string_view child_name) const;
};

// Returns the root element. Errors: input, with the position; also if nested deeper than 32 elements or not valid UTF-8. Resolves only XML's five
// predefined entities and numeric ones; never loads anything.
Result<XmlElement> parse_xml(std::string_view text);

// Escapes `text` for use as the content of an element.
std::string xml_escaped(std::string_view text);

}  // namespace trainstep
