// SPDX-License-Identifier: Apache-2.0
#include "result/metric_prose.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "result/metric_number.h"
#include "result/metric_phrase.h"
#include "result/metric_words.h"

namespace trainstep::result {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool in_word(char c) { return is_letter(c) || is_digit(c) || (c >= '-' && c <= '/') || c == '_' || c == '@'; }

std::optional<std::int64_t> whole(double value) {
  if (!std::isfinite(value) || std::abs(value) > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

class Prose {
 public:
  Prose(std::string_view text, MetricLine& line) : m_text(text), m_line(line), m_progress(line.epoch || line.step), m_metric(!line.metrics.empty()) {}

  bool read() {
    const auto before = m_line.metrics.size();
    read_brackets();
    if (m_text.starts_with(" * ")) m_role = "test";  // the sums of an evaluation, in PyTorch's examples and all that follow them
    while (m_at < m_text.size()) {
      const char c = m_text[m_at];
      if (is_letter(c))
        word();
      else if (is_digit(c) || ((c == '-' || c == '+' || c == '.') && m_at + 1 < m_text.size() && is_digit(m_text[m_at + 1])))
        number();
      else
        punctuation(c);
    }
    end_phrase();
    if (m_step && !m_line.step && !m_line.metrics.empty()) m_line.step = m_step;
    if (!m_line.epoch && !m_line.step && kind_of(m_role) == Word::test) m_line.of_epoch = m_line.metrics.size() > before;
    return m_line.metrics.size() > before;
  }

 private:
  enum class Link { none, blank, colon };

  [[nodiscard]] char peek(std::size_t ahead = 0) const { return m_at + ahead < m_text.size() ? m_text[m_at + ahead] : '\0'; }
  void skip_blanks() {
    while (is_blank(peek())) ++m_at;
  }
  std::optional<double> digits() { return read_digits(m_text, m_at); }

  // "[1,  2000] loss: 2.2": epoch and step. "[0/5][10/100] Loss_D: 1.2": the same, each with its total. "[1/3] loss: 0.5": a step.
  void read_brackets() {
    if (m_line.epoch || !m_text.starts_with('[')) return;
    m_at = 1;
    const auto first = digits();
    const bool totals = peek() == '/';
    if (first && (totals || peek() == ',')) {
      ++m_at;
      skip_blanks();
      const auto second = digits();
      if (second && !totals && m_text.substr(m_at).starts_with("] ")) return set_brackets(*first, {}, *second);
      if (second && totals && m_text.substr(m_at).starts_with("][")) {
        m_at += 2;
        skip_blanks();
        if (const auto step = digits(); step && peek() == '/') return set_brackets(*first, *second, *step);
      } else if (second && totals && m_text.substr(m_at).starts_with("] ")) {
        m_step = first;
      }
    }
    m_at = 0;
  }
  void set_brackets(double epoch, std::optional<double> epochs, double step) {
    m_bracketed = MetricLine{.metrics = {}, .epoch = epoch, .step = step, .progress = {whole(epoch), epochs ? whole(*epochs) : std::nullopt}};
    m_progress = true;
  }

  void word() {
    const auto start = m_at;
    while (m_at < m_text.size() && in_word(m_text[m_at])) ++m_at;
    while (!is_letter(m_text[m_at - 1]) && !is_digit(m_text[m_at - 1])) --m_at;  // "Avg.", "train -"
    const auto found = m_text.substr(start, m_at - start);
    if (start > 0 && m_text[start - 1] == '-') return end_phrase();  // an option: "--min-loss 0.1"
    if (m_link != Link::none && !m_phrase.empty() && (found.size() == 3 || found.size() == 8)) {
      auto rest = found;
      if (take_number(rest) && rest.empty()) {  // nan, inf
        m_at = start;
        return number();
      }
    }
    if (m_link == Link::colon && is_exception(m_phrase.back().word)) m_at = m_text.size();  // what follows is its message
    const bool level = is_level(found);
    if (m_link == Link::colon || level) end_phrase();
    if (!level) m_phrase.add(found);
    m_link = Link::none;
  }

  static bool is_exception(std::string_view word) {
    return std::ranges::any_of(std::to_array<std::string_view>({"Error", "Exception", "Warning"}),
                               [&](std::string_view end) { return word.ends_with(end); });
  }

  void punctuation(char c) {
    ++m_at;
    if (is_blank(c)) {
      if (c == '\t' && m_link != Link::colon && !is_name_of_number()) end_phrase();
      if (m_link == Link::none) m_link = Link::blank;
    } else if (c == ':' && !m_phrase.empty() && m_link != Link::colon) {
      m_link = Link::colon;
    } else if (c == '.' && !m_phrase.empty() && is_blank(peek())) {  // "Avg. loss"
      m_link = Link::blank;
    } else if (c == '=' && !m_phrase.empty() && is_blank(peek()) && (m_link != Link::blank || is_blank(peek(1)))) {
      m_link = Link::colon;  // in read_pairs' form it has been read
    } else if (c == '[' && !m_phrase.empty() && (m_phrase.back().kind == Word::epoch || m_phrase.back().kind == Word::step)) {
      m_link = Link::blank;  // "Epoch: [3]"
    } else if (c == '(' && unit()) {
      m_link = Link::none;  // "learning rate (x1e-4): "
    } else {
      end_phrase();
      m_aside = c == '(';
    }
  }
  // A tab stands between name and number ("Loss\t0.5"), or ends what came before.
  [[nodiscard]] bool is_name_of_number() const { return is_digit(peek()) || peek() == '-' || peek() == ' '; }

  // "(ms)" between a name and its colon.
  bool unit() {
    constexpr std::size_t longest = 16;
    const auto close = m_text.substr(m_at, longest).find("):");
    if (close == std::string_view::npos || m_phrase.empty()) return false;
    m_at += close + 1;
    return true;
  }

  void number() {
    const auto read = read_shown_number(m_text, m_at);
    if (!read) {  // "-." and the like
      ++m_at;
      return end_phrase();
    }
    const auto& number = *read;
    const bool ends = ends_here();
    if (!ends) {
      skip_token();
    } else if (!m_phrase.empty() && m_link != Link::none && m_phrase.has_room() && !take_progress(number) && is_metric(number)) {
      accept(number);
      m_phrase.clear();
      m_link = Link::none;
      return;
    }
    end_phrase();
  }

  [[nodiscard]] bool ends_here() const {
    const char c = peek();
    if (c == '.' || c == ':') return peek(1) == '\0' || is_blank(peek(1));
    return c == '\0' || is_blank(c) || std::string_view(",;|)]}").find(c) != std::string_view::npos;
  }
  void skip_token() {
    while (m_at < m_text.size() && (in_word(m_text[m_at]) || m_text[m_at] == ':' || m_text[m_at] == '%')) ++m_at;
  }

  // "epoch 3", "Iter 100/5000": how far the training is. True if it was that.
  bool take_progress(const ShownNumber& number) {
    const auto kind = m_phrase.back().kind;
    const auto others = m_phrase.size() - 1;
    const bool at = others > 0 && m_phrase.end()[-2].word == "at";  // "best accuracy: 0.93 at epoch 4"
    const bool leads = others == 0 || (others == 1 && m_phrase.begin()->kind != Word::unknown && m_phrase.begin()->kind != Word::metric);
    if (others == 0 && kind == Word::train && m_link == Link::colon && !number.exact && m_text.substr(m_at).starts_with(" [")) {
      set_epoch(number);  // "Train: 3 [  10/97 ( 11%)]"
      return true;
    }
    if (kind != Word::epoch && kind != Word::step) return false;
    if (number.exact && number.value != std::floor(number.value)) return true;
    m_progress = true;
    if (kind == Word::epoch && leads && !at) set_epoch(number);
    if (kind == Word::step && (leads || at) && !m_line.step && !m_step) m_step = number.value;
    return true;
  }
  void set_epoch(const ShownNumber& number) {
    m_progress = true;
    if (m_line.epoch || m_aside) return;
    m_line.epoch = number.value;
    m_line.progress.epoch = whole(number.value);
    if (number.of) m_line.progress.epochs = whole(*number.of);
  }

  [[nodiscard]] bool is_metric(const ShownNumber& number) const {
    const auto metrics = m_phrase.count(Word::metric), weak = m_phrase.count(Word::weak), beside = m_phrase.count(Word::beside);
    const auto unknown = m_phrase.count(Word::unknown), settings = m_phrase.count(Word::setting);
    if (number.of && !is_share(number)) return false;
    if (m_phrase.has(Word::epoch) || m_phrase.has(Word::step) || m_phrase.has(Word::link)) return false;
    if (metrics + weak + beside == 0) return false;
    if (unknown > 0) return metrics > 0 && settings == 0 && m_link == Link::colon && m_progress && unknown <= 2;
    const bool supported = m_progress || m_metric;
    if (settings > 0 || metrics + weak == 0) return supported;
    const bool said = number.exact || number.percent || number.of;
    if (metrics == 0)
      return (said || (m_progress && m_link == Link::colon)) && (m_link == Link::colon || supported) && (supported || m_phrase.size() > 1);
    if (!said) return m_progress;
    return m_link == Link::colon || supported || goes_on();
  }
  // Behind "loss 0.5" comes nothing, or the next of the kind.
  [[nodiscard]] bool goes_on() const {
    auto rest = m_text.substr(m_at);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (rest.empty() || !is_letter(rest.front())) return true;
    std::size_t end = 0;
    while (end < rest.size() && in_word(rest[end])) ++end;
    return kind_of(rest.substr(0, end)) != Word::unknown;
  }
  // "9825/10000" is a share only of what is counted.
  [[nodiscard]] bool is_share(const ShownNumber& number) const {
    const auto& name = m_phrase.back().word;
    return plain_name(name).find("acc") != std::string::npos && *number.of > 0 && number.value >= 0 && number.value <= *number.of;
  }

  void accept(const ShownNumber& number) {
    std::string_view own_role;
    for (const auto& item : m_phrase)
      if (const auto role = role_of(item.word); !role.empty()) own_role = role;
    const auto named = [&](bool all) {
      std::string name;
      for (const auto& item : m_phrase) {
        if (!all && is_empty(item.word) && m_phrase.size() > 1) continue;
        name += (name.empty() ? "" : "_") + plain_name(item.word);
      }
      const bool of_data = m_phrase.has(Word::metric) || m_phrase.has(Word::weak);
      if (own_role.empty() && !m_role.empty() && of_data && !m_phrase.has(Word::setting)) name = m_role + "_" + name;
      return name;
    };
    if (!own_role.empty()) m_role = plain_name(own_role);
    auto name = named(false);
    const auto taken = [&] { return std::ranges::any_of(m_line.metrics, [&](const Metric& m) { return plain_name(m.name) == plain_name(name); }); };
    if (taken()) name = named(true);
    m_metric = true;
    if (m_bracketed) use_brackets();
    if (!taken()) m_line.metrics.push_back({name, number.of ? *share(number) : number.value, false});
  }
  // Says nothing that the name needs: "Average loss", "Test set loss".
  static bool is_empty(std::string_view word) {
    const auto plain = plain_name(word);
    return plain == "average" || plain == "avg" || plain == "set" || plain == "value";
  }
  static std::optional<double> share(const ShownNumber& number) { return (number.percent ? 100 : 1) * number.value / *number.of; }
  // Brackets count only where a metric follows.
  void use_brackets() {
    m_line.epoch = m_bracketed->epoch;
    m_line.step = m_bracketed->step;
    m_line.progress = m_bracketed->progress;
    m_bracketed.reset();
  }

  // The words so far were no name of a number: they may say of which data the line is.
  void end_phrase() {
    for (const auto& item : m_phrase) {
      if (item.kind == Word::test) m_role = plain_name(item.word);
      if (item.kind == Word::train) m_role.clear();
    }
    m_phrase.clear();
    m_link = Link::none;
  }

  std::string_view m_text;
  MetricLine& m_line;
  bool m_progress;  // the line says how far the training is
  bool m_metric;    // it has another metric
  std::size_t m_at = 0;
  Phrase m_phrase;
  bool m_aside = false;      // it begins in brackets: "(epoch 3)"
  Link m_link = Link::none;  // between the phrase and what comes
  std::string m_role;        // "test", "val": before names that have none of their own
  std::optional<MetricLine> m_bracketed;
  std::optional<double> m_step;
};

}  // namespace

bool read_prose(std::string_view text, MetricLine& line) { return Prose(text, line).read(); }

}  // namespace trainstep::result
