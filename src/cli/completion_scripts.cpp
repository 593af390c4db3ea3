// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

namespace trainstep::cli {
namespace {

// readline replaces only what follows the last = or @ ($2).
constexpr std::string_view bash = R"sh(# Completion of trainstep for bash: source <(trainstep completion bash)
_trainstep() {
  local word help
  COMPREPLY=()
  while IFS=$'\t' read -r word help; do
    case $word in
      :files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "${2#[@=]}") ;;
      :folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "${2#[@=]}") ;;
      *) COMPREPLY+=("$word") ;;
    esac
  done < <("$1" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _trainstep trainstep
)sh";

constexpr std::string_view zsh = R"sh(#compdef trainstep
# Completion of trainstep for zsh: source <(trainstep completion zsh), or this as _trainstep in a folder of fpath
_trainstep() {
  local line
  local -a candidates answer
  answer=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compset -P '--[a-z0-9_-]#='
  for line in $answer; do
    case $line in
      :files) compset -P '@'; _files; return ;;
      :folders) _files -/; return ;;
      *) candidates+=("${line/$'\t'/:}") ;;
    esac
  done
  _describe trainstep candidates
}
if [[ ${funcstack[1]} == _trainstep ]]; then _trainstep "$@"; else compdef _trainstep trainstep; fi
)sh";

constexpr std::string_view fish = R"sh(# Completion of trainstep for fish: trainstep completion fish | source
function __trainstep_words
  set -l before (commandline -opc)
  set -l word (commandline -ct)
  set -l front (string match -r -- '^(?:--[a-z0-9_-]+=)?@?' "$word")
  set -l rest (string replace -- "$front" '' "$word")
  for line in ($before[1] completion words -- $before[2..-1] "$word" 2>/dev/null)
    switch $line
      case :files
        printf '%s\n' "$front"(__fish_complete_path "$rest")
      case :folders
        printf '%s\n' "$front"(__fish_complete_directories "$rest" '')
      case '*'
        echo "$front$line"
    end
  end
end
complete -c trainstep -f -a '(__trainstep_words)'
)sh";

}  // namespace

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return bash;
  if (shell == "zsh") return zsh;
  return shell == "fish" ? fish : std::string_view();
}

}  // namespace trainstep::cli
