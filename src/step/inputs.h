// All inputs of the interface, from flags, files or KFP's executor input. They are only read here, not interpreted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/request.h"

namespace trainstep::step {

// One flag of the command line: its name without leading dashes; `-` and `_` are the same. Empty name: a word that belongs to no flag.
struct Flag {
  std::string name;
  std::string value;
};
using Flags = std::vector<Flag>;

// At most `limit` bytes of a file. Errors as read_file() of base/files.h.
using FileReader = std::function<Result<std::string>(const std::string& path, std::size_t limit)>;

// What the step reads from its environment.
struct Context {
  std::map<std::string, std::string> environment;
  FileReader read_file;
  std::vector<std::string> other_flags{};             // of the command, without dashes: one of them may be meant by an unknown flag
  std::optional<std::vector<std::string>> command{};  // the words after --: the training program (command_program.h); nullopt: no --
};

// Where an output of the step goes.
struct OutputTarget {
  enum class Kind {
    file,       // path on the command line
    parameter,  // KFP v2 output parameter: the value goes to this file and to the executor output
    artifact,   // KFP v2 artifact: file or folder; its metadata goes to the executor output
  };
  std::string name;  // "metrics", "job_name", …
  Kind kind = Kind::file;
  std::string path;  // empty: an address without a local path
  std::string uri;   // of an artifact, or of a model given on the command line
  std::string type;  // of an artifact: schema title, "system.Metrics"; empty if unknown
};

struct Inputs {
  plan::Request request;
  std::vector<OutputTarget> targets;
  std::string executor_output_file;  // KFP v2: path of the executor output; empty outside KFP v2
  bool from_executor_input = false;  // KFP v2: this is a step of a pipeline
  bool python_json = false;          // results in a file given on the command line: non-finite numbers as Python writes them, not as strings
  // For a step whose program trains elsewhere: one sentence for each variable of this process that it does not get although its name matches.
  std::vector<std::string> not_passed_on;
  std::vector<std::string> secrets;  // must not appear in what the step writes about itself
};

// An input or output of the interface, for help texts and to check what is given.
struct Field {
  enum class Shape { path, specification, object, selector, text };
  std::string_view name;  // the spelling in pipelines: "train_dataset_dir"
  Shape shape;
  std::string_view help;
};
// All inputs and outputs of the interface, in the order of specs/interface.json.
const std::vector<Field>& input_fields();
const std::vector<Field>& output_fields();
// "train-dataset-dir"; "job-name-file" for the output job_name.
std::string flag_name(const Field& field);

// Rules, for every input:
//   * a text `@file` stands for the file's content, `base64:…` is decoded (in a file, too), `@@…` is a text with one `@` in front
//   * empty text is "not given" (the SDK 1.8 sends omitted inputs so)
//   * objects may come as JSON text, numbers as text, 2 as 2.0
//   * executor-input: a JSON object wins over all other flags; `{{$}}`, empty or absent: the flags count
//   * words and values that begin with {"IfPresent": are what old backends leave of an absent input: ignored
// Errors: usage (a flag that does not exist or is given twice), input (all others, named after the input).
Result<Inputs> read_inputs(const Flags& flags, const Context& context);

}  // namespace trainstep::step
