// SPDX-License-Identifier: Apache-2.0
#include "data/xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>

#include "data/place.h"

namespace trainstep {
namespace {

constexpr int deepest = 32;

std::string_view local_name(std::string_view name) { return name.substr(name.find(':') == std::string_view::npos ? 0 : name.find(':') + 1); }

// false: too deep.
bool copy(const pugi::xml_node& from, XmlElement& to, int depth) {
  if (depth > deepest) return false;
  to.name = local_name(from.name());
  for (const auto& node : from) {
    if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata)
      to.text += node.value();
    else if (node.type() == pugi::node_element && !copy(node, to.children.emplace_back(), depth + 1))
      return false;
  }
  return true;
}

}  // namespace

const XmlElement* XmlElement::child(std::string_view child_name) const {
  const auto found = std::ranges::find(children, child_name, &XmlElement::name);
  return found == children.end() ? nullptr : &*found;
}

std::string_view XmlElement::text_of(std::string_view child_name) const {
  const auto* found = child(child_name);
  return found == nullptr ? std::string_view() : std::string_view(found->text);
}

Result<XmlElement> parse_xml(std::string_view text) {
  if (find_invalid_utf8(text)) return input_error("the XML is not valid UTF-8");
  pugi::xml_document document;
  // Whitespace is kept: blanks in a key are significant.
  const auto parsed = document.load_buffer(text.data(), text.size(), pugi::parse_default | pugi::parse_ws_pcdata_single, pugi::encoding_utf8);
  if (!parsed) return input_error(fmt::format("byte {}: {}", parsed.offset + 1, parsed.description()));
  XmlElement root;
  if (!copy(document.document_element(), root, 1)) return input_error(fmt::format("elements nested deeper than {} levels", deepest));
  return root;
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace trainstep
