// The program's own log: what it does, on standard error. One line for each event; errors are logged once, at the top.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace trainstep {

enum class LogFormat { text, json };
enum class LogLevel { debug, info, warning, error };

// "text", "json"; "debug", "info", "warning", "error". None for other words.
std::optional<LogFormat> log_format(std::string_view name);
std::optional<LogLevel> log_level(std::string_view name);

// text: "2026-11-21T08:15:30Z info    message"; json: {"time":"2026-11-21T08:15:30Z","level":"info","message":"…"}. Before it is called: text, info.
void set_up_log(LogFormat format, LogLevel least);

// From now on the log shows *** in its place. Fewer than 4 characters are no secret: they would hide half of the log. Thread-safe, as all of this.
void add_secret(std::string secret);
// What the log would show; for messages that go elsewhere.
std::string redacted(std::string text);

void log(LogLevel level, std::string message);
inline void log_debug(std::string message) { log(LogLevel::debug, std::move(message)); }
inline void log_info(std::string message) { log(LogLevel::info, std::move(message)); }
inline void log_warning(std::string message) { log(LogLevel::warning, std::move(message)); }
inline void log_error(std::string message) { log(LogLevel::error, std::move(message)); }

}  // namespace trainstep
