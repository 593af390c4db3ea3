// SPDX-License-Identifier: Apache-2.0
#include "result/excluded_lines.h"

#include <algorithm>
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

namespace {

constexpr std::array<std::string_view, 6> loaded_things{"checkpoint", "ckpt", "model", "weights", "snapshot", "state"};

// The position of a word with that beginning; npos: there is none.
std::size_t find_word(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    if (at == 0 || !is_letter(text[at - 1])) return at;
  return std::string_view::npos;
}

// "the best weights": their values are read as such, best_loss.
bool names_best(std::string_view text) {
  return std::ranges::any_of(loaded_things, [&](std::string_view what) { return contains(text, "best " + std::string(what)); });
}

// "Restored checkpoint: …", "Rolled back to checkpoint …", "Restoring from …", "restored epoch 3".
bool begins_with_loading(std::string_view text) {
  for (const std::string_view verb : {"loaded ", "loading ", "resumed ", "resuming ", "restored ", "restoring ", "reverted ", "reverting ",
                                      "rolled back ", "rolling back ", "continuing from ", "starting from "}) {
    const auto at = find_word(text, verb);
    if (at == std::string_view::npos) continue;
    const auto rest = text.substr(at);
    if (verb.starts_with("restor") && names_best(rest)) continue;
    const auto is_there = [&](std::string_view what) { return contains(rest, what); };
    if (std::ranges::any_of(loaded_things, is_there) || (!verb.ends_with("from ") && contains(rest, " from "))) return true;
    if (rest.substr(verb.size()).starts_with("epoch")) return true;
  }
  return false;
}

// "Checkpoint loaded, …", "checkpoint x.pt was restored (…". Values before that are the program's own: "loss=0.1, checkpoint loaded".
bool ends_with_loading(std::string_view text) {
  for (const std::string_view verb : {"loaded", "restored", "resumed"}) {
    const auto at = find_word(text, verb);
    if (at == std::string_view::npos || (at + verb.size() < text.size() && is_letter(text[at + verb.size()]))) continue;
    const auto before = text.substr(0, at);
    const auto is_there = [&](std::string_view what) { return find_word(before, what) != std::string_view::npos; };
    if (before.find('=') == std::string_view::npos && std::ranges::any_of(loaded_things, is_there)) return true;
  }
  return false;
}

// "Found checkpoint with …"; not "found a new best checkpoint".
bool finds_checkpoint(std::string_view text) {
  const auto at = find_word(text, "found ");
  if (at == std::string_view::npos) return false;
  const auto rest = text.substr(at);
  return (contains(rest, "checkpoint") || contains(rest, "ckpt") || contains(rest, "snapshot")) && !contains(rest, " new ");
}

}  // namespace

bool tells_of_loading(std::string_view text) {
  if (text.find_first_of("lLrRfF") == std::string_view::npos) return false;
  const auto folded = lower(text);
  return begins_with_loading(folded) || ends_with_loading(folded) || finds_checkpoint(folded);
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
