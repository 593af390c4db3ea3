// What a program says that it returned: KFP v2's ExecutorOutput, and files of single values (docs/design/kfp.md, Executor output). Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"
#include "spec/program.h"

namespace trainstep::spec {

// NaN and Infinity, which Python's json writes and JSON does not know, are numbers. Error (input): no JSON, or no object; names `where`.
Result<Json> parse_executor_output(std::string_view text, std::string_view where);

// The output's value as its type; none: the executor output does not mention it. Error (input): it does not fit.
std::optional<Result<Json>> returned_value(const Output& output, const Json& executor_output);

// The text of a value's own file. Text is taken as it is, blanks and newlines included. Null: the text is what Python's str() makes of None (SDK 1.8,
// Optional[float]), and no value of the type. Error (input): also bytes that are no text.
Result<Json> value_from_file(const Output& output, const std::string& text);

// Whether there may be no value: the program returns None. An artifact must be there in any case.
bool is_optional(const Output& output);

// A raw value as the output's type; the texts NaN and Infinity are values of a number.
Result<Json> typed_value(const Output& output, const Json& raw);

// A text that the program writes to a path (SDK 1.8: String, OutputPath(str)): as every declared value it must be there at the end, an empty one too.
bool is_text_at_path(const Output& output);
// Whether bytes are one: UTF-8 without a NUL character, as Kubeflow Pipelines can hand it on.
bool is_text(std::string_view bytes);

// A type of metrics: "Metrics", "system.ClassificationMetrics", "SlicedClassificationMetrics".
bool holds_metrics(const Output& output);

struct ReturnedArtifact {
  Json metadata = Json::object();
  std::vector<std::string> places;  // its uri and its own path, as far as the program names them: it may say that its artifact lies elsewhere
};
ReturnedArtifact returned_artifact(const Json& executor_output, const std::string& name);

}  // namespace trainstep::spec
