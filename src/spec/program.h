// The training program, independent of the format in which it was given. The other modules know only this.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/json.h"

namespace trainstep::spec {

// Determines how values are written into a command line (plan/value_text.h) and which paths the program expects.
enum class Dialect {
  v1,     // component text of the KFP SDK 1.8 (func_to_component_text, or hand-written)
  v2,     // IR of the KFP SDK 2.x: the program may read everything from {{$}}, the executor input
  plain,  // {"image": …, "command": […], "args": […]}: inputs and outputs are those named by its placeholders
};

enum class Type { string, integer, number, boolean, list, object, any, artifact };

struct Input {
  std::string name;                   // the formal name, as used in train_parameters
  Type type = Type::any;              // artifact: the program gets a path (v1: it uses inputPath or inputUri)
  std::string declared;               // the type as written in the specification: "Integer", "typing.List[int]", "system.Dataset"
  std::optional<Json> default_value;  // of the JSON type that corresponds to `type`; v1 writes defaults as strings, here they are parsed
  bool optional = false;              // may be omitted, even without a default
  std::vector<Json> allowed;          // the only permitted values (v2 `literals`); empty: any
};

// An output is a value if the program writes it as one short text of a declared type; otherwise it is an artifact, a file or a folder. v2 states
// which. v1 does not; there a value is
//   - any output after `----output-paths` in args: what a Python function returned (func_to_component_text), of any type, and
//   - any other output of type Integer, Float, Boolean, JsonArray or JsonObject;
// everything else is an artifact, including String: OutputPath(str), such as model_dir in the published notebooks, is a folder. plain: as v1.
struct Output {
  std::string name;
  Type type = Type::any;  // artifact: a file or folder; else a value that the program returns
  std::string declared;   // "Model", "system.Model", "Integer", "Optional[Integer]", …
};

// One element of a command line before its values are known; a tree, because conditions and concatenations nest.
struct Argument {
  enum class Kind {
    text,                  // `text` unchanged
    input_value,           // the value of input `text`, in the notation of the program's dialect
    input_path,            // local path of the input artifact `text`
    input_uri,             //
    output_path,           // local path where the program writes output `text` (artifact or value)
    output_uri,            //
    executor_input,        // v2's {{$}}: the ExecutorInput as JSON text
    executor_output_file,  // v2's {{$.outputs.output_file}}
    concat,                // `parts` joined to one word
    if_present,            // `parts` if input `text` is given (or has a default), else `otherwise`; any number of words
    if_true,               // `parts` if `condition` renders as y, yes, t, true, on or 1 (any case), else `otherwise`; no words count as false
  };
  Kind kind = Kind::text;
  std::string text;
  std::vector<Argument> parts;
  std::vector<Argument> otherwise;
  std::vector<Argument> condition;
};

// Resources requested by the specification itself (v2 IR `container.resources`); Kubernetes quantities as text, empty if not given.
struct RequestedResources {
  std::string cpus;
  std::string memory;
  std::string gpus;
  std::string gpu_resource;  // "nvidia.com/gpu"
};

struct Program {
  Dialect dialect = Dialect::plain;
  std::string source = "train_specification";  // the input that it comes from, for messages and `render --explain`
  std::string name;                            // for display: "Train model", "train-model"
  std::string image;                           // empty: not given
  std::vector<Argument> command;
  std::vector<Argument> args;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::pair<std::string, Argument>> path_environment;  // variables whose value is the path of an input or output (plain)
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  RequestedResources resources;
  Json platform = nullptr;  // the settings of a second, kfp-kubernetes document, as `job_options` (spec/platform.h)
};

// Find by formal name; null: not declared. The pointers refer to `program`.
const Input* find_input(const Program& program, std::string_view name);
const Output* find_output(const Program& program, std::string_view name);

}  // namespace trainstep::spec
