// What the tests of whole sessions share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "data/digest.h"
#include "data/json.h"
#include "run/listener.h"
#include "support/fake_transport.h"

namespace trainstep::test {

// What the step says, line by line.
struct Told : run::Listener {
  std::string text;
  void say(Time /*now*/, const std::string& line) override { text += line + '\n'; }
  void warn(Time /*now*/, const std::string& line) override { text += line + '\n'; }
  [[nodiscard]] std::size_t count(const std::string& part) const {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
};

// The answer to a GET of a Secret.
inline Reply secret(const std::string& name, const std::map<std::string, std::string>& values) {
  Json data = Json::object();
  for (const auto& [key, value] : values) data[key] = encode_base64(value);
  return Reply::text(to_text(Json{{"metadata", {{"name", name}}}, {"data", data}}));
}

}  // namespace trainstep::test
