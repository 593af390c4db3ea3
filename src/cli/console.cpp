// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/files.h"
#include "data/json.h"

namespace trainstep::cli {
namespace {

constexpr std::size_t flush_at = std::size_t{256} << 10U;
constexpr Duration refresh_every{500};
constexpr Duration status_every{30'000};
constexpr std::string_view own_name = "trainstep";

// Columns for a text behind the arrow of the live line. A terminal without a size (a pipe in between) says 0.
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

// "4:07", "1:02:03" since the start.
std::string clock(Duration since) {
  const auto seconds = std::max<Duration::rep>(since.count() / 1000, 0);
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds % 3600 / 60, seconds % 60);
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

Console::Console(Loop& loop, int fd, LogFormat format)
    : m_loop(loop),
      m_fd(fd),
      m_format(format),
      m_terminal(format == LogFormat::text && ::isatty(fd) == 1),
      m_colours(m_terminal && std::getenv("NO_COLOR") == nullptr),
      m_began(loop.now()) {}

Console::~Console() { finish(); }

void Console::say(Time at, const std::string& text) {
  line(at, own_name, m_format == LogFormat::text ? fmt::format("{:>5}  {}", clock(at - m_began), text) : text);
  flush();
}

void Console::output(Time at, const std::string& member, std::string_view lines) {
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    line(at, member, lines.substr(0, end));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

void Console::line(Time at, std::string_view source, std::string_view text) {
  if (m_live_shown) {
    m_buffer += "\r\033[K";
    m_live_shown = false;
  }
  if (m_format == LogFormat::json) {
    m_buffer += to_text(Json{{"time", to_rfc3339(at)}, {"source", source}, {"message", text}});
  } else {
    m_buffer.append(m_colours ? "\033[2m[" : "[").append(source).append(m_colours ? "]\033[0m " : "] ").append(text);
  }
  m_buffer += '\n';
  if (m_buffer.size() >= flush_at) flush();
}

void Console::progress(Time at, int /*done*/, int /*of*/) {
  if (m_terminal || (m_last_status && at - *m_last_status < status_every)) return;
  m_status_due = m_last_status.has_value();  // not for the first epoch: the log has just begun
  if (!m_last_status) m_last_status = at;
}

void Console::state(Time at, const result::Timeline& timeline, const result::MetricReader& metrics) {
  m_timeline = timeline;
  m_metrics = &metrics;
  if (m_status_due) {
    m_status_due = false;
    m_last_status = at;
    say(at, live_line(timeline, metrics, at, 200));
  }
  flush();
  if (m_terminal && !m_refresh) refresh_later();
}

void Console::refresh_later() {
  draw_live_line();
  m_refresh = m_loop.after(refresh_every, [this] { refresh_later(); });
}

void Console::draw_live_line() {
  const auto text = live_line(m_timeline, *m_metrics, m_loop.now(), live_width(m_fd));
  m_buffer += fmt::format("\r\033[K{}▸ {}{}", m_colours ? "\033[36m" : "", text, m_colours ? "\033[0m" : "");
  flush();
  m_live_shown = true;
}

void Console::finish() {
  if (m_refresh) m_loop.cancel(*m_refresh);
  m_refresh.reset();
  if (m_live_shown) m_buffer += "\r\033[K";
  m_live_shown = false;
  flush();
}

void Console::flush() {
  std::string_view left = m_buffer;
  while (!left.empty() && !m_broken) {
    const auto count = ::write(m_fd, left.data(), left.size());
    if (count >= 0)
      left.remove_prefix(static_cast<std::size_t>(count));
    else if (errno != EINTR)
      m_broken = true;  // the reader is gone (a cancelled KFP v2 step): the training matters more than its log
  }
  m_buffer.clear();
}

void ProgressFile::progress(Time /*at*/, int done, int of) {
  // Best effort: a progress bar must not fail a training.
  if (!write_file_atomically(m_path, fmt::format("{}/{}", done, of))) return;
}

}  // namespace trainstep::cli
