// What a program has returned: KFP v2's ExecutorOutput, and files of single values (docs/design/kfp.md, Executor output). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"
#include "spec/program.h"

namespace trainstep::spec {

// Accepts NaN and Infinity as numbers, which Python's json writes but JSON does not allow. Error (input): not JSON, or not an object; names `where`.
Result<Json> parse_executor_output(std::string_view text, std::string_view where);

// The output's value, converted to its type; none: the executor output does not contain it. Error (input): it does not fit.
std::optional<Result<Json>> returned_value(const Output& output, const Json& executor_output);

// The value from the text of its own file. Strings are taken unchanged, including blanks and newlines. Null: the text is "None", Python's str() of
// None (SDK 1.8, Optional[float]), which is not a value of the type. Error (input): the text does not fit the type, or is not valid text.
Result<Json> value_from_file(const Output& output, const std::string& text);

// Whether the value may be missing: the program returns None. An artifact must always exist.
bool is_optional(const Output& output);

// Converts a raw value to the output's type; the strings NaN and Infinity are valid numbers.
Result<Json> typed_value(const Output& output, const Json& raw);

// A text that the program writes to a path (SDK 1.8: String, OutputPath(str)): like every declared value it must exist at the end, but may be empty.
bool is_text_at_path(const Output& output);
// Whether the bytes are valid text: UTF-8 without NUL, as Kubeflow Pipelines requires.
bool is_text(std::string_view bytes);

// Whether its type is one of the metrics types: "Metrics", "system.ClassificationMetrics", "SlicedClassificationMetrics".
bool holds_metrics(const Output& output);

struct ReturnedArtifact {
  Json metadata = Json::object();
  std::vector<std::string> places;  // its uri and its custom path, if the program sets them: it may report that its artifact is elsewhere
};
ReturnedArtifact returned_artifact(const Json& executor_output, const std::string& name);

}  // namespace trainstep::spec
