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

// All documents of a text. Quoted scalars are strings, plain ones null/bool/number/string; anchors and aliases are written out (within the limits);
// merge keys `<<` are applied (after the explicit members, which win); duplicate keys, non-text keys, .nan, .inf and unknown tags are errors. JSON is
// read by parse_json. Errors (input): "what: line 3, column 7: …".
Result<std::vector<Json>> parse_yaml_documents(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// The same, in which .nan and .inf are numbers: how PyYAML writes them.
Result<std::vector<Json>> parse_python_yaml_documents(std::string_view text, std::string_view what);

// One document; empty ones beside it do not count, an empty text is null.
Result<Json> parse_yaml(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// What stands behind a value as a `# comment`; gets the RFC 6901 pointer of the value.
using YamlComment = std::function<std::optional<std::string>(const std::string& pointer)>;

// YAML for people: block style, two spaces, lists not indented below their key (as kubectl prints them), strings quoted wherever any YAML reader
// could take them for something else, texts of several lines as literal blocks. Reading it back gives the same Json.
std::string to_yaml(const Json& json, const YamlComment& comment = {});

}  // namespace trainstep
