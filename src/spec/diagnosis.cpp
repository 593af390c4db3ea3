// SPDX-License-Identifier: Apache-2.0
#include "spec/diagnosis.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "data/place.h"

namespace trainstep::spec {
namespace {

constexpr std::string_view formats =
    "expected a KFP v1 component (key `implementation`, as func_to_component_text writes), KFP v2 IR (key `deploymentSpec`, as "
    "Compiler().compile(component, \"train.yaml\") writes), or {\"image\": ..., \"command\": [...], \"args\": [...]}";

bool is_file_name(std::string_view text) {
  if (text.size() > 4096 || text.find_first_of("\n{}[]<>\"") != std::string_view::npos || text.find(": ") != std::string_view::npos) return false;
  const auto name = lower(text);
  for (const std::string_view end : {".yaml", ".yml", ".json", ".py"})
    if (name.ends_with(end)) return true;
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../");
}

// "<function train at 0x7f…>", "<kfp.dsl.python_component.PythonComponent object at 0x…>"
bool is_python_object(std::string_view text) { return text.starts_with('<') && text.ends_with('>') && text.find(" at 0x") != std::string_view::npos; }

Error explain_text(std::string_view text) {
  if (text.empty()) return input_error(fmt::format("train_specification: is empty; {}", formats));
  if (is_python_object(text))
    return input_error(
        fmt::format("train_specification: got the repr of a Python object, {}; pass the output of func_to_component_text(function) (SDK 1.8), or the "
                    "file that Compiler().compile(component, \"train.yaml\") writes (SDK 2.x)",
                    show_text(text)));
  if (is_file_name(text)) {
    if (lower(text).ends_with(".py"))
      return input_error(fmt::format("train_specification: {} is a Python file, not a specification; {}", show_text(text), formats));
    return input_error(fmt::format("train_specification: {} is a file name, not its content; write @{} on the command line, or pass the content",
                                   show_text(text), text.substr(0, 200)));
  }
  if (text.starts_with("{{"))
    return input_error(
        fmt::format("train_specification: {} is a placeholder that was not filled in; check the name in the pipeline", show_text(text)));
  return input_error(fmt::format("train_specification: {} is not a training program; {}", show_text(text), formats));
}

}  // namespace

Error explain_unknown(std::string_view text, const Json& document) {
  if (!document.is_object()) {
    if (document.is_array()) return input_error(fmt::format("train_specification: got a list; {}", formats));
    return explain_text(trim(text));
  }
  const auto *version = find(document, "apiVersion"), *kind = find(document, "kind");
  if (version != nullptr && kind != nullptr && kind->is_string())
    return input_error(fmt::format("train_specification: got a Kubernetes manifest (kind {}), not a training program; {}",
                                   show_text(kind->get<std::string>()), formats));
  if (find(document, "command") != nullptr || find(document, "args") != nullptr)
    return input_error("train_specification.image: is missing; set it, or use \"\" for base_image");
  const std::vector<std::string> known{"implementation", "deploymentSpec", "pipelineSpec", "image"};
  std::vector<std::string> keys;
  std::size_t count = 0;
  for (const auto& [key, value] : document.items()) {
    if (++count > 20) break;
    if (const auto near = nearest(key, known))
      return input_error(fmt::format("train_specification: unknown key {}; did you mean \"{}\"?", show_text(key), *near));
    keys.push_back(show_text(key));
  }
  return input_error(fmt::format("train_specification: unknown format (keys: {}); {}", keys.empty() ? "none" : join(keys, ", "), formats));
}

}  // namespace trainstep::spec
