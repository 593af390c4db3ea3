// Determines whether a distributed program starts its ranks itself.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <regex>

#include "plan/plan.h"

namespace trainstep::plan {
namespace {

using spec::Argument;

constexpr std::array<std::string_view, 8> rank_launchers{"torchrun",   "mpirun",     "mpiexec",   "mpiexec.hydra",
                                                         "horovodrun", "accelerate", "deepspeed", "orterun"};

bool launches_ranks(std::string_view word) {
  const auto name = word.substr(word.rfind('/') + 1);
  return std::find(rank_launchers.begin(), rank_launchers.end(), name) != rank_launchers.end();
}

bool is_shell(std::string_view word) {
  const auto name = word.substr(word.rfind('/') + 1);
  return name == "sh" || name == "bash" || name == "dash" || name == "ash";
}

// A command in a shell script: at its start, after a separator, or after exec.
bool script_launches_ranks(const std::string& script) {
  static const std::regex launcher(
      R"((^|[;&|(\n]|exec|then|do)\s*([^\s;&|]*/)?(torchrun|mpirun|mpiexec|horovodrun|accelerate|deepspeed|orterun)(\s|$))");
  static const std::regex torch_module(R"(-m\s+torch\.distributed\.(run|launch)\b)");
  return std::regex_search(script, launcher) || std::regex_search(script, torch_module);
}

}  // namespace

bool starts_own_ranks(const spec::Program& program) {
  std::vector<std::string_view> words;
  for (const auto* list : {&program.command, &program.args})
    for (const auto& argument : *list) words.push_back(argument.kind == Argument::Kind::text ? std::string_view(argument.text) : std::string_view());
  if (words.empty()) return false;
  if (launches_ranks(words.front())) return true;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "-m" && (words[i + 1] == "torch.distributed.run" || words[i + 1] == "torch.distributed.launch")) return true;
    // The script of a shell; longer texts are programs, in which a regular expression would find false matches.
    constexpr std::size_t max_script_length = 4000;
    if (is_shell(words.front()) && words[i].starts_with('-') && words[i].ends_with('c') && words[i + 1].size() < max_script_length &&
        script_launches_ranks(std::string(words[i + 1])))
      return true;
  }
  return false;
}

}  // namespace trainstep::plan
