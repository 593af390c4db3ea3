// Any bytes as YAML or JSON: what is read is valid, and comes back the same after it was written as YAML and as JSON.
// SPDX-License-Identifier: Apache-2.0
#include "data/yaml.h"

#include <cstdint>
#include <string_view>

using namespace trainstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ReadLimits limits;
  limits.nodes = 20'000;  // an alias bomb is found soon enough
  const auto documents = parse_yaml_documents({reinterpret_cast<const char*>(data), size}, "it", limits);
  if (!documents) {
    if (documents.error().kind != ErrorKind::input || !documents.error().message.starts_with("it: ")) __builtin_trap();
    return 0;
  }
  const ReadLimits wide{.bytes = std::size_t{1} << 30U, .depth = 200, .nodes = 40'000};
  for (const auto& document : *documents) {
    const auto text = document.dump();  // throws if a string is no UTF-8
    const auto from_yaml = parse_yaml(to_yaml(document), "written", wide);
    if (!from_yaml || from_yaml->dump() != text) __builtin_trap();
    const auto from_json = parse_json(text, "written", wide);
    if (!from_json || from_json->dump() != text) __builtin_trap();
  }
  return 0;
}
