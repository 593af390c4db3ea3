// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/printable.h"
#include "follow/describe.h"

namespace trainstep::cli {
namespace {

constexpr Duration refresh_every{500};
constexpr Duration refresh_bar_every{100};
constexpr Duration bar_is_old{3'000};  // after that the status line is shown again
constexpr Duration status_every{30'000};
constexpr std::size_t max_bar_length = 4096;

// Columns for the text after the arrow of the status line. A terminal without a size (with a pipe in between) reports 0.
std::size_t live_width(int fd) {
  constexpr std::size_t usual = 80, arrow = 3;
  winsize size{};
  const std::size_t columns = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
  return columns > arrow ? columns - arrow : 0;
}

// The first `width` columns of a text in which every character is one column wide.
std::string cut(std::string text, std::size_t width) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U) continue;
    if (++columns > width) return text.substr(0, i);
  }
  return text;
}

}  // namespace

std::optional<Duration> time_left(const result::Progress& progress, Duration running) {
  if (!progress.epoch || !progress.epochs || *progress.epoch < 1 || *progress.epochs <= *progress.epoch) return std::nullopt;
  return running * (*progress.epochs - *progress.epoch) / *progress.epoch;
}

std::string live_line(const result::Timeline& timeline, const result::MetricReader& metrics, Time now, std::size_t width) {
  const auto phase = timeline.current();
  if (!phase) return {};
  std::string line(name(*phase));
  const auto& progress = metrics.progress();
  if (progress.epoch)
    line += progress.epochs ? fmt::format(" · epoch {}/{}", *progress.epoch, *progress.epochs) : fmt::format(" · epoch {}", *progress.epoch);
  std::string values;
  for (const auto& metric : metrics.latest()) {
    if (values.size() > 40) break;
    values += fmt::format("{}{}={:.4g}", values.empty() ? "" : " ", metric.name, metric.value);
  }
  if (!values.empty()) line += " · " + values;
  line += " · " + describe(timeline.total(now));
  if (const auto left = time_left(progress, timeline.spent_in(result::Phase::running, now)); left && *phase == result::Phase::running)
    line += fmt::format(" · about {} left", describe(*left));
  return cut(line, width);
}

Console::Console(Loop& loop, log::Log& log) : m_loop(loop), m_log(log) {}

Console::~Console() { finish(); }

void Console::output(Time at, const std::string& member, std::string_view lines) {
  if (m_bar && m_bar->member == member) m_bar.reset();
  m_log.output(at, member, lines);
}

void Console::unfinished(Time at, const std::string& member, std::string_view line) {
  if (!m_log.terminal() || !m_log.shows(log::Level::info)) return;
  const auto begun = !m_bar;
  m_bar = Bar{member, m_log.without_hidden(line.substr(line.size() - std::min(line.size(), max_bar_length))), at};
  if (!begun) return;
  refresh_later();
}

void Console::progress(Time at, int /*done*/, int /*of*/) {
  if (m_log.terminal() || (m_last_status && at - *m_last_status < status_every)) return;
  m_status_due = m_last_status.has_value();  // not for the first epoch: the log has just started
  if (!m_last_status) m_last_status = at;
}

void Console::decided(const follow::Event& event, const std::vector<follow::Action>& actions, const follow::Rules& rules) {
  if (!m_log.shows(log::Level::debug)) return;
  if (const auto text = follow::describe_decision(event, actions, rules); !text.empty()) m_log.write(event.at, log::Level::debug, text);
}

void Console::state(Time at, const result::Timeline& timeline, const result::MetricReader& metrics) {
  m_timeline = timeline;
  m_metrics = &metrics;
  if (std::exchange(m_status_due, false)) {
    m_last_status = at;
    info(at, live_line(timeline, metrics, at, 200));
  }
  m_log.commit();
  if (m_log.terminal() && !m_refresh) refresh_later();
}

void Console::refresh_later() {
  draw();
  m_refresh = m_loop.timer(m_bar ? refresh_bar_every : refresh_every, [this] { refresh_later(); });
}

void Console::draw() {
  if (m_bar && m_loop.now() - m_bar->at > bar_is_old) m_bar.reset();
  m_log.draw(drawn());
}

std::string Console::drawn() const {
  const auto width = live_width(m_log.writer().fd());
  if (m_bar) return cut(fmt::format("[{}] {}", m_bar->member, plain(m_bar->text)), width);
  return m_metrics == nullptr ? std::string() : "▸ " + live_line(m_timeline, *m_metrics, m_loop.now(), width);
}

void Console::finish() {
  m_refresh.cancel();
  m_log.draw({});
  m_log.commit();
}

void ProgressFile::progress(Time /*at*/, int done, int of) {
  // Best effort: a progress bar must not fail a training run. The folder must exist; anything but a regular file there is not ours.
  std::error_code unknown;
  const auto place = std::filesystem::absolute(m_path, unknown);
  const auto status = std::filesystem::status(place, unknown);
  const bool may_be_made = !std::filesystem::exists(status) && std::filesystem::is_directory(place.parent_path(), unknown);
  if (!may_be_made && !std::filesystem::is_regular_file(status)) return;
  if (!write_file_atomically(m_path, fmt::format("{}/{}", done, of))) return;
}

}  // namespace trainstep::cli
