// SPDX-License-Identifier: Apache-2.0
#include "result/excluded_lines.h"

#include <array>
#include <string>

#include "base/text.h"
#include "result/metric_text.h"

namespace trainstep::result {

bool is_command(std::string_view text) {
  for (const std::string_view begin : {"+ ", "$ ", "export ", "declare ", "set "})
    if (text.starts_with(begin)) return true;
  const auto python = text.find("python");
  return (python != std::string_view::npos && text.find(".py ", python) != std::string_view::npos) || contains(text, "[HYDRA]");
}

bool tells_of_loading(std::string_view text) {
  const auto load = text.find_first_of("lLrR");
  if (load == std::string_view::npos) return false;
  const auto folded = lower(text);
  for (const std::string_view verb : {"loaded ", "loading ", "resumed ", "resuming "}) {
    const auto at = folded.find(verb);
    if (at == std::string::npos || (at > 0 && is_letter(folded[at - 1]))) continue;
    for (const std::string_view what : {"checkpoint", "ckpt", "model", "weights", "snapshot", "state", " from "})
      if (folded.find(what, at) != std::string::npos) return true;
  }
  return contains(folded, "restored epoch") || contains(folded, "restoring epoch");
}

bool is_rich_traceback(std::string_view text) { return text.starts_with("\u2502 \u2502 ") || text.starts_with("\u2502 \u2771 "); }

bool names_settings(std::string_view word) {
  constexpr std::array<std::string_view, 9> words{"args",    "arguments", "config",  "configuration", "hparams", "hyperparameters",
                                                  "options", "params",    "settings"};
  return one_of(lower(word), words);
}

bool heads_settings(std::string_view text) {
  const auto before = text.substr(0, text.find('='));
  const auto colon = before.find_last_of(":");
  if (colon == std::string_view::npos || before.size() == text.size()) return text.find(" will be ignored") != std::string_view::npos;
  auto word = trim(before.substr(0, colon));
  word.remove_prefix(word.find_last_of(" \t]:") + 1);
  return names_settings(word);
}

}  // namespace trainstep::result
