// YAML text → Json, by the JSON schema of YAML 1.2 (with the spellings of 1.1 that PyYAML writes unquoted); bounded.
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
// merge keys `<<` are applied; duplicate keys, non-text keys and unknown tags are errors. Errors (input): "what: line 3, column 7: …".
Result<std::vector<Json>> parse_yaml_documents(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// Exactly one document; an empty text is null.
Result<Json> parse_yaml(std::string_view text, std::string_view what, const ReadLimits& limits = {});

// What stands behind a value as a `# comment`; gets the RFC 6901 pointer of the value.
using YamlComment = std::function<std::optional<std::string>(const std::string& pointer)>;

// YAML for people: block style, two spaces, lists not indented below their key (as kubectl prints them), strings quoted wherever any YAML reader
// could take them for something else, texts of several lines as literal blocks. Reading it back gives the same Json.
std::string to_yaml(const Json& json, const YamlComment& comment = {});

}  // namespace trainstep
