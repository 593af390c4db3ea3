// SPDX-License-Identifier: Apache-2.0
#include "result/metric_words.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "result/metric_text.h"

namespace trainstep::result {
namespace {

// Words in lower case, looked up by their first letter.
template <std::size_t N>
class Words {
 public:
  explicit constexpr Words(std::array<std::string_view, N> words) : m_words(words) {
    std::ranges::sort(m_words);
    for (std::size_t letter = 0, at = 0; letter < m_from.size(); ++letter) {
      while (at < N && static_cast<std::size_t>(m_words[at].front() - 'a') < letter) ++at;
      m_from[letter] = at;
    }
  }
  // False if `word` does not begin with a letter. Ignores case.
  [[nodiscard]] bool have(std::string_view word) const {
    if (word.empty() || !is_letter(word.front())) return false;
    const auto letter = static_cast<std::size_t>(lower_letter(word.front()) - 'a');
    for (auto at = m_from[letter]; at < m_from[letter + 1]; ++at)
      if (same_ignoring_case(word, m_words[at])) return true;
    return false;
  }

 private:
  std::array<std::string_view, N> m_words;
  std::array<std::size_t, 27> m_from{};
};

constexpr auto words(const auto&... word) { return Words(std::array<std::string_view, sizeof...(word)>{word...}); }

constexpr auto results =
    words("acc", "accuracy", "ap", "aps", "ar", "auc", "aucpr", "auprc", "auroc", "bleu", "bpb", "bpc", "cer", "chrf", "cider", "dice", "eer", "elbo",
          "f", "fid", "inertia", "iou", "jaccard", "kappa", "logloss", "lpips", "mae", "map", "mape", "mcc", "merror", "meteor", "miou", "mlogloss",
          "mrr", "mse", "ndcg", "nll", "pearson", "perplexity", "ppl", "prec", "psnr", "r", "rew", "reward", "rmse", "rmsle", "rouge", "rougel",
          "sacrebleu", "sensitivity", "smape", "spearman", "specificity", "ssim", "top", "wer");
constexpr auto usual =
    words("cost", "entropy", "kl", "likelihood", "loss", "losses", "metric", "objective", "precision", "recall", "score", "scores");
constexpr auto rates = words("err", "error", "gnorm", "lr");
// These count only with a number: f1, r2, top5, ap50. "map" is a Python function and occurs in settings; mAP is a metric.
constexpr auto numbered = words("ap", "ar", "f", "map", "r", "top");
constexpr auto settings =
    words("base", "bits", "budget", "coef", "coeff", "coefficient", "count", "decay", "desired", "duration", "early", "elapsed", "eps", "epsilon",
          "every", "expected", "factor", "fn", "format", "func", "function", "goal", "hour", "hours", "id", "index", "init", "initial", "interval",
          "level", "limit", "min", "minimum", "minute", "minutes", "num", "patience", "per", "port", "ratio", "required", "scale", "scaler",
          "schedule", "scheduler", "sec", "second", "seconds", "size", "sizes", "spent", "smoothing", "stop", "stopping", "target", "thr", "thresh",
          "threshold", "time", "tol", "tolerance", "type", "update", "version", "warmup", "weight", "weights");
// These count only with a rank: P@1, hits@10.
constexpr auto ranked = words("h", "hit", "hits", "hr", "p", "pass");
constexpr auto time_units =
    words("h", "hour", "hours", "hr", "hrs", "min", "mins", "minute", "minutes", "ms", "ns", "s", "sec", "second", "seconds", "secs", "us");
constexpr auto data = words("dev", "eval", "evaluate", "evaluating", "evaluation", "holdout", "inference", "oof", "predicting", "prediction", "test",
                            "testing", "train", "training", "val", "valid", "validate", "validating", "validation");
constexpr auto goals = words("desired", "expected", "goal", "min", "minimum", "required", "target", "threshold");
constexpr auto outcomes = words("average", "avg", "best", "final", "max", "mean", "overall", "running", "total");
// Of another model, or another time.
constexpr auto references = words("baseline", "best", "dummy", "ema", "highest", "lowest", "old", "prev", "previous", "random");
constexpr auto steps = words("batch", "global_step", "iter", "iteration", "iterations", "iters", "step", "steps");
constexpr auto of_errors = words("absolute", "percentage", "squared");  // "mean squared error"
constexpr auto suffixes = words("avg", "average", "mean", "score", "total", "value");
// At the end of a word: "acc_steps" is how many steps are accumulated.
constexpr auto counts = words("epochs", "freq", "frequency", "iters", "steps", "workers");

// A new word begins with an upper-case letter followed by a lower-case one: in testAcc, but not in mAP or IoU.
bool begins_word(std::string_view word, std::size_t at) {
  return is_upper(word[at]) && !is_upper(word[at - 1]) && at + 1 < word.size() && is_letter(word[at + 1]) && !is_upper(word[at + 1]);
}

// Calls with each part of a word, without its number, and with the rest of the word: "val", "Acc", "F", "mAP". Parts are separated by punctuation, by
// digits, and where a new word begins.
template <class Call>
void for_each_part(std::string_view word, const Call& call) {
  std::size_t at = 0;
  while (at < word.size()) {
    if (!is_letter(word[at])) {
      ++at;
      continue;
    }
    auto end = at + 1;
    while (end < word.size() && is_letter(word[end]) && !begins_word(word, end)) ++end;
    call(word.substr(at, end - at), word.substr(end));
    at = end;
  }
}

bool has_part(std::string_view word, bool (*known)(std::string_view part)) {
  bool found = false;
  for_each_part(word, [&](std::string_view part, std::string_view) { found = found || known(part); });
  return found;
}

// "top5", "ap50", "recall@10"; for F and R only one digit: f1, r2.
bool is_numbered(std::string_view part, std::string_view rest) {
  if (rest.size() > 1 && rest.front() == '@') return true;
  const auto digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  return part.size() == 1 ? digits == 1 : digits > 0;
}

// Whether it contains a hash, as in Kubernetes' suffixes and names of jobs: "cefcde6f96" in "digits-cefcde6f96-launcher". A hash has at least two
// runs of digits and a letter before the last one.
bool has_hash(std::string_view word) {
  int runs = 0;  // runs of digits
  bool letters = false;
  for (std::size_t at = 0; at < word.size(); ++at) {
    if (!is_digit(word[at]) && !is_letter(word[at])) {
      runs = 0;
      letters = false;
      continue;
    }
    letters = letters || is_letter(word[at]);
    if (is_digit(word[at]) && (at == 0 || !is_digit(word[at - 1]))) ++runs;
    if (letters && runs > 1) return true;
  }
  return false;
}

// "batch_cost", "avg_reader_cost": PaddlePaddle's seconds.
bool is_time(std::string_view word) {
  constexpr std::array<std::string_view, 3> times{"batch_cost", "data_cost", "reader_cost"};
  return std::ranges::any_of(
      times, [&](std::string_view time) { return word.size() >= time.size() && same_ignoring_case(word.substr(word.size() - time.size()), time); });
}

MetricKind kind_of_part(std::string_view part, std::string_view rest) {
  if (part == "mAP") return MetricKind::result;
  if (numbered.have(part)) return is_numbered(part, rest) ? MetricKind::result : MetricKind::none;
  if (ranked.have(part)) return rest.size() > 1 && rest[0] == '@' && is_digit(rest[1]) ? MetricKind::result : MetricKind::none;
  if (results.have(part)) return MetricKind::result;
  if (usual.have(part)) return MetricKind::usual;
  return rates.have(part) ? MetricKind::rate : MetricKind::none;
}

}  // namespace

MetricKind metric_kind(std::string_view word) {
  if (word.size() > max_name_length || has_hash(word) || is_time(word)) return MetricKind::none;
  if (same_ignoring_case(word, "learning_rate") || same_ignoring_case(word, "grad_norm")) return MetricKind::rate;
  auto kind = MetricKind::none;
  bool setting = false;
  for_each_part(word, [&](std::string_view part, std::string_view rest) {
    kind = std::max(kind, kind_of_part(part, rest));
    setting = setting || settings.have(part) || (rest.empty() && counts.have(part));
  });
  return setting ? MetricKind::none : kind;
}

MetricKind metric_kind(std::string_view before, std::string_view last) {
  if (same_ignoring_case(last, "error") && of_errors.have(before)) return MetricKind::result;
  const bool rate = (same_ignoring_case(before, "learning") && same_ignoring_case(last, "rate")) ||
                    ((same_ignoring_case(before, "grad") || same_ignoring_case(before, "gradient")) && same_ignoring_case(last, "norm"));
  if (rate) return MetricKind::rate;
  return std::max(metric_kind(last), suffixes.have(last) ? metric_kind(before) : MetricKind::none);
}

bool may_end_name(std::string_view word) {
  return metric_kind(word) != MetricKind::none || suffixes.have(word) || word == "is" || same_ignoring_case(word, "rate") ||
         same_ignoring_case(word, "norm");
}

bool names_data(std::string_view word) { return data.have(word); }

bool holds_data(std::string_view word) { return has_part(word, names_data); }
bool holds_outcome(std::string_view word) {
  return has_part(word, [](std::string_view part) { return outcomes.have(part); });
}
bool holds_reference(std::string_view word) {
  return has_part(word, [](std::string_view part) { return references.have(part); });
}
bool names_setting(std::string_view word) { return settings.have(word); }
bool holds_setting(std::string_view word) { return has_part(word, names_setting); }
bool names_goal(std::string_view word) { return goals.have(word); }
bool names_time_unit(std::string_view word) { return time_units.have(word); }
bool names_step(std::string_view word) { return steps.have(word); }

}  // namespace trainstep::result
