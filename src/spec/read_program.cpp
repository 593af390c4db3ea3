// SPDX-License-Identifier: Apache-2.0
#include "spec/read_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/python_json.h"
#include "data/secrets.h"
#include "data/yaml.h"
#include "spec/diagnosis.h"
#include "spec/plain.h"
#include "spec/v1_component.h"
#include "spec/v2_ir.h"

namespace trainstep::spec {
namespace {

constexpr std::string_view what = "train_specification";

// JSON is parsed as JSON (fast, with its own messages); text that only resembles it, such as {image: x}, as YAML.
Result<std::vector<Json>> read_documents(std::string_view text) {
  const bool braces = trim(text).starts_with('{');
  if (!braces) return parse_python_yaml_documents(text, what);
  auto json = parse_python_json(text, what);
  if (!json) {
    auto documents = parse_python_yaml_documents(text, what);
    if (documents) return documents;
    return std::move(json.error());
  }
  std::vector<Json> documents;
  documents.push_back(std::move(*json));
  return documents;
}

bool has(const Json& document, std::string_view key) { return document.is_object() && find(document, key) != nullptr; }

bool is_platform(const Json& document) { return has(document, "platforms") && !has(document, "deploymentSpec"); }

Result<Program> read(std::string_view text, std::string_view component) {
  auto documents = read_documents(text);
  if (!documents) {
    // Text that is not even YAML may still be a known mistake, such as "<function train at 0x7f…>".
    if (trim(text).starts_with('<') || trim(text).starts_with("{{")) return explain_unknown(text, nullptr);
    return std::move(documents.error());
  }
  std::erase(*documents, Json(nullptr));
  Json platform;
  if (documents->size() == 2) {
    const auto found = std::find_if(documents->begin(), documents->end(), is_platform);
    if (found != documents->end()) {
      platform = std::move(*found);
      documents->erase(found);
    }
  }
  if (documents->size() > 1)
    return input_error(
        fmt::format("{}: expected one component, got {} documents (KFP v2 IR may have a second one with `platforms`)", what, documents->size()));
  const auto document = documents->empty() ? Json(nullptr) : std::move(documents->front());
  if (has(document, "implementation")) return read_v1_component(document);
  if (has(document, "deploymentSpec") || has(document, "pipelineSpec")) return read_v2_ir(document, platform, std::string(component));
  if (has(document, "image")) return read_plain(document);
  return explain_unknown(text, document);
}

}  // namespace

Result<Program> read_program(std::string_view text, std::string_view component) {
  auto program = read(text, component);
  if (!program) return without_secrets_of(text, program.error());
  return program;
}

}  // namespace trainstep::spec
