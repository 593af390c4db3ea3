// Completion in a shell: a small script for each asks the program itself what could stand at a word's place.
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
  Paths paths = Paths::none;  // not none: the shell completes names of files itself
};

// `words`: those behind the program's name, the last one the one that is being written, which may be empty. Of "--flag=value" and "@file" only what
// stands behind "=" or "@" is completed. bash hands over these characters as words of their own; they are understood, too.
Candidates complete(const Command& program, const std::vector<std::string>& words);

// One line for each: "word<TAB>help"; ":files" or ":folders" as the only line.
std::string to_text(const Candidates& candidates);

// The script for "bash", "zsh" or "fish"; empty: no such shell.
std::string_view completion_script(std::string_view shell);

}  // namespace trainstep::cli
