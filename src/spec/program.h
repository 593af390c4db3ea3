// The training program, whatever format it came in: the one value that the rest of the house knows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/json.h"

namespace trainstep::spec {

// Decides how values are written into a command line (plan/value_text.h) and which paths the program expects.
enum class Dialect {
  v1,     // component text of the KFP SDK 1.8 (func_to_component_text, or hand-written)
  v2,     // IR of the KFP SDK 2.x: the program may read everything from {{$}}, the executor input
  plain,  // {"image": …, "command": […], "args": […]}: inputs and outputs are those that its placeholders name
};

enum class Type { string, integer, number, boolean, list, object, any, artifact };

struct Input {
  std::string name;                   // the formal name, as train_parameters spells it
  Type type = Type::any;              // artifact: the program gets a path (v1: it uses inputPath or inputUri)
  std::string declared;               // the type as the specification writes it: "Integer", "typing.List[int]", "system.Dataset"
  std::optional<Json> default_value;  // typed by `type`; v1 writes defaults as text, here they are parsed
  bool optional = false;              // may be left out, even without a default
  std::vector<Json> allowed;          // the only values it takes (v2 `literals`); empty: any
};

// An output is a value when the program writes it as one small text of a declared type, else an artifact, a file or a folder. v2 says which. v1 does
// not; there a value is
//   - what stands behind `----output-paths` in args: what a Python function returned (func_to_component_text), of any type, and
//   - any other output of type Integer, Float, Boolean, JsonArray or JsonObject;
// everything else is an artifact, String too: OutputPath(str), the published notebooks' model_dir, is a folder. plain: as v1.
struct Output {
  std::string name;
  Type type = Type::any;  // artifact: a file or folder; else a value that the program returns
  std::string declared;   // "Model", "system.Model", "Integer", "Optional[Integer]", …
};

// One element of a command line before its values are known; a tree, because conditions and concatenations nest.
struct Argument {
  enum class Kind {
    text,                  // `text` as it is
    input_value,           // the value of input `text`, written in the program's dialect
    input_path,            // local path of the input artifact `text`
    input_uri,             //
    output_path,           // local path where the program writes output `text` (artifact or value)
    output_uri,            //
    executor_input,        // v2's {{$}}: the ExecutorInput as JSON text
    executor_output_file,  // v2's {{$.outputs.output_file}}
    concat,                // `parts` joined to one word
    if_present,            // `parts` when input `text` is given (or has a default), else `otherwise`; any number of words
    if_true,               // `parts` when `condition` renders as y, yes, t, true, on or 1 (any case), else `otherwise`; no words at all are false
  };
  Kind kind = Kind::text;
  std::string text;
  std::vector<Argument> parts;
  std::vector<Argument> otherwise;
  std::vector<Argument> condition;
};

// What the specification itself asks for (v2 IR `container.resources`); Kubernetes quantities as text, empty when not given.
struct RequestedResources {
  std::string cpus;
  std::string memory;
  std::string gpus;
  std::string gpu_resource;  // "nvidia.com/gpu"
};

struct Program {
  Dialect dialect = Dialect::plain;
  std::string name;   // for people: "Train model", "train-model"
  std::string image;  // empty: not given
  std::vector<Argument> command;
  std::vector<Argument> args;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  RequestedResources resources;
  Json platform = nullptr;  // what a second, kfp-kubernetes document asks for, in the words of `job_options` (spec/platform.h)
};

const Input* find_input(const Program& program, std::string_view name);
const Output* find_output(const Program& program, std::string_view name);

}  // namespace trainstep::spec
