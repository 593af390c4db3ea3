// SPDX-License-Identifier: Apache-2.0
#include "log/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/printable.h"
#include "base/redact.h"
#include "base/text.h"
#include "base/written_secrets.h"
#include "data/json.h"

namespace trainstep::log {
namespace {

constexpr std::string_view own_name = "trainstep";
constexpr std::size_t commit_at = std::size_t{256} << 10U;
// Memory limits for unread lines of the replicas, and for those and our own, while nothing is read and the producers cannot wait.
constexpr std::size_t max_waiting = 16 * Writer::full;
constexpr std::size_t max_waiting_with_ours = max_waiting + Writer::full;

constexpr std::string_view clear_line = "\r\033[K";
constexpr std::string_view dim = "\033[2m";
constexpr std::string_view cyan = "\033[36m";
constexpr std::string_view no_colour = "\033[0m";

// "4:07", "1:02:03" since the start.
std::string clock(Duration since) {
  const auto seconds = std::max<Duration::rep>(since.count() / 1000, 0);
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds % 3600 / 60, seconds % 60);
}

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      break;
  }
  return spdlog::level::err;
}

std::string_view level_name(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return "debug";
    case spdlog::level::warn:
      return "warning";
    case spdlog::level::err:
    case spdlog::level::critical:
      return "error";
    default:
      return "info";
  }
}

Time time_of(const spdlog::details::log_msg& message) { return std::chrono::time_point_cast<Duration>(message.time); }
std::string_view text_of(const spdlog::details::log_msg& message) { return {message.payload.data(), message.payload.size()}; }

// Not derived from spdlog's base_sink, whose pattern formatter neither of our formats uses.
class LineSink : public spdlog::sinks::sink {
 public:
  explicit LineSink(std::string& to) : m_to(to) {}
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 protected:
  std::string& m_to;
};

// "[trainstep]  0:12  running"
class TextSink : public LineSink {
 public:
  TextSink(std::string& to, bool colours, Time began) : LineSink(to), m_colours(colours), m_began(began) {}
  void log(const spdlog::details::log_msg& message) override {
    m_to += m_colours ? fmt::format("{}[{}]{} ", dim, own_name, no_colour) : fmt::format("[{}] ", own_name);
    m_to += fmt::format("{:>5}  {}\n", clock(time_of(message) - m_began), printable(text_of(message)));
  }

 private:
  bool m_colours;
  Time m_began;
};

// {"time":"2026-11-21T08:15:30Z","source":"trainstep","level":"info","message":"running"}
class JsonSink : public LineSink {
 public:
  using LineSink::LineSink;
  void log(const spdlog::details::log_msg& message) override {
    m_to += to_text(Json{{"time", to_rfc3339(time_of(message))},
                         {"source", own_name},
                         {"level", level_name(message.level)},
                         {"message", printable(text_of(message))}});
    m_to += '\n';
  }
};

std::shared_ptr<spdlog::sinks::sink> make_sink(Format format, std::string& to, bool colours, Time began) {
  if (format == Format::json) return std::make_shared<JsonSink>(to);
  return std::make_shared<TextSink>(to, colours, began);
}

}  // namespace

std::optional<Level> level_of(std::string_view word) {
  const auto wanted = lower(word);
  for (const auto level : {Level::debug, Level::info, Level::warning, Level::error})
    if (wanted == level_name(spdlog_level(level))) return level;
  return std::nullopt;
}

struct Log::Own {
  spdlog::logger logger;
};

Log::Log(int fd, Options options, Time began)
    : m_writer(fd),
      m_format(options.format),
      m_terminal(options.format == Format::text && ::isatty(fd) == 1),
      m_colours(m_terminal && std::getenv("NO_COLOR") == nullptr),
      m_level(options.level),
      m_secrets(std::move(options.secrets)),
      m_began(began),
      m_own(new Own{spdlog::logger(std::string(own_name), make_sink(options.format, m_writer.text(), m_colours, began))}) {
  m_own->logger.set_level(spdlog_level(options.level));
}

Log::~Log() = default;

bool Log::shows(Level level) const { return level >= m_level; }

void Log::write(Time at, Level level, std::string_view text) {
  if (shows(level) && !drop("\n", true)) write_line(at, level, text);
}

void Log::write_line(Time at, Level level, std::string_view said) {
  const auto text = without_quoted_secrets(redacted(said, m_secrets));
  clear_drawn();
  m_own->logger.log(at, spdlog::source_loc{}, spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
  commit();
}

void Log::conclude(Time at, bool succeeded, std::string_view text) {
  m_own->logger.set_level(spdlog::level::debug);
  if (m_dropped > 0) report_dropped(at);
  write_line(at, succeeded ? Level::info : Level::error, text);
  m_own->logger.set_level(spdlog_level(m_level));
}

void Log::hide(const std::vector<std::string>& secrets) {
  m_secrets.insert(m_secrets.end(), secrets.begin(), secrets.end());
  m_hidden.insert(m_hidden.end(), secrets.begin(), secrets.end());
}

std::string Log::without_hidden(std::string_view output) const { return m_hidden.empty() ? std::string(output) : redacted(output, m_hidden); }

void Log::output(Time at, std::string_view replica, std::string_view lines) {
  if (!shows(Level::info) || drop(lines, false)) return;
  std::string kept;
  if (!m_hidden.empty()) lines = kept = redacted_lines(lines, m_hidden, m_split[std::string(replica)]);
  const bool plain = is_plain(lines);
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    line(at, replica, lines.substr(0, end), plain);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

// Bypasses spdlog: a line takes a tenth of a microsecond here.
void Log::line(Time at, std::string_view source, std::string_view text, bool plain) {
  clear_drawn();
  auto& to = m_writer.text();
  if (m_format == Format::json) {
    std::string shown;
    append_shown(shown, text);
    to += to_text(Json{{"time", to_rfc3339(at)}, {"source", source}, {"message", shown}});
  } else {
    to.append(m_colours ? "\033[2m[" : "[").append(source).append(m_colours ? "]\033[0m " : "] ");
    if (plain)
      to += text;
    else
      append_shown(to, text);
  }
  to += '\n';
  if (to.size() >= commit_at) commit();
}

void Log::clear_drawn() {
  if (std::exchange(m_drawn, false)) m_writer.text() += clear_line;
}

bool Log::drop(std::string_view lines, bool ours) {
  const auto waiting = m_writer.waiting();
  if (waiting <= max_waiting || (ours ? waiting <= max_waiting_with_ours : !m_may_drop)) {
    if (m_dropped > 0 && waiting <= Writer::full) report_dropped(wall_clock());
    return false;
  }
  m_dropped += static_cast<std::size_t>(std::ranges::count(lines, '\n'));
  return true;
}

void Log::report_dropped(Time at) {
  const auto count = std::exchange(m_dropped, 0);
  write_line(at, Level::warning, fmt::format("{} line{} dropped: the log's reader was too slow", count, count == 1 ? "" : "s"));
}

void Log::draw(std::string_view text) {
  if (!m_terminal || m_writer.waiting() > 0) return;
  auto& to = m_writer.text();
  if (text.empty()) {
    clear_drawn();
  } else {
    to.append(clear_line).append(m_colours ? cyan : "").append(text).append(m_colours ? no_colour : "");
    m_drawn = true;
  }
  commit();
}

}  // namespace trainstep::log
