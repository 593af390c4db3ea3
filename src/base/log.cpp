// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#ifndef SPDLOG_FMT_EXTERNAL
#define SPDLOG_FMT_EXTERNAL
#endif
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

namespace trainstep {
namespace {

// The message as a JSON string; spdlog's own patterns do not escape.
class JsonMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/, spdlog::memory_buf_t& out) override {
    const nlohmann::json text(std::string(message.payload.data(), message.payload.size()));
    const auto written = text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out.append(written.data(), written.data() + written.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<JsonMessage>(); }
};

std::unique_ptr<spdlog::formatter> formatter(LogFormat format) {
  auto made = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc, "\n");
  made->add_flag<JsonMessage>('J');
  made->set_pattern(format == LogFormat::json ? R"({"time":"%Y-%m-%dT%H:%M:%SZ","level":"%l","message":%J})" : "%Y-%m-%dT%H:%M:%SZ %-7l %v");
  return made;
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_unique<spdlog::logger>("trainstep", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_formatter(formatter(LogFormat::text));
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      break;
  }
  return spdlog::level::err;
}

struct Secrets {
  std::mutex mutex;
  std::vector<std::string> texts;  // the longest first: a secret may be part of another
};
Secrets& secrets() {
  static Secrets instance;
  return instance;
}

}  // namespace

std::optional<LogFormat> log_format(std::string_view name) {
  if (name == "text") return LogFormat::text;
  if (name == "json") return LogFormat::json;
  return std::nullopt;
}

std::optional<LogLevel> log_level(std::string_view name) {
  if (name == "debug") return LogLevel::debug;
  if (name == "info") return LogLevel::info;
  if (name == "warning") return LogLevel::warning;
  if (name == "error") return LogLevel::error;
  return std::nullopt;
}

void set_up_log(LogFormat format, LogLevel least) {
  logger().set_formatter(formatter(format));
  logger().set_level(to_spdlog(least));
}

void add_secret(std::string secret) {
  constexpr std::size_t shortest = 4;
  if (secret.size() < shortest) return;
  auto& all = secrets();
  const std::lock_guard lock(all.mutex);
  if (std::ranges::find(all.texts, secret) != all.texts.end()) return;
  all.texts.push_back(std::move(secret));
  std::ranges::sort(all.texts, std::ranges::greater{}, &std::string::size);
}

std::string redacted(std::string text) {
  constexpr std::string_view mask = "***";
  auto& all = secrets();
  const std::lock_guard lock(all.mutex);
  for (const auto& secret : all.texts)
    for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + mask.size())) text.replace(at, secret.size(), mask);
  return text;
}

void log(LogLevel level, std::string message) {
  const auto severity = to_spdlog(level);
  if (logger().should_log(severity)) logger().log(severity, spdlog::string_view_t(redacted(std::move(message))));
}

}  // namespace trainstep
