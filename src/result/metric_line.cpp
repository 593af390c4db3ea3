// SPDX-License-Identifier: Apache-2.0
#include "result/metric_line.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/text.h"
#include "result/boosting_rounds.h"
#include "result/call_arguments.h"
#include "result/metric_sentence.h"
#include "result/metric_sentence_precheck.h"
#include "result/metric_table.h"
#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/rank_prefix.h"
#include "result/value_brackets.h"

namespace trainstep::result {
namespace {

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

std::optional<std::int64_t> whole(double value) {
  if (!std::isfinite(value) || std::abs(value) > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

bool names_epoch(std::string_view text) { return text.find("poch") != std::string_view::npos || text.find("POCH") != std::string_view::npos; }

enum class Place { epoch, epochs, step, none, metric };

Place place_of(std::string_view name) {
  constexpr std::array<std::string_view, 6> steps{"step", "steps", "iter", "iteration", "batch", "global_step"};
  constexpr std::array<std::string_view, 5> totals{"epochs", "num_epochs", "n_epochs", "max_epochs", "total_epochs"};
  constexpr std::array<std::string_view, 3> others{"v_num", "min_delta", "n_jobs"};  // printed by Lightning, its EarlyStopping, joblib
  const auto plain = lower(name);
  if (plain == "epoch") return Place::epoch;
  if (one_of<6>(plain, steps)) return Place::step;
  if (one_of<5>(plain, totals)) return Place::epochs;
  return one_of<3>(plain, others) ? Place::none : Place::metric;
}

// Stores the value as epoch, step or metric, depending on its name.
void add(MetricLine& line, std::string_view name, double value, std::optional<double> of = {}) {
  const auto place = place_of(name);
  if (place == Place::metric && !of) line.metrics.push_back({std::string(name), value, false});
  if (place == Place::epochs) line.progress.epochs = whole(value);
  if (place == Place::step) line.step = value;
  if (place != Place::epoch) return;
  line.epoch = value;
  line.progress.epoch = whole(value);
  if (of) line.progress.epochs = whole(*of);
}

// A dump of the environment, not a metric: WORLD_SIZE=4 anywhere, RANK=0 alone on its line.
bool is_environment(std::string_view name, double value, bool alone) {
  if (std::ranges::any_of(name, [](char c) { return is_letter(c) && !is_upper(c); })) return false;
  return name.find('_') != std::string_view::npos || (alone && std::trunc(value) == value);
}

// The start of the threshold that ends at `end`, as in "mAP@[0.5:0.95]"; `end` if there is none.
std::size_t threshold_before(std::string_view text, std::size_t end) {
  constexpr std::size_t longest = 40;
  const auto near = text.substr(0, end).substr(end - std::min(end, longest));
  const auto at = has(near, '@') ? near.rfind('@') : std::string_view::npos;
  return at != std::string_view::npos && threshold_size(near.substr(at)) == near.size() - at ? end - (near.size() - at) : end;
}

// "IoU" in "@[ IoU=0.5" is part of another name.
bool is_in_threshold(std::string_view text, std::size_t at) {
  const auto near = text.substr(at - std::min(at, longest_name), std::min(at, longest_name));
  const auto open = near.rfind("@[");
  return open != std::string_view::npos && near.substr(open).find(']') == std::string_view::npos;
}

// The name that ends at `end`; empty if it is something else: an option, a path, part of a URL.
std::string_view name_before(std::string_view text, std::size_t end) {
  auto start = threshold_before(text, end);
  while (start > 0 && belongs_to_name(text[start - 1])) --start;
  if (start > 0 && text[start - 1] == ':' && start < end && is_digit(text[end - 1]))  // "mAP_0.5:0.95"
    while (start > 0 && end - start < longest_name && (belongs_to_name(text[start - 1]) || text[start - 1] == ':')) --start;
  const auto name = text.substr(start, end - start);
  const bool bounded = start == 0 || std::string_view(" \t,;|([{").find(text[start - 1]) != std::string_view::npos;
  return bounded && is_measured_name(name) && !is_in_threshold(text, start) ? name : std::string_view();
}

// Before " = ", the name must not follow another word, unless it names a metric or a step: not "depth" in "max depth = 7"; in "AUC train = 0.9" they
// do together.
bool names_value(std::string_view text, std::string_view name) {
  const auto at = static_cast<std::size_t>(name.data() - text.data());
  if (at < 2 || text[at - 1] != ' ' || !is_letter(text[at - 2]) || metric_kind(name) != MetricKind::none || names_step(name)) return true;
  const auto before = text.substr(0, at - 1);
  return names_data(name) && metric_kind(before.substr(before.find_last_of(" \t|") + 1)) != MetricKind::none;
}

// A value of an object or a pair: 0.3, or "0.3", as printed by the Trainer of transformers 5.
std::optional<double> take_member(std::string_view& rest, bool& quoted) {
  const char quote = rest.empty() ? ' ' : rest.front();
  if (quote != '\'' && quote != '"') return take_scalar(rest);
  rest.remove_prefix(1);
  const auto value = take_number(rest);
  if (!value || !rest.starts_with(quote)) return std::nullopt;
  rest.remove_prefix(1);
  quoted = true;
  return value;
}

// Whether the name is used only for values of a training.
bool tells_result(std::string_view name) {
  const auto kind = metric_kind(name);
  return kind == MetricKind::usual || kind == MetricKind::result;
}

// "acc=9825/10000", not "shard=3/8"
bool is_share(std::string_view name, double value, double of) {
  return tells_result(name) && of > 0 && value >= 0 && value <= of && std::trunc(value) == value && std::trunc(of) == of;
}

// Whether the name, as an argument, is a setting: true in "Dropout(p=0.25)", false in "EvalResult(loss=0.3)".
bool is_argument_only(std::string_view name) { return place_of(name) == Place::metric && !tells_result(name); }

// What a line of name=value is read with.
struct Pairs {
  explicit Pairs(std::string_view text) : arguments(text), brackets(text) {}
  CallArguments arguments;
  ValueBrackets brackets;
  MetricLine aside;  // the epoch and step in brackets after a value, which count if the line names no others
};

// Whether a bracket after a value hides the pair from the line: "acc=0.9 (n=100)".
bool is_remark(std::string_view text, std::string_view name, ValueBrackets& brackets) {
  const auto begin = static_cast<std::size_t>(name.data() - text.data());
  const auto reads = brackets.at(begin);
  if (reads == ValueBrackets::Reads::all || metric_kind(name) < MetricKind::usual) return reads != ValueBrackets::Reads::all;
  const auto from = std::max(brackets.open(), begin - std::min(begin, longest_name));
  return reads == ValueBrackets::Reads::best && !holds_reference(text.substr(from, begin + name.size() - from));
}

// "seconds per epoch=12.3"
bool is_rate(std::string_view text, std::string_view name) {
  return text.substr(0, static_cast<std::size_t>(name.data() - text.data())).ends_with("per ");
}

// Reads the pair around the equals sign at `at`. Returns where to continue the search.
std::size_t read_pair(std::string_view text, std::size_t at, Pairs& pairs, MetricLine& line) {
  if (at + 1 < text.size() && text[at + 1] == '=') return at + 2;
  const bool before = at > 0 && text[at - 1] == ' ', behind = at + 1 < text.size() && text[at + 1] == ' ';
  const bool spaced = before && behind;
  if ((before || behind) && (text.front() == ' ' || text.front() == '\t')) return at + 1;  // indented: code in a traceback
  const auto name = name_before(text, before ? at - 1 : at);
  if (name.empty() || (spaced && !names_value(text, name)) || (before != behind && !tells_result(name))) return at + 1;  // "loss= 0.7"
  auto rest = text.substr(at + (behind ? 2 : 1));
  bool quoted = false;
  auto value = take_member(rest, quoted);
  if (value) skip_to_latest(rest, *value);
  if (!value || (quoted && !tells_result(name) && place_of(name) != Place::epoch)) return at + 1;
  std::optional<double> of;
  if (rest.starts_with('/') && rest.size() > 1 && is_digit(rest[1])) {
    rest.remove_prefix(1);
    of = take_number(rest);
  }
  if (!ends_value(rest)) return at + 1;
  if (of && is_share(name, *value, *of)) {
    value = *value / *of;
    of.reset();
  }
  const bool alone = name.data() == text.data() && rest.empty();
  const auto found = line.metrics.size();
  const bool argument = pairs.arguments.hold(at) && is_argument_only(name);
  const bool remark = is_remark(text, name, pairs.brackets);
  if (!is_environment(name, *value, alone) && !argument && !is_rate(text, name)) add(remark ? pairs.aside : line, plain_name(name), *value, of);
  const auto end = text.size() - rest.size();
  if (line.metrics.size() > found) line.pairs.push_back({static_cast<std::size_t>(name.data() - text.data()), end});
  return end;
}

// "44/45 [==>..] - …", but not "05/01 12:00:00 - …"
bool begins_with_count(std::string_view text) {
  const auto count = text.substr(0, text.find(' '));
  const auto slash = count.find('/');
  if (text.size() > count.size() + 1 && is_digit(text[count.size() + 1])) return false;
  return slash != 0 && slash != std::string_view::npos && count.find_first_not_of("0123456789/") == std::string_view::npos;
}

constexpr int fewest_settings = 2;

// Two such values make the line a dump of settings: "amp=True, batch=4, cache=False, …".
bool is_setting(std::string_view value) { return value.starts_with("True") || value.starts_with("False") || value.starts_with("None"); }

bool names_settings(std::string_view word) {
  constexpr std::array<std::string_view, 9> words{"args",    "arguments", "config",  "configuration", "hparams", "hyperparameters",
                                                  "options", "params",    "settings"};
  return one_of<9>(lower(word), words);
}

// "hyperparameters: lr0=0.01, momentum=0.9"; "reg_alpha=0.0 will be ignored" (LightGBM).
bool heads_settings(std::string_view text) {
  const auto before = text.substr(0, text.find('='));
  const auto colon = before.find_last_of(":");
  if (colon == std::string_view::npos || before.size() == text.size()) return text.find(" will be ignored") != std::string_view::npos;
  auto word = trim(before.substr(0, colon));
  word.remove_prefix(word.find_last_of(" \t]:") + 1);
  return names_settings(word);
}

// A command and its arguments: "+ python train.py lr=0.5", as a shell with -x prints it; Hydra's "[HYDRA] #0 : lr=0.1".
bool is_command(std::string_view text) {
  for (const std::string_view begin : {"+ ", "$ ", "export ", "declare ", "set "})
    if (text.starts_with(begin)) return true;
  const auto python = text.find("python");
  return (python != std::string_view::npos && text.find(".py ", python) != std::string_view::npos) || contains(text, "[HYDRA]");
}

// A panel of local variables within one of rich's tracebacks, and its line of code.
bool is_rich_traceback(std::string_view text) { return text.starts_with("\u2502 \u2502 ") || text.starts_with("\u2502 \u2771 "); }

// "Loaded checkpoint from epoch 5 with val_loss=0.2": what it had then.
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

// One line of a dump that spans several: "adam_beta1=0.9,".
bool is_argument(std::string_view text, const MetricLine& line) {
  text = trim(text);
  return line.metrics.size() == 1 && text.ends_with(',') && text.starts_with(line.metrics.front().name) && text.find(' ') == std::string_view::npos &&
         text.find(',') == text.size() - 1;
}

// Strips "INFO:root:", the prefix of Python's logging.basicConfig.
std::string_view without_level(std::string_view text) {
  constexpr std::array<std::string_view, 5> levels{"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};
  const auto first = text.substr(0, 10).find(':');
  if (first == std::string_view::npos || !one_of<5>(text.substr(0, first), levels)) return text;
  const auto second = text.find(':', first + 1);
  if (second == std::string_view::npos || text.substr(first, second - first).find(' ') != std::string_view::npos) return text;
  return text.substr(second + 1);
}

// Strips "[host:00007] ", a prefix of Open MPI; the number is a process ID.
std::string_view without_process(std::string_view text) {
  if (!text.starts_with('[')) return text;
  const auto end = text.find_first_of("] ");
  if (end == std::string_view::npos || text[end] != ']') return text;
  const auto colon = text.rfind(':', end);
  const bool numbered = colon != std::string_view::npos && end - colon > 5 && text.find_first_not_of("0123456789", colon + 1) == end;
  return numbered ? text.substr(end + 1) : text;
}

std::string without_escapes(std::string_view text) {
  std::string clean;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1B') {
      clean += text[at];
      continue;
    }
    if (at + 1 >= text.size() || text[at + 1] != '[') continue;
    ++at;
    while (at + 1 < text.size() && !is_letter(text[++at])) {  // parameters, then one letter
    }
  }
  return clean;
}

// Of several versions drawn over each other, the last one that is not blank.
std::string_view last_drawn(std::string_view text) {
  if (!has(text, '\r') && !has(text, '\b')) return text;
  while (!text.empty()) {
    const auto at = text.find_last_of("\r\b");
    const auto version = at == std::string_view::npos ? text : text.substr(at + 1);
    if (at == std::string_view::npos || !trim(version).empty()) return version;
    text = text.substr(0, at);
  }
  return text;
}

}  // namespace

bool may_have_metrics(std::string_view line) {
  if (has(line, '=') || names_epoch(line) || may_have_rounds(line) || may_be_sentence(line)) return true;
  // A flat object starts with a brace; a Keras line contains a count "45/45", however its bar is drawn.
  return has(line, ':') && (has(line, '{') || (has(line, '/') && line.find(" - ") != std::string_view::npos));
}

bool read_pairs(std::string_view text, MetricLine& line) {
  if (is_indented_code(text) || heads_settings(text)) return false;
  const auto before = line.metrics.size();
  Pairs pairs(text);
  int settings = 0;
  for (auto at = text.find('='); at != std::string_view::npos; at = text.find('=', at)) {
    if (is_setting(text.substr(at + 1))) ++settings;
    at = read_pair(text, at, pairs, line);
  }
  if (settings >= fewest_settings || is_argument(text, line)) return line = {}, false;
  if (!line.step) line.step = pairs.aside.step;
  if (!line.epoch && pairs.aside.epoch) read_epoch(text, line, true);
  return line.metrics.size() > before || line.epoch || line.step;
}

bool read_keras(std::string_view text, MetricLine& line) {
  auto rest = trim(text);
  if (!begins_with_count(rest)) return false;
  const auto count = rest.substr(0, rest.find(' '));
  const auto slash = count.find('/');
  if (count.substr(0, slash) != count.substr(slash + 1)) return false;  // values within an epoch are not final
  for (auto at = rest.find(" - "); at != std::string_view::npos;) {
    rest.remove_prefix(at + 3);
    at = rest.find(" - ");
    const auto part = trim(rest.substr(0, at));
    const auto colon = part.find(": ");
    if (colon == std::string_view::npos || !is_measured_name(part.substr(0, colon))) continue;
    auto number = trim(part.substr(colon + 2));
    if (const auto value = take_number(number); value && number.empty()) line.metrics.push_back({plain_name(part.substr(0, colon)), *value, false});
  }
  line.of_epoch = !line.metrics.empty();
  return line.of_epoch;
}

// The name of a member of an object, its blanks as underscores: "top 5 acc". Empty: none, as of "memory (gib)".
std::string name_of_key(std::string_view key) {
  auto name = plain_name(key);
  std::ranges::replace(name, ' ', '_');
  return is_measured_name(name) ? name : std::string();
}

bool read_flat_object(std::string_view text, MetricLine& line) {
  auto rest = trim(text);
  if (!rest.starts_with('{') || !rest.ends_with('}')) return false;
  rest = rest.substr(1, rest.size() - 2);
  MetricLine found;
  bool quoted = false;  // whether any value is
  bool metrics = false;
  const auto skip = [&] { rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); };
  for (skip(); !rest.empty(); skip()) {
    const char quote = rest.front();
    if (quote != '"' && quote != '\'') return false;
    const auto end = rest.find(quote, 1);
    if (end == std::string_view::npos) return false;
    const auto name = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    skip();
    if (!rest.starts_with(':')) return false;
    rest.remove_prefix(1);
    skip();
    const auto key = name_of_key(name);
    if (const auto nothing = std::string_view(rest.substr(0, 4)); nothing == "null" || nothing == "None") {
      rest.remove_prefix(4);
    } else {
      const auto value = take_member(rest, quoted);
      if (!value) return false;
      if (!key.empty()) add(found, key, *value);
    }
    metrics = metrics || metric_kind(key) != MetricKind::none;
    skip();
    if (!rest.empty() && rest.front() != ',') return false;
    if (!rest.empty()) rest.remove_prefix(1);
  }
  if (quoted && !metrics) return false;  // {"version": "1", "port": "8080"}
  line = std::move(found);
  return true;
}

// An object behind other words, which may tell the epoch: "epoch 0: {'accuracy': 0.68}", "2024-01-01 00:00:00 - INFO - {'loss': 0.4}".
bool read_object_behind(std::string_view text, MetricLine& line) {
  const auto open = text.find('{');
  if (open == 0 || open == std::string_view::npos || has(text.substr(0, open), '=') || has(text.substr(0, open), '(')) return false;
  const auto before = trim(text.substr(0, open));
  const auto words = trim(before.substr(0, before.find_last_not_of(":->| ") + 1));
  const auto word = words.substr(words.find_last_of(" \t]:") + 1);
  if (names_settings(word) || holds_reference(word) || !has(":->|]", before.empty() ? ' ' : before.back())) return false;
  MetricLine found;
  if (!read_flat_object(text.substr(open), found)) return false;
  if (std::ranges::none_of(found.metrics, [](const Metric& metric) { return metric_kind(metric.name) != MetricKind::none; })) return false;
  line = std::move(found);
  if (!line.epoch) read_epoch(before, line, true);
  return true;
}

// "best epoch 3": `before`, in lower case, says that it is not the current epoch.
bool names_another(std::string_view before) {
  constexpr std::array<std::string_view, 8> words{"best", "last", "start", "max", "total", "previous", "prev", "warmup"};
  before = trim(before);
  return one_of<8>(before.substr(before.find_last_of(" \t[(|,;:") + 1), words);
}

// `another`: of another epoch than the current one. `seen` is set where the line tells one, whether it counts or not.
bool read_epoch(std::string_view text, MetricLine& line, bool anywhere, bool another, bool& seen) {
  const auto folded = lower(text);
  for (auto at = folded.find("epoch"); at != std::string::npos; at = folded.find("epoch", at + 1)) {
    if (at > 0 && (belongs_to_name(folded[at - 1]) || folded[at - 1] == '=')) continue;
    if (text.substr(0, at).ends_with("per ") || names_another(std::string_view(folded).substr(0, at)) != another) continue;
    auto rest = text.substr(at + 5);
    for (const std::string_view data : {"(train)", "(val)", "(test)"})  // MMEngine's "Epoch(train)  [1][ 50/391]"
      if (rest.starts_with(data)) rest.remove_prefix(data.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(" [(:#="), rest.size()));
    if (rest.empty() || !is_digit(rest.front()) || rest.data() == text.data() + at + 5) continue;
    const auto epoch = take_number(rest);
    if (!epoch) continue;
    std::optional<double> of;
    for (const std::string_view divider : {"/", " of ", " / "}) {
      if (!rest.starts_with(divider)) continue;
      auto total = rest.substr(divider.size());
      if (!total.empty() && is_digit(total.front())) of = take_number(total);
    }
    const bool inside = !of && trim(text.substr(0, at)).find(' ') != std::string_view::npos;  // "saved after epoch 3", not "Train Epoch: 3"
    seen = true;
    if (inside && !anywhere) continue;
    if (inside)
      line.epoch = epoch;  // "best accuracy: 0.97 at epoch 7" does not tell the progress
    else
      add(line, "epoch", *epoch, of);
    return true;
  }
  return false;
}

bool read_epoch(std::string_view text, MetricLine& line, bool anywhere) {
  if (!names_epoch(text)) return false;
  bool seen = false;
  return read_epoch(text, line, anywhere, false, seen) || (!seen && read_epoch(text, line, anywhere, true, seen));
}

std::string_view clean_line(std::string_view raw, std::string& storage) {
  auto text = last_drawn(raw);
  if (has(text, '\x1B')) {
    storage = without_escapes(text);
    text = storage;
  }
  return split_rank_prefix(text).text;
}

MetricLine read_metric_line(std::string_view raw, MetricTable& table) {
  MetricLine line;
  std::string storage;
  const auto text = without_process(without_level(clean_line(raw, storage)));
  if (is_command(text) || tells_of_loading(text) || is_rich_traceback(text)) return line;
  for (const auto form : {read_flat_object, read_object_behind, read_keras, read_rounds})
    if (form(text, line)) return line;
  if (table.read(text, line)) return line;
  read_pairs(text, line);
  const bool shown_half = begins_with_count(trim(text));  // within an epoch: values are not final
  const bool in_words = !shown_half && (may_be_sentence(text) || !line.metrics.empty()) && read_sentence(text, line);
  if (shown_half) name_pairs(text, line);
  if (in_words && line.epoch && !line.progress.epoch) line.progress.epoch = whole(*line.epoch);
  if (!line.epoch) read_epoch(text, line, in_words);
  return line;
}

void put_value(MetricLine& line, std::string_view name, double value, std::optional<double> of) {
  const auto place = place_of(name);
  if (place != Place::metric && place != Place::none) return add(line, name, value, of);
  if (!of || *of > 0) line.metrics.push_back({std::string(name), of ? value / *of : value, false});
}

void drop_value(MetricLine& line, std::string_view name) {
  const auto place = place_of(name);
  if (place == Place::step) line.step.reset();
  if (place == Place::epochs) line.progress.epochs.reset();
  if (place == Place::epoch) line.epoch.reset(), line.progress = {}, line.of_epoch = false;
  std::erase_if(line.metrics, [&](const Metric& metric) { return metric.name == name; });
}

}  // namespace trainstep::result
