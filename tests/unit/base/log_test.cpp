// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/fd.h"
#include "support/catch.h"

using namespace trainstep;

namespace {

// What `act` writes to standard error.
std::string captured(const std::function<void()>& act) {
  std::FILE* const file = std::tmpfile();
  const Fd before(::dup(STDERR_FILENO));
  ::dup2(::fileno(file), STDERR_FILENO);
  act();
  ::dup2(before.get(), STDERR_FILENO);
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("a line of the log has time, level and message") {
  set_up_log(LogFormat::text, LogLevel::info);
  const auto text = captured([] {
    log_debug("not this");
    log_info("it {starts}");
    log_warning("careful");
    log_error("over");
  });
  CHECK(std::regex_match(
      text, std::regex("(....-..-..T..:..:..Z) info    it \\{starts\\}\n....-..-..T..:..:..Z warning careful\n....-..-..T..:..:..Z error   over\n")));
}

TEST_CASE("the log as JSON has one object on each line, whatever the message") {
  set_up_log(LogFormat::json, LogLevel::debug);
  const auto text = captured([] { log_debug("a \"quoted\"\nline \x01 \xFF é"); });
  set_up_log(LogFormat::text, LogLevel::info);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
  const auto json = nlohmann::json::parse(text);
  CHECK(json["level"] == "debug");
  CHECK(json["message"] == "a \"quoted\"\nline \x01 \uFFFD é");
  CHECK(json["time"].get<std::string>().size() == 20);
}

TEST_CASE("secrets are hidden wherever they stand") {
  add_secret("s3cret");
  add_secret("s3cret-and-more");
  add_secret("");
  add_secret("abc");
  CHECK(redacted("key=s3cret s3cret-and-more s3crets3cret abc") == "key=*** *** ****** abc");
  CHECK(captured([] { log_info("token s3cret"); }).find("s3cret") == std::string::npos);
}

TEST_CASE("formats and levels have names") {
  CHECK(log_format("json") == LogFormat::json);
  CHECK(log_format("text") == LogFormat::text);
  CHECK_FALSE(log_format("xml"));
  CHECK(log_level("debug") == LogLevel::debug);
  CHECK(log_level("warning") == LogLevel::warning);
  CHECK_FALSE(log_level("loud"));
}
