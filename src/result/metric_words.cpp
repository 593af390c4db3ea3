// SPDX-License-Identifier: Apache-2.0
#include "result/metric_words.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/text.h"

namespace trainstep::result {
namespace {

struct Entry {
  std::string_view word;
  Word kind;
};

constexpr auto metric_words = std::to_array<std::string_view>(
    {"acc",  "accuracies", "accuracy", "auc",    "aucpr",   "auprc",  "auroc",    "bleu",    "bpb",        "bpc",    "cer",   "crossentropy", "dice",
     "elbo", "f1",         "fbeta",    "fid",    "inertia", "iou",    "kld",      "logloss", "loss",       "losses", "lpips", "mae",          "mape",
     "mcc",  "miou",       "mlogloss", "mrr",    "mse",     "msle",   "ndcg",     "nll",     "perplexity", "ppl",    "prec",  "psnr",         "r2",
     "rmse", "rmsle",      "rouge",    "rouge1", "rouge2",  "rougel", "spearman", "ssim",    "top1",       "top5",   "wer"});
constexpr auto weak_words =
    std::to_array<std::string_view>({"entropy", "err", "error", "kappa", "kl", "map", "precision", "recall", "return", "reward", "score", "scores"});
constexpr auto beside_words = std::to_array<std::string_view>({"grad", "gradient", "learning", "lr", "mfu", "norm", "rate", "throughput"});
constexpr auto qualifier_words = std::to_array<std::string_view>(
    {"absolute", "agg",     "at",         "aux",     "auxiliary", "average",       "avg",    "balanced", "best",      "binary",         "ce",
     "cls",      "cross",   "cumulative", "current", "d",         "discriminator", "final",  "g",        "generator", "global",         "last",
     "lm",       "macro",   "mean",       "micro",   "mlm",       "moe",           "mtp",    "overall",  "policy",    "reconstruction", "roc",
     "root",     "running", "samples",    "set",     "smooth",    "squared",       "tokens", "top",      "total",     "value",          "weighted"});
constexpr auto link_words = std::to_array<std::string_view>({"and", "by", "for", "from", "in", "is", "of", "on", "than", "the", "to", "was", "with"});
constexpr auto setting_words = std::to_array<std::string_view>(
    {"alpha",  "beta",     "budget",   "coef",      "coefficient", "config", "decay",   "delta",  "epochs",   "eps",    "epsilon",
     "factor", "fn",       "function", "gain",      "gamma",       "lambda", "limit",   "margin", "patience", "power",  "reduction",
     "scale",  "schedule", "target",   "threshold", "tolerance",   "type",   "version", "warmup", "weight",   "weights"});
constexpr auto train_words = std::to_array<std::string_view>({"train", "training"});
constexpr auto test_words =
    std::to_array<std::string_view>({"dev", "eval", "evaluation", "holdout", "test", "testing", "val", "valid", "validation"});
constexpr auto epoch_words = std::to_array<std::string_view>({"epoch"});
constexpr auto step_words = std::to_array<std::string_view>({"batch", "episode", "iter", "iteration", "round", "step", "steps", "update"});
constexpr auto level_words = std::to_array<std::string_view>({"critical", "debug", "info", "warning"});

constexpr auto table = [] {
  std::array<Entry, metric_words.size() + weak_words.size() + beside_words.size() + qualifier_words.size() + link_words.size() +
                        setting_words.size() + train_words.size() + test_words.size() + epoch_words.size() + step_words.size() + level_words.size()>
      all{};
  std::size_t size = 0;
  const auto put = [&](const auto& words, Word kind) {
    for (const auto word : words) all[size++] = {word, kind};
  };
  put(metric_words, Word::metric);
  put(weak_words, Word::weak);
  put(beside_words, Word::beside);
  put(qualifier_words, Word::qualifier);
  put(link_words, Word::link);
  put(setting_words, Word::setting);
  put(train_words, Word::train);
  put(test_words, Word::test);
  put(epoch_words, Word::epoch);
  put(step_words, Word::step);
  put(level_words, Word::level);
  std::ranges::sort(all, {}, &Entry::word);
  return all;
}();
// Where each letter's words begin, and behind the last one's their end.
constexpr auto starts = [] {
  std::array<std::uint8_t, 27> all{};
  for (const auto& entry : table)
    for (auto letter = static_cast<std::size_t>(entry.word.front() - 'a') + 1; letter < all.size(); ++letter) ++all[letter];
  return all;
}();
constexpr std::size_t longest = 14;  // of these words
static_assert(table.size() < 256 && std::ranges::all_of(table, [](const Entry& entry) { return entry.word.size() <= longest; }));

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
char folded(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

// The lengths of each letter's words, a bit for each: most words of a log end the search here.
constexpr auto lengths = [] {
  std::array<std::uint16_t, 26> all{};
  for (const auto& entry : table) all[static_cast<std::size_t>(entry.word.front() - 'a')] |= static_cast<std::uint16_t>(1U << entry.word.size());
  return all;
}();

std::optional<Word> look_up(std::string_view part) {
  if (part.empty() || part.size() > longest || !is_lower(folded(part.front()))) return {};
  const auto letter = static_cast<std::size_t>(folded(part.front()) - 'a');
  if ((lengths[letter] >> part.size() & 1U) == 0) return {};
  for (std::size_t at = starts[letter]; at < starts[letter + 1]; ++at) {
    const auto word = table[at].word;
    if (word.size() != part.size()) continue;
    std::size_t same = 1;
    while (same < word.size() && word[same] == folded(part[same])) ++same;
    if (same == word.size()) return table[at].kind;
  }
  return {};
}

// The first part of `rest`, which it takes off: letters of one hump ("train" of "trainLoss") with the digits behind them.
std::string_view take_part(std::string_view& rest) {
  while (!rest.empty() && !is_lower(folded(rest.front()))) rest.remove_prefix(1);
  std::size_t end = 0;
  while (end < rest.size() && is_lower(folded(rest[end])) && !(end > 0 && is_lower(rest[end - 1]) && is_upper(rest[end]))) ++end;
  auto digits = end;
  while (digits < rest.size() && is_digit(rest[digits])) ++digits;
  const auto part = rest.substr(0, digits > end && look_up(rest.substr(0, digits)) ? digits : end);
  rest.remove_prefix(digits);
  return part;
}

// mAP50, mIoU: the small letter before an abbreviation belongs to it.
bool has_inner_capital(std::string_view word) { return word.size() > 2 && word[0] == 'm' && is_upper(word[1]); }

std::string_view letters_at_front(std::string_view word) {
  const auto end = std::ranges::find_if(word, [](char c) { return !is_lower(folded(c)); });
  return word.substr(0, static_cast<std::size_t>(end - word.begin()));
}

}  // namespace

bool is_level(std::string_view word) {
  return std::ranges::any_of(level_words, [&](std::string_view level) {
    return level.size() == word.size() && std::equal(level.begin(), level.end(), word.begin(), [](char a, char b) { return a == folded(b); });
  });
}

Word kind_of_last(std::string_view word) {
  Word last = Word::unknown;
  for (auto rest = word; !rest.empty();)
    if (const auto part = take_part(rest); !part.empty()) last = look_up(part).value_or(Word::unknown);
  return last;
}

Word kind_of(std::string_view word) {
  if (const auto whole = look_up(word)) return *whole;
  if (has_inner_capital(word))
    if (look_up(letters_at_front(word)) == Word::weak) return Word::metric;
  bool metric = false, weak = false, beside = false, setting = false, other = false;
  Word first = Word::unknown;
  for (auto rest = word; !rest.empty();) {
    const auto part = take_part(rest);
    if (part.empty()) break;
    if (part.size() == word.size()) return Word::unknown;  // as a whole it has been looked up
    const auto kind = look_up(part).value_or(Word::unknown);
    if (first == Word::unknown) first = kind;
    metric = metric || kind == Word::metric;
    weak = weak || kind == Word::weak;
    beside = beside || kind == Word::beside;
    setting = setting || kind == Word::setting;
    other = other || kind == Word::unknown;
  }
  if (setting) return metric || weak ? Word::beside : Word::setting;
  if (metric) return Word::metric;
  if (weak) return Word::weak;
  if (beside) return other ? Word::unknown : Word::beside;
  return other ? Word::unknown : first;
}

std::string_view role_of(std::string_view word) {
  for (auto rest = word; !rest.empty();) {
    const auto part = take_part(rest);
    const auto kind = look_up(part);
    if (kind == Word::train || kind == Word::test) return part;
  }
  return {};
}

std::string plain_name(std::string_view word) {
  for (std::size_t i = 1; i < word.size(); ++i)
    if (is_lower(word[i - 1]) && is_upper(word[i])) return std::string(word);
  return lower(word);
}

}  // namespace trainstep::result
