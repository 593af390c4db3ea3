// Completion in a shell: a small script for each shell asks the program itself for the candidates.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/guide.h"

namespace trainstep::cli {

struct Candidates {
  enum class Paths { none, files, folders };
  struct Word {
    std::string text, help;
  };
  std::vector<Word> words;
  Paths paths = Paths::none;  // not none: the shell completes file names itself
};

// `words`: those after the name of the program, the last of which is being typed and may be empty. Of "--flag=value" and "@file" only the part after
// "=" or "@" is completed. bash passes these characters as separate words; that is supported as well.
Candidates complete(const Command& program, const std::vector<std::string>& words);

// One line each: "word<TAB>help"; or ":files" or ":folders" as the only line.
std::string lines_of(const Candidates& candidates);

// The script for "bash", "zsh" or "fish"; empty: unknown shell.
std::string_view completion_script(std::string_view shell);

}  // namespace trainstep::cli
