// SPDX-License-Identifier: Apache-2.0
#include "result/metric_position.h"

#include <array>
#include <optional>
#include <string>

#include "base/text.h"
#include "result/metric_text.h"
#include "result/metric_words.h"
#include "result/named_value.h"

namespace trainstep::result {
namespace {

// "best epoch 3": `before`, in lower case, says that it is not the current epoch.
bool names_another(std::string_view before) {
  constexpr std::array<std::string_view, 8> words{"best", "last", "start", "max", "total", "previous", "prev", "warmup"};
  before = trim(before);
  return one_of(before.substr(before.find_last_of(" \t[(|,;:") + 1), words);
}

// `another`: of another epoch than the current one. `seen` is set if the line has one, whether it is used or not.
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
      line.epoch = epoch;  // "best accuracy: 0.97 at epoch 7" is not the progress
    else
      add_value(line, "epoch", *epoch, of);
    return true;
  }
  return false;
}

}  // namespace

bool read_epoch(std::string_view text, MetricLine& line, bool anywhere) {
  if (!names_epoch(text)) return false;
  bool seen = false;
  return read_epoch(text, line, anywhere, false, seen) || (!seen && read_epoch(text, line, anywhere, true, seen));
}

void read_bracketed_position(std::string_view text, MetricLine& line) {
  auto rest = text;
  if (!rest.starts_with('[')) {
    const auto colon = rest.substr(0, 12).find(": ");
    if (colon == std::string_view::npos || !names_data(rest.substr(0, colon))) return;
    rest.remove_prefix(colon + 2);
    if (const auto epoch = take_count(rest); epoch && rest.starts_with(" [")) line.epoch = epoch;
    return;
  }
  const auto take_after = [&](std::string_view sign) {
    if (!rest.starts_with(sign)) return std::optional<double>();
    rest.remove_prefix(sign.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return take_count(rest);
  };
  const auto first = take_after("[");
  const bool pair = rest.starts_with(',');
  const auto second = take_after(pair ? "," : "/");
  if (!first || !second || !rest.starts_with(']')) return;
  const auto third = take_after("][");
  if (pair || third) line.epoch = first;
  line.step = pair ? second : third ? third : first;
}

}  // namespace trainstep::result
