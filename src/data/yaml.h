// YAML text → Json, by the core schema of YAML 1.2; bounded. One difference: what PyYAML, which writes most of these texts, leaves unquoted as a
// string is a string: 1e3 and 1.5e3 (it writes its own floats as 1.0e+3), 0123.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace trainstep {

// All documents of a text. Quoted scalars are strings, plain ones null/bool/number/string; anchors and aliases are expanded (within the limits);
// merge keys `<<` are applied (after the explicit members, which win); duplicate keys, keys that are not strings, .nan, .inf and unknown tags are
// errors. JSON is read by parse_json. Errors (input): "what: line 3, column 7: …".
Result<std::vector<Json>> parse_yaml_documents(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// The same, but .nan and .inf are numbers, as PyYAML writes them.
Result<std::vector<Json>> parse_python_yaml_documents(std::string_view text, std::string_view what);

// A single document; empty documents beside it are ignored, an empty text is null.
Result<Json> parse_yaml(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// Called with the RFC 6901 pointer of each value; returns the `# comment` to append to it.
using YamlComment = std::function<std::optional<std::string>(const std::string& pointer)>;

// YAML for people: block style, indented by two spaces, lists not indented below their key (as kubectl prints them), strings quoted wherever any YAML
// reader could parse them as something else, multi-line strings as literal blocks. Parsing it gives the same Json.
std::string to_yaml(const Json& json, const YamlComment& comment = {});

}  // namespace trainstep
